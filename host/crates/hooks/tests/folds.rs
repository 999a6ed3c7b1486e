//! The merge rules hold for any sequence of answers: what is sticky stays, what is first stays first, what is last wins.

use domain::PluginId;
use hooks::catalogue::{BeforeModelResolve, BeforeToolCall, MessageSending};
use hooks::events::{before_model_resolve, before_tool_call, message_sending};
use hooks::{Fold, HandlerOptions, Who};
use proptest::prelude::*;

/// Folds answers of plugins `p0`, `p1`, … as a dispatch would: a terminal decision ends it.
fn fold<H: Fold>(answers: Vec<H::Answer>) -> H::Decision {
    let options = HandlerOptions::default();
    let mut decision = H::Decision::default();
    for (index, answer) in answers.into_iter().enumerate() {
        let plugin = PluginId::new(format!("p{index}"));
        decision = H::fold(decision, answer, Who { plugin: &plugin, handler: "", options: &options });
        if H::is_terminal(&decision) {
            break;
        }
    }
    decision
}

fn text() -> impl Strategy<Value = Option<String>> {
    proptest::option::of("[a-c]{0,2}")
}

proptest! {
    #[test]
    fn the_first_override_of_each_field_wins(answers in proptest::collection::vec((text(), text()), 0..6)) {
        let decision = fold::<BeforeModelResolve>(
            answers
                .iter()
                .cloned()
                .map(|(provider_override, model_override)| before_model_resolve::Answer { provider_override, model_override })
                .collect(),
        );
        prop_assert_eq!(decision.provider_override, answers.iter().find_map(|(provider, _)| provider.clone()));
        prop_assert_eq!(decision.model_override, answers.iter().find_map(|(_, model)| model.clone()));
    }

    #[test]
    fn the_first_block_decides_and_nothing_lifts_it(answers in proptest::collection::vec((any::<bool>(), text()), 0..6)) {
        let decision = fold::<BeforeToolCall>(
            answers
                .iter()
                .cloned()
                .map(|(block, block_reason)| before_tool_call::Answer { block, block_reason, ..Default::default() })
                .collect(),
        );
        let first = answers.iter().position(|(block, _)| *block);
        prop_assert_eq!(decision.blocked_by, first.map(|index| PluginId::new(format!("p{index}"))));
        let asked = &answers[..first.map_or(answers.len(), |index| index + 1)];
        prop_assert_eq!(decision.block_reason, asked.iter().rev().find_map(|(_, reason)| reason.clone()));
    }

    #[test]
    fn the_last_rewrite_counts_and_a_cancel_ends_it(answers in proptest::collection::vec((text(), any::<bool>()), 0..6)) {
        let decision = fold::<MessageSending>(
            answers
                .iter()
                .cloned()
                .map(|(content, cancel)| message_sending::Answer { content, cancel, ..Default::default() })
                .collect(),
        );
        let first = answers.iter().position(|(_, cancel)| *cancel);
        let asked = &answers[..first.map_or(answers.len(), |index| index + 1)];
        prop_assert_eq!(decision.cancelled_by.is_some(), first.is_some());
        prop_assert_eq!(decision.content, asked.iter().rev().find_map(|(content, _)| content.clone()));
    }
}
