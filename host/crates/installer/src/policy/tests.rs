//! The policy with real commands: what is sent, what counts as an answer, and that everything else blocks.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::*;
use crate::material::Mode;
use crate::stage::{Source, SourceKind};

struct Bed {
    dir: tempfile::TempDir,
}

impl Bed {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> std::path::PathBuf {
        fs::canonicalize(self.dir.path()).unwrap()
    }

    /// A policy whose command is a shell script. It gets the whole request on standard input.
    fn policy(&self, script: &str) -> InstallPolicy {
        let command = self.path().join("policy");
        write_program(&command, &format!("#!/bin/sh\n{script}\n"));
        let exec = PolicyCommand {
            command,
            args: vec!["one".to_owned()],
            env: BTreeMap::from([("GIVEN".to_owned(), "value".to_owned())]),
            trusted_dirs: Vec::new(),
            timeout: Duration::from_secs(60),
            no_output_timeout: Duration::from_secs(60),
            max_output_bytes: 1 << 20,
        };
        InstallPolicy { targets: Vec::new(), exec: Some(exec) }
    }

    fn answering(&self, answer: &Value) -> InstallPolicy {
        fs::write(self.path().join("answer"), answer.to_string()).unwrap();
        self.policy(&format!("/bin/cat {}", self.path().join("answer").display()))
    }
}

/// Writes a program that can be started at once. Another process writes it: a child that another test forks meanwhile would keep our
/// descriptor open for a moment, and a file that is open for writing is not started (`ETXTBSY`).
fn write_program(path: &Path, text: &str) {
    let mut writer =
        Command::new("/bin/sh").args(["-c", r#"cat > "$0" && chmod 700 "$0""#]).arg(path).stdin(Stdio::piped()).spawn().unwrap();
    writer.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
}

fn skill(staged: &Path) -> Material {
    let source = Source { path: "/from/here".into(), kind: SourceKind::Directory };
    Material::of_skill("weather", "files", staged, &source, Mode::Install)
}

async fn ask(policy: &InstallPolicy) -> Result<PolicyPass, PolicyRefusal> {
    policy.ask(&skill(Path::new("/")), "1.2.3", &[]).await
}

async fn failure(policy: &InstallPolicy) -> String {
    let refusal = ask(policy).await.unwrap_err();
    assert_eq!(refusal.code(), "security_scan_failed", "{refusal}");
    refusal.to_string()
}

#[tokio::test]
async fn it_gets_the_request_and_nothing_else() {
    let bed = Bed::new();
    let seen = bed.path();
    let script = format!(
        "cat > {0}/request; /usr/bin/env > {0}/env; echo \"$@\" > {0}/args; pwd > {0}/pwd\n\
         echo '{{\"protocolVersion\":1,\"decision\":\"allow\"}}'",
        seen.display()
    );
    assert_eq!(ask(&bed.policy(&script)).await, Ok(PolicyPass::default()));
    let read = |name: &str| fs::read_to_string(seen.join(name)).unwrap();
    let request: Value = serde_json::from_str(&read("request")).unwrap();
    assert_eq!(
        request,
        json!({
            "protocolVersion": 1, "openclawVersion": "1.2.3", "targetType": "skill", "targetName": "weather",
            "sourcePath": "/", "sourcePathKind": "directory",
            "source": { "kind": "local-path", "authority": "user", "mutable": true, "network": false },
            "origin": { "type": "local-path", "path": "/from/here" },
            "request": { "kind": "skill-install", "mode": "install" },
            "skill": { "installId": "files" },
        })
    );
    let mut names: Vec<String> = read("env").lines().map(|line| line.split('=').next().unwrap().to_owned()).collect();
    // What a shell sets by itself.
    names.retain(|name| !["PWD", "SHLVL", "_", "OLDPWD"].contains(&name.as_str()));
    assert_eq!(names, ["GIVEN"]);
    assert_eq!((read("args").as_str(), read("pwd").as_str()), ("one\n", "/\n"));
}

#[tokio::test]
async fn each_decision_counts() {
    let bed = Bed::new();
    let finding = json!({ "ruleId": "r", "severity": "warn", "message": "m", "file": "f", "line": 3 });
    let answer = |decision: &str| json!({ "protocolVersion": 1, "decision": decision, "reason": " why ", "findings": [finding] });
    let passed = ask(&bed.answering(&answer("allow"))).await.unwrap();
    assert_eq!((passed.findings.len(), passed.warned), (1, None));
    let blocked = ask(&bed.answering(&answer("block"))).await.unwrap_err();
    assert_eq!((blocked.code(), blocked.findings().len()), ("security_scan_blocked", 1));
    assert!(blocked.to_string().ends_with(": why"), "{blocked}");

    let policy = bed.answering(&answer("warn"));
    let refusal = ask(&policy).await.unwrap_err();
    let PolicyRefusal::Unacknowledged { warning, .. } = &refusal else { panic!("{refusal}") };
    assert_eq!(refusal.code(), "security_scan_blocked");
    let acknowledged = [warning.fingerprint.clone()];
    let passed = policy.ask(&skill(Path::new("/")), "1", &acknowledged).await.unwrap();
    assert_eq!(passed.warned.as_deref(), Some("why"));
    // The acknowledgement is for exactly this reason with these findings.
    for (key, value) in [("reason", json!("other")), ("findings", json!([])), ("findings", json!([finding, finding]))] {
        let mut other = answer("warn");
        other[key] = value;
        assert!(bed.answering(&other).ask(&skill(Path::new("/")), "1", &acknowledged).await.is_err(), "{other}");
    }
}

#[tokio::test]
async fn targets_bound_what_is_asked_about() {
    let bed = Bed::new();
    let block = json!({ "protocolVersion": 1, "decision": "block", "reason": "no" });
    let of = |targets| InstallPolicy { targets, ..bed.answering(&block) };
    assert!(ask(&of(vec![TargetType::Plugin])).await.is_ok());
    assert!(ask(&of(vec![TargetType::Plugin, TargetType::Skill])).await.is_err());
    assert!(ask(&InstallPolicy { targets: vec![TargetType::Plugin], exec: None }).await.is_ok());
    assert!(failure(&InstallPolicy::default()).await.contains("has no command"));
}

#[tokio::test]
async fn an_answer_that_is_none_blocks() {
    let bed = Bed::new();
    let warn = |findings: usize| {
        let one = json!({ "ruleId": "r", "severity": "info", "message": "m" });
        json!({ "protocolVersion": 1, "decision": "warn", "reason": "why", "findings": vec![one; findings] })
    };
    for (answer, why) in [
        (json!({ "protocolVersion": 2, "decision": "allow" }), "protocolVersion"),
        (json!({ "protocolVersion": "1", "decision": "allow" }), "protocolVersion"),
        (json!({ "decision": "allow" }), "protocolVersion"),
        (json!({ "protocolVersion": 1 }), "decision"),
        (json!({ "protocolVersion": 1, "decision": "ALLOW" }), "decision"),
        (json!({ "protocolVersion": 1, "decision": true }), "decision"),
        (json!({ "protocolVersion": 1, "decision": "block" }), "without a reason"),
        (json!({ "protocolVersion": 1, "decision": "warn", "reason": "  " }), "without a reason"),
        (json!([{ "protocolVersion": 1, "decision": "allow" }]), "not an object"),
        (warn(101), "more than 100 findings"),
    ] {
        let told = failure(&bed.answering(&answer)).await;
        assert!(told.contains(why), "{answer}: {told}");
    }
    assert!(matches!(ask(&bed.answering(&warn(100))).await, Err(PolicyRefusal::Unacknowledged { .. })));
    for (script, why) in [
        ("true", "nothing"),
        ("echo ' '", "nothing"),
        ("echo yes", "not JSON"),
        ("echo '{\"protocolVersion\":1,\"decision\":\"allow\"} and more'", "not JSON"),
        ("echo '{\"protocolVersion\":1,\"decision\":\"allow\"}'; echo oh >&2; exit 3", "exit status: 3: oh"),
        ("echo '{\"protocolVersion\":1,\"decision\":\"allow\"}'; kill -9 $$", "signal"),
    ] {
        let told = failure(&bed.policy(script)).await;
        assert!(told.contains(why), "{script}: {told}");
    }
}

#[tokio::test]
async fn long_reasons_are_cut_and_bad_findings_dropped() {
    let bed = Bed::new();
    let good = json!({ "ruleId": "r", "severity": "critical", "message": "m" });
    let bad = [
        json!({ "ruleId": "", "severity": "warn", "message": "m" }),
        json!({ "ruleId": "r", "severity": "fatal", "message": "m" }),
        json!({ "ruleId": "r", "severity": "warn" }),
        json!({ "ruleId": "r", "severity": "warn", "message": "m", "line": -1 }),
        json!("text"),
    ];
    let findings: Vec<&Value> = bad.iter().chain([&good]).collect();
    let answer = json!({ "protocolVersion": 1, "decision": "block", "reason": "ä".repeat(1_200), "findings": findings });
    let PolicyRefusal::Blocked { reason, findings, .. } = ask(&bed.answering(&answer)).await.unwrap_err() else {
        panic!("blocked")
    };
    assert_eq!(reason.chars().count(), 1_000);
    assert_eq!(findings.len(), 1);
}

#[tokio::test]
async fn every_limit_of_the_process_bites() {
    let bed = Bed::new();
    let limited = |script: &str, change: &dyn Fn(&mut PolicyCommand)| {
        let mut policy = bed.policy(script);
        change(policy.exec.as_mut().unwrap());
        policy
    };
    // `sleep` would be ended by the limit and by nothing else in time.
    let hangs = "echo '{'; exec /bin/sleep 600";
    let slow = limited(hangs, &|exec| exec.timeout = Duration::from_millis(200));
    assert!(failure(&slow).await.contains("longer than 200 ms"));
    let silent = limited(hangs, &|exec| exec.no_output_timeout = Duration::from_millis(200));
    assert!(failure(&silent).await.contains("nothing for 200 ms"));
    let flood = limited("while :; do echo flood; done", &|exec| exec.max_output_bytes = 1_000);
    assert!(failure(&flood).await.contains("more than 1000 bytes"));
    let flood = limited("while :; do echo flood >&2; done", &|exec| exec.max_output_bytes = 1_000);
    assert!(failure(&flood).await.contains("more than 1000 bytes"));
    let outside = limited("true", &|exec| exec.trusted_dirs = vec!["/nowhere".into()]);
    assert!(failure(&outside).await.contains("trustedDirs"));
    let missing = limited("true", &|exec| exec.command = "/nowhere/policy".into());
    assert!(failure(&missing).await.contains("cannot be used"));
}

#[tokio::test]
async fn what_the_command_left_running_ends_with_it() {
    let bed = Bed::new();
    let pipe = bed.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let script = format!("/bin/sleep 600 >{} 2>&1 & echo '{{\"protocolVersion\":1,\"decision\":\"allow\"}}'", pipe.display());
    // The pipe ends when the last process that holds it does.
    let ended = tokio::task::spawn_blocking(move || fs::read(pipe));
    assert!(ask(&bed.policy(&script)).await.is_ok());
    assert_eq!(ended.await.unwrap().unwrap(), b"");
}

#[tokio::test]
async fn a_request_that_is_too_long_is_not_sent() {
    let bed = Bed::new();
    let policy = bed.policy(&format!("touch {}/called", bed.path().display()));
    let mut material = skill(Path::new("/"));
    material.specifier = Some("x".repeat(MAX_REQUEST_BYTES));
    let refusal = policy.ask(&material, "1", &[]).await.unwrap_err();
    assert_eq!(refusal.code(), "security_scan_failed");
    assert!(!bed.path().join("called").exists());
}

#[tokio::test]
async fn a_command_that_reads_nothing_still_decides() {
    let bed = Bed::new();
    let policy = bed.policy("exec </dev/null; echo '{\"protocolVersion\":1,\"decision\":\"allow\"}'");
    let mut material = skill(Path::new("/"));
    material.specifier = Some("x".repeat(200_000));
    assert!(policy.ask(&material, "1", &[]).await.is_ok());
}
