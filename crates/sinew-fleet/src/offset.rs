//! How far a client's clock is from ours.
//!
//! A message carries the number that our clock showed in the answer its client had last, and for how long the client
//! had that answer. It was sent no earlier than these two together say: at that moment our clock showed at least
//! `echo + held`. So a moment of the client's clock is never taken for later than it was, and an age never for less,
//! whichever way of the two was the slower one. The shorter the way there and back was, the closer it comes.

use std::collections::VecDeque;

/// For how long what was learnt is used.
const KEPT_US: u64 = 60_000_000;
/// The best of what was learnt within this time is kept.
const SLOT_US: u64 = 1_000_000;
/// By how much two clocks may drift apart, parts in a million: quartz has a tenth of it.
const DRIFT_PPM: u64 = 500;

/// What is known about a client's clock.
#[derive(Debug, Clone, Default)]
pub struct Offset {
    /// The best of each second, the oldest first.
    samples: VecDeque<Sample>,
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    taken_us: u64,
    /// What to add to the client's time for ours, or less than that.
    offset: i128,
}

impl Offset {
    /// Learns from a message that came now. One that cannot be true teaches nothing.
    pub fn learn(&mut self, now_us: u64, sent_us: u64, echo_us: u64, held_us: u64) {
        let Some(since_us) = now_us.checked_sub(echo_us) else {
            return;
        };
        // The clocks may have drifted apart since that answer: while it was held, and while the message was on its way.
        let earliest = i128::from(echo_us) + i128::from(held_us) - drift(since_us);
        if earliest > i128::from(now_us) {
            return;
        }
        let offset = earliest - i128::from(sent_us);
        let expired = |sample: &Sample| now_us.saturating_sub(sample.taken_us) > KEPT_US;
        while self.samples.front().is_some_and(expired) {
            self.samples.pop_front();
        }
        let sample = Sample { taken_us: now_us, offset };
        match self.samples.back_mut() {
            Some(last) if now_us.saturating_sub(last.taken_us) < SLOT_US => {
                if last.at(now_us) < offset {
                    // Its time stays that of the slot's first, lest no slot ever ends; what that costs is less than
                    // a second's drift.
                    last.offset = offset;
                }
            }
            _ => self.samples.push_back(sample),
        }
    }

    /// Whether anything is known.
    pub fn is_known(&self) -> bool {
        !self.samples.is_empty()
    }

    /// How old something is that was sent at this time of the client's clock: never less than it is. None while
    /// nothing is known, or if the clock has leapt.
    pub fn age_us(&mut self, now_us: u64, sent_us: u64) -> Option<u64> {
        let known = self.samples.iter().filter(|sample| {
            let age = now_us.saturating_sub(sample.taken_us);
            age <= KEPT_US
        });
        let offset = known.map(|sample| sample.at(now_us)).max()?;
        let age = i128::from(now_us) - i128::from(sent_us) - offset;
        if age < 0 {
            // Nothing is sent in the future: its clock does not go as ours does.
            self.samples.clear();
            return None;
        }
        u64::try_from(age).ok()
    }
}

impl Sample {
    /// The offset now: the clocks may have drifted apart since.
    fn at(&self, now_us: u64) -> i128 {
        self.offset - drift(now_us.saturating_sub(self.taken_us))
    }
}

fn drift(time_us: u64) -> i128 {
    i128::from(time_us) * i128::from(DRIFT_PPM) / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_at_least_the_way_here_and_at_most_the_way_there_and_back() {
        let mut offset = Offset::default();
        assert_eq!(offset.age_us(1_000_000, 5), None, "nothing is known");
        // The answer left at 1.0 s, took 30 ms, was held for 100 ms, and the message took 50 ms.
        offset.learn(1_180_000, 77, 1_000_000, 100_000);
        let age = offset.age_us(1_180_000, 77).expect("is known");
        assert!((80_000..81_000).contains(&age), "{age}");
        // Another one took 10 ms each way: from now on it is the measure.
        offset.learn(1_300_000, 160_077, 1_180_000, 100_000);
        let age = offset.age_us(1_300_000, 160_077).expect("is known");
        assert!(age <= 21_000, "{age}");
    }

    #[test]
    fn what_cannot_be_true_teaches_nothing() {
        let mut offset = Offset::default();
        offset.learn(1_000, 0, 900, 200);
        offset.learn(1_000, 0, u64::MAX, u64::MAX);
        assert_eq!(offset.age_us(1_000, 0), None);
    }

    #[test]
    fn a_clock_that_leaps_ahead_is_not_believed() {
        let mut offset = Offset::default();
        offset.learn(1_000_000, 1_000_000, 990_000, 0);
        assert_eq!(offset.age_us(1_000_000, 1_100_000), None);
        assert_eq!(offset.age_us(1_000_000, 1_000_000), None, "all of it is forgotten");
    }

    #[test]
    fn what_was_learnt_long_ago_counts_for_less_and_then_not_at_all() {
        let mut offset = Offset::default();
        offset.learn(1_000_000, 1_000_000, 1_000_000, 0);
        assert_eq!(offset.age_us(1_000_000, 1_000_000), Some(0));
        let age = offset.age_us(31_000_000, 31_000_000).expect("is known");
        assert_eq!(age, 15_000, "30 s at 500 parts in a million");
        assert_eq!(offset.age_us(62_000_000, 62_000_000), None);
    }

    #[test]
    fn a_message_that_was_long_on_its_way_does_not_make_later_ones_younger() {
        // A clock that is fast by 400 ppm. The answer took no time, the message 10 s.
        let client_us = |now_us: u64| now_us + now_us / 2_500;
        let mut offset = Offset::default();
        offset.learn(11_000_000, client_us(1_000_000), 1_000_000, 0);
        let age = offset.age_us(11_300_000, client_us(11_000_000)).expect("is known");
        assert!(age >= 300_000, "{age}");
    }

    #[test]
    fn a_fast_clock_teaches_after_a_pause_too() {
        // Held for a minute by our clock, which is 24 ms more by the client's; the ways took 1 ms each.
        let mut offset = Offset::default();
        offset.learn(61_002_000, 77_000_000, 1_000_000, 60_024_000);
        let age = offset.age_us(61_002_000, 77_000_000).expect("is known");
        assert!((1_000..40_000).contains(&age), "{age}");
    }
}
