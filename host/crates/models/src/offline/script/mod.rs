//! `offline/script` and its lists: play a file of model turns, and check every request on the way. `SCRIPT.md` of this crate
//! describes the file.

mod check;
mod expect;
mod form;
mod load;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use domain::cancel::Cancel;
use domain::message::{StopReason, ToolCallBlock, Usage};
use domain::model::{FailureClass, ModelClient, ModelEvent, ModelFailure, ModelRequest};
use domain::ports::Clock;
use futures_util::stream::BoxStream;

use self::check::check_request;
use self::expect::Expect;
pub use self::load::ScriptError;
use super::player::{Ending, Player, Step};
use super::{API, TRANSPORT, estimate_usage};
use crate::call_ids::CallIds;
use crate::draft::Draft;

/// Id of the model that plays `turns`.
pub(crate) const MAIN: &str = "script";

/// A script that was read and found good.
#[derive(Debug)]
pub struct Script {
    file: String,
    lists: Vec<List>,
}

/// The turns of one model.
#[derive(Debug)]
struct List {
    /// Id of the model.
    model: String,
    /// Key of the list in the file.
    key: String,
    turns: Vec<Turn>,
    played: AtomicUsize,
}

/// One answer, and what its request must look like.
#[derive(Debug)]
struct Turn {
    expect: Expect,
    steps: Vec<Play>,
    end: End,
}

/// A step as the file has it: calls may lack an id, which depends on the history.
#[derive(Debug)]
enum Play {
    Step(Step),
    Call { name: String, arguments: serde_json::Value, id: Option<String> },
}

#[derive(Debug)]
enum End {
    Done {
        stop: StopReason,
        /// None: an estimate.
        usage: Option<Usage>,
    },
    Failed(ModelFailure),
}

impl Script {
    /// Ids of the models that it plays.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        self.lists.iter().map(|list| list.model.as_str())
    }
}

/// Plays the lists of one script. Each list is consumed in order by all sessions together.
pub(crate) struct ScriptModel {
    script: Script,
    clock: Arc<dyn Clock>,
}

impl ScriptModel {
    /// Plays a script from its beginning.
    pub(crate) fn new(script: Script, clock: Arc<dyn Clock>) -> Self {
        Self { script, clock }
    }

    /// The script.
    pub(crate) fn script(&self) -> &Script {
        &self.script
    }

    /// Takes the next turn of the model's list and checks the request against it. A turn whose check fails is taken all the same.
    fn take(&self, request: &ModelRequest) -> Result<(&List, usize, &Turn), ModelFailure> {
        let file = &self.script.file;
        let refuse = |what: String| ModelFailure::new(FailureClass::Format, format!("script `{file}`: {what}"));
        let list = self.script.lists.iter().find(|list| list.model == request.model.model);
        let list = list.ok_or_else(|| refuse(format!("there is no list for model `{}`", request.model)))?;
        let number = list.played.fetch_add(1, Ordering::SeqCst);
        let key = &list.key;
        let turn = list.turns.get(number).ok_or_else(|| {
            let (count, asked) = (list.turns.len(), number.saturating_add(1));
            refuse(format!("`{key}` is used up: it has {count} turns, and this is request {asked}; add a turn"))
        })?;
        check_request(request).map_err(|fault| refuse(format!("the request for `{key}[{number}]` is malformed: {fault}")))?;
        turn.expect.check(request).map_err(|what| refuse(format!("`{key}[{number}]` expects {what}")))?;
        Ok((list, number, turn))
    }
}

impl Turn {
    fn steps(&self, prefix: &str, request: &ModelRequest) -> Vec<Step> {
        let mut ids = CallIds::of(&request.messages);
        let mut count = 0;
        let step = |play: &Play| match play {
            Play::Step(step) => step.clone(),
            Play::Call { name, arguments, id } => {
                count += 1;
                let id = id.as_deref().map_or_else(|| ids.claim(&format!("{prefix}-{count}")), domain::CallId::new);
                let (name, arguments) = (name.clone(), arguments.clone());
                Step::Call(ToolCallBlock { id, name, arguments, extra: serde_json::Map::new() })
            }
        };
        self.steps.iter().map(step).collect()
    }

    fn ending(&self, request: &ModelRequest) -> Ending {
        match &self.end {
            End::Failed(failure) => Ending::Failed(failure.clone()),
            End::Done { stop, usage } => Ending::Done(*stop, usage.unwrap_or_else(|| estimate_usage(request, self.text_chars()))),
        }
    }

    fn text_chars(&self) -> usize {
        let chars = |play: &Play| match play {
            Play::Step(Step::Text(text) | Step::Thinking(text)) => text.chars().count(),
            _ => 0,
        };
        self.steps.iter().map(chars).sum()
    }
}

#[async_trait]
impl ModelClient for ScriptModel {
    fn api(&self) -> &str {
        API
    }

    fn transport(&self) -> &str {
        TRANSPORT
    }

    async fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        let draft = Draft::new(API, &request.model, self.clock.now_ms());
        let (steps, ending) = match self.take(&request) {
            Ok((list, number, turn)) => {
                let prefix = format!("{}-{}", list.model, number.saturating_add(1));
                (turn.steps(&prefix, &request), turn.ending(&request))
            }
            Err(failure) => (Vec::new(), Ending::Failed(failure)),
        };
        Player::new(draft, steps, ending, cancel).into_stream()
    }
}
