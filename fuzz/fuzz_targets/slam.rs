//! Coverage-guided fuzzing of `sinew_wire::slam`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sinew_fuzz::slam::exercise(data));
