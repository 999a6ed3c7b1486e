//! libFuzzer on `fuzz::manifest`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::manifest::run(input));
