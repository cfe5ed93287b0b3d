//! Coverage-guided fuzzing of `sinew_wire::voxel`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sinew_fuzz::voxel::exercise(data));
