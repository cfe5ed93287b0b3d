//! Coverage-guided fuzzing of `sinew_robot::map::file`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sinew_fuzz::map::exercise(data));
