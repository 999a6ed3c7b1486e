//! Component loading: what a component says about itself, and the way from its bytes to code that could be instantiated.

use std::sync::OnceLock;

use plugin_host::fuzzing::{Loading, MAX_LOADED_BYTES};
use plugin_host::grant::Grants;
use plugin_host::inspect::{InspectError, Inspection, Refusal, inspect, validate};

use crate::message::assert_is_one_short_line;
use crate::wasm::binary;

/// Looks at one input and, if it is small, loads it.
pub fn run(input: &[u8]) {
    let component = binary(input);
    match (inspect(&component), validate(&component)) {
        (Ok(inspection), valid) => {
            look_at(&inspection, component.len());
            load(&component, &inspection, valid.is_ok());
        }
        (Err(error), valid) => {
            assert_is_one_short_line(&error.to_string());
            let is_bound = matches!(error, InspectError::TooMany { .. } | InspectError::TooLarge { .. });
            assert!(is_bound || valid.is_err(), "inspecting refuses what validating takes: {error}");
        }
    }
}

fn look_at(inspection: &Inspection, bytes: usize) {
    assert_eq!(inspection.bytes, bytes);
    for refusal in inspection.refusals("fuzzed", &Grants::default()).to_string().lines() {
        assert_is_one_short_line(refusal);
    }
    let exports = inspection.exports.len();
    assert!(inspection.hooks().len() + inspection.left_out().count() <= exports, "more hooks than exports");
}

fn load(component: &[u8], inspection: &Inspection, is_valid: bool) {
    static LOADING: OnceLock<Loading> = OnceLock::new();
    if component.len() > MAX_LOADED_BYTES {
        return;
    }
    let loading = LOADING.get_or_init(|| Loading::start().expect("the engine must start"));
    match loading.load(component, inspection) {
        Ok(()) => {
            assert!(is_valid, "what is not valid was loaded");
            let refused = inspection.refusals("fuzzed", &Grants::default()).0.into_iter().find(is_of_an_import);
            assert!(refused.is_none(), "an import that inspection refuses was linked: {refused:?}");
        }
        // Texts of the runtime have several lines; whoever shows them folds them.
        Err(error) => assert!(!error.to_string().contains("BUG"), "{error}"),
    }
}

/// Refusals of exports are the plan's business: the loader calls only what it knows.
fn is_of_an_import(refusal: &Refusal) -> bool {
    match refusal {
        Refusal::Ungranted { .. } | Refusal::NotOffered { .. } | Refusal::OtherStandard { .. } | Refusal::Unknown { .. } => true,
        Refusal::Contract { .. } | Refusal::NotAnInstance { .. } => false,
    }
}
