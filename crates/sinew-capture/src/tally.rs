//! Counts of bounded size.

mod commands;
mod sample;
mod sequence;

pub(crate) use commands::{Commands, Row};
pub(crate) use sample::{Sample, chi_square};
pub(crate) use sequence::Sequences;

/// Groups of sizes: each is twice as wide as the one before.
pub(crate) const SIZES: usize = 18;

/// How many payloads were how long.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sizes([u32; SIZES]);

impl Sizes {
    #[inline]
    pub(crate) fn count(&mut self, size: usize) {
        let group = (usize::BITS - size.leading_zeros()) as usize;
        if let Some(count) = self.0.get_mut(group.min(SIZES - 1)) {
            *count = count.saturating_add(1);
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count = count.saturating_add(more);
        }
    }

    /// The groups that have any: smallest and largest size, and how many.
    pub(crate) fn groups(&self) -> Vec<(usize, usize, u32)> {
        let groups = self.0.iter().enumerate().filter(|(_, count)| **count > 0);
        groups
            .map(|(group, count)| match group {
                0 => (0, 0, *count),
                _ if group == SIZES - 1 => (1 << (group - 1), usize::MAX, *count),
                _ => (1 << (group - 1), (1 << group) - 1, *count),
            })
            .collect()
    }
}
