//! Saves, which are answered when they are on the disk, or cannot be.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    time::{Duration, Instant},
};

use sinew_wire::teach::{Command, Datagram, Layout, Save, Sequence};

use super::{Code, MAX_ACTIONS, MAX_DURATION, Output, Robot, StoredAction};

/// How long a save that the disk refused is remembered: longer than a repetition of it may be under
/// way.
const REMEMBERED: Duration = Duration::from_secs(20);
/// How many of them.
const MAX_REMEMBERED: usize = 16;

/// What is being stored. The disk has one action at a time, so that one that is slow or dead costs
/// no more than that.
#[derive(Debug, Clone, Default)]
pub(super) struct Storing {
    latest: u64,
    pending: Option<Pending>,
    refused: VecDeque<Refused>,
}

#[derive(Debug, Clone)]
struct Pending {
    id: u64,
    action: StoredAction,
    /// The client that asked last; none when the robot has restarted since.
    reply_to: Option<ReplyTo>,
    /// Whether the caller has been told.
    told: bool,
}

/// The client that is answered, and the number of its request.
#[derive(Debug, Clone, Copy)]
struct ReplyTo {
    address: SocketAddr,
    layout: Layout,
    sequence: Sequence,
}

/// A save that was refused for the disk's sake. A repetition of it that was under way then must not
/// succeed, since its host knows already that it failed.
#[derive(Debug, Clone)]
struct Refused {
    name: String,
    saved_at: u32,
    code: Code,
    at: Instant,
}

impl Storing {
    /// The next thing for the disk to do.
    pub(super) fn poll(&mut self, store: &[StoredAction]) -> Option<Output> {
        let pending = self.pending.as_mut().filter(|pending| !pending.told)?;
        pending.told = true;
        let actions = store.iter().chain([&pending.action]).cloned().collect();
        Some(Output::Store { id: pending.id, actions })
    }

    /// The power was cut: no client waits for an answer. What the disk is at may still be done.
    pub(super) fn restart(&mut self) {
        self.refused.clear();
        self.pending = self.pending.take().filter(|pending| pending.told);
        if let Some(pending) = &mut self.pending {
            pending.reply_to = None;
        }
    }

    fn refuse(&mut self, name: String, saved_at: u32, code: Code, at: Instant) {
        if self.refused.len() >= MAX_REMEMBERED {
            self.refused.pop_front();
        }
        self.refused.push_back(Refused { name, saved_at, code, at });
    }

    fn refusal(&self, name: &str, saved_at: u32, now: Instant) -> Option<Code> {
        let same = |refused: &&Refused| refused.name == name && refused.saved_at == saved_at;
        let refused = self.refused.iter().rev().find(same)?;
        (now.saturating_duration_since(refused.at) < REMEMBERED).then_some(refused.code)
    }
}

impl Robot {
    /// What became of an [`Output::Store`]: the action is stored and its host answered, or refused
    /// and forgotten. An answer to anything else than the latest changes nothing.
    pub fn stored(&mut self, now: Instant, id: u64, ok: bool) {
        let now = self.advance(now);
        if self.storing.pending.as_ref().is_none_or(|pending| pending.id != id || !pending.told) {
            return;
        }
        let Some(Pending { action, reply_to, .. }) = self.storing.pending.take() else { return };
        let code = if ok {
            self.store.push(action);
            Code::Success
        } else {
            self.storing.refuse(action.name, action.saved_at, Code::NotStored, now);
            Code::NotStored
        };
        if let Some(ReplyTo { address, layout, sequence }) = reply_to {
            self.answer_to(address, layout, sequence, Command::Save, code);
        }
    }

    /// Begins to store an action; answered at once is what is stored already, or cannot be.
    pub(super) fn save(
        &mut self,
        now: Instant,
        from: SocketAddr,
        datagram: &Datagram<'_>,
        save: &Save<'_>,
    ) -> Option<Code> {
        let Datagram { layout, sequence, .. } = *datagram;
        let reply_to = ReplyTo { address: from, layout, sequence };
        match self.storable(now, save) {
            Err(code) => Some(code),
            Ok(None) => {
                // The one that waits is told when it is done, under the number that came last.
                if let Some(pending) = &mut self.storing.pending {
                    pending.reply_to = Some(reply_to);
                }
                None
            }
            Ok(Some(action)) => {
                self.storing.latest += 1;
                let (id, reply_to) = (self.storing.latest, Some(reply_to));
                self.storing.pending = Some(Pending { id, action, reply_to, told: false });
                None
            }
        }
    }

    /// What a save asks to store; none when that is being stored already.
    fn storable(&mut self, now: Instant, save: &Save<'_>) -> Result<Option<StoredAction>, Code> {
        let name = save.name.as_str().map_err(|_| Code::BadName)?;
        // A retry may come when the recording is gone, so this comes first.
        if let Some(stored) = self.store.iter().find(|stored| stored.name == name) {
            let retry = stored.saved_at == save.timestamp;
            return Err(if retry { Code::Success } else { Code::NameTaken });
        }
        if let Some(code) = self.storing.refusal(name, save.timestamp, now) {
            return Err(code);
        }
        if let Some(Pending { action, .. }) = &self.storing.pending {
            if action.name == name && action.saved_at == save.timestamp {
                return Ok(None);
            }
            self.storing.refuse(name.into(), save.timestamp, Code::Storing, now);
            return Err(Code::Storing);
        }
        if self.store.len() >= MAX_ACTIONS {
            return Err(Code::StoreFull);
        }
        if u128::from(save.duration_ms) > MAX_DURATION.as_millis() {
            return Err(Code::TooLong);
        }
        let own = save.keyframes.iter().next().is_none();
        if own && self.is_recording() {
            return Err(Code::Busy);
        }
        let recorded = self
            .recording
            .as_ref()
            .map(|recording| (recording.poses.as_slice(), self.recorded_ms(recording.poses.len())));
        StoredAction::from_save(save, recorded).map(Some)
    }
}
