//! Loops that run at the width of the CPU at hand.

/// Runs an `#[inline(always)]` loop compiled for the vectors this CPU has, or, without `std`, for
/// those every CPU of the target has.
macro_rules! at_full_width {
    ($run:expr) => {{
        #[cfg(feature = "std")]
        let result = fearless_simd::dispatch!(fearless_simd::Level::new(), _ => $run);
        #[cfg(not(feature = "std"))]
        let result = $run;
        result
    }};
}
