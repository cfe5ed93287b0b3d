//! How much of what came when, in memory that does not grow.

use std::collections::BTreeMap;

use crate::Sight;

/// Pieces of time that are told apart at most.
const PIECES: usize = 240;
/// Length of a piece at first: a millisecond.
const PIECE: i64 = 1_000_000;

/// Payloads over time, by protocol.
#[derive(Debug, Clone)]
pub struct Timeline {
    piece: i64,
    lanes: BTreeMap<&'static str, Vec<u64>>,
}

impl Timeline {
    /// One of nothing.
    pub const fn new() -> Self {
        Timeline { piece: PIECE, lanes: BTreeMap::new() }
    }

    /// Counts a payload.
    pub fn take(&mut self, sight: &Sight<'_>) {
        self.count(sight.protocol.name(), sight.since);
    }

    /// Counts one of a protocol, at nanoseconds since the beginning; what is before it counts as then.
    pub(crate) fn count(&mut self, protocol: &'static str, since: i64) {
        let since = since.max(0);
        while since / self.piece >= PIECES as i64 {
            self.coarsen();
        }
        let place = (since / self.piece) as usize;
        let lane = self.lanes.entry(protocol).or_insert_with(|| vec![0; PIECES]);
        if let Some(count) = lane.get_mut(place) {
            *count += 1;
        }
    }

    /// Makes pieces twice as long.
    fn coarsen(&mut self) {
        self.piece = self.piece.saturating_mul(2);
        for lane in self.lanes.values_mut() {
            let joined: Vec<u64> = lane.chunks(2).map(|pair| pair.iter().sum()).collect();
            *lane = joined;
            lane.resize(PIECES, 0);
        }
    }

    /// Nanoseconds of a piece.
    pub const fn piece(&self) -> i64 {
        self.piece
    }

    /// Each protocol, and how many of it came in each piece up to the last that has any.
    pub fn lanes(&self) -> impl Iterator<Item = (&'static str, &[u64])> {
        let last =
            |lane: &Vec<u64>| lane.iter().rposition(|count| *count > 0).map_or(0, |at| at + 1);
        let length = self.lanes.values().map(last).max().unwrap_or(0);
        self.lanes.iter().map(move |(name, lane)| (*name, lane.get(..length).unwrap_or_default()))
    }
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_when_pieces_become_longer() {
        let mut timeline = Timeline::new();
        for second in 0..5000 {
            timeline.count(if second % 5 == 0 { "a" } else { "b" }, second * 1_000_000_000);
        }
        timeline.count("a", i64::MAX);
        timeline.count("a", -5);
        let sums: Vec<(&str, u64)> =
            timeline.lanes().map(|(name, lane)| (name, lane.iter().sum())).collect();
        assert_eq!(sums, [("a", 1002), ("b", 4000)]);
        assert!(timeline.lanes().all(|(_, lane)| lane.len() <= PIECES));
    }
}
