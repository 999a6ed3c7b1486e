//! Rules: when they apply and what they want. Read from the settings, patterns compiled once.

use crate::builtin;
use creel_plugin::ApprovalSeverity;
use creel_plugin::serde_json::{Map, Value};
use regex_lite::{NoExpand, Regex};
use serde::Deserialize;
use std::borrow::Cow;

/// The operator's rules and, behind them, the built-in ones.
#[derive(Deserialize)]
#[serde(try_from = "Settings")]
pub(crate) struct Rules(Vec<Rule>);

impl Rules {
    /// The rules for a tool, in order.
    pub(crate) fn for_tool<'a>(&'a self, tool: &'a str) -> impl Iterator<Item = &'a Rule> {
        self.0.iter().filter(move |rule| rule.tool == "*" || rule.tool == tool)
    }
}

/// One rule.
pub(crate) struct Rule {
    tool: String,
    param: Option<String>,
    test: Test,
    pub(crate) action: Action,
    pub(crate) reason: String,
}

/// What a rule wants when it applies.
pub(crate) enum Action {
    /// Look no further.
    Allow,
    /// Ask a person.
    Ask(ApprovalSeverity),
    /// Refuse the call.
    Block,
    /// Put this in place of each match.
    Rewrite(String),
}

/// When a rule applies to a text.
enum Test {
    Always,
    Contains(String),
    Pattern(Regex),
}

impl Rule {
    /// A rule for the command of `exec`; `None` if the pattern is not valid.
    pub(crate) fn for_command(pattern: &str, action: Action, reason: &str) -> Option<Self> {
        Some(Self {
            tool: "exec".to_owned(),
            param: Some("command".to_owned()),
            test: Test::Pattern(Regex::new(pattern).ok()?),
            action,
            reason: reason.to_owned(),
        })
    }

    /// Whether the rule applies to these parameters.
    pub(crate) fn applies(&self, params: &Map<String, Value>) -> bool {
        match (&self.test, &self.param) {
            (Test::Always, _) => true,
            (test, Some(param)) => params.get(param).is_some_and(|value| test.finds(value)),
            (test, None) => params.values().any(|value| test.finds(value)),
        }
    }

    /// The parameter that a rewrite changes, and its new text. None: it is not there, not a text, or stays as it is.
    pub(crate) fn rewritten(&self, replacement: &str, params: &Map<String, Value>) -> Option<(&str, String)> {
        let param = self.param.as_deref()?;
        let old = params.get(param)?.as_str()?;
        let new = match &self.test {
            Test::Always => Cow::Borrowed(replacement),
            Test::Contains(text) => Cow::Owned(old.replace(text, replacement)),
            Test::Pattern(pattern) if replacement.contains('$') => pattern.replace_all(old, replacement),
            Test::Pattern(pattern) => pattern.replace_all(old, NoExpand(replacement)),
        };
        (new != old).then(|| (param, new.into_owned()))
    }
}

impl Test {
    fn finds(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.finds_in(&joined_lines(text)),
            Value::Array(items) => items.iter().any(|item| self.finds(item)),
            Value::Object(keys) => keys.values().any(|value| self.finds(value)),
            _ => false,
        }
    }

    fn finds_in(&self, text: &str) -> bool {
        match self {
            Self::Always => true,
            Self::Contains(part) => text.contains(part.as_str()),
            Self::Pattern(pattern) => pattern.is_match(text),
        }
    }
}

/// A shell goes on after a backslash at the end of a line; so do the rules.
fn joined_lines(text: &str) -> Cow<'_, str> {
    if text.contains("\\\n") { Cow::Owned(text.replace("\\\n", " ")) } else { Cow::Borrowed(text) }
}

/// The settings as the manifest's schema lets them through.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Settings {
    builtin_rules: bool,
    rules: Vec<RuleSettings>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { builtin_rules: true, rules: Vec::new() }
    }
}

#[derive(Deserialize)]
struct RuleSettings {
    #[serde(default = "every_tool")]
    tool: String,
    param: Option<String>,
    contains: Option<String>,
    pattern: Option<String>,
    action: ActionName,
    #[serde(default)]
    reason: String,
    replacement: Option<String>,
    #[serde(default)]
    severity: Severity,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum ActionName {
    Allow,
    Ask,
    Block,
    Rewrite,
}

#[derive(Deserialize, Clone, Copy, Default)]
#[serde(rename_all = "lowercase")]
enum Severity {
    Info,
    #[default]
    Warning,
    Critical,
}

fn every_tool() -> String {
    "*".to_owned()
}

impl TryFrom<Settings> for Rules {
    type Error = String;

    fn try_from(settings: Settings) -> Result<Self, String> {
        let mut rules = settings
            .rules
            .into_iter()
            .enumerate()
            .map(|(index, rule)| Rule::try_from(rule).map_err(|error| format!("rule {}: {error}", index + 1)))
            .collect::<Result<Vec<_>, _>>()?;
        if settings.builtin_rules {
            rules.extend(builtin::rules());
        }
        Ok(Self(rules))
    }
}

impl TryFrom<RuleSettings> for Rule {
    type Error = String;

    fn try_from(rule: RuleSettings) -> Result<Self, String> {
        let test = match (rule.contains, rule.pattern) {
            (None, None) => Test::Always,
            (Some(text), None) => Test::Contains(text),
            (None, Some(pattern)) => {
                Test::Pattern(Regex::new(&pattern).map_err(|error| format!("pattern `{pattern}`: {error}"))?)
            }
            (Some(_), Some(_)) => return Err("give `contains` or `pattern`, not both".to_owned()),
        };
        let action = match rule.action {
            ActionName::Allow => Action::Allow,
            ActionName::Block => Action::Block,
            ActionName::Ask => Action::Ask(match rule.severity {
                Severity::Info => ApprovalSeverity::Info,
                Severity::Warning => ApprovalSeverity::Warning,
                Severity::Critical => ApprovalSeverity::Critical,
            }),
            ActionName::Rewrite if rule.param.is_none() => {
                return Err("a rewrite needs `param`, the parameter to change".to_owned());
            }
            ActionName::Rewrite => Action::Rewrite(rule.replacement.ok_or("a rewrite needs `replacement`")?),
        };
        Ok(Self { tool: rule.tool, param: rule.param, test, action, reason: rule.reason })
    }
}
