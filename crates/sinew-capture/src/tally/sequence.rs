//! Numbers that should count up: what is missing, repeated, out of order.

/// How far back numbers are remembered one by one.
const WINDOW: u64 = 128;

/// The numbers of one sender.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sequences {
    /// Which of the last numbers came: bit 0 is the newest.
    seen: u128,
    pub(crate) count: u64,
    pub(crate) first: u64,
    /// The highest.
    pub(crate) last: u64,
    /// Numbers between the first and the highest that did not come.
    pub(crate) missing: u64,
    pub(crate) repeats: u64,
    /// Numbers that came after a higher one.
    pub(crate) late: u64,
}

impl Sequences {
    pub(crate) const fn new() -> Self {
        Sequences { seen: 0, count: 0, first: 0, last: 0, missing: 0, repeats: 0, late: 0 }
    }

    /// Takes a number note; one that is lower than the first moves the beginning.
    #[inline]
    pub(crate) fn take(&mut self, number: u64) {
        self.count += 1;
        if self.count == 1 {
            (self.first, self.last, self.seen) = (number, number, 1);
            return;
        }
        if let Some(ahead) = number.checked_sub(self.last).filter(|ahead| *ahead > 0) {
            self.missing = self.missing.saturating_add(ahead - 1);
            self.seen = if ahead < WINDOW { self.seen << ahead } else { 0 } | 1;
            self.last = number;
            return;
        }
        let behind = self.last - number;
        if number < self.first {
            self.late += 1;
            self.missing = self.missing.saturating_add(self.first - number - 1);
            self.first = number;
        } else if behind >= WINDOW {
            self.late += 1;
            self.missing = self.missing.saturating_sub(1);
        } else if self.seen >> behind & 1 == 1 {
            self.repeats += 1;
            return;
        } else {
            self.late += 1;
            self.missing = self.missing.saturating_sub(1);
        }
        if behind < WINDOW {
            self.seen |= 1 << behind;
        }
    }

    /// The same for numbers that begin anew after 65,535.
    #[inline]
    pub(crate) fn take_u16(&mut self, number: u16) {
        if self.count == 0 {
            // With room below, since what comes next may be older.
            return self.take(0x1_0000 + u64::from(number));
        }
        let difference = number.wrapping_sub(self.last as u16).cast_signed();
        self.take(self.last.saturating_add_signed(difference.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(numbers: impl IntoIterator<Item = u64>) -> (u64, u64, u64) {
        let mut sequences = Sequences::default();
        numbers.into_iter().for_each(|number| sequences.take(number));
        (sequences.missing, sequences.repeats, sequences.late)
    }

    #[test]
    fn what_is_missing_repeated_and_late_is_counted() {
        assert_eq!(told(265..=5268), (0, 0, 0));
        assert_eq!(told([1, 2, 5, 6]), (2, 0, 0));
        assert_eq!(told([1, 2, 5, 4, 3, 6]), (0, 0, 2));
        assert_eq!(told([1, 2, 2, 3, 1]), (0, 2, 0));
        assert_eq!(told([5, 3, 4, 6]), (0, 0, 2));
        assert_eq!(told([0, 1000, 1]), (998, 0, 1));
        assert_eq!(told([u64::MAX, 0]), (u64::MAX - 1, 0, 1));
        assert_eq!(told([]), (0, 0, 0));
    }

    #[test]
    fn short_numbers_wrap() {
        let mut sequences = Sequences::default();
        for number in [65_534, 65_535, 0, 1, 3, 2, 2] {
            sequences.take_u16(number);
        }
        let Sequences { missing, repeats, late, .. } = sequences;
        assert_eq!((missing, repeats, late), (0, 1, 1));
    }
}
