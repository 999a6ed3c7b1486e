//! Uses files through the standard library as the parameters of a tool call say (`steps`: lists of a verb, a path and what it needs), and
//! blocks the call with a JSON list of what came of each step.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};

use creel_plugin::prelude::*;
use serde_json::{Value, json};

struct UsesFiles;

#[plugin]
impl Plugin for UsesFiles {
    fn before_tool_call(_: &Call, event: BeforeToolCallEvent, _: ToolContext) -> Result<ToolDecision> {
        let params = event.params_value()?;
        let steps = params["steps"].as_array().into_iter().flatten();
        let outcomes: Vec<Value> = steps.map(|step| outcome(&take(step))).collect();
        Ok(ToolDecision::block(Value::from(outcomes).to_string()))
    }
}

fn outcome(result: &io::Result<Value>) -> Value {
    match result {
        Ok(got) => got.clone(),
        Err(error) => json!({ "refused": format!("{:?}", error.kind()), "why": error.to_string() }),
    }
}

fn take(step: &Value) -> io::Result<Value> {
    let text = |at: usize| step[at].as_str().unwrap_or_default();
    let path = text(1);
    match text(0) {
        "write" => fs::write(path, text(2)).map(|()| json!(true)),
        "fill" => File::create(path)?.write_all(&vec![1; size(&step[2])]).map(|()| json!(true)),
        "append" => OpenOptions::new().append(true).create(true).open(path)?.write_all(text(2).as_bytes()).map(|()| json!(true)),
        "resize" => OpenOptions::new().write(true).open(path)?.set_len(size(&step[2]) as u64).map(|()| json!(true)),
        "read" => fs::read_to_string(path).map(Value::from),
        "list" => {
            let names: io::Result<Vec<String>> =
                fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect();
            names.map(|mut names| {
                names.sort();
                json!(names)
            })
        }
        "make" => fs::create_dir_all(path).map(|()| json!(true)),
        "move" => fs::rename(path, text(2)).map(|()| json!(true)),
        "remove" => fs::remove_file(path).map(|()| json!(true)),
        other => Ok(json!(format!("there is no step `{other}`"))),
    }
}

fn size(value: &Value) -> usize {
    value.as_u64().and_then(|size| usize::try_from(size).ok()).unwrap_or_default()
}
