//! libFuzzer on `fuzz::component`; inputs in text form are made binary before they are changed.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::component::run(input));

libfuzzer_sys::fuzz_mutator!(|input: &mut [u8], length: usize, most: usize, _seed: u32| {
    let length = fuzz::wasm::make_binary(input, length, most);
    libfuzzer_sys::fuzzer_mutate(input, length, most)
});
