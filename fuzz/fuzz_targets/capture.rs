//! Coverage-guided fuzzing of `sinew_capture`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sinew_fuzz::capture::exercise(data));
