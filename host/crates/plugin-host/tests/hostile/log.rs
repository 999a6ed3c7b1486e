//! Guests that flood the log, and that try to make lines of it look like lines of the host.

use hooks::FaultKind::{Guest, Timeout};
use plugin_host::limits::Limits;

use crate::guest::{answer, block, component, module};
use crate::hostile::Hostile;
use crate::rig::{decide, load, plugin, run};
use crate::wasi::{GET_STDOUT, OUTPUT, STDOUT, STREAMS};

const WRITE: &str = r#"(import "creel:plugin/log@0.1.0" "write" (func $log (param i32 i32 i32 i32 i32)))"#;

/// A line feed and a forged line, an escape sequence, a carriage return, a null, and characters that turn text round.
const FORGED: &str = r#"fine\0aERROR creel: all keys leaked\1b[2J\1b]0;owned\07\0d\00\e2\80\ae end \c2\9b"#;

/// Bytes of it.
const FORGED_BYTES: u32 = 62;

fn logging(body: &str) -> Hostile {
    Hostile::new(body)
        .with(&format!(r#"(data (i32.const 600) "{FORGED}")"#))
        .importing("log", WRITE)
        .importing(STDOUT, GET_STDOUT)
        .importing(STREAMS, OUTPUT)
}

/// Writes one record with the forged text in its message, and in the name and the value of a field.
fn forged_record() -> String {
    format!(
        "(i32.store (i32.const 512) (i32.const 600)) (i32.store (i32.const 516) (i32.const {FORGED_BYTES}))
         (i32.store (i32.const 520) (i32.const 600)) (i32.store (i32.const 524) (i32.const {FORGED_BYTES}))
         (call $log (i32.const 2) (i32.const 600) (i32.const {FORGED_BYTES}) (i32.const 512) (i32.const 1))"
    )
}

/// The log has no line of its own for the forged text.
fn has_no_forged_line(text: &str) {
    assert!(text.contains("all keys leaked"), "the text itself is kept: {text}");
    assert!(text.lines().all(|line| !line.trim_start().starts_with("ERROR creel")), "{text}");
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{9b}', '\0', '\r']), "{text:?}");
}

#[tokio::test]
async fn flood_of_records_without_end() {
    let body = "(loop $again (call $log (i32.const 2) (i32.const 600) (i32.const 4) (i32.const 0) (i32.const 0)) (br $again)) unreachable";
    logging(body).fails(Timeout, "no answer within 150 ms").await;
}

#[tokio::test]
async fn flood_of_printed_bytes_without_end() {
    let body = "(local.set $i (call $stdout))
        (loop $again (call $write (local.get $i) (i32.const 4096) (i32.const 4000) (i32.const 2048)) (br $again)) unreachable";
    logging(body).fails(Timeout, "no answer within 150 ms").await;
}

#[tokio::test]
async fn flood_from_many_calls() {
    // Each call keeps to its own budget; all together do not, and the plugin is told of once.
    let body = format!(
        "(loop $more
            (call $log (i32.const 2) (i32.const 4096) (i32.const 1000) (i32.const 0) (i32.const 0))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $more (i32.lt_u (local.get $i) (i32.const 60))))
         {}",
        answer(&[])
    );
    let limits = Limits { log_bytes_per_minute: 200_000, ..Limits::default() };
    let trial = logging(&body).limited(limits).tried().await;
    for id in 0..50 {
        assert_eq!(trial.ask_the_gate_in(&run(&id.to_string())).await, Ok(None));
    }
    let text = trial.log.text();
    // Each null of the text is written as six characters.
    assert!(text.len() < 6 * 200_000 + 10_000, "{} bytes of log", text.len());
    assert_eq!(text.matches("the plugin wrote more to the log than it may").count(), 1);
}

#[tokio::test]
async fn record_of_megabytes() {
    let body = format!(
        "(drop (memory.grow (i32.const 100)))
         (memory.fill (i32.const 131072) (i32.const 97) (i32.const 6000000))
         (call $log (i32.const 2) (i32.const 131072) (i32.const 6000000) (i32.const 0) (i32.const 0)) {}",
        answer(&[])
    );
    let trial = logging(&body).tried().await;
    assert_eq!(trial.ask_the_gate().await, Ok(None));
    assert!(trial.log.text().lines().all(|line| line.len() < 1300), "{}", trial.log.text().len());
    trial.is_as_before();
}

#[tokio::test]
async fn record_with_ten_thousand_fields() {
    let body = format!(
        "(drop (memory.grow (i32.const 4)))
         (call $log (i32.const 2) (i32.const 600) (i32.const 4) (i32.const 131072) (i32.const 10000)) {}",
        answer(&[])
    );
    let trial = logging(&body).tried().await;
    assert_eq!(trial.ask_the_gate().await, Ok(None));
    assert!(trial.log.text().lines().all(|line| line.len() < 1300), "{}", trial.log.text());
    trial.is_as_before();
}

#[tokio::test]
async fn forged_line_in_a_record() {
    let trial = logging(&format!("{} {}", forged_record(), answer(&[]))).tried().await;
    assert_eq!(trial.ask_the_gate().await, Ok(None));
    has_no_forged_line(&trial.log.text());
    assert_eq!(trial.log.text().lines().count(), 1, "{}", trial.log.text());
    trial.is_as_before();
}

#[tokio::test]
async fn forged_line_in_what_is_printed() {
    // A line feed of a stream begins a new record, which carries the plugin's name as every one does.
    let body =
        format!("(call $write (call $stdout) (i32.const 600) (i32.const {FORGED_BYTES}) (i32.const 2048)) {}", answer(&[]));
    let trial = logging(&body).tried().await;
    assert_eq!(trial.ask_the_gate().await, Ok(None));
    let text = trial.log.text();
    has_no_forged_line(&text);
    assert!(text.lines().all(|line| line.contains(" plugin: ") && line.contains("plugin=hostile")), "{text}");
    trial.is_as_before();
}

#[tokio::test]
async fn forged_line_in_an_error() {
    let length = format!("(i32.const {FORGED_BYTES})");
    let body = answer(&[(0, "(i32.const 1)"), (4, "(i32.const 600)"), (8, &length)]);
    let trial = logging(&body).tried().await;
    let fault = trial.ask_the_gate().await.unwrap_err();
    assert_eq!(fault.kind(), Guest);
    has_no_forged_line(&trial.log.text());
    has_no_forged_line(&format!(" WARN {fault}"));
    trial.names_it_in_one_line("before_tool_call");
    trial.is_as_before();
}

#[tokio::test]
async fn forged_line_in_what_was_printed_before_a_trap() {
    let body = format!("(call $write (call $stdout) (i32.const 600) (i32.const {FORGED_BYTES}) (i32.const 2048)) unreachable");
    let trial = logging(&body).tried().await;
    let fault = trial.ask_the_gate().await.unwrap_err();
    assert!(fault.text().contains("it printed last: "), "{fault}");
    has_no_forged_line(&trial.log.text());
    trial.names_it_in_one_line("before_tool_call");
    trial.is_as_before();
}

#[tokio::test]
async fn forged_line_in_the_reason_of_a_block() {
    // The reason is data for the model, kept as it is; the log has one line about it.
    let body = block("(i32.const 600)", &format!("(i32.const {FORGED_BYTES})"));
    let trial = logging(&body).gate_only().tried().await;
    let watched = crate::logs::Captured::default();
    let _guard = tracing::subscriber::set_default(watched.subscriber());
    let decision = decide(&trial.dispatcher, &run("r")).await.unwrap();
    assert!(decision.block_reason.unwrap().contains("all keys leaked"));
    let decided = watched.text().lines().filter(|line| line.contains("handler called")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(decided.len(), 1, "{decided:?}");
    has_no_forged_line(&watched.text());
}

#[tokio::test]
async fn forged_line_in_the_name_of_a_tool() {
    let length = FORGED_BYTES;
    let core = module(&format!(
        r#"(data (i32.const 600) "{FORGED}")
           (func (export "creel:plugin/tools@0.1.0#list-tools") (param i32) (result i32)
                (i32.store (i32.const 4096) (i32.const 600)) (i32.store (i32.const 4100) (i32.const {length}))
                (i32.store (i32.const 1028) (i32.const 4096)) (i32.store (i32.const 1032) (i32.const 1))
                (i32.const 1024))
           (func (export "creel:plugin/tools@0.1.0#execute") (param i32) (result i32) unreachable)"#
    ));
    let loaded = load(vec![plugin("hostile", component("export creel:plugin/tools@0.1.0;", &core))]).await;
    assert!(loaded.tools.is_empty());
    let [told] = &*loaded.diagnostics else { panic!("{:?}", loaded.diagnostics) };
    has_no_forged_line(&told.text);
    assert!(!told.text.contains('\n') && told.text.len() < 400, "{told:?}");
}
