//! Reads which mirror of Debian a machine uses from its package sources, in both formats that apt knows. Changes nothing, and knows
//! no address itself.

use std::fs;
use std::path::Path;

/// What the machine says about itself.
pub(super) const OS_RELEASE: &str = "/etc/os-release";

/// Suffixes of suites that hold only some packages.
const PARTIAL_SUITES: &[&str] = &["-security", "-updates", "-backports", "-proposed-updates", "/updates"];

/// One place that packages come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    uri: String,
    suites: Vec<String>,
    components: Vec<String>,
    /// Keys that must have signed it: a file, fingerprints, or the key itself on several lines.
    signed_by: Option<String>,
    /// `yes` if the machine does without signatures here.
    trusted: Option<String>,
}

impl Source {
    /// A source in the deb822 format for another suite of the same mirror, component `main`, verified as before.
    pub(super) fn with_suite(&self, suite: &str) -> String {
        let mut text = format!("Types: deb\nURIs: {}\nSuites: {suite}\nComponents: main\n", self.uri);
        for (name, value) in [("Signed-By", &self.signed_by), ("Trusted", &self.trusted)] {
            if let Some(value) = value {
                text.push_str(&format!("{name}: {}\n", value.replace('\n', "\n ")));
            }
        }
        text
    }

    /// Whether whole releases of Debian can be found here.
    fn is_main(&self) -> bool {
        let is_partial = |suite: &String| PARTIAL_SUITES.iter().any(|suffix| suite.ends_with(suffix));
        self.components.iter().any(|component| component == "main") && !self.suites.iter().all(is_partial)
    }
}

/// The mirror that serves the release of this machine; else the first one with whole releases.
///
/// `etc` is apt's folder of settings. Files that cannot be read count as absent.
pub(super) fn mirror(etc: &Path, os_release: &Path) -> Option<Source> {
    let release = fs::read_to_string(os_release).unwrap_or_default();
    choose(read(etc), field(&release, "VERSION_CODENAME").unwrap_or_default())
}

fn choose(sources: Vec<Source>, codename: &str) -> Option<Source> {
    let mut main: Vec<_> = sources.into_iter().filter(Source::is_main).collect();
    let of_release = main.iter().position(|source| source.suites.iter().any(|suite| suite == codename));
    (!main.is_empty()).then(|| main.swap_remove(of_release.unwrap_or(0)))
}

/// Every source, in apt's order: `sources.list`, then the files of `sources.list.d` by name.
fn read(etc: &Path) -> Vec<Source> {
    let mut parts: Vec<_> =
        fs::read_dir(etc.join("sources.list.d")).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    parts.sort();
    parts.insert(0, etc.join("sources.list"));
    let mut sources = Vec::new();
    for path in parts {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("list") => sources.extend(parse_list(&text)),
            Some("sources") => sources.extend(parse_deb822(&text)),
            _ => {}
        }
    }
    sources
}

/// One source per line: `deb [option=value ...] uri suite component ...`.
fn parse_list(text: &str) -> Vec<Source> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Source> {
    let line = line.split('#').next()?.trim();
    let rest = line.strip_prefix("deb").filter(|rest| rest.starts_with([' ', '\t', '[']))?.trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(inside) => inside.split_once(']')?,
        None => ("", rest),
    };
    let option = |name: &str| {
        let mut pairs = options.split_whitespace().filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.replace(',', " "))
    };
    let mut words = rest.split_whitespace().map(str::to_owned);
    Some(Source {
        uri: words.next()?,
        suites: vec![words.next()?],
        components: words.collect(),
        signed_by: option("signed-by"),
        trusted: option("trusted"),
    })
}

/// Stanzas of fields, apart by empty lines; one source per address.
fn parse_deb822(text: &str) -> Vec<Source> {
    // A comment may stand between the lines of a field, and does not end a stanza.
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    lines.split(|line| line.trim().is_empty()).flat_map(parse_stanza).collect()
}

fn parse_stanza(lines: &[&str]) -> Vec<Source> {
    let words = |name: &str| -> Vec<String> {
        stanza_field(lines, name).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    };
    let enabled = stanza_field(lines, "Enabled").is_none_or(|value| !matches!(value.as_str(), "no" | "false" | "0" | "off"));
    if !enabled || !words("Types").iter().any(|kind| kind == "deb") {
        return Vec::new();
    }
    let source = |uri| Source {
        uri,
        suites: words("Suites"),
        components: words("Components"),
        signed_by: stanza_field(lines, "Signed-By"),
        trusted: stanza_field(lines, "Trusted"),
    };
    words("URIs").into_iter().map(source).collect()
}

/// The value of a field with the lines that continue it, joined by line ends.
fn stanza_field(lines: &[&str], name: &str) -> Option<String> {
    let value_of = |line: &&str| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    };
    let at = lines.iter().position(|line| value_of(line).is_some())?;
    let more = lines[at + 1..].iter().take_while(|line| line.starts_with([' ', '\t'])).map(|line| line.trim().to_owned());
    Some(lines.get(at).and_then(value_of).into_iter().chain(more).collect::<Vec<_>>().join("\n"))
}

/// Whether an `os-release` file is that of Debian or of something that calls itself like it.
pub(super) fn is_debian_like(os_release: &str) -> bool {
    let names = ["ID", "ID_LIKE"].into_iter().filter_map(|name| field(os_release, name));
    names.flat_map(str::split_whitespace).any(|name| name == "debian")
}

fn field<'a>(os_release: &'a str, name: &str) -> Option<&'a str> {
    let value = os_release.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
    Some(value.trim().trim_matches(['"', '\'']))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn source(uri: &str, suites: &[&str], components: &[&str]) -> Source {
        let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        Source { uri: uri.into(), suites: owned(suites), components: owned(components), signed_by: None, trusted: None }
    }

    #[test]
    fn lines_are_read() {
        let text = "# deb http://old.test/debian bookworm main\n\
            deb http://one.test/debian bookworm main contrib # the mirror\n\
            deb-src http://one.test/debian bookworm main\n\
            deb [ arch=amd64 signed-by=/keys/a.gpg,/keys/b.gpg ] http://two.test/debian bookworm-updates main\n\
            \tdeb\thttp://three.test/debian\tstable\tmain\n\
            deb\n\
            deb [arch=amd64 http://four.test\n\
            debris http://five.test bookworm main\n";
        let mut signed = source("http://two.test/debian", &["bookworm-updates"], &["main"]);
        signed.signed_by = Some("/keys/a.gpg /keys/b.gpg".into());
        assert_eq!(
            parse_list(text),
            [
                source("http://one.test/debian", &["bookworm"], &["main", "contrib"]),
                signed,
                source("http://three.test/debian", &["stable"], &["main"]),
            ]
        );
    }

    #[test]
    fn stanzas_are_read() {
        let text = "# made by the installer\nTypes: deb deb-src\nURIs: http://one.test/debian http://two.test/debian\n\
            Suites: bookworm\n# a comment\n bookworm-updates\ncomponents: main\n\n\n\
            Enabled: no\nTypes: deb\nURIs: http://off.test\nSuites: bookworm\nComponents: main\n\n\
            Types: deb-src\nURIs: http://src.test\nSuites: bookworm\nComponents: main\n";
        assert_eq!(
            parse_deb822(text),
            [
                source("http://one.test/debian", &["bookworm", "bookworm-updates"], &["main"]),
                source("http://two.test/debian", &["bookworm", "bookworm-updates"], &["main"]),
            ]
        );
    }

    #[test]
    fn verification_is_carried_over() {
        let text = "Types: deb\nURIs: http://one.test/debian\nSuites: bookworm\nComponents: main contrib\nTrusted: yes\n\
            Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n";
        let [source] = &parse_deb822(text)[..] else { unreachable!() };
        assert_eq!(
            source.with_suite("trixie"),
            "Types: deb\nURIs: http://one.test/debian\nSuites: trixie\nComponents: main\n\
            Signed-By: \n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\nTrusted: yes\n"
        );
        assert_eq!(parse_deb822(&source.with_suite("trixie"))[0].signed_by, source.signed_by);
    }

    #[test]
    fn mirror_of_the_release_is_chosen() {
        let sources = || {
            vec![
                source("http://vendor.test", &["stable"], &["tools"]),
                source("http://security.test", &["bookworm-security"], &["main"]),
                source("http://first.test", &["sid"], &["main"]),
                source("http://release.test", &["bookworm-updates", "bookworm"], &["main"]),
            ]
        };
        assert_eq!(choose(sources(), "bookworm").unwrap().uri, "http://release.test");
        assert_eq!(choose(sources(), "unknown").unwrap().uri, "http://first.test");
        assert_eq!(choose(sources()[..2].to_vec(), "bookworm"), None);
        assert_eq!(choose(Vec::new(), "bookworm"), None);
    }

    #[test]
    fn files_are_read_in_order_and_by_their_extension() {
        let etc = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = etc.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let stanza = "Types: deb\nURIs: http://b.test\nSuites: bookworm\nComponents: main\n";
        write("sources.list.d/b.sources", stanza);
        write("sources.list.d/c.sources.disabled", &stanza.replace("b.test", "c.test"));
        write("sources.list.d/a.list", "deb http://a.test bookworm main");
        let uris = || read(etc.path()).into_iter().map(|source| source.uri).collect::<Vec<_>>();
        assert_eq!(uris(), ["http://a.test", "http://b.test"]);
        write("sources.list", "deb http://z.test bookworm main");
        assert_eq!(uris(), ["http://z.test", "http://a.test", "http://b.test"]);

        write("os-release", "ID=debian\nVERSION_CODENAME=bookworm\n");
        assert_eq!(mirror(etc.path(), &etc.path().join("os-release")).unwrap().uri, "http://z.test");
        assert_eq!(mirror(&etc.path().join("absent"), &etc.path().join("os-release")), None);
    }

    #[test]
    fn debian_and_its_like_are_recognised() {
        assert!(is_debian_like("NAME=\"Debian GNU/Linux\"\nID=debian\n"));
        assert!(is_debian_like("ID=ubuntu\nID_LIKE=\"something debian\"\n"));
        assert!(!is_debian_like("ID=fedora\nVARIANT_ID=debian\n"));
        assert!(!is_debian_like(""));
    }
}
