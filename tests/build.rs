//! Builds the guests of this repository and writes a constant for each into `guests.rs`. If they cannot be built, the constants hold
//! the reason, so that the tests that need a guest fail with it and all others run.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use guest_builder::Options;

/// What guests are made of. `tests/guests` is below this package, so it is named from here.
const WATCHED: [&str; 5] = ["wit", "plugins-sdk", "example-plugins", "tests/guests", "xtask/guest-builder"];

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let workspace = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("..").canonicalize()?;
    let out_dir = PathBuf::from(env::var("OUT_DIR")?);
    for watched in WATCHED {
        println!("cargo::rerun-if-changed={}", workspace.join(watched).display());
    }
    let built = guest_builder::build(&Options::new(&workspace));
    let paths: std::result::Result<BTreeMap<String, PathBuf>, String> = match &built {
        Ok(guests) => {
            let plugins = guests.plugins.iter().map(|plugin| (plugin.id.clone(), plugin.folder.clone()));
            Ok(plugins.chain(guests.tests.clone()).collect())
        }
        Err(error) => Err(chain(error)),
    };
    match &paths {
        // Somebody may remove what was built, which changes no source.
        Ok(paths) => paths.values().for_each(|path| println!("cargo::rerun-if-changed={}", path.display())),
        // A path that does not exist counts as changed: the next build tries again.
        Err(_) => println!("cargo::rerun-if-changed={}", out_dir.join("never").display()),
    }
    let text = format!(
        "{}\n/// The example plugins: plugin folders.\npub(crate) mod examples {{\n    use system_tests::Guest;\n\n{}}}\n",
        constants(&names(&workspace.join("tests/guests/examples"))?, &paths)?,
        constants(&names(&workspace.join("example-plugins"))?, &paths)?,
    );
    fs::write(out_dir.join("guests.rs"), text)?;
    Ok(())
}

/// Names of the guests in a folder of sources: they are known also when nothing could be built. Those of benches are not for tests.
fn names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_guest = path.extension().is_some_and(|extension| extension == "rs") || path.is_dir();
        names.extend(path.file_stem().filter(|_| is_guest).map(|name| name.to_string_lossy().into_owned()));
    }
    names.retain(|name| !name.starts_with("bench_"));
    names.sort();
    Ok(names)
}

fn constants(names: &[String], paths: &std::result::Result<BTreeMap<String, PathBuf>, String>) -> Result<String> {
    let mut text = String::new();
    for name in names {
        let built = match paths {
            Ok(paths) => match paths.get(name) {
                Some(path) => format!("Ok({:?})", path.display().to_string()),
                None => format!("Err({:?})", format!("the builder of guests does not know `{name}`")),
            },
            Err(reason) => format!("Err({reason:?})"),
        };
        let constant = name.replace('-', "_").to_uppercase();
        writeln!(text, "pub(crate) const {constant}: Guest = Guest::new({name:?}, {built});")?;
    }
    Ok(text)
}

/// An error with its causes.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
