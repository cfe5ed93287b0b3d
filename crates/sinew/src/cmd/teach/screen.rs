//! What a terminal shows, and what it must not be shown.

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

/// A line on standard error that says how far something is; nothing where no terminal is.
pub(crate) struct Progress {
    wanted: bool,
    shown: bool,
}

impl Progress {
    pub(crate) fn new(json: bool) -> Self {
        Progress { wanted: !json && io::stderr().is_terminal(), shown: false }
    }

    pub(crate) fn show(&mut self, what: &str, elapsed: Duration, whole: Option<Duration>) {
        const WIDTH: usize = 30;
        if !self.wanted {
            return;
        }
        self.shown = true;
        let seconds = elapsed.as_secs_f64();
        let Some(whole) = whole.map(|whole| whole.as_secs_f64()).filter(|whole| *whole > 0.0)
        else {
            return eprint!("\r{what} {seconds:.1} s\x1b[K");
        };
        let part = (seconds / whole).min(1.0);
        let full = (part * WIDTH as f64).round() as usize;
        let bar = format!("{}{}", "█".repeat(full), "░".repeat(WIDTH - full));
        eprint!("\r{what} {bar} {:.1} of {whole:.1} s\x1b[K", seconds.min(whole));
    }

    pub(crate) fn end(&mut self) {
        if std::mem::take(&mut self.shown) {
            eprintln!();
        }
    }
}

/// How wide the terminal is; 80 columns where there is none.
pub(crate) fn columns() -> u16 {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| size.ws_col);
    size.filter(|columns| *columns > 0).unwrap_or(80)
}
