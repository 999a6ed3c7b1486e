//! Joins the base prompt with what hooks contributed (plugin-hooks 4.2, Assembly). Pure.

use hooks::events::agent_turn_prepare;
use hooks::events::before_prompt_build::Decision;
use hooks::join::{join, join_into};

/// System prompt and the texts around the user's prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Assembled {
    /// System prompt.
    pub system: String,
    /// Before the user's prompt.
    pub prepend: Option<String>,
    /// After the user's prompt.
    pub append: Option<String>,
}

/// Joins the parts: texts of `agent_turn_prepare` come first, because that hook runs first.
pub fn assemble(base: &str, turn: &agent_turn_prepare::Answer, prompt: &Decision) -> Assembled {
    let system = join([
        prompt.prepend_system_context.as_deref().unwrap_or_default(),
        prompt.system_prompt.as_deref().unwrap_or(base),
        prompt.append_system_context.as_deref().unwrap_or_default(),
    ]);
    Assembled {
        system: system.unwrap_or_default(),
        prepend: join_into(turn.prepend_context.clone(), prompt.prepend_context.as_deref()),
        append: join_into(turn.append_context.clone(), prompt.append_context.as_deref()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_override_stands_between_the_stable_contexts() {
        let prompt = Decision {
            prepend_system_context: Some("A".into()),
            system_prompt: Some("S".into()),
            append_system_context: Some("Z".into()),
            prepend_context: Some("T".into()),
            ..Decision::default()
        };
        let turn = agent_turn_prepare::Answer { prepend_context: Some("Q".into()), append_context: None };
        let assembled = assemble("base", &turn, &prompt);
        assert_eq!(assembled.system, "A\n\nS\n\nZ");
        assert_eq!(assembled.prepend.as_deref(), Some("Q\n\nT"));
        assert_eq!(assemble("base", &turn, &Decision::default()).system, "base");
        let empty = Decision { system_prompt: Some(String::new()), ..Decision::default() };
        assert_eq!(assemble("base", &turn, &empty).system, "", "an empty override is a value");
    }
}
