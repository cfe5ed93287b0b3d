//! Coverage-guided fuzzing of `sinew_wire::explain`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sinew_fuzz::explain::exercise(data));
