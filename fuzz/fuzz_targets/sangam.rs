//! Coverage-guided fuzzing of `sinew_api::sangam`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sinew_fuzz::sangam::exercise(data));
