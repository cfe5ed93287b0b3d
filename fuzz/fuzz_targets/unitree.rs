//! Coverage-guided fuzzing of `sinew_wire::unitree`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sinew_fuzz::unitree::exercise(data));
