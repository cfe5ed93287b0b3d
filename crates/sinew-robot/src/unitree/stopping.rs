//! Ending what moves: repeated until the robot's state says that it is over.
//!
//! A stop is sent ten times a second until it is answered. On a reliable channel that is not only
//! for robots that missed one: what is lost on an idle line is sent again after a second at the
//! earliest, but after three later messages at once. A robot that has answered, and whose state
//! does not show it, is asked more slowly.

mod parts;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{Event, Phase, Reply, Session, outbox::Sort};
use crate::{Refusal, RequestId, later, mapping, teach};

/// How long it is tried while there is a channel.
const BOUND: Duration = Duration::from_secs(5);
/// How long when the daemon ends, which waits for it.
const CLOSING_BOUND: Duration = Duration::from_secs(3);
/// How long a stop is kept for a robot that is not there.
const KEPT: Duration = Duration::from_secs(60);

/// What can be ended, each with a call of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// 7113.
    Play,
    /// 7110 without a parameter.
    Record,
    /// 1201.
    Pause,
    /// 1901.
    Close,
}

/// What is being ended, and the requests that want it.
#[derive(Debug)]
pub(super) struct Stopping {
    by: Arc<str>,
    parts: Vec<Part>,
    asked: Vec<Asked>,
    /// What was not confirmed.
    failed: Option<Refusal>,
    /// The walk is closed: it stands, whatever the robot says about pausing.
    closed: bool,
}

#[derive(Debug)]
struct Part {
    what: What,
    /// Whether a client only wants the robot to stand for a while.
    may_resume: bool,
    /// When it was first sent on this channel.
    first: Option<Instant>,
    next: Instant,
    /// When the robot first answered.
    answered: Option<Instant>,
    /// What it said, if that was no.
    refused: Option<Refusal>,
    until: Instant,
}

impl Part {
    /// A part that is yet to be sent.
    fn new(next: Instant, until: Instant) -> Self {
        let (what, may_resume) = (What::Play, false);
        Part { what, may_resume, first: None, next, answered: None, refused: None, until }
    }
}

#[derive(Debug)]
struct Asked {
    id: RequestId,
    wanted: Wanted,
    awaits: Vec<What>,
    failed: Option<Refusal>,
    due: Instant,
}

/// Which answer a request wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Stop,
    RecordStop,
    Pause,
    Close,
}

impl What {
    const fn words(self) -> &'static str {
        match self {
            What::Play => "the end of playback",
            What::Record => "the end of the recording",
            What::Pause => "standing still",
            What::Close => "the end of the walk",
        }
    }
}

impl Wanted {
    fn reply(self, session: &Session) -> Reply {
        match self {
            Wanted::Stop => {
                let note = match session.channel.arm_seen {
                    Some(_) => {
                        "sent until the robot's own state said that its arms play and \
                                record nothing; how it ends a motion is the robot's own"
                    }
                    None => "answered by the robot, which does not tell what its arms do",
                };
                teach::Answer::Stop { note: note.into() }.into()
            }
            Wanted::RecordStop => session.record_answer().into(),
            Wanted::Pause => mapping::Answer::Pause.into(),
            Wanted::Close => mapping::Answer::Close.into(),
        }
    }
}

impl Session {
    /// Stops the robot: before anything else, and nothing that waits is asked any more.
    pub(super) fn stop(&mut self, now: Instant, id: Option<RequestId>, by: &str) {
        if self.state.link.is_ending() {
            return;
        }
        self.event(Event::Stopped { by: by.into() });
        let why = format!("stopped by {by}");
        let mut parts = vec![What::Play];
        parts.extend(self.records().then_some(What::Record));
        parts.extend(self.walk_parts(now));
        self.outbox.drop_sort(Sort::Motion);
        self.drop_arm_changes(&why);
        self.drop_slam_changes(&why);
        self.end(now, &parts, &why, id.map(|id| (id, Wanted::Stop)));
    }

    /// Ends what plays, and nothing else.
    pub(super) fn end_playback(&mut self, now: Instant, why: &str) {
        self.outbox.drop_sort(Sort::Motion);
        self.end(now, &[What::Play], why, None);
    }

    /// Ends the recording for the session's own reasons.
    pub(super) fn end_recording(&mut self, now: Instant, why: &str) {
        self.end(now, &[What::Record], why, None);
    }

    /// The same for a request.
    pub(super) fn end_recording_for(&mut self, now: Instant, id: Option<RequestId>, by: &str) {
        self.end(now, &[What::Record], by, id.map(|id| (id, Wanted::RecordStop)));
    }

    /// Ends the walk: first it stands, then it forgets where to. While a map is made, forgetting
    /// would cost the map, so that is left out.
    pub(super) fn end_walk(&mut self, now: Instant, why: &str) {
        let parts: &[What] = match self.state.mapping.active {
            true => &[What::Pause],
            false => &[What::Pause, What::Close],
        };
        self.end(now, parts, why, None);
    }

    /// A client wants the robot to stand, or to forget its map.
    pub(super) fn end_for(&mut self, now: Instant, id: RequestId, wanted: Wanted, by: &str) {
        let parts: &[What] = match wanted {
            Wanted::Pause => &[What::Pause],
            _ if self.walking.may_walk() => &[What::Pause, What::Close],
            _ => &[What::Close],
        };
        self.end(now, parts, by, Some((id, wanted)));
    }

    /// Ends whatever goes on, before the session does.
    pub(super) fn stop_all_that_goes_on(&mut self, now: Instant, by: &str) {
        let mut parts = Vec::new();
        parts.extend(self.may_play().then_some(What::Play));
        parts.extend(self.records().then_some(What::Record));
        parts.extend(self.walk_parts(now));
        self.outbox.drop_sort(Sort::Motion);
        if !parts.is_empty() {
            self.end(now, &parts, by, None);
        }
        let until = later(now, CLOSING_BOUND);
        for part in self.stopping.iter_mut().flat_map(|stopping| &mut stopping.parts) {
            part.until = until;
        }
    }

    /// Whether the robot records, or may have begun to.
    fn records(&self) -> bool {
        let shown = self.state.arm.as_ref().is_some_and(|arm| arm.phase == Phase::Recording);
        shown || self.recorder.may_run() || self.stops_recording()
    }

    fn walk_parts(&self, now: Instant) -> Vec<What> {
        let walks = self.walking.may_walk() || self.walks_by_itself(now);
        match self.state.mapping.active {
            _ if !walks => Vec::new(),
            true => vec![What::Pause],
            false => vec![What::Pause, What::Close],
        }
    }

    fn end(
        &mut self,
        now: Instant,
        parts: &[What],
        by: &str,
        request: Option<(RequestId, Wanted)>,
    ) {
        if parts.contains(&What::Record) {
            // Before the stop: a keep-alive behind it would be one too many.
            self.recorder.stop_keeping(now);
            self.outbox.drop_sort(Sort::KeepAlive);
            // One whose start is not answered yet would be kept alive by the answer.
            self.drop_recording_start(by);
        }
        let here = self.is_validated();
        let until = later(now, if here { BOUND } else { KEPT });
        let new = || Stopping {
            by: by.into(),
            parts: Vec::new(),
            asked: Vec::new(),
            failed: None,
            closed: false,
        };
        let stopping = self.stopping.get_or_insert_with(new);
        let may_resume = matches!(request, Some((_, Wanted::Pause)));
        for what in parts {
            match stopping.parts.iter_mut().find(|part| part.what == *what) {
                // One that is on its way keeps its pace; it is asked for anew, so it has as long.
                Some(part) => {
                    part.until = part.until.max(until);
                    part.may_resume &= may_resume;
                }
                None => {
                    stopping.parts.push(Part { may_resume, what: *what, ..Part::new(now, until) })
                }
            }
        }
        self.state.stopping = Some(Arc::clone(&stopping.by));
        if let Some((id, wanted)) = request {
            let (awaits, due) = (parts.to_vec(), later(now, BOUND));
            stopping.asked.push(Asked { id, wanted, awaits, failed: None, due });
            if !self.is_open() {
                self.fail_asked(now, true);
            }
        }
    }

    pub(super) fn stops_arms(&self) -> bool {
        self.stops(What::Play) || self.stops(What::Record)
    }

    pub(super) fn stops_recording(&self) -> bool {
        self.stops(What::Record)
    }

    pub(super) fn stops_walk(&self) -> bool {
        self.stops(What::Pause) || self.stops(What::Close)
    }

    fn stops(&self, what: What) -> bool {
        let parts = self.stopping.iter().flat_map(|stopping| &stopping.parts);
        parts.into_iter().any(|part| part.what == what)
    }
}
