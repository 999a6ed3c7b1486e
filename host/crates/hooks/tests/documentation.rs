//! `docs/hooks.md` says of each hook what the catalogue says. The table is made here: on a difference the test prints it as it should be.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use hooks::catalogue::{CATALOGUE, Gate, HookRow};
use hooks::context::{
    AgentContext, GatewayContext, InstallContext, MessageContext, SessionContext, ToolContext, TranscriptContext,
};
use hooks::fields::{Field, Fields};
use hooks::{FailurePolicy, Kind};

fn row(row: &HookRow) -> String {
    let kind = match row.kind {
        Kind::Modify => "modify",
        Kind::Gate => "gate",
        Kind::Claim => "claim",
        Kind::Observe => "observe",
        Kind::Sync => "sync",
    };
    let budget = match (row.budget, row.kind) {
        (Some(budget), _) => format!("{} s", budget.as_secs()),
        (None, Kind::Sync) => "1 s".to_owned(),
        (None, _) => "none".to_owned(),
    };
    let failure = match (row.policy, row.kind) {
        (FailurePolicy::Closed, _) => "**blocks**",
        (FailurePolicy::OpenOrPlaceholder, _) => "skipped; placeholder if required",
        (FailurePolicy::Open, Kind::Claim) => "next handler",
        (FailurePolicy::Open, Kind::Observe) => "logged",
        (FailurePolicy::Open, _) => "skipped",
    };
    let access = match row.gate {
        Gate::Free => "—",
        Gate::Conversation => "conversation",
        Gate::ConversationAndPrompt => "conversation, prompt",
        Gate::ConversationPromptStripped => "conversation; prompt fields",
    };
    format!("| `{}` | {kind} | {budget} | {failure} | {access} |", row.name)
}

#[test]
fn the_table_of_hooks_is_the_catalogue() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/hooks.md");
    let text = std::fs::read_to_string(path).unwrap();
    let documented: Vec<&str> = text.lines().filter(|line| line.starts_with("| `")).collect();
    let expected: Vec<String> = CATALOGUE.iter().map(row).collect();
    if documented != expected {
        panic!("the table in docs/hooks.md should be:\n{}", expected.join("\n"));
    }
}

/// Names of fields; what always stays is in bold.
fn names(fields: &[Field]) -> String {
    let name = |field: &Field| if field.always { format!("**`{}`**", field.name) } else { format!("`{}`", field.name) };
    fields.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// The contexts by name.
const CONTEXTS: [(&str, &[Field]); 7] = [
    ("agent context", AgentContext::FIELDS),
    ("tool context", ToolContext::FIELDS),
    ("message context", MessageContext::FIELDS),
    ("session context", SessionContext::FIELDS),
    ("transcript context", TranscriptContext::FIELDS),
    ("gateway context", GatewayContext::FIELDS),
    ("install context", InstallContext::FIELDS),
];

/// The fields of an event, and the context that goes with it.
fn fields(row: &HookRow) -> String {
    let (event, context) = row.id.fields();
    let (context, _) = CONTEXTS.into_iter().find(|(_, fields)| *fields == context).unwrap();
    format!("- `{}`: {}; {context}", row.name, names(event))
}

#[test]
fn the_list_of_fields_is_that_of_the_events() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/hooks.md")).unwrap();
    let list = text.split_once("## Fields").unwrap().1;
    let documented: Vec<&str> = list.lines().filter(|line| line.starts_with("- ")).collect();
    let contexts = CONTEXTS.into_iter().map(|(name, fields)| format!("- {name}: {}", names(fields)));
    let expected: Vec<String> = CATALOGUE.iter().map(fields).chain(contexts).collect();
    if documented != expected {
        panic!("the list of fields in docs/hooks.md should be:\n{}", expected.join("\n"));
    }
}
