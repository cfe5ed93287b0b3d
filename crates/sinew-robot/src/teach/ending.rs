use std::time::{Duration, Instant};

use sinew_wire::teach::{Command, Message, Sequence};

use super::{
    Answer, Event, LinkState, RequestId, RobotRequest, Session,
    exchange::{Exchange, Waited},
    queue::Active,
    requests::not_ready,
};
use crate::{Code, Refusal};

/// A stop that got lost is sent again sooner than anything else, and more often.
const STOP_TRIES: u32 = 8;
const STOP_RETRY: Duration = Duration::from_millis(100);

const EXIT: Message<'static> = Message::Exit { mode_flags: 0, rest: &[] };

/// What these datagrams can promise about a stop.
const STOP_NOTE: &str = "sent as 0x0E, exit teaching, since these datagrams have no stop: Sinew's \
                         simulator ends playback and holds the pose; that any other robot does is \
                         unproven";
const STOP_ENDS_TEACHING: &str = "; teaching ended with it";

/// 0x0E on its way, and the requests that want it.
#[derive(Debug)]
pub(super) struct Ending {
    exchange: Exchange,
    requests: Vec<(RequestId, Wanted)>,
    by: String,
    was_teaching: bool,
    /// Only what plays is to end; teaching goes on.
    playback_alone: bool,
}

/// Which answer a request wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Stop,
    Exit,
}

impl Ending {
    /// Why what plays ends.
    pub(super) fn why(&self) -> &str {
        if self.playback_alone { &self.by } else { "stopped" }
    }

    pub(super) fn due(&self) -> Instant {
        self.exchange.due
    }
}

impl Session {
    /// Sends 0x0E before and instead of everything else.
    pub(super) fn stop_for(&mut self, now: Instant, id: Option<RequestId>, by: &str) {
        if self.state.link == LinkState::Closed {
            if let Some(id) = id {
                self.done(id, Err(not_ready(&self.state.link.to_string())));
            }
            return;
        }
        self.event(Event::Stopped { by: by.into() });
        self.drop_requests(&format!("stopped by {by}"));
        self.end_with(now, id.map(|id| (id, Wanted::Stop)), format!("stopped by {by}"));
    }

    /// Ends teaching for the session's own reasons.
    pub(super) fn begin_exit(&mut self, now: Instant, by: String) {
        self.end_with(now, None, by);
    }

    /// Ends what plays, and no more than has to end with it.
    pub(super) fn end_playback(&mut self, now: Instant, by: String) {
        let is_exit = |active: &Active| active.request == RobotRequest::Exit;
        if let Some(exit) = self.queue.take_active_if(is_exit) {
            return self.end_with(now, Some((exit.id, Wanted::Exit)), exit.by);
        }
        let ends_more = self.ending.as_ref().is_some_and(|ending| !ending.playback_alone);
        self.end_with(now, None, by);
        if let Some(ending) = &mut self.ending {
            ending.playback_alone = !ends_more;
        }
    }

    /// Sends 0x0E for a request that cannot wait for the link.
    pub(super) fn exit_at_once(&mut self, now: Instant, id: RequestId, by: &str) {
        // An enter that is sent again after it would undo it.
        self.drop_requests(&format!("{by} asked for exit"));
        self.end_with(now, Some((id, Wanted::Exit)), by.into());
    }

    pub(super) fn begin_closing(&mut self, now: Instant) {
        let needed = self.state.teaching
            || self.state.playing.is_some()
            || self.may_play()
            || self.teaching.exits_on_return()
            || self.ending.is_some();
        self.drop_requests("the link is being closed");
        self.end_cycles();
        self.set_link(now, LinkState::Closing);
        if needed {
            self.end_with(now, None, "the link is being closed".into());
        } else {
            self.closed(now);
        }
    }

    fn end_with(&mut self, now: Instant, request: Option<(RequestId, Wanted)>, by: String) {
        self.send_alone(EXIT);
        let exchange = self.sent(now, EXIT, STOP_TRIES, STOP_RETRY);
        let was_teaching = self.state.teaching;
        let (requests, playback_alone) = (Vec::new(), false);
        let new = Ending { exchange, requests, by, was_teaching, playback_alone };
        // One that is on its way already keeps its pace, so that it ends however often it is asked.
        let ending = match self.ending.take() {
            Some(ending) if ending.playback_alone => Ending { exchange: ending.exchange, ..new },
            Some(ending) => ending,
            None => new,
        };
        self.ending.insert(ending).requests.extend(request);
        self.teaching.stop_resuming();
    }

    pub(super) fn advance_ending(&mut self, now: Instant) {
        let Some(mut ending) = self.ending.take() else { return };
        match self.wait(now, &mut ending.exchange) {
            Waited::Enough => {
                let outcome = Err(self.unanswered(now, "the stop"));
                self.ended(now, ending, outcome);
            }
            _ => self.ending = Some(ending),
        }
    }

    /// Whether an answer was to a 0x0E on its way.
    pub(super) fn ending_answered(
        &mut self,
        now: Instant,
        number: Sequence,
        command: Command,
        status: u32,
    ) -> bool {
        let Some(ending) = self.ending.take() else { return false };
        if !self.is_to(&ending.exchange, command, number) {
            self.ending = Some(ending);
            return false;
        }
        let outcome = if status == 0 { Ok(()) } else { Err(refused("to stop", status)) };
        self.ended(now, ending, outcome);
        true
    }

    fn ended(&mut self, now: Instant, ending: Ending, outcome: Result<(), Refusal>) {
        let refused = outcome.as_ref().is_err_and(|refusal| refusal.code == Code::Refused);
        if refused && self.state.link != LinkState::Closing {
            // The robot goes on teaching, and must not be asked again without a pause.
            self.teaching.asked(now);
        } else {
            let resumes = ending.playback_alone && self.state.teaching;
            if resumes {
                self.resume_teaching(now, &ending.by);
            } else {
                self.teaching_ended(&ending.by);
            }
            let observed = self.state.playing.as_ref().is_some_and(|playing| playing.observed);
            if outcome.is_ok() {
                self.play_ended(ending.why());
            } else if !observed {
                self.play_ended("a stop was sent, and not answered");
            }
        }
        for (id, wanted) in ending.requests {
            let outcome = match (&outcome, wanted) {
                (Err(refusal), _) => Err(refusal.clone()),
                (Ok(()), Wanted::Exit) => Ok(Answer::Exit { note: None }),
                (Ok(()), Wanted::Stop) => {
                    let more = if ending.was_teaching { STOP_ENDS_TEACHING } else { "" };
                    Ok(Answer::Stop { note: format!("{STOP_NOTE}{more}") })
                }
            };
            self.done(id, outcome);
        }
        if self.state.link == LinkState::Closing {
            self.closed(now);
        }
    }

    fn closed(&mut self, now: Instant) {
        self.set_link(now, LinkState::Closed);
        self.event(Event::Closed);
    }
}

/// The robot said no.
pub(super) fn refused(what: &str, status: u32) -> Refusal {
    Refusal::new(
        Code::Refused,
        format!("the robot refused {what} with status {status}, a number of its own"),
    )
}
