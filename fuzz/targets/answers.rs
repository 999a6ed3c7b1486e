//! libFuzzer on `fuzz::answers`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::answers::run(input));
