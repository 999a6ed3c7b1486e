//! What a command of a model can reach of the process that runs it.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Bed, Ended, Staged};

/// Runs the binary without the rights of root, which may read every process.
fn without_rights(bed: &Bed, arguments: &[&str], secret: &str) -> Ended {
    let plain = bed.process(arguments);
    let mut process = match rustix::process::geteuid().is_root() {
        true => {
            let mut process = Command::new("setpriv");
            process.arg("--bounding-set=-all").arg(plain.get_program());
            process
        }
        false => Command::new(plain.get_program()),
    };
    process.args(plain.get_args()).current_dir(bed.work()).env_clear();
    process.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("OPENAI_API_KEY", secret);
    Staged::start(process).end()
}

#[test]
fn a_command_does_not_find_the_keys_of_its_host() {
    let look = "env; for file in environ mem; do cat /proc/$PPID/$file && echo reached; done; cat /proc/$$/environ";
    let bed = Bed::scripted(&json!([
        { "play": [{ "call": { "name": "exec", "arguments": { "command": look } } }] },
        { "play": [{ "text": "I looked." }] },
    ]));
    let ended = without_rights(&bed, &["agent", "--message", "go"], "sk-visible");
    assert_eq!((ended.status.code(), ended.stdout.as_str()), (Some(0), "I looked.\n"), "{}", ended.stderr);
    let rows = bed.transcript("main");
    let result = rows.iter().find(|row| row["message"]["role"] == "toolResult").unwrap();
    let Value::String(told) = &result["message"]["content"][0]["text"] else { panic!("{result}") };
    assert!(!told.contains("sk-visible") && !told.contains("reached"), "{told}");
    for file in ["environ", "mem"] {
        assert!(told.contains(&format!("/{file}: Permission denied")), "{file}: {told}");
    }
    // The command's own environment can be read in the same way, so it was not the look that failed.
    assert!(told.contains("PATH=/usr/bin:/bin\0"), "{told}");
}
