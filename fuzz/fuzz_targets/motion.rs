//! Coverage-guided fuzzing of motions from files.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sinew_fuzz::motion::exercise(data));
