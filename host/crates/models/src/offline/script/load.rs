//! Reading a script. A script is input like any other: what is wrong with it is said with file and place, before anything is played.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use domain::message::{StopReason, Usage};
use domain::model::ModelFailure;
use serde::de::IgnoredAny;
use serde_json::json;

use super::super::player::Step;
use super::super::words;
use super::form::{CallForm, ErrorForm, FileForm, Pieces, StepForm, StopForm, TurnForm, UsageForm};
use super::{End, List, MAIN, Play, Script, Turn};

/// Largest script, in bytes. A script is written by hand.
const MAX_BYTES: u64 = 16 << 20;
/// Deepest nesting of objects and lists. The parser is recursive and has no limit of its own.
const MAX_DEPTH: usize = 128;

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("script `{file}` cannot be read")]
    Read {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// Too large.
    #[error("script `{file}` is larger than {MAX_BYTES} bytes")]
    TooLarge {
        /// The file.
        file: String,
    },
    /// Nested too deeply.
    #[error("script `{file}` nests deeper than {MAX_DEPTH} levels")]
    TooDeep {
        /// The file.
        file: String,
    },
    /// Not JSON5, a missing or unknown key, or a wrong type.
    #[error("script `{file}`: `{path}`: {reason}")]
    Form {
        /// The file.
        file: String,
        /// Key path, for example `turns[1].play[0]`.
        path: String,
        /// What is wrong, with line and column.
        reason: String,
    },
    /// Keys that do not fit together.
    #[error("script `{file}`: `{path}`: {reason}")]
    Turn {
        /// The file.
        file: String,
        /// Key path of the turn or list.
        path: String,
        /// What is wrong.
        reason: String,
    },
}

impl Script {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, or is no script.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let file = path.display().to_string();
        let read = || {
            let mut text = String::new();
            // Opening a pipe would wait for whoever writes into it.
            if !std::fs::metadata(path)?.is_file() {
                return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is not a regular file"));
            }
            File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text).map(|_| text)
        };
        match read() {
            Ok(text) if text.len() as u64 > MAX_BYTES => Err(ScriptError::TooLarge { file }),
            Ok(text) => Self::parse(&file, &text),
            Err(source) => Err(ScriptError::Read { file, source }),
        }
    }

    /// Reads a text; `file` is its name in errors.
    ///
    /// # Errors
    /// When it is no script.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScriptError> {
        let form = parse_form(file, text)?;
        let bad = |path: &str, reason: &str| ScriptError::Turn {
            file: file.to_owned(),
            path: path.to_owned(),
            reason: reason.to_owned(),
        };
        let mut lists = Vec::new();
        if !form.turns.is_empty() {
            lists.push(list(file, MAIN, "turns".to_owned(), form.turns)?);
        }
        for (model, turns) in form.models {
            let key = format!("models.{model}");
            match model.as_str() {
                "" => return Err(bad(&key, "a model needs an id")),
                "echo" => return Err(bad(&key, "`offline/echo` is another model; choose another id")),
                MAIN => return Err(bad(&key, "the turns of `offline/script` belong into `turns`")),
                _ if turns.is_empty() => return Err(bad(&key, "the list has no turn")),
                _ => lists.push(list(file, &model, key, turns)?),
            }
        }
        if lists.is_empty() {
            return Err(bad("turns", "the script has no turn"));
        }
        Ok(Self { file: file.to_owned(), lists })
    }
}

fn parse_form(file: &str, text: &str) -> Result<FileForm, ScriptError> {
    if nests_deeper_than(text, MAX_DEPTH) {
        return Err(ScriptError::TooDeep { file: file.to_owned() });
    }
    let form = |path: String, error: &json5::Error| {
        let path = if path == "." { "the file".to_owned() } else { path };
        ScriptError::Form { file: file.to_owned(), path, reason: error.to_string() }
    };
    let parsed = serde_path_to_error::deserialize(&mut json5::Deserializer::from_str(text));
    let parsed = parsed.map_err(|error| form(error.path().to_string(), error.inner()))?;
    // The deserializer stops behind the first value; this looks at the rest.
    json5::from_str::<IgnoredAny>(text).map_err(|error| form(".".to_owned(), &error))?;
    Ok(parsed)
}

/// Counts brackets outside of texts and comments.
fn nests_deeper_than(text: &str, limit: usize) -> bool {
    let mut chars = text.chars().peekable();
    let mut depth = 0_usize;
    while let Some(c) = chars.next() {
        match c {
            '"' | '\'' => skip_text(&mut chars, c),
            '/' if chars.peek() == Some(&'/') => skip_line(&mut chars),
            '/' if chars.peek() == Some(&'*') => skip_block_comment(&mut chars),
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > limit {
            return true;
        }
    }
    false
}

fn skip_text(chars: &mut impl Iterator<Item = char>, quote: char) {
    while let Some(c) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == quote {
            return;
        }
    }
}

fn skip_line(chars: &mut impl Iterator<Item = char>) {
    chars.find(|c| matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}'));
}

fn skip_block_comment(chars: &mut impl Iterator<Item = char>) {
    // The star of `/*` does not end the comment.
    chars.next();
    let mut after_star = false;
    for c in chars {
        if after_star && c == '/' {
            return;
        }
        after_star = c == '*';
    }
}

fn list(file: &str, model: &str, key: String, forms: Vec<TurnForm>) -> Result<List, ScriptError> {
    let turns = forms.into_iter().enumerate().map(|(number, form)| {
        turn(form).map_err(|reason| ScriptError::Turn { file: file.to_owned(), path: format!("{key}[{number}]"), reason })
    });
    let turns = turns.collect::<Result<_, _>>()?;
    Ok(List { model: model.to_owned(), key, turns, played: AtomicUsize::new(0) })
}

fn turn(form: TurnForm) -> Result<Turn, String> {
    form.expect.validate()?;
    let mut steps = Vec::new();
    let mut failure = None;
    for step in form.play {
        if failure.is_some() {
            return Err("`error` ends the turn: nothing can follow it".to_owned());
        }
        match step {
            StepForm::Text(pieces) => steps.extend(deltas(pieces).map(|text| Play::Step(Step::Text(text)))),
            StepForm::Thinking(pieces) => steps.extend(deltas(pieces).map(|text| Play::Step(Step::Thinking(text)))),
            StepForm::Call(form) => steps.push(call(form)?),
            StepForm::PauseMs(ms) => steps.push(Play::Step(Step::Pause(Duration::from_millis(ms)))),
            StepForm::Error(form) => failure = Some(error(form)),
        }
    }
    let has_calls = steps.iter().any(|step| matches!(step, Play::Call { .. }));
    let end = match failure {
        Some(_) if form.stop_reason.is_some() || form.usage.is_some() => {
            return Err("a turn that ends with `error` has no `stopReason` and no `usage`".to_owned());
        }
        Some(failure) => End::Failed(failure),
        None => End::Done { stop: stop_reason(form.stop_reason, has_calls)?, usage: form.usage.map(usage) },
    };
    Ok(Turn { expect: form.expect, steps, end })
}

fn stop_reason(form: Option<StopForm>, has_calls: bool) -> Result<StopReason, String> {
    match (form, has_calls) {
        (None | Some(StopForm::ToolUse), true) => Ok(StopReason::ToolUse),
        (Some(StopForm::Stop), true) => Err("a turn with a call ends with `toolUse`, or with `length` if it is cut".to_owned()),
        (Some(StopForm::ToolUse), false) => Err("a turn that ends with `toolUse` needs a call".to_owned()),
        (Some(StopForm::Length), _) => Ok(StopReason::Length),
        (None | Some(StopForm::Stop), false) => Ok(StopReason::Stop),
    }
}

fn deltas(pieces: Pieces) -> impl Iterator<Item = String> {
    let pieces = match pieces {
        Pieces::Split(text) => words(&text).map(str::to_owned).collect(),
        Pieces::Exact(pieces) => pieces,
    };
    pieces.into_iter().filter(|piece| !piece.is_empty())
}

fn call(form: CallForm) -> Result<Play, String> {
    if form.name.is_empty() || form.id.as_deref() == Some("") {
        return Err("`call` needs a name, and an id that is not empty if it has one".to_owned());
    }
    Ok(Play::Call { name: form.name, arguments: form.arguments.unwrap_or_else(|| json!({})), id: form.id })
}

fn error(form: ErrorForm) -> ModelFailure {
    let failure = ModelFailure::new(form.class, form.message);
    ModelFailure { status: form.status, connection: form.connection.map(Into::into), ..failure }
}

fn usage(form: UsageForm) -> Usage {
    let parts = [Some(form.input), Some(form.output), form.cache_read, form.cache_write];
    Usage {
        input: Some(form.input),
        output: Some(form.output),
        cache_read: form.cache_read,
        cache_write: form.cache_write,
        total: Some(parts.into_iter().flatten().fold(0, u32::saturating_add)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn fault(text: &str) -> String {
        Script::parse("demo.json5", text).unwrap_err().to_string()
    }

    #[test]
    fn json5_and_json_are_read() {
        let json5 = "// comment\n{turns: [{play: [{text: 'a // [[['}, {pauseMs: 5}],},], models: {fast: [{play: []}]}}";
        let script = Script::parse("demo.json5", json5).unwrap();
        assert_eq!(script.models().collect::<Vec<_>>(), ["script", "fast"]);
        assert!(Script::parse("demo.json", r#"{"turns": [{"play": [{"call": {"name": "read"}}]}]}"#).is_ok());
    }

    #[test]
    fn wrong_keys_and_types_name_file_place_and_line() {
        for (text, wanted) in [
            ("{turns: [{play: []},\n {play: [], extra: 1}]}", "`turns[1].extra`: unknown field `extra`"),
            ("{turns: [\n{play: [{txt: 'a'}]}]}", "unknown variant `txt`"),
            ("{turns: [\n{play: [{text: 5}]}]}", "`turns[0].play[0].text`: expected a text or a list of texts"),
            ("{turns: [\n{play: [{pauseMs: -1}]}]}", "`turns[0].play[0].pauseMs`: "),
            ("{turns: [\n{play: [{error: {class: 'odd', message: 'm'}}]}]}", "unknown variant `odd`"),
            ("{turns: [\n{play: [], expect: {lastUser: {has: 'x'}}}]}", "`turns[0].expect.lastUser.has`: unknown field `has`"),
            ("{turns: [\n{}]}", "missing field `play`"),
            ("{models: {fast: [\n{play: {}}]}}", "`models.fast[0].play`: "),
        ] {
            let fault = fault(text);
            assert!(fault.starts_with("script `demo.json5`: ") && fault.contains(wanted), "{text}: {fault}");
            assert!(fault.contains("line 2"), "{text}: {fault}");
        }
        assert!(fault("{turns: [{play: []}]} {}").contains("trailing characters at line 1"));
        assert!(fault("{turns: [{play: []}").contains("`turns`: EOF parsing array at line 1"));
    }

    #[test]
    fn keys_that_do_not_fit_together_name_the_turn() {
        let call = "{call: {name: 'read'}}";
        let error = "{error: {class: 'timeout', message: 'm'}}";
        for (text, wanted) in [
            (format!("{{turns: [{{play: []}}, {{play: [{error}, {call}]}}]}}"), "`turns[1]`: `error` ends the turn"),
            (format!("{{turns: [{{play: [{error}], stopReason: 'stop'}}]}}"), "`turns[0]`: a turn that ends with `error`"),
            (format!("{{turns: [{{play: [{call}], stopReason: 'stop'}}]}}"), "`turns[0]`: a turn with a call"),
            ("{turns: [{play: [], stopReason: 'toolUse'}]}".to_owned(), "`turns[0]`: a turn that ends with `toolUse`"),
            ("{turns: [{play: [{call: {name: ''}}]}]}".to_owned(), "`turns[0]`: `call` needs a name"),
            ("{turns: [{play: [], expect: {system: {}}}]}".to_owned(), "`expect.system` needs"),
            ("{turns: [{play: [], expect: {anywhere: {excludes: ''}}}]}".to_owned(), "`expect.anywhere` needs"),
            ("{models: {script: [{play: []}]}}".to_owned(), "`models.script`: "),
            ("{models: {echo: [{play: []}]}}".to_owned(), "`models.echo`: "),
            ("{models: {fast: []}}".to_owned(), "`models.fast`: the list has no turn"),
            ("{}".to_owned(), "the script has no turn"),
        ] {
            let fault = fault(&text);
            assert!(fault.contains(wanted), "{text}: {fault}");
        }
    }

    #[test]
    fn hostile_nesting_is_refused_and_quoted_brackets_are_not_counted() {
        let deep = format!("{{turns: [{{play: [{{call: {{name: 'a', arguments: {}", "[".repeat(100_000));
        assert!(fault(&deep).contains("nests deeper"));
        let quoted = format!("{{turns: [{{play: [{{text: '\\'{0}'}}]}}]}} // {0}\n/* {0} */", "[".repeat(1000));
        assert!(Script::parse("demo.json5", &quoted).is_ok());
    }

    #[test]
    fn unreadable_files_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("none.json5");
        assert!(matches!(Script::load(&path), Err(ScriptError::Read { file, .. }) if file.ends_with("none.json5")));
        std::fs::write(&path, b"\xff").unwrap();
        assert!(matches!(Script::load(&path), Err(ScriptError::Read { .. })));
        std::fs::write(&path, " ".repeat((MAX_BYTES + 1) as usize)).unwrap();
        assert!(matches!(Script::load(&path), Err(ScriptError::TooLarge { .. })));
    }
}
