//! A recording in a robot's place: its clouds and where they were seen from.
//!
//! It maps from its beginning, without being asked. What is asked of it concerns the map that is
//! made here; there is no robot that could do anything.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde::Serialize;
use sinew_wire::{
    slam,
    unitree::{
        Binary, Form, Message,
        mapping::{INFO_TOPIC, KEY_INFO_TOPIC, Odometry, SlamInfo, What},
    },
};

use super::{
    Counters, Event, LinkState, Mapping,
    cloud::read,
    slam::from_wire,
    topics::{FOUND_ODOMETRY, FOUND_POINTS, MAP_ODOMETRY, MAP_POINTS},
};
use crate::{
    Code, NoJob, Order, OrderKind, Origin, Output, Refusal, RequestId,
    mapping::{Answer, Info, LastCloud, Pose, Request},
    unitree::tap::Tap,
};

/// Of clouds that do not add up it is told no more often.
const TELL_AGAIN: Duration = Duration::from_secs(10);
const STOP_NOTE: &str = "a recording stores nothing: the map stays here until it is cleared, and \
                         save writes it to a file";

/// What a recording's link hands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// A message of the channel.
    Message(Form),
    /// A SLAM message by itself, without what the channel puts around it.
    Bare,
    /// Something that no channel carries was left out.
    Skipped,
    /// There is no more; the bytes say why.
    End,
}

/// A recording that plays.
#[derive(Debug)]
pub struct Replay {
    name: Arc<str>,
    state: State,
    /// The topic of the map's clouds: those of another are in another frame.
    topic: Option<&'static str>,
    told: Option<Instant>,
    outputs: std::collections::VecDeque<Notice>,
    last_id: RequestId,
    tap: Option<Tap>,
}

#[derive(Debug)]
enum Notice {
    Event(Event),
    Reply(RequestId, Result<Answer, Refusal>),
}

/// What is known about a recording.
#[derive(Debug, Clone, Serialize)]
pub struct State {
    /// Whether it plays.
    pub link: LinkState,
    /// When the last message came.
    #[serde(skip)]
    pub last_seen: Option<Instant>,
    /// How mapping goes.
    pub mapping: Mapping,
    /// Where the robot was.
    pub pose: Option<Pose>,
    /// What was played.
    pub counters: Counters,
}

impl Replay {
    /// A recording of this name, which has not begun.
    pub fn new(name: &str) -> Self {
        let state = State {
            link: LinkState::Connecting { reason: None },
            last_seen: None,
            mapping: Mapping::default(),
            pose: None,
            counters: Counters::default(),
        };
        let (outputs, last_id) = (Default::default(), 0);
        Replay { name: name.into(), state, topic: None, told: None, outputs, last_id, tap: None }
    }

    /// Has every message shown as it comes.
    pub fn tap(&mut self, tap: impl FnMut(Form, &[u8]) + Send + 'static) {
        self.tap = Some(Tap::new(tap));
    }

    fn event(&mut self, event: Event) {
        self.outputs.push_back(Notice::Event(event));
    }

    fn set_link(&mut self, link: LinkState) {
        if self.state.link != LinkState::Closed && self.state.link != link {
            self.state.link = link.clone();
            self.event(Event::Link { link, silent_ms: None });
        }
    }

    fn set_mapping(&mut self, on: bool, by: &str) {
        if on {
            self.state.mapping = Mapping { active: true, ..Mapping::default() };
            self.topic = None;
        }
        // A new map begins whatever was before.
        if std::mem::replace(&mut self.state.mapping.active, on) || on {
            self.event(Event::Mapping { on, by: by.into() });
        }
    }

    fn take(&mut self, now: Instant, form: Form, bytes: &[u8]) -> sinew_wire::Result<()> {
        match form {
            Form::Binary => {
                if let Some(tap) = &mut self.tap {
                    tap.show_binary(bytes);
                }
                let binary = Binary::new_checked(bytes)?;
                let topic = match binary.message()?.topic() {
                    MAP_POINTS => MAP_POINTS,
                    FOUND_POINTS => FOUND_POINTS,
                    _ => {
                        self.state.counters.unknown += 1;
                        return Ok(());
                    }
                };
                self.take_cloud(now, &binary.cloud(), topic);
                Ok(())
            }
            Form::Text => {
                let message = Message::parse(bytes)?;
                if let Some(tap) = &mut self.tap {
                    tap.show_text(&message, bytes);
                }
                let pose = match message.topic() {
                    MAP_ODOMETRY | FOUND_ODOMETRY => Some(Odometry::parse(&message)?.pose),
                    INFO_TOPIC | KEY_INFO_TOPIC => match SlamInfo::parse(&message)?.what {
                        What::Mapping { pose } | What::Position { pose, .. } => Some(pose),
                        _ => None,
                    },
                    _ => {
                        self.state.counters.unknown += 1;
                        None
                    }
                };
                if let Some(pose) = pose.as_ref().and_then(from_wire) {
                    self.state.pose = Some(pose);
                    self.event(Event::Odometry { pose });
                }
                Ok(())
            }
        }
    }

    fn take_cloud(&mut self, now: Instant, message: &slam::Message<'_>, topic: &'static str) {
        match read(message, self.state.pose) {
            Ok((cloud, bounds)) => {
                let same_frame = *self.topic.get_or_insert(topic) == topic;
                let of_map = self.state.mapping.active && same_frame;
                let cloud = self.state.mapping.note(now, cloud, bounds);
                self.event(Event::Cloud { points: cloud.points.len(), of_map, cloud });
            }
            Err(error) => {
                self.state.mapping.clouds_rejected += 1;
                let count = self.state.mapping.clouds_rejected;
                let is_old = |told: Instant| now.saturating_duration_since(told) >= TELL_AGAIN;
                if self.told.is_none_or(is_old) {
                    self.told = Some(now);
                    self.event(Event::CloudRejected { count, why: error.to_string() });
                }
            }
        }
    }

    fn answer(&mut self, now: Instant, request: Request, by: &str) -> Result<Answer, Refusal> {
        match request {
            Request::Start if matches!(self.state.link, LinkState::Ended { .. }) => {
                let message = "the recording is over, and nothing would come for a new map; start \
                               the daemon anew to play it again";
                Err(Refusal::new(Code::NotReady, message))
            }
            Request::Start => {
                self.set_mapping(true, by);
                Ok(Answer::Start)
            }
            Request::Stop { name } => {
                self.set_mapping(false, by);
                let name = name.unwrap_or_else(|| (*self.name).into());
                Ok(Answer::Stop { name, note: Some(STOP_NOTE.into()) })
            }
            Request::Info => Ok(Answer::Info(self.state.info(now).into())),
            // Clouds are joined outside, from what is told here.
            Request::Clear | Request::Save { .. } => {
                Err(Refusal::new(Code::Unsupported, "a recording keeps no map by itself"))
            }
            Request::Relocate { .. }
            | Request::GoTo { .. }
            | Request::Pause
            | Request::Resume
            | Request::Close
            | Request::Download { .. } => {
                let message = format!(
                    "{} is of no use here: this is a recording, and there is no robot that could",
                    request.op()
                );
                Err(Refusal::new(Code::Unsupported, message))
            }
        }
    }
}

impl State {
    fn info(&self, now: Instant) -> Info {
        Info { pose: self.pose, ..self.mapping.info(now) }
    }
}

impl Mapping {
    /// The same for `info`.
    pub(super) fn info(&self, now: Instant) -> Info {
        let Mapping { active, map, walking, clouds, last_cloud, .. } = self;
        let age = |at: Instant| now.saturating_duration_since(at).as_millis();
        Info {
            mapping: *active,
            walking: *walking,
            map: map.as_deref().map(Into::into),
            clouds: *clouds,
            last_cloud: last_cloud.map(|seen| LastCloud {
                points: seen.points,
                bounds: seen.bounds,
                age_ms: u64::try_from(age(seen.at)).unwrap_or(u64::MAX),
            }),
            ..Info::default()
        }
    }
}

impl crate::Session for Replay {
    type Request = Request;
    type Reply = Answer;
    type Event = Event;
    type State = State;
    type Peer = Item;
    type Job = NoJob;
    type Done = NoJob;

    fn connected(&mut self, _now: Instant) {
        self.set_link(LinkState::Ready);
        self.set_mapping(true, "the recording");
    }

    fn disconnected(&mut self, _now: Instant, reason: &str) {
        self.set_link(LinkState::Ended { reason: reason.into() });
    }

    fn handle_input(&mut self, now: Instant, item: Item, bytes: &[u8]) {
        match item {
            Item::End => {
                let reason = String::from_utf8_lossy(bytes);
                return self.set_link(LinkState::Ended { reason: reason.as_ref().into() });
            }
            Item::Skipped => self.state.counters.malformed += 1,
            Item::Bare => match slam::Message::new_checked(bytes) {
                Ok(message) => self.take_cloud(now, &message, MAP_POINTS),
                Err(_) => self.state.counters.malformed += 1,
            },
            Item::Message(form) => {
                if self.take(now, form, bytes).is_err() {
                    self.state.counters.malformed += 1;
                }
            }
        }
        self.state.counters.received += 1;
        self.state.last_seen = Some(now);
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn poll_output(&mut self, _room: bool, _bytes: &mut Vec<u8>) -> Option<Output<Self>> {
        Some(match self.outputs.pop_front()? {
            Notice::Event(event) => Output::Event(event),
            Notice::Reply(id, outcome) => Output::Reply(id, outcome),
        })
    }

    fn request(&mut self, now: Instant, request: Request, origin: &Origin) -> RequestId {
        self.last_id += 1;
        let outcome = self.answer(now, request, &origin.by);
        self.outputs.push_back(Notice::Reply(self.last_id, outcome));
        self.last_id
    }

    fn is_overtaken(_request: &Request, _by: OrderKind) -> bool {
        false
    }

    /// Nothing moves.
    fn order(&mut self, _now: Instant, _order: &Order) {}

    fn close(&mut self, _now: Instant, _by: &Arc<str>) {
        self.set_link(LinkState::Closed);
        self.event(Event::Closed);
    }

    fn is_closed(&self) -> bool {
        self.state.link == LinkState::Closed
    }

    fn state(&self) -> &State {
        &self.state
    }
}
