//! Wrong tokens: one answer a second for each address, so that a secret cannot be tried out.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::Mutex,
    time::{Duration, Instant},
};

use crate::{lock, seats::network};

/// Between two answers to one address.
const PACE: Duration = Duration::from_secs(1);
/// How long an answer may have to wait; what would wait longer gets none.
const PATIENCE: Duration = Duration::from_secs(4);
/// Addresses that are remembered.
const MAX_ADDRESSES: usize = 1024;

/// When each address gets its next answer to a wrong token.
#[derive(Debug, Default)]
pub(crate) struct Guesses(Mutex<HashMap<IpAddr, Instant>>);

impl Guesses {
    /// When a wrong token is answered; never, if too many answers wait already.
    pub(crate) fn wrong(&self, address: IpAddr, now: Instant) -> Option<Instant> {
        let address = network(address);
        let mut next = lock(&self.0);
        next.retain(|_, at| *at > now);
        let at = next.get(&address).map_or(now, |at| *at);
        if at > now + PATIENCE || (next.len() >= MAX_ADDRESSES && !next.contains_key(&address)) {
            return None;
        }
        next.insert(address, at + PACE);
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gets_one_answer_a_second_and_others_do_not_wait_for_it() {
        let guesses = Guesses::default();
        let now = Instant::now();
        let (here, there) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        assert_eq!(guesses.wrong(here, now), Some(now));
        assert_eq!(guesses.wrong(here, now), Some(now + PACE));
        assert_eq!(guesses.wrong(there, now), Some(now));
        let answered = (0..1000).filter_map(|_| guesses.wrong(here, now)).count();
        assert_eq!(answered, 3, "the rest is not answered at all");
        let later = now + Duration::from_secs(60);
        assert_eq!(guesses.wrong(here, later), Some(later));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let guesses = Guesses::default();
        let now = Instant::now();
        for number in 0..100_000u32 {
            guesses.wrong(IpAddr::from(number.to_be_bytes()), now);
        }
        assert_eq!(lock(&guesses.0).len(), MAX_ADDRESSES);
    }
}
