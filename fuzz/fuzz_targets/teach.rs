//! Coverage-guided fuzzing of `sinew_wire::teach`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sinew_fuzz::teach::exercise(data));
