//! Coverage-guided fuzzing of `sinew_wire::delta2d`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sinew_fuzz::delta2d::exercise(data));
