//! Coverage-guided fuzzing of a G1's session.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sinew_fuzz::session::exercise(data));
