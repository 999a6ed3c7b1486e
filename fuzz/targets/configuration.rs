//! libFuzzer on `fuzz::configuration`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::configuration::run(input));
