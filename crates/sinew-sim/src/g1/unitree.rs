//! The G1's side of the data channel: the messages of `sinew_wire::unitree`, on the same body as
//! the teaching datagrams.
//!
//! What is known of a real robot is imitated; what is not is decided here and written down in
//! `docs/protocols/unitree.md`.

mod arm;
mod client;
mod dispatch;
mod map;
mod presets;
mod progress;
mod scan;
mod services;
mod slam;
mod states;
mod stream;
mod voxels;
mod walk;

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use fastrand::Rng;
use sinew_wire::{
    slam::Reading,
    unitree::{Fault, Form, Response},
};

use self::{arm::Doing, client::Client, services::Services, slam::Slam};
use super::{Channel, Robot, What};

pub use self::{
    arm::KEEP_ALIVE,
    slam::MAX_MAPS,
    walk::{Place, Walking},
};

/// Channels that are served at once; one more is closed as it opens.
pub const MAX_CHANNELS: usize = 8;
/// Answers that wait to be given, of all channels; calls beyond that get none.
const MAX_ANSWERS: usize = 512;

/// The digest of a message.
pub type Md5 = fn(&[u8]) -> [u8; 16];

/// How the data channel's side begins.
#[derive(Debug, Clone)]
pub struct UnitreeOptions {
    /// MD5, for the validation. Without it there is no data channel: one that opens is closed.
    pub md5: Option<Md5>,
    /// How often a client that was validated is asked again, if ever.
    pub revalidate_every: Option<Duration>,
    /// Whether the four taught actions from the factory are there. They are not among those of
    /// [`Options::actions`](super::Options::actions), and cannot be renamed or deleted.
    pub factory_actions: bool,
    /// The state of the motion control: 500 walks.
    pub fsm_id: i64,
    /// The build of the body. Some presets are only for 4.
    pub mode_machine: i64,
    /// Faults that there are.
    pub faults: Vec<Fault>,
    /// How the points of clouds are laid out: real ones are packed.
    pub layout: Reading,
    /// Shots of the lidar in a cloud, at most 20,000. A real message that is known has 906 points.
    pub points_per_cloud: usize,
    /// Whether clouds come only to clients that have switched the saving of traffic off.
    pub saves_traffic: bool,
    /// Whether an operator leads the robot through all rooms while it maps.
    pub patrol: bool,
    /// Whether it has a GO2's lidar, too, on `rt/utlidar/voxel_map_compressed`.
    pub go2_voxels: bool,
}

impl Default for UnitreeOptions {
    fn default() -> Self {
        UnitreeOptions {
            md5: None,
            revalidate_every: None,
            factory_actions: true,
            fsm_id: 500,
            mode_machine: 4,
            faults: Vec::new(),
            layout: Reading::Packed,
            points_per_cloud: 906,
            saves_traffic: true,
            patrol: true,
            go2_voxels: false,
        }
    }
}

/// What came over data channels, and what became of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChannelCounters {
    /// Channels that opened.
    pub opened: u64,
    /// Those that were closed by the robot.
    pub closed: u64,
    /// Messages that came.
    pub received: u64,
    /// Those that cannot be read.
    pub malformed: u64,
    /// Those that came before the validation.
    pub unvalidated: u64,
    /// Answers to the validation that were wrong.
    pub wrong: u64,
    /// Calls that were answered, or will be.
    pub answered: u64,
    /// Calls that were not, since too many waited.
    pub overflowed: u64,
    /// Probes of the delay that came back.
    pub probes: u64,
}

/// All that belongs to data channels.
#[derive(Debug, Clone)]
pub(super) struct Unitree {
    options: UnitreeOptions,
    rng: Rng,
    clients: BTreeMap<u32, Client>,
    answers: Vec<Answer>,
    pub(super) arm: Doing,
    services: Services,
    slam: Slam,
    counters: ChannelCounters,
}

/// An answer that is given later.
#[derive(Debug, Clone)]
struct Answer {
    due: Instant,
    client: u32,
    response: Response,
}

/// Which client called what.
#[derive(Debug, Clone)]
pub(super) struct Call {
    client: u32,
    service: String,
    id: i64,
    api_id: i64,
}

impl Unitree {
    pub(super) fn new(options: UnitreeOptions, seed: u64) -> Self {
        Unitree {
            services: Services::new(&options),
            options,
            rng: Rng::with_seed(seed ^ 0x0075_6e69_7472_6565),
            clients: BTreeMap::new(),
            answers: Vec::new(),
            arm: Doing::Nothing,
            slam: Slam::new(seed ^ 0x006c_6964_6172),
            counters: ChannelCounters::default(),
        }
    }

    /// Where the robot stands, and the state of its motion control.
    pub(super) const fn standing(&self) -> (Place, i64) {
        (self.slam.body, self.services.fsm_id)
    }

    /// The power was cut: channels close, and what was going on is lost.
    pub(super) fn restart(&mut self) {
        self.clients.values_mut().for_each(Client::cut);
        self.answers.clear();
        self.arm = Doing::Nothing;
        self.services = Services::new(&self.options);
        self.slam.restart();
    }

    fn answer_later(&mut self, due: Instant, call: &Call, code: i64, data: &str) {
        if self.answers.len() >= MAX_ANSWERS {
            self.counters.overflowed += 1;
            return;
        }
        self.counters.answered += 1;
        let response = Response {
            service: call.service.clone(),
            id: call.id,
            api_id: call.api_id,
            code,
            data: data.into(),
        };
        self.answers.push(Answer { due, client: call.client, response });
    }

    /// When something is due next.
    fn due(&self) -> Option<Instant> {
        let answers = self.answers.iter().map(|answer| answer.due);
        let clients = self.clients.values().filter_map(Client::due);
        answers.chain(clients).chain(self.arm.due()).chain(self.slam.due()).min()
    }
}

impl Robot {
    /// Takes what a data channel brings: that it is open, a message, or that it is closed.
    pub fn handle_channel(&mut self, now: Instant, channel: Channel, bytes: &[u8]) {
        let now = self.advance(now);
        match channel.what {
            What::Opened => self.channel_opened(now, channel.client),
            What::Message(Form::Text) => self.channel_text(now, channel.client, bytes),
            // No client is known to send any.
            What::Message(Form::Binary) => {
                self.unitree.counters.received += 1;
                self.unitree.counters.malformed += 1;
            }
            What::Closed => drop(self.unitree.clients.remove(&channel.client)),
        }
        self.rouse(now);
        self.advance(now);
    }

    /// What to do with a data channel next; a message is appended to `bytes`. Without `room`
    /// messages wait, and newer states and clouds replace older ones.
    pub fn poll_channel(&mut self, room: bool, bytes: &mut Vec<u8>) -> Option<Channel> {
        let clients = &mut self.unitree.clients;
        if let Some(client) = clients.iter().find(|(_, client)| client.is_over()).map(|(id, _)| *id)
        {
            clients.remove(&client);
            self.unitree.counters.closed += 1;
            return Some(Channel { client, what: What::Closed });
        }
        if !room {
            return None;
        }
        let mut ways = [Client::take_reply, Client::take_newest, Client::take_slice].into_iter();
        let (client, form, message) = ways.find_map(|take| {
            let mut all = clients.iter_mut();
            all.find_map(|(id, client)| take(client).map(|(form, message)| (*id, form, message)))
        })?;
        bytes.extend_from_slice(&message);
        Some(Channel { client, what: What::Message(form) })
    }

    /// What became of what came over data channels.
    pub fn channel_counters(&self) -> ChannelCounters {
        self.unitree.counters
    }

    /// Data channels that are open.
    pub fn channels(&self) -> usize {
        self.unitree.clients.len()
    }

    pub(super) fn unitree_due(&self) -> Option<Instant> {
        self.unitree.due()
    }

    /// Does what is due at a time.
    pub(super) fn step_unitree(&mut self, at: Instant, now: Instant) {
        let unitree = &mut self.unitree;
        let ripe = unitree.answers.iter().position(|answer| answer.due <= at);
        if let Some(index) = ripe {
            let Answer { client, response, .. } = unitree.answers.remove(index);
            if let Some(client) = unitree.clients.get_mut(&client) {
                client.reply(&response.emit());
            }
            return;
        }
        if unitree.arm.due().is_some_and(|due| due <= at) {
            return self.step_arm(at);
        }
        if unitree.slam.due().is_some_and(|due| due <= at) {
            return self.step_slam(at, now);
        }
        self.step_clients(at, now);
    }
}
