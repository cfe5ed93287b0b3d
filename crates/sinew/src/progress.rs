//! How far something is that lasts: in place on a terminal, a line for each step in a pipe.

#[cfg(feature = "daemon")]
use std::time::Duration;
use std::{
    env,
    io::{self, IsTerminal, Write},
};
#[cfg(feature = "g1")]
use std::{
    panic::resume_unwind,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Instant,
};

#[cfg(feature = "daemon")]
use crate::say::say;
use crate::{
    output::printable,
    say::{self, columns, cut, width},
};

/// A bar has at most so many columns, and is left out when it would have fewer.
const BAR: (usize, usize) = (30, 8);
/// What takes no longer needs no progress.
#[cfg(feature = "g1")]
const SOON: Duration = Duration::from_millis(100);
/// What the terminal itself may put behind a line: `^C`.
const ECHO: usize = 2;

/// A line on standard error that changes in place. It is cleared when this goes.
pub(crate) struct Progress {
    in_place: bool,
    shown: bool,
}

impl Progress {
    pub(crate) fn new() -> Self {
        let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        let in_place = !say::is_quiet() && io::stderr().is_terminal() && !is_dumb;
        Progress { in_place, shown: false }
    }

    /// A step began. In place, [`show`](Self::show) will tell.
    #[cfg(feature = "daemon")]
    pub(crate) fn begin(&mut self, what: &str) {
        if self.in_place {
            self.show(what, None);
        } else {
            say(what);
        }
    }

    /// What is going on, and how much of it is done, if that is known.
    pub(crate) fn show(&mut self, what: &str, part: Option<f64>) {
        if !self.in_place {
            return;
        }
        let columns = columns(io::stderr()).unwrap_or(80);
        let room = columns.saturating_sub(1 + ECHO);
        let text = cut(&printable(what), room);
        let bar = part.map_or(String::new(), |part| bar(part, room - width(&text)));
        self.shown = true;
        self.write(&format!("\r{text}{bar}\x1b[K"));
    }

    /// Does something of which it is not known how far it is, and shows for how long it lasts.
    #[cfg(feature = "g1")]
    pub(crate) fn during<T: Send>(&mut self, what: &str, work: impl FnOnce() -> T + Send) -> T {
        if !self.in_place {
            return work();
        }
        let begin = Instant::now();
        let (done, is_done) = mpsc::channel();
        thread::scope(|scope| {
            let working = scope.spawn(move || {
                let result = work();
                // The other end is there until this thread has ended.
                let _ = done.send(());
                result
            });
            while is_done.recv_timeout(SOON) == Err(RecvTimeoutError::Timeout) {
                self.show(&format!("{what}, {}", clock(begin.elapsed(), None).0), None);
            }
            working.join().unwrap_or_else(|panicked| resume_unwind(panicked))
        })
    }

    /// Clears the line.
    pub(crate) fn end(&mut self) {
        if std::mem::take(&mut self.shown) {
            self.write("\r\x1b[K");
        }
    }

    fn write(&self, text: &str) {
        // A terminal that has gone needs no progress.
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

/// How much is done, in at most so many columns.
fn bar(part: f64, room: usize) -> String {
    let columns = room.saturating_sub(2).min(BAR.0);
    if columns < BAR.1 {
        return String::new();
    }
    let full = (part.clamp(0.0, 1.0) * columns as f64).round() as usize;
    format!("  {}{}", "█".repeat(full), "░".repeat(columns - full))
}

/// A time beside the whole: `1.2 of 3.0 s`, and how much that is.
#[cfg(feature = "daemon")]
pub(crate) fn clock(elapsed: Duration, whole: Option<Duration>) -> (String, Option<f64>) {
    let seconds = elapsed.as_secs_f64();
    let Some(whole) = whole.map(|whole| whole.as_secs_f64()).filter(|whole| *whole > 0.0) else {
        return (format!("{seconds:.1} s"), None);
    };
    let seconds = seconds.min(whole);
    (format!("{seconds:.1} of {whole:.1} s"), Some(seconds / whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_takes_the_room_there_is() {
        assert_eq!(bar(0.5, 4), "");
        assert_eq!(width(&bar(0.5, 20)), 20);
        assert_eq!(width(&bar(7.0, 200)), 32);
        assert_eq!(bar(f64::NAN, 12), "  ░░░░░░░░░░");
        assert_eq!(bar(0.5, 12), "  █████░░░░░");
    }

    #[test]
    fn a_clock_ends_at_the_whole() {
        let seconds = Duration::from_secs_f64;
        assert_eq!(clock(seconds(1.24), None).0, "1.2 s");
        assert_eq!(clock(seconds(4.2), Some(seconds(4.0))), ("4.0 of 4.0 s".into(), Some(1.0)));
        assert_eq!(clock(seconds(4.2), Some(seconds(0.0))), ("4.2 s".into(), None));
    }
}
