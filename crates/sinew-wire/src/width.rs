//! Loops that run at the width of the CPU at hand.

use core::fmt;

#[cfg(feature = "std")]
use fearless_simd::Level;

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

/// Runs a loop in explicit vectors when there are any, else the plain one.
macro_rules! with_vectors {
    ($vectors:expr, $simd:ident => $explicit:expr, $plain:expr) => {{
        #[cfg(feature = "std")]
        let result = match $vectors.level() {
            Some(level) => fearless_simd::dispatch!(level, $simd => $explicit),
            None => $plain,
        };
        #[cfg(not(feature = "std"))]
        let Vectors {} = $vectors;
        #[cfg(not(feature = "std"))]
        let result = $plain;
        result
    }};
}

/// Vector instructions that this CPU has and that loops here are written for.
#[derive(Debug, Clone, Copy)]
pub struct Vectors {
    #[cfg(feature = "std")]
    level: Option<Level>,
}

impl Vectors {
    /// None: loops as the compiler makes them for every CPU of the target.
    pub const PLAIN: Vectors = Vectors {
        #[cfg(feature = "std")]
        level: None,
    };

    /// The widest there are.
    #[inline]
    pub fn best() -> Self {
        Vectors {
            #[cfg(feature = "std")]
            level: levels().into_iter().flatten().next_back(),
        }
    }

    /// All there are, from none to the widest.
    pub fn available() -> impl Iterator<Item = Self> {
        #[cfg(feature = "std")]
        let wider = levels().into_iter().flatten().map(|level| Vectors { level: Some(level) });
        #[cfg(not(feature = "std"))]
        let wider = core::iter::empty();
        core::iter::once(Self::PLAIN).chain(wider)
    }

    #[cfg(feature = "std")]
    #[inline]
    pub(crate) const fn level(self) -> Option<Level> {
        self.level
    }
}

/// SSE2 is left out: it cannot pick bytes by index, and every x86 CPU since 2011 has SSE4.2.
#[cfg(all(feature = "std", any(target_arch = "x86", target_arch = "x86_64")))]
#[inline]
fn levels() -> [Option<Level>; 3] {
    let best = Level::new();
    [
        best.as_sse4_2().map(Level::Sse4_2),
        best.as_avx2().map(Level::Avx2),
        best.as_avx512().map(Level::Avx512),
    ]
}

#[cfg(all(feature = "std", not(any(target_arch = "x86", target_arch = "x86_64"))))]
#[inline]
fn levels() -> [Option<Level>; 1] {
    let best = Level::new();
    [(!best.is_fallback()).then_some(best)]
}

impl fmt::Display for Vectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[cfg(feature = "std")]
        let name = match self.level {
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Some(Level::Sse4_2(_)) => "SSE4.2",
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Some(Level::Avx2(_)) => "AVX2",
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Some(Level::Avx512(_)) => "AVX-512",
            #[cfg(target_arch = "aarch64")]
            Some(Level::Neon(_)) => "NEON",
            Some(_) => "vectors",
            None => "plain",
        };
        #[cfg(not(feature = "std"))]
        let name = "plain";
        f.write_str(name)
    }
}
