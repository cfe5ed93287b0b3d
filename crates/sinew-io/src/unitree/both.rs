//! A G1 with a channel and datagrams: the arm service for what it has, datagrams for the rest.
//!
//! What only datagrams carry: soft arms without a recording (`enter`), plays that repeat, that take
//! another time or other keyframes, motions of the library. A recording that begins while the arms
//! are soft by datagrams stays with those, and so does what follows from it: to the arm service,
//! arms that are soft already are occupied.

use std::{
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
};

use sinew_robot::{
    Code, Order, Origin, Refusal,
    capability::{Boxed, Driver, Report},
    teach::{Answer, Carries, Playback, RobotRequest, Target},
};

use super::Unitree;
use crate::{
    g1::G1,
    teaching::{Recorded, Taught},
};

/// Both ways to teach one robot. Clones are the same.
#[derive(Debug, Clone)]
pub(super) struct Both {
    channel: Arc<Unitree>,
    datagrams: Arc<G1>,
    /// Whether the last recording was made by datagrams.
    recorded_by_datagrams: Arc<AtomicBool>,
}

impl Both {
    pub(super) fn new(channel: Arc<Unitree>, datagrams: Arc<G1>) -> Self {
        Both { channel, datagrams, recorded_by_datagrams: Arc::default() }
    }

    /// Whether a request goes by datagrams.
    fn by_datagrams(&self, request: &RobotRequest) -> bool {
        match request {
            RobotRequest::Enter | RobotRequest::Exit | RobotRequest::Perform { .. } => true,
            RobotRequest::RecordStart { .. } => {
                let teaching = self.datagrams.state().teaching;
                self.recorded_by_datagrams.store(teaching, Ordering::Relaxed);
                teaching
            }
            RobotRequest::RecordStop | RobotRequest::Save { .. } => {
                self.recorded_by_datagrams.load(Ordering::Relaxed)
            }
            // The two number actions differently, and the list is the channel's.
            RobotRequest::List
            | RobotRequest::Play { .. }
            | RobotRequest::Rename { .. }
            | RobotRequest::Delete { .. }
            | RobotRequest::Stop => false,
        }
    }

    /// A stop goes both ways: what plays may have come by either.
    async fn stop(self, origin: Origin) -> Result<Answer, Refusal> {
        let one = self.channel.request(RobotRequest::Stop, origin.clone());
        let other = self.datagrams.request(RobotRequest::Stop, origin);
        let (one, other) = joined(one, other).await;
        // Either may be down; the robot is the same.
        match (one, other) {
            (Ok(Answer::Stop { note }), Ok(_)) => Ok(Answer::Stop { note }),
            (Ok(Answer::Stop { note }), Err(refusal)) => {
                Ok(Answer::Stop { note: format!("{note}; by datagrams: {refusal}") })
            }
            (Ok(answer), _) => Ok(answer),
            (Err(refusal), Ok(Answer::Stop { note })) => {
                Ok(Answer::Stop { note: format!("{note}; over WebRTC: {refusal}") })
            }
            (Err(_), Ok(answer)) => Ok(answer),
            (Err(refusal), Err(_)) => Err(refusal),
        }
    }

    /// Plays by datagrams, which number actions otherwise than the arm service does.
    async fn play(
        self,
        action: Target,
        request: impl FnOnce(Target) -> RobotRequest,
        origin: Origin,
    ) -> Result<Answer, Refusal> {
        let list = self.channel.request(RobotRequest::List, origin.clone()).await?;
        let Answer::List { actions, .. } = list else { return Err(super::slam::strange()) };
        let listed = actions.into_iter().find(|listed| match &action {
            Target::Id(id) => listed.id == *id,
            Target::Name(name) => listed.name == *name,
        });
        let listed = listed.map(|action| (action.id, action.name));
        let action = match (&listed, action) {
            (Some((_, name)), _) => Target::Name(name.clone()),
            (None, Target::Id(id)) => {
                let message = format!("no action has the number {id}; see the list");
                return Err(Refusal::new(Code::NotFound, message));
            }
            (None, name) => name,
        };
        let mut answer = self.datagrams.request(request(action), origin).await?;
        if let (Answer::Play { id, .. }, Some((number, _))) = (&mut answer, listed) {
            *id = Some(number);
        }
        Ok(answer)
    }
}

impl Taught for Both {
    fn request(
        &self,
        request: RobotRequest,
        origin: Origin,
    ) -> Boxed<'static, Result<Answer, Refusal>> {
        match request {
            RobotRequest::Stop => Box::pin(self.clone().stop(origin)),
            RobotRequest::Play { action, how, keyframes }
                if how != Playback::default()
                    || keyframes.is_some()
                    || self.datagrams.state().teaching =>
            {
                let request = move |action| RobotRequest::Play { action, how, keyframes };
                Box::pin(self.clone().play(action, request, origin))
            }
            request if self.by_datagrams(&request) => self.datagrams.request(request, origin),
            request => self.channel.request(request, origin),
        }
    }

    fn carries(&self) -> Carries {
        self.datagrams.carries()
    }

    fn recorded(&self) -> Recorded {
        match self.recorded_by_datagrams.load(Ordering::Relaxed) {
            true => self.datagrams.recorded(),
            false => self.channel.recorded(),
        }
    }
}

/// Both, of which the first poll puts both on their way.
async fn joined<A, B>(mut one: Boxed<'_, A>, mut other: Boxed<'_, B>) -> (A, B) {
    let (mut first, mut second) = (None, None);
    poll_fn(|context| {
        if first.is_none()
            && let Poll::Ready(ready) = one.as_mut().poll(context)
        {
            first = Some(ready);
        }
        if second.is_none()
            && let Poll::Ready(ready) = other.as_mut().poll(context)
        {
            second = Some(ready);
        }
        match (first.take(), second.take()) {
            (Some(one), Some(other)) => Poll::Ready((one, other)),
            (one, other) => {
                (first, second) = (one, other);
                Poll::Pending
            }
        }
    })
    .await
}

/// The datagrams' driver beside the channel's, which has the first word on what both know.
pub(super) struct Beside(pub(super) G1);

/// What both tell, of which this one tells only what is there.
const SHARED: [&str; 8] = [
    "recording",
    "recording_name",
    "recorded_frames",
    "recorded_ms",
    "playing",
    "positions",
    "velocities",
    "counters",
];

impl Driver for Beside {
    fn order(&self, order: &Order) {
        self.0.order(order);
    }

    fn report(&self) -> Report {
        let mut report = self.0.report();
        let is_recording = report.state["recording"] == true;
        report.state.retain(|name, value| match name.as_str() {
            "playing" | "positions" | "velocities" => !value.is_null(),
            name => is_recording && name != "counters" || !SHARED.contains(&name),
        });
        report
    }

    fn shut_down(&self) {
        self.0.shut_down();
    }
}
