//! Cleaning of results and arguments (agent-loop 14.4): what is emitted, what is logged, what is stored. Pure; no event is sent and
//! nothing is stored from here.

mod assignment;
mod emit;
mod secrets;
mod store;

pub use emit::{EMITTED_MAX_CHARS, ERROR_LINE_MAX_CHARS, emitted_result, emitted_text, emitted_value, error_line};
pub use secrets::{MASK, mask_secrets, mask_value};
pub use store::{
    MAX_DETAILS_BYTES, MAX_RESULT_BLOCKS, RESULT_CAP_MAX_CHARS, bound_details, cap_content, mask_content, result_cap,
    store_result,
};
