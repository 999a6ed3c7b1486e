//! `hooks` of a manifest: one handler per entry, with the options of plugin-hooks 1.1. An option that belongs to another hook is
//! ignored, an entry for a hook that does not exist is left out; each says so in a diagnostic.

use hooks::{FieldSet, HandlerOptions, HookId};
use serde_json::Value;

use super::error::ManifestError;
use super::object::Object;
use super::shape::HookShape;

/// Most handlers of one plugin: several for each hook, and few enough that a dispatch stays short.
pub const MAX_HANDLERS: usize = 128;

/// Longest handler name, in bytes. It travels with every call.
const MAX_HANDLER_NAME_BYTES: usize = 128;

/// Triggers that `eligibleTriggers` may name.
const TRIGGERS: &[&str] = &["cron", "heartbeat", "user"];

/// One handler.
#[derive(Debug, Clone, PartialEq)]
pub struct HandlerEntry {
    /// The hook.
    pub hook: HookId,
    /// Name that the guest gets with each call; empty: the entry has none.
    pub handler_name: String,
    /// Options.
    pub options: HandlerOptions,
}

impl HandlerEntry {
    /// What an exported hook without an entry is: one registration with the defaults.
    pub fn with_defaults(hook: HookId) -> Self {
        Self { hook, handler_name: String::new(), options: HandlerOptions::default() }
    }
}

/// Reads the entries in their order.
pub(super) fn read(
    entries: Vec<Object<HookShape>>,
    place: &str,
    diagnostics: &mut Vec<String>,
) -> Result<Vec<HandlerEntry>, ManifestError> {
    if entries.len() > MAX_HANDLERS {
        return Err(ManifestError::TooManyHandlers { place: place.to_owned(), count: entries.len() });
    }
    let mut handlers = Vec::with_capacity(entries.len());
    for (index, Object(entry)) in entries.into_iter().enumerate() {
        let Some(hook) = HookId::from_name(&entry.hook) else {
            diagnostics.push(unknown_hook(&entry.hook));
            continue;
        };
        let handler_name = handler_name(entry.handler.as_deref().unwrap_or_default(), index, place)?;
        let fields = entry.fields.as_ref().map(|names| fields(hook, names, index, place)).transpose()?;
        let mut reader = OptionReader { hook, index, diagnostics: &mut *diagnostics };
        handlers.push(HandlerEntry { hook, handler_name, options: HandlerOptions { fields, ..reader.options(entry) } });
    }
    Ok(handlers)
}

/// The sentence about a hook that does not exist.
fn unknown_hook(name: &str) -> String {
    let shown: String = name.chars().take(64).collect();
    format!("names the hook {shown:?}, which does not exist; the nearest is `{}`. The entry is ignored", HookId::nearest(name))
}

fn handler_name(name: &str, index: usize, place: &str) -> Result<String, ManifestError> {
    if name.len() > MAX_HANDLER_NAME_BYTES || name.chars().any(char::is_control) {
        let problem =
            format!("`hooks[{index}].handler`: expected at most {MAX_HANDLER_NAME_BYTES} bytes without control characters");
        return Err(ManifestError::shape(place, &problem));
    }
    Ok(name.to_owned())
}

/// A list that holds a name that is no field is refused: passing over it would withhold what the plugin needs.
fn fields(hook: HookId, names: &[String], index: usize, place: &str) -> Result<FieldSet, ManifestError> {
    FieldSet::parse(hook, names).map_err(|unknown| {
        let problem = format!("`hooks[{index}].fields`: {unknown}");
        ManifestError::shape(place, &problem)
    })
}

/// Reads the options of one entry.
struct OptionReader<'a> {
    hook: HookId,
    index: usize,
    diagnostics: &'a mut Vec<String>,
}

impl OptionReader<'_> {
    fn options(&mut self, entry: HookShape) -> HandlerOptions {
        let tool_hook = [HookId::BeforeToolCall, HookId::AfterToolCall];
        HandlerOptions {
            priority: entry.priority.unwrap_or_default(),
            timeout_ms: entry.timeout_ms.and_then(|ms| self.timeout(ms)),
            matcher: self.of_hooks("matcher", entry.matcher, &tool_hook),
            eligible_triggers: self
                .of_hooks("eligibleTriggers", entry.eligible_triggers, &[HookId::BeforeAgentReply])
                .and_then(|value| self.triggers(&value)),
            requires_tool_authority: self
                .of_hooks("requiresToolAuthority", entry.requires_tool_authority, &[HookId::BeforePromptBuild])
                .unwrap_or(false),
            strip_prompt_fields: false,
            fields: None,
        }
    }

    /// Drops an option that belongs to other hooks.
    fn of_hooks<T>(&mut self, option: &str, value: Option<T>, owners: &[HookId]) -> Option<T> {
        if value.is_some() && !owners.contains(&self.hook) {
            let owners: Vec<&str> = owners.iter().map(|hook| hook.name()).collect();
            self.say(&format!("`{option}` is ignored: it belongs to {}, not to {}", owners.join(" and "), self.hook));
            return None;
        }
        value
    }

    /// A budget that is not a positive number counts as absent; a fraction of a millisecond is rounded up.
    fn timeout(&mut self, ms: f64) -> Option<u64> {
        if ms > 0.0 && ms.is_finite() {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and finite; `as` saturates")]
            return Some(ms.ceil() as u64);
        }
        self.say("`timeoutMs` is ignored: it is not a positive number of milliseconds");
        None
    }

    /// A list that holds anything but known triggers counts as unrestricted.
    fn triggers(&mut self, value: &Value) -> Option<Vec<String>> {
        let known = |value: &Value| value.as_str().filter(|name| TRIGGERS.contains(name)).map(str::to_owned);
        let triggers = value.as_array().filter(|list| !list.is_empty()).and_then(|list| list.iter().map(known).collect());
        if triggers.is_none() {
            self.say(&format!("`eligibleTriggers` is ignored: expected a list of {}", TRIGGERS.join(", ")));
        }
        triggers
    }

    fn say(&mut self, problem: &str) {
        self.diagnostics.push(format!("hooks[{}]: {problem}", self.index));
    }
}
