//! [`Pair`]: a session and a simulated robot, a link each way, and a clock of their own.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use sinew_faults::{DatagramFaults, FaultyDatagrams};
use sinew_robot::{
    Refusal,
    teach::{Answer, Event, LinkState as Link, Output, RequestId, RobotRequest, Session, Settings},
    trajectory::{Error, Reduced, reduce},
};
use sinew_sim::g1::{self, Options, Robot};
use sinew_wire::teach::{Command, Datagram, KEYFRAME_SLOTS, Layout, Message, Sequence};

use crate::{disk::Disk, rules::Rules};

pub(crate) const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

pub(crate) const LAYOUTS: [Layout; 2] = [Layout::Documented, Layout::Compact];
/// Steps that may happen without time passing before the pair is said to hang.
const MOST_STEPS: u32 = 1000;
/// Longest payload of a status: what is longer than an answer is one.
const ANSWER: usize = 44;

/// Where the host is, for the robot.
pub(crate) fn host_address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 40_000))
}

/// How a pair begins.
#[derive(Debug, Clone, Default)]
pub(crate) struct Setup {
    pub(crate) seed: u64,
    pub(crate) settings: Settings,
    pub(crate) options: Options,
    /// What goes wrong from host to robot.
    pub(crate) up: DatagramFaults,
    /// What goes wrong from robot to host.
    pub(crate) down: DatagramFaults,
    /// The number that the robot sees on the host's first datagram.
    pub(crate) first_request: u16,
    /// The number that the host sees on the robot's first status.
    pub(crate) first_status: u16,
    /// How long the host takes to reduce a recording.
    pub(crate) thinking: Duration,
    /// Print every datagram and event.
    pub(crate) trace: bool,
}

/// Host and robot.
pub(crate) struct Pair {
    pub(crate) host: Session,
    pub(crate) robot: Robot,
    pub(crate) up: FaultyDatagrams,
    pub(crate) down: FaultyDatagrams,
    pub(crate) now: Instant,
    pub(crate) start: Instant,
    /// What has to hold; asserted after every call.
    pub(crate) rules: Rules,
    /// What the robot stores its actions on.
    pub(crate) disk: Disk,
    /// The latest datagrams that were taken, and when: for whoever wants to send them again.
    pub(crate) taken_by_robot: Option<(Instant, Vec<u8>)>,
    pub(crate) taken_by_host: Option<(Instant, Vec<u8>)>,
    setup: Setup,
    /// Recordings that will have been reduced.
    reduced: Vec<(Instant, RequestId, Result<Reduced, Error>)>,
    /// The host's process does nothing before.
    frozen_until: Option<Instant>,
    /// Nor does the robot's.
    robot_frozen_until: Option<Instant>,
    /// Steps since time last passed.
    steps: u32,
}

impl Pair {
    pub(crate) fn new(setup: Setup) -> Self {
        let now = Instant::now();
        Pair {
            host: Session::new(setup.settings.clone(), now),
            robot: Robot::new(setup.options.clone(), now),
            up: FaultyDatagrams::new(setup.up, setup.seed ^ 0x0BAD),
            down: FaultyDatagrams::new(setup.down, setup.seed ^ 0xD0_0000),
            now,
            start: now,
            rules: Rules::new(now),
            disk: Disk::new(setup.options.actions.clone()),
            taken_by_robot: None,
            taken_by_host: None,
            setup,
            reduced: Vec::new(),
            frozen_until: None,
            robot_frozen_until: None,
            steps: 0,
        }
    }

    /// A pair whose links do nothing wrong.
    pub(crate) fn clean(layout: Layout, options: Options) -> Self {
        let settings = Settings { layout, unix_time: Some(1_700_000_000), ..Settings::default() };
        let mut up = DatagramFaults::default();
        up.link.delay = ms(1);
        Pair::new(Setup { settings, options, up, down: up, ..Setup::default() })
    }

    pub(crate) fn is_frozen(&self) -> bool {
        self.frozen_until.is_some()
    }

    /// Lets the host's process sleep.
    pub(crate) fn freeze(&mut self, until: Instant) {
        self.frozen_until = Some(until);
    }

    pub(crate) fn is_robot_frozen(&self) -> bool {
        self.robot_frozen_until.is_some()
    }

    /// Lets the robot's process sleep, and with it its disk.
    pub(crate) fn freeze_robot(&mut self, until: Instant) {
        self.robot_frozen_until = Some(until);
    }

    /// Unplugs both directions.
    pub(crate) fn cut(&mut self) {
        self.up.cut();
        self.down.cut();
    }

    pub(crate) fn restore(&mut self) {
        self.up.restore();
        self.down.restore();
        self.disk.restore();
    }

    /// Cuts the robot's power for a moment.
    pub(crate) fn restart(&mut self, from_disk: bool) {
        self.robot_frozen_until = None;
        self.robot.handle_timeout(self.now);
        self.drain();
        if from_disk {
            let pose = self.robot.joints();
            let actions = self.disk.killed();
            let options = Options { actions, pose, ..self.setup.options.clone() };
            self.robot = Robot::new(options, self.now);
            assert_eq!(self.robot.counters().actions_left_out, 0, "what was stored can be loaded");
        } else {
            self.robot.restart(self.now);
        }
        self.taken_by_robot = None;
        self.rules.restarted(self.now);
        self.check();
    }

    /// Asks the host for something and leaves what it says to be fetched.
    pub(crate) fn ask(&mut self, verb: RobotRequest) -> RequestId {
        self.say("ask", || format!("{verb:?}"));
        let stop = verb == RobotRequest::Stop && self.host.state().link != Link::Closed;
        let play = matches!(verb, RobotRequest::Play { .. } | RobotRequest::Perform { .. });
        let save = matches!(verb, RobotRequest::Save { .. });
        let id = self.host.request(self.now, verb, "tester");
        self.rules.asked(self.now, id, stop, play);
        self.rules.asked_save(id, save);
        id
    }

    /// Tells the host that its client has gone.
    pub(crate) fn release(&mut self) {
        self.host.release(self.now, "tester");
    }

    /// Another client takes the controls from the one that asked so far.
    pub(crate) fn take(&mut self) {
        self.say("take", String::new);
        let before = (self.host.state().teaching, self.host.state().recording);
        let played = self.host.state().playing.is_some();
        self.host.taken(self.now, "newcomer");
        let state = self.host.state();
        assert_eq!((state.teaching, state.recording), before, "teaching survives a takeover");
        self.rules.taken(played);
    }

    /// Asks and waits for the outcome.
    pub(crate) fn get(&mut self, verb: RobotRequest) -> Result<Answer, Refusal> {
        let id = self.ask(verb.clone());
        for _ in 0..40_000 {
            self.drain();
            if let Some(outcome) = self.rules.outcome(id) {
                return outcome;
            }
            self.step(self.now + ms(1000));
        }
        panic!("{verb:?} never ended");
    }

    pub(crate) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.step(end);
        }
        self.drain();
    }

    /// Does what is due next, at `until` at the latest.
    pub(crate) fn step(&mut self, until: Instant) {
        self.drain();
        let (frozen, robot_frozen) = (self.is_frozen(), self.is_robot_frozen());
        let next = [
            self.up.poll_timeout().filter(|_| !robot_frozen),
            self.disk.due().filter(|_| !robot_frozen),
            self.down.poll_timeout().filter(|_| !frozen),
            self.host.poll_timeout().filter(|_| !frozen),
            self.reduced.first().map(|(due, ..)| *due).filter(|_| !frozen),
            Some(self.robot.poll_timeout()).filter(|_| !robot_frozen),
            self.frozen_until,
            self.robot_frozen_until,
        ];
        let next = next.into_iter().flatten().fold(until, Instant::min).max(self.now);
        self.steps = if next > self.now { 0 } else { self.steps + 1 };
        assert!(self.steps < MOST_STEPS, "called again and again");
        self.now = next;
        if self.frozen_until.is_some_and(|until| next >= until) {
            self.frozen_until = None;
        }
        if self.robot_frozen_until.is_some_and(|until| next >= until) {
            self.robot_frozen_until = None;
        }
        if !self.is_robot_frozen() {
            while let Some(bytes) = self.up.receive(self.now) {
                self.give_robot(&bytes);
            }
            if let Some((id, ok)) = self.disk.finish(self.now) {
                self.say("disk", || format!("{id} {ok}"));
                self.rules.tally.full += u64::from(!ok);
                self.robot.stored(self.now, id, ok);
                self.drain();
            }
        }
        if !self.is_frozen() {
            while let Some(bytes) = self.down.receive(self.now) {
                self.give_host(&bytes);
            }
            if self.reduced.first().is_some_and(|(due, ..)| *due <= self.now) {
                let (_, id, result) = self.reduced.remove(0);
                self.host.handle_reduced(self.now, id, result);
            }
            if self.host.poll_timeout().is_some_and(|at| at <= self.now) {
                self.host.handle_timeout(self.now);
            }
            assert!(
                self.host.poll_timeout().is_none_or(|at| at > self.now),
                "the host wants to be called again at once"
            );
        }
        if !self.is_robot_frozen() && self.robot.poll_timeout() <= self.now {
            self.robot.handle_timeout(self.now);
            assert!(self.robot.poll_timeout() > self.now, "and so does the robot");
        }
        self.drain();
        self.check();
    }

    fn give_robot(&mut self, bytes: &[u8]) {
        let before = self.robot.counters().answered;
        self.robot.handle_datagram(self.now, host_address(), bytes);
        if self.robot.counters().answered > before {
            self.taken_by_robot = Some((self.now, bytes.to_vec()));
            self.rules.robot_took(self.now, bytes);
        }
        self.check();
        self.drain();
    }

    fn give_host(&mut self, bytes: &[u8]) {
        let before = self.host.state().counters.received;
        self.host.handle_input(self.now, bytes);
        if self.host.state().counters.received > before {
            self.taken_by_host = Some((self.now, bytes.to_vec()));
        }
        self.drain();
    }

    pub(crate) fn check(&mut self) {
        if !self.is_robot_frozen() {
            self.rules.check_robot(self.now, &self.robot);
        }
    }

    /// Fetches all that both have to say.
    pub(crate) fn drain(&mut self) {
        while let Some(output) = self.robot.poll_output() {
            match output {
                g1::Output::Store { id, actions } => self.disk.begin(self.now, id, actions),
                g1::Output::Send { to, bytes } if to == host_address() => {
                    self.trace(" <", &bytes);
                    let bytes = self.renumbered_down(&bytes);
                    self.down.send(self.now, &bytes);
                }
                _ => {}
            }
        }
        if self.is_frozen() {
            return;
        }
        while let Some(output) = self.host.poll_output() {
            match output {
                Output::Transmit(bytes) => {
                    self.trace(">", &bytes);
                    self.rules.host_sent(&bytes);
                    let bytes = renumbered(&bytes, self.setup.first_request);
                    self.up.send(self.now, &bytes);
                }
                Output::Reduce { id, recording } => {
                    let due = self.now + self.setup.thinking;
                    self.reduced.push((due, id, reduce(&recording, KEYFRAME_SLOTS)));
                }
                Output::Reply { id, outcome } => {
                    self.say("reply", || format!("{id}: {outcome:?}"));
                    self.rules.reply(self.now, id, outcome, &self.robot, &self.disk);
                }
                Output::Event(Event::Status { .. }) => {}
                Output::Event(event) => {
                    self.say("event", || format!("{event:?}"));
                    if let Event::Link { .. } = event {
                        self.taken_by_host = None;
                    }
                    self.rules.event(event);
                }
            }
        }
        self.rules.fetched();
        assert_eq!(self.host.state().counters.events_lost, 0);
    }

    /// Numbers as the host expects them: an answer's is its request's + 1.
    fn renumbered_down(&self, bytes: &[u8]) -> Vec<u8> {
        let datagram = Datagram::new_checked(bytes).unwrap();
        let status = Command::from(datagram.command) == Command::Subscribe
            && datagram.payload.len() > ANSWER;
        let by =
            if status { self.setup.first_status } else { self.setup.first_request.wrapping_neg() };
        renumbered(bytes, by)
    }

    fn trace(&self, direction: &str, bytes: &[u8]) {
        if !self.setup.trace {
            return;
        }
        let datagram = Datagram::new_checked(bytes).unwrap();
        if datagram.payload.len() < 100 || direction == ">" || datagram.command != 0x0B {
            let (number, command) = (datagram.sequence, datagram.command);
            let status = datagram.payload.first_chunk().map(|field| u32::from_be_bytes(*field));
            self.say(direction, || format!("{number} {command:#04x} {status:?}"));
        }
    }

    pub(crate) fn say(&self, what: &str, text: impl FnOnce() -> String) {
        if self.setup.trace {
            let at = self.now.duration_since(self.start).as_secs_f64();
            eprintln!("{at:9.4} {what} {}", text());
        }
    }
}

/// The same datagram with another number.
fn renumbered(bytes: &[u8], by: u16) -> Vec<u8> {
    if by == 0 {
        return bytes.to_vec();
    }
    let datagram = Datagram::new_checked(bytes).unwrap();
    let number = Sequence(datagram.sequence.0.wrapping_add(by));
    let mut out = vec![0; bytes.len()];
    let length =
        Datagram::emit(datagram.layout, number, datagram.command, datagram.payload, &mut out);
    assert_eq!(length.unwrap(), bytes.len());
    out
}

/// What a host's datagram says.
pub(crate) fn request(bytes: &[u8]) -> Message<'_> {
    let datagram = Datagram::new_checked(bytes).unwrap();
    Message::parse(&datagram, Some(sinew_wire::teach::Sender::Host)).unwrap()
}
