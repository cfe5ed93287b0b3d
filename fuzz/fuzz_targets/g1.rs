//! Coverage-guided fuzzing of a simulated G1's data channel.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sinew_fuzz::g1::exercise(data));
