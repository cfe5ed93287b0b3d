//! [`Pair`]: a session and a simulated controller, a link each way, and a clock of their own.

use std::time::{Duration, Instant};

use fastrand::Rng;
use sinew_faults::{Faults, FaultyBytes};
use sinew_robot::{
    Refusal,
    vacuum::{Command, Event, LinkState as Link, Output, Session, Settings},
};
use sinew_sim::vacuum::{Controller, Options, Received};

use crate::{rules::Rules, wire::described};

pub(crate) const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Steps that may happen without time passing before the pair is said to hang.
const MOST_STEPS: u32 = 1000;

/// How a pair begins.
#[derive(Debug, Clone, Default)]
pub(crate) struct Setup {
    pub(crate) seed: u64,
    pub(crate) settings: Settings,
    pub(crate) options: Options,
    /// What goes wrong from host to robot.
    pub(crate) up: Faults,
    /// What goes wrong from robot to host.
    pub(crate) down: Faults,
    /// The host is called at most this late.
    pub(crate) late: Duration,
    /// The port may be full for at most this long.
    pub(crate) blocked: Duration,
    /// The line from host to robot is as slow as the host's settings say.
    pub(crate) slow: bool,
    /// A client's command is at most this old when the host is asked.
    pub(crate) age: Duration,
    /// Print every frame and event.
    pub(crate) trace: bool,
}

/// What a client may do.
#[derive(Debug, Clone)]
enum Ask {
    Execute(Command),
    Release,
    Take,
}

/// Host and robot.
pub(crate) struct Pair {
    pub(crate) host: Session,
    pub(crate) robot: Controller,
    pub(crate) up: FaultyBytes,
    pub(crate) down: FaultyBytes,
    pub(crate) now: Instant,
    pub(crate) start: Instant,
    /// What has to hold; asserted after every call.
    pub(crate) rules: Rules,
    /// Events other than status packets, and when.
    pub(crate) events: Vec<(Instant, Event)>,
    /// Frames that the robot has heard.
    pub(crate) heard: Vec<Received>,
    rng: Rng,
    late: Duration,
    /// When the host has something to do, and when its caller gets round to it.
    call: Option<(Instant, Instant)>,
    /// The port takes nothing before.
    full_until: Option<Instant>,
    age: Duration,
    /// The host does not run before the second; it wanted to at the first.
    pause: Option<(Instant, Instant)>,
    /// What clients sent to a host that did not run.
    unheard: Vec<Ask>,
    trace: bool,
    steps: u32,
}

impl Pair {
    pub(crate) fn new(setup: Setup) -> Self {
        let now = Instant::now();
        let rules = Rules::new(&setup, now);
        let up = FaultyBytes::new(setup.up, setup.seed);
        let up = if setup.slow { up.with_baud(setup.settings.baud) } else { up };
        Pair {
            host: Session::new(setup.settings, now),
            robot: Controller::new(setup.options, now),
            up,
            down: FaultyBytes::new(setup.down, !setup.seed),
            now,
            start: now,
            rules,
            events: Vec::new(),
            heard: Vec::new(),
            rng: Rng::with_seed(setup.seed ^ 0x5EED),
            late: setup.late,
            call: None,
            full_until: None,
            age: setup.age,
            pause: None,
            unheard: Vec::new(),
            trace: setup.trace,
            steps: 0,
        }
    }

    /// A pair on a clean link that has booted.
    pub(crate) fn ready(options: Options) -> Self {
        let mut pair = Pair::new(Setup { options, ..Setup::default() });
        pair.connect();
        pair.run_until(ms(10_000), |pair| pair.host.state().link == Link::Ready);
        pair
    }

    /// Opens the port.
    pub(crate) fn connect(&mut self) {
        self.say("port", || "opened".into());
        self.restore();
        self.rules.connected(self.now);
        self.host.connected(self.now);
        self.fetch();
    }

    /// Closes the port; what is under way is lost.
    pub(crate) fn disconnect(&mut self) {
        self.say("port", || "closed".into());
        self.cut();
        self.full_until = None;
        self.rules.disconnected();
        self.host.disconnected(self.now);
        self.fetch();
    }

    /// Unplugs the cable, which the host is not told.
    pub(crate) fn cut(&mut self) {
        self.cut_up();
        self.down.cut();
    }

    /// Cuts the wire to the robot only.
    pub(crate) fn cut_up(&mut self) {
        self.say("link", || "cut".into());
        self.rules.plugged(false);
        self.up.cut();
    }

    /// Plugs it in again.
    pub(crate) fn restore(&mut self) {
        self.say("link", || "restored".into());
        self.rules.plugged(true);
        self.up.restore();
        self.down.restore();
    }

    /// Lets the port take nothing for a while.
    pub(crate) fn block(&mut self, time: Duration) {
        self.say("port", || format!("full for {time:?}"));
        self.full_until = Some(self.now + time);
    }

    /// Cuts the controller's power for a moment.
    pub(crate) fn reboot(&mut self) {
        self.say("robot", || "reboots".into());
        self.rules.disturbed(self.now + ms(1000));
        self.robot.reboot(self.now);
    }

    /// Lets nothing out of the link for a while, in either direction.
    pub(crate) fn stall(&mut self, time: Duration) {
        self.say("link", || format!("stalled for {time:?}"));
        self.rules.disturbed(self.now + time);
        self.up.stall(self.now + time);
        self.down.stall(self.now + time);
    }

    /// A client asks; one that a paused host does not hear yet gets no refusal.
    pub(crate) fn execute(&mut self, command: Command) -> Result<(), Refusal> {
        if self.pause.is_some() {
            self.unheard.push(Ask::Execute(command));
            return Ok(());
        }
        let age = self.age.mul_f64(self.rng.f64());
        let received = self.now.checked_sub(age).unwrap();
        let done = self.host.execute_received(self.now, received, command.clone(), "client");
        self.say("client", || format!("{command:?}, {age:?} old -> {done:?}"));
        self.rules.executed(self.now, received, &command, done.is_ok());
        self.fetch();
        done
    }

    /// The client goes away.
    pub(crate) fn release(&mut self) {
        if self.pause.is_some() {
            return self.unheard.push(Ask::Release);
        }
        self.say("client", || "released".into());
        self.host.release(self.now, "client");
        self.rules.released(self.now);
        self.fetch();
    }

    /// Another client takes the controls.
    pub(crate) fn take(&mut self) {
        if self.pause.is_some() {
            return self.unheard.push(Ask::Take);
        }
        self.say("client", || "taken".into());
        self.host.taken(self.now, "another client");
        self.rules.released(self.now);
        self.fetch();
    }

    /// The host does not run for a while.
    pub(crate) fn pause(&mut self, time: Duration) {
        self.say("host", || format!("pauses for {time:?}"));
        let due = self.host.poll_timeout().unwrap_or(self.now + time).max(self.now);
        self.pause = Some((due, self.now + time));
        self.rules.pausing(self.now);
    }

    /// The host runs again, and finds everything at once.
    fn resume(&mut self, due: Instant) {
        self.pause = None;
        let late = self.now.saturating_duration_since(due);
        self.say("host", || format!("runs again, {late:?} late"));
        self.rules.resumed(self.now, late);
        if late > self.host.settings().deadman {
            self.host.paused(self.now, late);
            self.fetch();
        }
        self.call_host();
        for ask in std::mem::take(&mut self.unheard) {
            match ask {
                Ask::Execute(command) => drop(self.execute(command)),
                Ask::Release => self.release(),
                Ask::Take => self.take(),
            }
        }
    }

    pub(crate) fn run_for(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.step(end);
        }
    }

    /// Runs until something is so; fails when it is not in `time`.
    #[track_caller]
    pub(crate) fn run_until(&mut self, time: Duration, done: impl Fn(&Pair) -> bool) {
        let end = self.now + time;
        while !done(self) {
            assert!(self.now < end, "not in {time:?}: {:?}", self.host.state());
            self.step(end);
        }
    }

    /// Streams a command as a client does, every 50 ms.
    pub(crate) fn drive(&mut self, time: Duration, command: &Command) {
        let end = self.now + time;
        while self.now < end {
            self.execute(command.clone()).unwrap();
            self.run_for(ms(50).min(end - self.now));
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.now - self.start
    }

    /// Goes to the earliest of all time-outs, or to `limit`, and does what is due.
    pub(crate) fn step(&mut self, limit: Instant) {
        let before = self.now;
        let timeouts = [
            self.up.poll_timeout(),
            Some(self.robot.poll_timeout()),
            self.pause.map_or_else(|| self.call_at(), |(_, until)| Some(until)),
            self.full_until,
        ];
        self.now = timeouts.into_iter().flatten().fold(limit, Instant::min).max(before);
        self.steps = if self.now == before { self.steps + 1 } else { 0 };
        assert!(self.steps < MOST_STEPS, "somebody asks to be called without end");
        self.robot_step();
        match self.pause {
            Some((due, until)) if until <= self.now => self.resume(due),
            None if self.call.is_some_and(|(_, at)| at <= self.now) => self.call_host(),
            _ => {}
        }
        self.fetch();
        self.rules.check(self.now, &self.robot, self.full_until.is_some());
    }

    fn call_host(&mut self) {
        self.call = None;
        let bytes = self.down.receive(self.now);
        if !bytes.is_empty() {
            self.host.handle_input(self.now, &bytes);
        }
        self.host.handle_timeout(self.now);
    }

    fn robot_step(&mut self) {
        let targets = self.robot.wheel_targets();
        let bytes = self.up.receive(self.now);
        if bytes.is_empty() {
            self.robot.handle_timeout(self.now);
        } else {
            self.robot.handle_input(self.now, &bytes);
        }
        // Time alone also finds frames: behind one that was given up.
        if !self.robot.received().is_empty() {
            let heard = self.robot.take_received();
            self.rules.heard(&heard, targets);
            self.heard.extend(heard);
        }
        while let Some(frame) = self.robot.poll_transmit() {
            self.down.send(self.now, frame.as_bytes());
        }
    }

    /// When the host is called: when it has something to do, or later.
    fn call_at(&mut self) -> Option<Instant> {
        let input = self.down.poll_timeout();
        let due = [self.host.poll_timeout(), input].into_iter().flatten().min()?;
        if self.call.is_none_or(|(before, _)| before != due) {
            let late = match self.late {
                Duration::ZERO => Duration::ZERO,
                most if self.rng.u8(..) < 50 => most.mul_f64(self.rng.f64()),
                _ => Duration::from_micros(self.rng.u64(0..500)).min(self.late),
            };
            self.call = Some((due, (due + late).max(self.now)));
        }
        self.call.map(|(_, at)| at)
    }

    /// Takes what the host gives, unless the port is full.
    fn fetch(&mut self) {
        if self.pause.is_some() || self.full_until.is_some_and(|until| self.now < until) {
            return;
        }
        if self.full_until.take().is_some() {
            self.host.handle_timeout(self.now);
        }
        let mut outputs = Vec::new();
        while let Some(output) = self.host.poll_output() {
            match &output {
                Output::Transmit(frame) => {
                    self.say("host", || described(frame));
                    self.up.send(self.now, frame.as_bytes());
                }
                Output::Event(Event::Status { .. }) => {}
                Output::Event(event) => {
                    self.say("event", || format!("{event:?}"));
                    self.events.push((self.now, event.clone()));
                }
            }
            outputs.push(output);
        }
        self.rules.outputs(self.now, &outputs);
    }

    pub(crate) fn say(&self, who: &str, what: impl FnOnce() -> String) {
        if self.trace {
            eprintln!("{:>10.3} ms {who:<7} {}", self.elapsed().as_secs_f64() * 1e3, what());
        }
    }
}
