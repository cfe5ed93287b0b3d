//! `sinew watch`.

mod changes;
mod picture;

use std::{
    io::{self, Write},
    os::fd::BorrowedFd,
    time::{Duration, Instant},
};

use anstyle::Style;
use anyhow::anyhow;
use serde_json::Value;
use sinew_api::{Command, DaemonMessage, Halt, Reply, RobotReport, Robots, Topic};
use tracing_subscriber::fmt::{
    format::Writer,
    time::{FormatTime, SystemTime},
};

use self::{changes::Changes, picture::Picture};
use super::status::chosen;
use crate::{
    DONE,
    client::{Client, Daemon},
    interrupt::Wake,
    output::{RED, YELLOW, printable, printable_json},
    terminal::{Key, Screen, Size, has_screen, wait},
    words,
};

/// How often the daemon is asked for everything: what only gets older is no news to it, and it might
/// no longer be there.
const ASK: Duration = Duration::from_millis(400);
/// A screen is not drawn more often.
const FRAME: Duration = Duration::from_millis(40);
/// What is not about one robot.
const ALL: &str = "all";
/// Messages are taken when they are there, not waited for.
const PATIENCE: Duration = Duration::from_millis(1);
/// Messages between two looks at keys, clock and screen, at most.
const BATCH: usize = 100;

/// Show what the robots are doing, live, until q or Ctrl-C.
///
/// On a terminal it is a screen: the space bar stops the robots, arrows choose one. Elsewhere it is a
/// line for each change and event; with --json, for each message.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Updates a second.
    #[arg(long, default_value_t = 5.0)]
    max_hz: f64,
    /// End after so long, as in 10s.
    #[arg(long = "for", value_parser = super::duration)]
    duration: Option<Duration>,
    #[command(flatten)]
    daemon: Daemon,
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let mut wake = Wake::new()?;
    let mut client = args.daemon.connect()?;
    let end = args.duration.map(|most| Instant::now() + most);
    let robots = chosen(client.robots()?.robots, args.daemon.robot())?;
    let topics = vec![Topic::State, Topic::Events];
    let subscribed = client.send(Command::Subscribe { topics, max_hz: Some(args.max_hz) })?;
    client.set_patience(PATIENCE)?;
    let mut shown = match json {
        true => Shown::Json,
        false if has_screen() => Shown::on_screen(robots, &client)?,
        false => Shown::Lines(Changes::begin(robots)?),
    };
    let mut ask_at = Instant::now() + ASK;
    let (mut heard, mut behind) = (true, false);
    loop {
        let now = Instant::now();
        if wake.is_end() || end.is_some_and(|end| now >= end) {
            return Ok(DONE);
        }
        if now >= ask_at {
            // One that does not read is not asked on and on.
            if std::mem::take(&mut heard) {
                client.send(Command::Robots).map_err(lost)?;
            }
            ask_at = now + ASK;
        }
        let draw_at = shown.draw(now)?;
        let next = [Some(ask_at), end, draw_at, behind.then_some(now)].into_iter().flatten().min();
        let pressed = wait(client.socket(), &wake, shown.input(), next)?;
        if pressed && shown.press(&mut client)? {
            return Ok(DONE);
        }
        let mut taken = 0;
        while taken < BATCH
            && let Some(message) = client.next().map_err(lost)?
        {
            taken += 1;
            shown.tell(message, subscribed)?;
        }
        // What was read from the socket and not taken does not wake us.
        (heard, behind) = (heard || taken > 0, taken == BATCH);
    }
}

/// A daemon that is gone is not a reader of our output that is, whatever the socket says.
fn lost(error: anyhow::Error) -> anyhow::Error {
    anyhow!("lost the daemon: {error:#}")
}

/// How it is shown.
enum Shown {
    Json,
    Lines(Changes),
    Screen { screen: Screen, picture: Picture, drawn: Option<(Instant, Size)> },
}

/// Something that robots and events are told to.
trait Viewer {
    /// A robot as it is now.
    fn report(&mut self, robot: RobotReport) -> io::Result<()>;

    /// Something that happened, to a robot or all.
    fn say(&mut self, robot: &str, style: Style, text: &str) -> io::Result<()>;
}

impl Shown {
    fn on_screen(robots: Vec<RobotReport>, client: &Client) -> io::Result<Self> {
        let address = client.socket().peer_addr()?.to_string();
        let screen = Screen::open()?;
        let picture = Picture::new(robots, address, screen.input().is_some());
        Ok(Shown::Screen { screen, picture, drawn: None })
    }

    fn input(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Shown::Screen { screen, .. } => screen.input(),
            _ => None,
        }
    }

    /// Draws what has changed; gives the time when there will be something to draw.
    fn draw(&mut self, now: Instant) -> io::Result<Option<Instant>> {
        let Shown::Screen { screen, picture, drawn } = self else { return Ok(None) };
        let size = screen.size();
        let due = drawn.map_or(now, |(at, _)| at + FRAME);
        if !picture.is_changed() && drawn.is_some_and(|(_, drawn)| drawn == size) {
            return Ok(None);
        }
        if now < due {
            return Ok(Some(due));
        }
        screen.draw(picture.lines(size, now))?;
        *drawn = Some((now, size));
        Ok(None)
    }

    /// Does what the keys ask for that were pressed; gives whether that is the end.
    fn press(&mut self, client: &mut Client) -> anyhow::Result<bool> {
        let Shown::Screen { screen, picture, .. } = self else { return Ok(false) };
        for key in screen.keys()? {
            match key {
                Key::End => return Ok(true),
                Key::Stop => {
                    let mut stop: Value = Command::Halt(Halt::Stop { note: None }).into();
                    let robot = picture.chosen().map(str::to_owned);
                    if let Some(robot) = &robot {
                        stop["robot"] = robot.as_str().into();
                    }
                    client.send(stop).map_err(lost)?;
                    picture.say(robot.as_deref().unwrap_or(ALL), YELLOW, "stop sent")?;
                }
                key => key.step().into_iter().for_each(|step| picture.choose(step)),
            }
        }
        Ok(false)
    }

    fn tell(&mut self, message: Value, subscribed: u64) -> anyhow::Result<()> {
        let viewer: &mut dyn Viewer = match self {
            Shown::Json if message["type"] != "Reply" => {
                return Ok(writeln!(io::stdout(), "{}", printable_json(&message))?);
            }
            Shown::Json => &mut Silent,
            Shown::Lines(changes) => changes,
            Shown::Screen { picture, .. } => picture,
        };
        // Of a daemon that knows more than we do there may be others.
        let Ok(message) = serde_json::from_value(message) else { return Ok(()) };
        match message {
            DaemonMessage::Event(event) => match event.state() {
                Some(robot) => viewer.report(robot)?,
                None => {
                    let said = words::sentence(&event.data);
                    viewer.say(&event.robot, words::style(&event.data), &said)?;
                }
            },
            DaemonMessage::Reply(Reply { error: Some(error), req, .. }) => {
                if req == Some(subscribed.into()) {
                    return Err(error.into());
                }
                viewer.say(ALL, RED, &printable(&error.to_string()))?;
            }
            DaemonMessage::Reply(Reply { data: Some(data), .. }) => {
                if let Ok(Robots { robots, .. }) = serde_json::from_value(data) {
                    robots.into_iter().try_for_each(|robot| viewer.report(robot))?;
                }
            }
            DaemonMessage::Lost(lost) => viewer.say(ALL, YELLOW, &words::lost(lost.count))?,
            _ => {}
        }
        Ok(())
    }
}

/// Sees nothing of answers: they are not what was subscribed to.
struct Silent;

impl Viewer for Silent {
    fn report(&mut self, _: RobotReport) -> io::Result<()> {
        Ok(())
    }

    fn say(&mut self, _: &str, _: Style, _: &str) -> io::Result<()> {
        Ok(())
    }
}

/// Now, as in the log.
fn timestamp() -> String {
    let mut text = String::new();
    // Nothing fails that is written to a string.
    let _ = SystemTime.format_time(&mut Writer::new(&mut text));
    text
}
