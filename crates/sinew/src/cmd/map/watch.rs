//! The map of a robot, as it grows.

mod canvas;
mod cells;
mod picture;
mod view;

use std::{
    io::{self, Write},
    os::fd::BorrowedFd,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::bail;
use serde_json::{Value, json};
use sinew_api::{Command, DaemonMessage, Halt, Topic, frame::Frame};

use self::{
    canvas::Dots,
    picture::{Daemon as Known, Picture},
};
use super::socket::{Heard, Socket};
use crate::{
    DONE,
    client::Daemon,
    interrupt::Wake,
    output::printable_json,
    say::{columns, say, warn},
    terminal::{Key, Screen, Size, has_screen, wait},
};

const TOPIC: &str = "map";
/// A screen is not drawn more often, nor for more than a part of the time.
const FRAME: Duration = Duration::from_millis(40);
const SHARE: u32 = 3;
/// How often it is drawn although nothing has come: it grows old.
const OLDER: Duration = Duration::from_millis(500);
/// How long until a daemon that is gone is looked for again.
const AGAIN: Duration = Duration::from_millis(700);
/// How often it is seen whether it was found.
const SEARCH: Duration = Duration::from_millis(100);
/// How long a daemon may be silent where there is no screen to show it.
const PATIENCE: Duration = Duration::from_secs(10);
/// Frames between two looks at keys, clock and screen, at most.
const BATCH: usize = 8;

/// Show the map from above as it grows, until q or Ctrl-C.
///
/// On a terminal it is a screen: keys zoom and move, f follows the robot, the space bar stops it.
/// Elsewhere it is one picture; with --json, a line for each frame.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Draw the map once, as soon as there is one, and end.
    #[arg(long)]
    once: bool,
    /// Draw with half blocks: larger squares, in more colours.
    #[arg(long)]
    half_blocks: bool,
    /// Look from the side: height is up.
    #[arg(long)]
    side: bool,
    /// End after so long, as in 10s.
    #[arg(long = "for", value_parser = super::super::duration)]
    duration: Option<Duration>,
}

pub(super) fn run(args: &Args, daemon: &Daemon, json: bool) -> anyhow::Result<u8> {
    let mut wake = Wake::new()?;
    let socket = open(daemon)?;
    let has_screen = has_screen() && !args.once && !json;
    let screen = has_screen.then(Screen::open).transpose()?;
    let dots = if args.half_blocks { Dots::HalfBlocks } else { Dots::Braille };
    let has_keys = screen.as_ref().is_some_and(|screen| screen.input().is_some());
    let mut watch = Watch {
        picture: Picture::new(dots, args.side, has_keys, socket.robot()),
        link: Link::Open(Box::new(socket)),
        shown: match screen {
            Some(screen) => Shown::Screen { screen, drawn: None },
            None if json => Shown::Json,
            None => Shown::Once { waits: false },
        },
    };
    let end = args.duration.map(|most| Instant::now() + most);
    loop {
        let now = Instant::now();
        if wake.is_end() || end.is_some_and(|end| now >= end) {
            return watch.end();
        }
        watch.look_again(daemon, now);
        let ask_at = watch.ask(now)?;
        let draw_at = watch.draw(now)?;
        let until = [ask_at, draw_at, end.unwrap_or(now + OLDER)].into_iter().min();
        let pressed = match &watch.link {
            Link::Open(socket) => wait(&**socket, &wake, watch.shown.input(), until)?,
            Link::Lost { .. } => wait(&wake, &wake, watch.shown.input(), until)?,
        };
        if pressed && watch.press()? || watch.hear()? {
            return Ok(DONE);
        }
    }
}

fn open(daemon: &Daemon) -> anyhow::Result<Socket> {
    Socket::open(daemon, &[Topic::Frames(TOPIC), Topic::State])
}

struct Watch {
    picture: Picture,
    link: Link,
    shown: Shown,
}

/// Whether there is a daemon.
enum Link {
    Open(Box<Socket>),
    /// Looked for again at this time, or by a thread that does so.
    Lost {
        why: String,
        at: Instant,
        search: Option<JoinHandle<anyhow::Result<Socket>>>,
    },
}

/// How it is shown.
enum Shown {
    /// Drawn last at this time and size, which took so long.
    Screen {
        screen: Screen,
        drawn: Option<(Instant, Size, Duration)>,
    },
    Json,
    /// Whether it was said that there is nothing yet.
    Once {
        waits: bool,
    },
}

impl Shown {
    fn input(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Shown::Screen { screen, .. } => screen.input(),
            _ => None,
        }
    }
}

impl Watch {
    /// The time is over, or the user's patience.
    fn end(&self) -> anyhow::Result<u8> {
        match self.shown {
            Shown::Once { .. } => bail!("no map came"),
            Shown::Screen { .. } | Shown::Json => Ok(DONE),
        }
    }

    /// On a screen a daemon that is gone is shown, and looked for again.
    fn lose(&mut self, error: anyhow::Error) -> anyhow::Result<()> {
        match self.shown {
            Shown::Screen { .. } => {
                let (why, at) = (format!("{error:#}"), Instant::now() + AGAIN);
                self.link = Link::Lost { why, at, search: None };
                self.picture.change();
                Ok(())
            }
            Shown::Json | Shown::Once { .. } => Err(error),
        }
    }

    /// Looks for a daemon that is gone. One that hangs must not keep keys from being heard.
    fn look_again(&mut self, daemon: &Daemon, now: Instant) {
        let Link::Lost { at, search, .. } = &mut self.link else { return };
        if search.is_none() && now >= *at {
            let daemon = daemon.clone();
            *search = Some(thread::spawn(move || open(&daemon)));
        }
        let Some(found) = search.take_if(|search| search.is_finished()) else { return };
        *at = now + AGAIN;
        if let Ok(Ok(socket)) = found.join() {
            // It may be another one, with another map of the same epoch.
            self.picture.cells = cells::Cells::default();
            self.link = Link::Open(Box::new(socket));
            self.picture.change();
        }
    }

    /// Asks the daemon how it goes; gives when to do so again.
    fn ask(&mut self, now: Instant) -> anyhow::Result<Instant> {
        let (asked, silence) = match &mut self.link {
            Link::Open(socket) => (socket.ask(now), socket.silence()),
            Link::Lost { .. } => return Ok(now + SEARCH),
        };
        let has_screen = matches!(self.shown, Shown::Screen { .. });
        if let Some(silence) = silence.filter(|silence| *silence > PATIENCE && !has_screen) {
            bail!("the daemon has not answered for {} s", silence.as_secs());
        }
        match asked {
            Ok(next) => Ok(next),
            Err(error) => self.lose(error).map(|()| now + AGAIN),
        }
    }

    /// How the daemon is.
    fn known(&self) -> Known {
        match &self.link {
            Link::Lost { why, .. } => Known::Lost(why.clone()),
            Link::Open(socket) => match socket.silence() {
                Some(silence) => Known::Silent(silence),
                None => {
                    let age = socket.age(self.picture.cells.time_us);
                    Known::Here(socket.address().to_string(), age)
                }
            },
        }
    }

    /// Draws what has changed on a screen; gives the time when there will be something to draw.
    fn draw(&mut self, now: Instant) -> io::Result<Instant> {
        let known = self.known();
        let Shown::Screen { screen, drawn } = &mut self.shown else { return Ok(now + OLDER) };
        let size = screen.size();
        if let Some((at, drawn, took)) = *drawn {
            let is_new = self.picture.is_changed() || drawn != size;
            let due = at + if is_new { FRAME.max(took * SHARE) } else { OLDER };
            if now < due {
                return Ok(due);
            }
        }
        screen.draw(self.picture.lines(size, &known))?;
        let end = Instant::now();
        *drawn = Some((end, size, end - now));
        Ok(end + OLDER)
    }

    /// Does what the keys ask for that were pressed; gives whether that is the end.
    fn press(&mut self) -> anyhow::Result<bool> {
        let Shown::Screen { screen, .. } = &mut self.shown else { return Ok(false) };
        for key in screen.keys()? {
            match (key, &mut self.link) {
                (Key::End, _) => return Ok(true),
                (Key::Stop, Link::Open(socket)) => {
                    let stop = Command::Halt(Halt::Stop { note: None });
                    if let Err(error) = socket.send(stop) {
                        self.lose(error)?;
                        return Ok(false);
                    }
                }
                (key, _) => self.picture.press(key),
            }
        }
        Ok(false)
    }

    /// Takes what came; gives whether that is the end.
    fn hear(&mut self) -> anyhow::Result<bool> {
        for _ in 0..BATCH {
            let Link::Open(socket) = &mut self.link else { break };
            match socket.next() {
                Ok(None) => break,
                Ok(Some(Heard::Frame(bytes))) => match self.take(&bytes) {
                    Ok(true) => return Ok(true),
                    Ok(false) => {}
                    Err(Unheard::Output(error)) => return Err(error.into()),
                    Err(Unheard::Daemon(error)) => self.lose(error)?,
                },
                Ok(Some(Heard::Info(info))) => self.picture.tell(info),
                Ok(Some(Heard::Message(DaemonMessage::Event(event)))) => {
                    if let Some(report) = event.state() {
                        self.picture.tell_link(&report.link);
                    }
                }
                Ok(Some(Heard::Message(_))) => {}
                Err(error) => self.lose(error)?,
            }
        }
        Ok(false)
    }

    /// Takes a frame; gives whether it was the last that is wanted.
    fn take(&mut self, bytes: &[u8]) -> Result<bool, Unheard> {
        let Link::Open(socket) = &mut self.link else { return Ok(false) };
        // What is no frame of a map is not for us.
        let Ok(frame) = Frame::read(bytes) else { return Ok(false) };
        if !self.picture.cells.take(&frame) {
            return Ok(false);
        }
        self.picture.change();
        socket.acknowledge(TOPIC, frame.header.sequence).map_err(Unheard::Daemon)?;
        let age = socket.age(frame.header.time_us);
        let cells = &self.picture.cells;
        match &mut self.shown {
            Shown::Screen { .. } => Ok(false),
            Shown::Json => {
                let line = told(&frame, cells, age);
                writeln!(io::stdout(), "{}", printable_json(&line)).map_err(Unheard::Output)?;
                Ok(false)
            }
            Shown::Once { waits } if cells.len() == 0 => {
                if cells.is_whole() && !std::mem::replace(waits, true) {
                    say("there is no map yet; waiting for one");
                }
                Ok(false)
            }
            Shown::Once { .. } if !cells.is_whole() => Ok(false),
            Shown::Once { .. } => self.print().map(|()| true).map_err(Unheard::Output),
        }
    }

    /// One picture, as wide as it may be.
    fn print(&mut self) -> io::Result<()> {
        let columns = columns(io::stdout()).unwrap_or(80);
        let known = self.known();
        let lines = (columns / 4).clamp(8, 50);
        let drawn = self.picture.lines(Size { columns, lines }, &known);
        let mut out = anstream::stdout().lock();
        // The first line is a screen's title, the last one its keys.
        for line in &drawn[1..drawn.len() - 1] {
            writeln!(out, "{line}")?;
        }
        if self.picture.cells.is_over {
            warn("the map is larger than can be shown");
        }
        Ok(())
    }
}

/// Why a frame was not taken.
enum Unheard {
    Daemon(anyhow::Error),
    Output(io::Error),
}

/// A frame and what the map is by now, for programs.
fn told(frame: &Frame<'_>, cells: &cells::Cells, age: Duration) -> Value {
    let header = &frame.header;
    json!({
        "epoch": header.epoch,
        "seq": header.sequence,
        "time_us": header.time_us,
        "age_ms": age.as_millis() as u64,
        "flat": header.is_flat,
        "unit": header.unit,
        "points": frame.points().len(),
        "cells": cells.len(),
        "bounds": cells.bounds(),
        "pose": cells.pose,
    })
}
