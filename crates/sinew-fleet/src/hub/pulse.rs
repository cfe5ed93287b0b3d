//! Whether this hub runs. What its clients sent while it did not waited in sockets, for how long is not known.

use std::{
    sync::{Mutex, Weak},
    thread,
    time::Duration,
};

use sinew_robot::{Code, Refusal};

use super::Offered;
use crate::{clock::now_us, lock, stamp::micros};

/// How often it is noted that it runs.
const BEAT: Duration = Duration::from_millis(20);
/// A velocity counts for as long: later it would have been refused, had it been read in time.
const LONGEST: Duration = Duration::from_millis(300);
/// How long what had waited may take to be read.
const QUIET: Duration = Duration::from_millis(300);

/// Notes that the hub runs.
#[derive(Debug)]
pub(super) struct Pulse(Mutex<State>);

#[derive(Debug)]
struct State {
    beat_us: u64,
    /// Until then nothing is asked of robots that moves them, and why.
    quiet: Option<(u64, u64)>,
    /// A pause that nothing was done about yet.
    is_new: bool,
}

impl Pulse {
    pub(super) fn new(now_us: u64) -> Self {
        Pulse(Mutex::new(State { beat_us: now_us, quiet: None, is_new: false }))
    }

    /// Whether what a client asks for was asked for just now.
    pub(super) fn check(&self, now_us: u64) -> Result<(), Refusal> {
        let mut state = lock(&self.0);
        state.look(now_us);
        match state.quiet {
            Some((until_us, late_us)) if now_us < until_us => {
                let late = late_us as f64 / 1e6;
                let message =
                    format!("this hub did not run for {late:.1} s: what waited meanwhile is old");
                Err(Refusal::new(Code::NotReady, message))
            }
            _ => Ok(()),
        }
    }

    /// It runs; true if it did not for a while.
    fn beat(&self, now_us: u64) -> bool {
        let mut state = lock(&self.0);
        state.look(now_us);
        state.beat_us = now_us;
        std::mem::take(&mut state.is_new)
    }
}

impl State {
    fn look(&mut self, now_us: u64) {
        let late_us = now_us.saturating_sub(self.beat_us);
        if late_us > micros(LONGEST) {
            let until_us = now_us.saturating_add(micros(QUIET));
            *self = State { beat_us: now_us, quiet: Some((until_us, late_us)), is_new: true };
        }
    }
}

/// Notes that the hub runs for as long as it is there. After a pause all of its clients have left, for the daemons that
/// they controlled robots of: what these did is stopped until a client enables them.
pub(super) fn keep(offered: Weak<Offered>) -> std::io::Result<()> {
    let run = move || {
        while let Some(offered) = offered.upgrade() {
            if offered.pulse.beat(now_us()) {
                tracing::warn!(
                    "fleet: this hub was paused: its clients have to enable their robots again"
                );
                offered.all_left();
            }
            drop(offered);
            thread::sleep(BEAT);
        }
    };
    thread::Builder::new().name("fleet pulse".into()).spawn(run).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_after_a_pause_is_refused_for_a_while() {
        let pulse = Pulse::new(0);
        assert!(!pulse.beat(20_000) && pulse.check(300_000).is_ok());
        // Whoever comes first notices it, and what is to be done about it is done once.
        assert!(pulse.check(1_320_001).is_err_and(|refusal| refusal.message.contains("1.3 s")));
        assert!(pulse.beat(1_330_000));
        assert!(!pulse.beat(1_350_000));
        assert!(pulse.check(1_620_000).is_err());
        assert!(pulse.check(1_620_001).is_ok());
    }
}
