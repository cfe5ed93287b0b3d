//! How evenly bytes are spread.

/// Bytes that are counted of a flow, and of each payload.
const MOST: u64 = 1 << 16;
const EACH: usize = 64;

/// How often each byte occurred in a sample of payloads.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    counts: [u32; 256],
    total: u64,
}

impl Sample {
    pub(crate) const fn new() -> Self {
        Sample { counts: [0; 256], total: 0 }
    }

    /// Counts the beginning of a payload, as long as the sample grows.
    #[inline]
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        if self.total >= MOST {
            return;
        }
        let bytes = bytes.get(..EACH).unwrap_or(bytes);
        for byte in bytes {
            if let Some(count) = self.counts.get_mut(usize::from(*byte)) {
                *count += 1;
            }
        }
        self.total += bytes.len() as u64;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count = count.saturating_add(more);
        }
        self.total += other.total;
    }

    /// How many bytes were counted.
    pub(crate) const fn total(&self) -> u64 {
        self.total
    }

    /// Whether this is as even as chance, and so encryption, makes that many bytes; so few that nothing can be
    /// told are not.
    pub(crate) fn is_random(&self) -> bool {
        const FEWEST: u64 = 8;
        const TOLERANCE: f64 = 0.3;
        let total = self.total as f64;
        // What chance gives: few bytes are nearly all different, many come near 8 bits.
        let expected =
            if self.total < 128 { total.log2() - total / 256.0 } else { 8.0 - 184.0 / total };
        self.total >= FEWEST && self.entropy() > expected - TOLERANCE
    }

    /// Bits that a byte tells: 8 where all are equally frequent, as in what is encrypted.
    pub(crate) fn entropy(&self) -> f64 {
        let total = self.total as f64;
        let counts = self.counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count));
        counts.map(|count| -count / total * (count / total).log2()).sum::<f64>().abs()
    }
}

/// How far counts are from all being equal: about as much as there are counts where chance made them,
/// near 0 where they are more even than chance makes them, and far more where some are favoured.
pub(crate) fn chi_square(counts: &[u32]) -> f64 {
    let total: f64 = counts.iter().map(|count| f64::from(*count)).sum();
    let expected = total / counts.len().max(1) as f64;
    if expected == 0.0 {
        return 0.0;
    }
    counts.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_is_that_of_the_definition() {
        let mut sample = Sample::new();
        assert_eq!(sample.entropy(), 0.0);
        sample.take(&[7; 64]);
        assert_eq!(sample.entropy(), 0.0);
        sample.take(&[8; 100]);
        assert_eq!(sample.total(), 128);
        assert_eq!(sample.entropy(), 1.0);
        let mut sample = Sample::new();
        let all: [u8; 256] = std::array::from_fn(|byte| byte as u8);
        all.chunks(EACH).for_each(|part| sample.take(part));
        assert_eq!(sample.entropy(), 8.0);
    }

    #[test]
    fn chance_is_told_from_what_repeats_at_any_length() {
        let mut random = fastrand::Rng::with_seed(5);
        for payloads in [1, 2, 4, 10, 100, 2000] {
            for size in [16, 36, 64] {
                let (mut noise, mut plain) = (Sample::new(), Sample::new());
                for _ in 0..payloads {
                    let bytes: Vec<u8> = (0..size).map(|_| random.u8(..)).collect();
                    noise.take(&bytes);
                    let half: Vec<u8> = bytes.iter().map(|byte| byte & 0x0F).collect();
                    plain.take(&half);
                }
                assert!(noise.is_random(), "{payloads} of {size}: {}", noise.entropy());
                assert!(!plain.is_random(), "{payloads} of {size}: {}", plain.entropy());
            }
        }
        assert!(!Sample::new().is_random());
    }

    #[test]
    fn counts_that_are_even_have_no_distance() {
        assert_eq!(chi_square(&[5; 256]), 0.0);
        assert_eq!(chi_square(&[]), 0.0);
        assert_eq!(chi_square(&[10, 0]), 10.0);
    }
}
