//! Coverage-guided fuzzing of `sinew_record`'s reader.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sinew_fuzz::mcap::exercise(data));
