//! The terminal: how wide it is, and a screen on it that leaves nothing behind.

use std::{
    io::{self, IsTerminal},
    mem,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    panic,
    sync::Arc,
    time::Instant,
};

use anstream::{AutoStream, ColorChoice};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr},
};

use crate::text::Line;

/// The alternate screen, without a cursor, and without a second line for what is too wide.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

/// How large a terminal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) lines: usize,
}

/// How wide standard output is: no limit where it is no terminal.
pub(crate) fn width() -> usize {
    match io::stdout().is_terminal() {
        true => size(io::stdout()).columns,
        false => usize::MAX,
    }
}

/// As the terminal says; what it used to be where it does not know.
fn size(terminal: impl AsFd) -> Size {
    let known = tcgetwinsize(terminal).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
    known.map_or(Size { columns: 80, lines: 24 }, |size| Size {
        columns: size.ws_col.into(),
        lines: size.ws_row.into(),
    })
}

/// Whether standard output can show a screen.
pub(crate) fn has_screen() -> bool {
    io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// A terminal that shows lines in place of what stood on it, until it is dropped.
pub(crate) struct Screen {
    shown: Arc<Shown>,
    keys: Keys,
    colours: bool,
}

/// What is put back, by whichever comes first: the end, or a panic.
struct Shown {
    output: OwnedFd,
    /// Where keys come from, and how it was set.
    input: Option<(OwnedFd, Termios)>,
}

impl Screen {
    /// Takes over standard output, and standard input if that is a terminal, too.
    pub(crate) fn open() -> io::Result<Self> {
        let colours = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        let input = io::stdin().is_terminal().then(|| io::stdin().as_fd().try_clone_to_owned());
        Self::on(output, input.transpose()?, colours)
    }

    fn on(output: OwnedFd, input: Option<OwnedFd>, colours: bool) -> io::Result<Self> {
        let settings = input.as_ref().map(tcgetattr).transpose()?;
        let shown = Arc::new(Shown { output, input: input.zip(settings) });
        // Where a panic ends the process nothing is dropped; elsewhere it would be told on a screen
        // that is gone a moment later.
        let (before, leaving) = (panic::take_hook(), Arc::downgrade(&shown));
        panic::set_hook(Box::new(move |panicked| {
            if let Some(shown) = leaving.upgrade() {
                shown.leave();
            }
            before(panicked);
        }));
        let screen = Screen { shown, keys: Keys::default(), colours };
        screen.shown.enter()?;
        Ok(screen)
    }

    pub(crate) fn size(&self) -> Size {
        size(&self.shown.output)
    }

    /// Shows these lines, cut to the screen's size.
    pub(crate) fn draw(&self, lines: Vec<Line>) -> io::Result<()> {
        let size = self.size();
        let mut lines = lines.into_iter();
        let mut frame = String::from("\x1b[H");
        for row in 0..size.lines {
            let line = lines.next().unwrap_or_default().cut(size.columns);
            let text = if self.colours { line.to_string() } else { line.plain() };
            // Erased first: behind a full line the cursor stands on its last character.
            frame += &format!("{}\x1b[K{text}", if row > 0 { "\r\n" } else { "" });
        }
        write(&self.shown.output, frame.as_bytes())
    }

    /// What to wait for keys on; none where there are none.
    pub(crate) fn input(&self) -> Option<BorrowedFd<'_>> {
        self.shown.input.as_ref().map(|(input, _)| input.as_fd())
    }

    /// The keys that were pressed, once there are some.
    pub(crate) fn keys(&mut self) -> io::Result<Vec<Key>> {
        let Some((input, _)) = &self.shown.input else { return Ok(Vec::new()) };
        let mut bytes = [0; 64];
        let count = rustix::io::read(input, &mut bytes)?;
        // The terminal is gone.
        if count == 0 {
            return Ok(vec![Key::End]);
        }
        Ok(bytes[..count].iter().filter_map(|byte| self.keys.key(*byte)).collect())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.shown.leave();
    }
}

impl Shown {
    fn enter(&self) -> io::Result<()> {
        if let Some((input, settings)) = &self.input {
            let mut raw = settings.clone();
            raw.make_raw();
            tcsetattr(input, OptionalActions::Now, &raw)?;
        }
        write(&self.output, ENTER.as_bytes())
    }

    /// Whatever fails, the rest is put back.
    fn leave(&self) {
        let _ = write(&self.output, LEAVE.as_bytes());
        if let Some((input, settings)) = &self.input {
            let _ = tcsetattr(input, OptionalActions::Now, settings);
        }
    }
}

/// Past standard output's buffer, whose lock a thread that panics may hold.
fn write(output: &OwnedFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(output, bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Waits until there is something to read, or for so long; gives whether a key was pressed.
pub(crate) fn wait(
    messages: &impl AsFd,
    signals: &impl AsFd,
    keys: Option<BorrowedFd<'_>>,
    until: Option<Instant>,
) -> io::Result<bool> {
    let sources = [Some(messages.as_fd()), Some(signals.as_fd()), keys].into_iter().flatten();
    let mut sources: Vec<_> =
        sources.map(|source| PollFd::from_borrowed_fd(source, PollFlags::IN)).collect();
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let left = left.and_then(|left| Timespec::try_from(left).ok());
    match poll(&mut sources, left.as_ref()) {
        Ok(_) => Ok(sources.get(2).is_some_and(|keys| !keys.revents().is_empty())),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    End,
    Stop,
    Up,
    Down,
    Left,
    Right,
    Tab,
    BackTab,
    /// Any other that is a character.
    Letter(u8),
}

impl Key {
    /// Which way it goes through a list: to the next, or to the one before.
    pub(crate) fn step(self) -> Option<isize> {
        match self {
            Key::Down | Key::Right | Key::Tab => Some(1),
            Key::Up | Key::Left | Key::BackTab => Some(-1),
            Key::End | Key::Stop | Key::Letter(_) => None,
        }
    }
}

/// Where in a key's bytes it stands; an arrow has several.
#[derive(Debug, Default)]
enum Keys {
    #[default]
    Between,
    Escape,
    Sequence,
}

impl Keys {
    fn key(&mut self, byte: u8) -> Option<Key> {
        const CTRL_C: u8 = 0x03;
        match (mem::take(self), byte) {
            // At once, whatever came before.
            (_, b' ') => Some(Key::Stop),
            (_, CTRL_C) => Some(Key::End),
            (_, 0x1B) => {
                *self = Keys::Escape;
                None
            }
            (Keys::Escape, b'[' | b'O') | (Keys::Sequence, b'!'..=b'?') => {
                *self = Keys::Sequence;
                None
            }
            (Keys::Sequence, b'A') => Some(Key::Up),
            (Keys::Sequence, b'B') => Some(Key::Down),
            (Keys::Sequence, b'C') => Some(Key::Right),
            (Keys::Sequence, b'D') => Some(Key::Left),
            (Keys::Sequence, b'Z') => Some(Key::BackTab),
            (Keys::Sequence, _) => None,
            (_, b'q' | b'Q') => Some(Key::End),
            (_, b'\t') => Some(Key::Tab),
            (_, b'!'..=b'~') => Some(Key::Letter(byte)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use rustix::{
        fs::{Mode, OFlags, open},
        pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    };

    use super::*;

    #[test]
    fn a_panic_leaves_the_terminal_as_it_was() {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).expect("ours");
        unlockpt(&master).expect("unlocked");
        let name = ptsname(&master, Vec::new()).expect("a name");
        let open = || open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("opens");
        let (input, output) = (open(), open());
        let before = format!("{:?}", tcgetattr(&input));
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let screen = Screen::on(output, Some(open()), true).expect("opens");
            assert_ne!(format!("{:?}", tcgetattr(&input)), before, "keys are read one by one");
            screen.draw(vec![Line::new(crate::output::RED, "hello")]).expect("draws");
            panic!("as it happens");
        }));
        assert!(ended.is_err());
        assert_eq!(format!("{:?}", tcgetattr(&input)), before);
        let mut bytes = [0; 4096];
        let count = rustix::io::read(&master, &mut bytes).expect("reads");
        let written = String::from_utf8_lossy(&bytes[..count]);
        assert!(written.starts_with(ENTER), "{written:?}");
        assert!(written.contains("hello") && written.ends_with(LEAVE), "{written:?}");
    }

    #[test]
    fn keys_are_known_however_their_bytes_come() {
        let mut keys = Keys::default();
        let mut pressed = |bytes: &[u8]| -> Vec<Key> {
            bytes.iter().filter_map(|byte| keys.key(*byte)).collect()
        };
        let plain = [Key::Letter(b'x'), Key::End, Key::Stop, Key::Tab, Key::End];
        assert_eq!(pressed(b"xq \t\x03"), plain);
        assert_eq!(pressed(b"\x1b[A\x1bOB\x1b[C\x1b[D\x1b[Z"), {
            use Key::{BackTab, Down, Left, Right, Up};
            [Up, Down, Right, Left, BackTab]
        });
        // An arrow in two pieces, and keys whose bytes look like others.
        assert_eq!(pressed(b"\x1b["), []);
        assert_eq!(pressed(b"B"), [Key::Down]);
        assert_eq!(pressed(b"\x1b[3~\x1b[1;5q"), []);
        // Nothing that came before keeps the space bar from stopping.
        assert_eq!(pressed(b"\x1b \x1b[ \x1b[1; "), [Key::Stop; 3]);
    }
}
