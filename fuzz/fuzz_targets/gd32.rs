//! Coverage-guided fuzzing of `sinew_wire::gd32`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sinew_fuzz::gd32::exercise(data));
