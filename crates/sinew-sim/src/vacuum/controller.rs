use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use fastrand::Rng;
use sinew_wire::gd32::{
    Body as Content, Counters, Deframer, FrameBuf, Piece, Profile, STATUS_LEN, What,
};

use super::{
    Dock, Options, Outputs, Received,
    behaviour::Behaviour,
    body::{Body, STEP},
    outbox::Outbox,
    recorder::Recorder,
    scene::{Scene, Seen},
    world::{Pose, World},
};

/// A frame that stays incomplete this long is given up.
const GIVE_UP: Duration = Duration::from_millis(50);
/// Status packets that a late caller missed are sent when they are no older than this.
const BACKLOG: Duration = Duration::from_millis(50);
/// A caller that was away for longer finds the robot at rest, and the time between is not stepped
/// through: by then the watchdog has stopped the motors and the wheels have run out.
const LONG_GAP: Duration = Duration::from_secs(3);
/// How much of a long gap is stepped through before it is skipped, and how much after.
const GAP_HEAD: Duration = Duration::from_secs(2);
const GAP_TAIL: Duration = Duration::from_millis(100);
/// How often a moving robot wants to be called, so that its pose is fresh at any status rate.
const MOVING: Duration = Duration::from_millis(20);
/// How often one that has nothing to do wants to be called.
const IDLE: Duration = Duration::from_secs(1);

/// A simulated CRL-200S motor controller.
///
/// Call [`handle_input`](Self::handle_input) with the host's bytes and
/// [`handle_timeout`](Self::handle_timeout) when [`poll_timeout`](Self::poll_timeout) says so, then
/// drain [`poll_transmit`](Self::poll_transmit). Time that goes back counts as
/// standing still. What a tester sees is as of the latest call.
///
/// A caller that is late gets the status packets of the last 50 ms; older ones
/// are lost, as are the oldest of 256 frames that were not fetched.
#[derive(Debug, Clone)]
pub struct Controller {
    seed: u64,
    profile: Profile,
    period: Duration,
    boot_delay: Duration,
    world: Arc<World>,
    /// What the robot's lidar sees, if it has one.
    scene: Option<Scene>,
    body: Body,
    behaviour: Behaviour,
    outbox: Outbox,
    recorder: Recorder,
    deframer: Deframer,
    /// Up to here everything has happened.
    now: Instant,
    /// The controller hears nothing before.
    listens_at: Instant,
    step_at: Instant,
    /// When the next status packet is due, while they are sent.
    status_at: Option<Instant>,
    /// How many status packets have been due; the noise of each is a function of this.
    statuses: u64,
    /// Since when the deframer waits for the end of a frame.
    incomplete_since: Option<Instant>,
    last_input: Instant,
    start_button: Option<Press>,
    dock_button: Option<Press>,
}

#[derive(Debug, Clone, Copy)]
struct Press {
    from: Instant,
    until: Instant,
}

#[derive(Debug, Clone, Copy)]
enum Due {
    GiveUp,
    Behaviour,
    Step,
    Status,
}

impl Controller {
    /// Powers a robot up.
    pub fn new(options: Options, now: Instant) -> Self {
        let mut rng = Rng::with_seed(options.seed);
        Controller {
            seed: options.seed,
            profile: options.profile,
            period: Duration::from_secs(1) / options.rate_hz.clamp(1, 500),
            boot_delay: options.boot_delay,
            body: Body::new(&options, &mut rng),
            behaviour: Behaviour::new(&options, rng),
            outbox: Outbox::default(),
            recorder: Recorder::new(options.record),
            deframer: Deframer::new(),
            world: Arc::new(options.world),
            scene: None,
            now,
            listens_at: crate::later(now, options.boot_delay),
            step_at: crate::later(now, STEP),
            status_at: None,
            statuses: 0,
            incomplete_since: None,
            last_input: now,
            start_button: None,
            dock_button: None,
        }
    }

    /// Takes bytes from the host, in any split.
    pub fn handle_input(&mut self, now: Instant, bytes: &[u8]) {
        let now = self.advance(now);
        if now < self.listens_at || bytes.is_empty() {
            return;
        }
        let before = self.deframer.pending();
        let moved = self.deframe(now, |deframer, sink| deframer.push(bytes, sink));
        self.last_input = now;
        if moved || before == 0 {
            self.incomplete_since = Some(now);
        }
        if self.deframer.pending() == 0 {
            self.incomplete_since = None;
        }
        self.run(now, now);
        self.show_scene();
    }

    /// Lets the time up to `now` happen.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.advance(now);
    }

    /// The next frame for the host.
    pub fn poll_transmit(&mut self) -> Option<FrameBuf> {
        self.outbox.pop()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) next; always later than the latest
    /// call.
    pub fn poll_timeout(&self) -> Instant {
        let moving = self.body.is_moving() || self.body.is_driven();
        let idle = crate::later(self.now, if moving { MOVING } else { IDLE });
        [self.give_up_at(), self.behaviour.poll_timeout(), self.status_at]
            .into_iter()
            .flatten()
            .fold(idle, Instant::min)
    }

    /// Cuts the controller's power for a moment: it is silent until it is synced again, the
    /// handshake and the encoders' counts are lost, and everything is off.
    pub fn reboot(&mut self, now: Instant) {
        let now = self.advance(now);
        self.deframer.finish(|_| {});
        self.incomplete_since = None;
        self.behaviour.power_cycle();
        self.body.power_cycle();
        self.outbox.clear();
        self.status_at = None;
        self.listens_at = crate::later(now, self.boot_delay);
    }

    /// The caller ran this much later than it wanted to, and hands in only now what came meanwhile.
    pub(super) fn excuse(&mut self, late: Duration) {
        self.behaviour.excuse(late);
    }

    /// Where the robot really is.
    pub fn pose(&self) -> Pose {
        self.body.pose
    }

    /// How fast the left and the right wheel turn, in m/s at the rim.
    pub fn wheels(&self) -> (f32, f32) {
        let [left, right] = self.body.wheels();
        (left as f32, right as f32)
    }

    /// The speeds that the left and the right wheel were told, in m/s.
    pub fn wheel_targets(&self) -> (f32, f32) {
        let [left, right] = self.body.targets();
        (left as f32, right as f32)
    }

    /// Whether a wheel turns.
    pub fn is_moving(&self) -> bool {
        self.body.is_moving()
    }

    /// What is switched, and how far the protocol has come.
    pub fn outputs(&self) -> Outputs {
        self.behaviour.outputs
    }

    /// What the robot's lidar shares with it from now on.
    pub(super) fn share_scene(&mut self) -> Scene {
        let scene = self.scene.get_or_insert_default().clone();
        self.show_scene();
        scene
    }

    /// What surrounds the robot.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The battery's voltage.
    pub fn battery_volts(&self) -> f32 {
        self.body.volts as f32
    }

    /// Holds the start button down for a while.
    pub fn press_start(&mut self, now: Instant, hold: Duration) {
        let from = self.advance(now);
        self.start_button = Some(Press { from, until: crate::later(from, hold) });
    }

    /// Holds the dock button down for a while.
    pub fn press_dock(&mut self, now: Instant, hold: Duration) {
        let from = self.advance(now);
        self.dock_button = Some(Press { from, until: crate::later(from, hold) });
    }

    /// Puts the dustbox in or takes it out.
    pub fn set_dustbox(&mut self, attached: bool) {
        self.body.dustbox = attached;
    }

    /// Changes the battery's voltage; what a status packet can say is 0 to 25.5 V.
    pub fn set_battery_volts(&mut self, volts: f32) {
        self.body.set_volts(volts);
    }

    /// Picks the robot up and puts it down elsewhere, beside whatever stands there.
    pub fn place(&mut self, pose: Pose) {
        self.body.place(pose, &self.world);
    }

    /// Puts the dock elsewhere, or takes it away. A robot that stood on it stays where it is, or
    /// beside the dock if that is put there.
    pub fn move_dock(&mut self, dock: Option<Dock>) {
        Arc::make_mut(&mut self.world).dock = dock;
        self.body.place(self.body.pose, &self.world);
    }

    /// The latest frames from the host, oldest first, obeyed or not; as many as
    /// [`Options::record`].
    pub fn received(&self) -> &[Received] {
        self.recorder.frames()
    }

    /// Takes what [`received`](Self::received) shows and forgets it.
    pub fn take_received(&mut self) -> Vec<Received> {
        self.recorder.take()
    }

    /// What the host's bytes came to.
    pub fn counters(&self) -> Counters {
        self.deframer.counters()
    }

    /// Lets everything up to `now` happen, and says what time it is then.
    fn advance(&mut self, now: Instant) -> Instant {
        let now = now.max(self.now);
        if now.saturating_duration_since(self.now) > LONG_GAP {
            self.run(crate::later(self.now, GAP_HEAD), now);
            self.skip(now.checked_sub(GAP_TAIL).unwrap_or(now));
        }
        self.run(now, now);
        self.show_scene();
        now
    }

    fn show_scene(&self) {
        if let Some(scene) = &self.scene {
            scene.show(Seen {
                at: self.now,
                pose: self.body.pose,
                speeds: self.body.speeds(),
                lidar: self.behaviour.outputs.lidar_drive(),
                world: Arc::clone(&self.world),
            });
        }
    }

    /// Does what is due up to `until`, in order, on the way to `goal`.
    fn run(&mut self, until: Instant, goal: Instant) {
        loop {
            let (at, due) = self.next_due();
            if at > until {
                break;
            }
            match due {
                Due::GiveUp => {
                    self.deframe(at, |deframer, sink| deframer.give_up(sink));
                    // What is left may be as young as the latest byte.
                    let left = self.deframer.pending() > 0;
                    self.incomplete_since = left.then_some(self.last_input);
                }
                Due::Behaviour => {
                    self.behaviour.handle_timeout(at, &mut self.body, &mut self.outbox);
                    self.start_or_stop_status(at);
                }
                Due::Step => {
                    self.body.step(&self.world, &self.behaviour.outputs);
                    self.step_at = crate::later(at, STEP);
                }
                Due::Status => {
                    if goal.saturating_duration_since(at) <= BACKLOG {
                        self.send_status(at);
                    }
                    self.statuses += 1;
                    self.status_at = Some(crate::later(at, self.period));
                }
            }
        }
        self.now = until;
    }

    /// What is due next. At the same time a frame counts before the watchdog, and the sensors are
    /// read after they have moved.
    fn next_due(&self) -> (Instant, Due) {
        [
            self.give_up_at().map(|at| (at, Due::GiveUp)),
            self.behaviour.poll_timeout().map(|at| (at, Due::Behaviour)),
            Some((self.step_at, Due::Step)),
            self.status_at.map(|at| (at, Due::Status)),
        ]
        .into_iter()
        .flatten()
        .min_by_key(|(at, _)| *at)
        .unwrap_or((self.step_at, Due::Step))
    }

    /// Passes over the time up to `to`, in which a robot at rest has only its battery to drain.
    fn skip(&mut self, to: Instant) {
        let outputs = &self.behaviour.outputs;
        self.body.rest(to.saturating_duration_since(self.step_at), &self.world, outputs);
        self.step_at = skipped(self.step_at, STEP, to).0;
        if let Some(at) = self.status_at {
            let (next, passed) = skipped(at, self.period, to);
            self.status_at = Some(next);
            self.statuses += passed;
        }
    }

    /// Has the deframer work, obeys the frames it finds and says whether it found anything.
    fn deframe(
        &mut self,
        now: Instant,
        work: impl FnOnce(&mut Deframer, &mut dyn FnMut(Piece<'_>)),
    ) -> bool {
        let Controller { deframer, behaviour, body, outbox, recorder, .. } = self;
        let mut moved = false;
        work(deframer, &mut |piece| {
            moved = true;
            if let What::Frame(frame) = piece.what {
                recorder.push(now, &frame);
                behaviour.handle_frame(now, &frame, body, outbox);
            }
        });
        self.start_or_stop_status(now);
        moved
    }

    fn start_or_stop_status(&mut self, now: Instant) {
        match self.status_at {
            None if self.behaviour.streams() => self.status_at = Some(now),
            Some(_) if !self.behaviour.streams() => self.status_at = None,
            _ => {}
        }
    }

    fn send_status(&mut self, at: Instant) {
        // Noise by number, not by draw, so that it does not depend on how often the caller calls.
        let number = self.statuses.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut noise = Rng::with_seed(self.seed ^ number);
        let outputs = &self.behaviour.outputs;
        let mut fields = self.body.status(&self.world, outputs, &self.profile, &mut noise);
        fields.start_button = pressed(self.start_button, at);
        fields.dock_button = pressed(self.dock_button, at);
        self.outbox.push(Content::Status { fields, raw: &[0; STATUS_LEN] });
    }

    fn give_up_at(&self) -> Option<Instant> {
        self.incomplete_since.map(|since| crate::later(since, GIVE_UP))
    }
}

fn pressed(press: Option<Press>, at: Instant) -> u32 {
    press.is_some_and(|Press { from, until }| from <= at && at < until).into()
}

/// The last of the times `from`, `from + period`, ... that is not after `to`, and how many were before it.
fn skipped(from: Instant, period: Duration, to: Instant) -> (Instant, u64) {
    let gap = to.saturating_duration_since(from).as_nanos();
    let passed = (gap / period.as_nanos().max(1)) as u64;
    let period = period.as_nanos() as u64;
    (crate::later(from, Duration::from_nanos(passed.saturating_mul(period))), passed)
}
