//! Saves, which are answered when they are on the disk, or cannot be.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    time::{Duration, Instant},
};

use sinew_wire::teach::{Command, Datagram, Layout, Save, Sequence};

use super::{Code, MAX_ACTIONS, MAX_DURATION, Output, Robot, StoredAction, unitree::Call};

/// How long a save that the disk refused is remembered: longer than a repetition of it may be under
/// way.
const REMEMBERED: Duration = Duration::from_secs(20);
/// How many of them.
const MAX_REMEMBERED: usize = 16;

/// What is being stored. The disk has one change at a time, so that one that is slow or dead costs
/// no more than that. Only recordings of the data channel wait behind another: they cannot be asked
/// for again.
#[derive(Debug, Clone, Default)]
pub(super) struct Storing {
    latest: u64,
    pending: VecDeque<Pending>,
    refused: VecDeque<Refused>,
}

#[derive(Debug, Clone)]
struct Pending {
    id: u64,
    change: Change,
    /// The client that asked last; none when the robot has restarted since.
    reply_to: Option<ReplyTo>,
    /// Whether the caller has been told.
    told: bool,
}

/// A change of what is stored.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Add(StoredAction),
    /// Old name and new. The action moves to the end, as a real robot's did.
    Rename(String, String),
    Delete(String),
}

/// The client that is answered.
#[derive(Debug, Clone)]
enum ReplyTo {
    /// By datagram, under the number of its request.
    Datagram { address: SocketAddr, layout: Layout, sequence: Sequence },
    /// Over a data channel, not before a time.
    Call(Call, Instant),
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
        let pending = self.pending.front_mut().filter(|pending| !pending.told)?;
        pending.told = true;
        let mut actions = store.to_vec();
        pending.change.apply(&mut actions);
        Some(Output::Store { id: pending.id, actions })
    }

    /// Begins a change that a data channel asked for.
    pub(super) fn change(&mut self, change: Change, reply: Option<(Call, Instant)>) {
        let reply_to = reply.map(|(call, due)| ReplyTo::Call(call, due));
        self.push(change, reply_to);
    }

    fn push(&mut self, change: Change, reply_to: Option<ReplyTo>) {
        self.latest += 1;
        self.pending.push_back(Pending { id: self.latest, change, reply_to, told: false });
    }

    /// Whether something is being stored.
    pub(super) fn is_busy(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Whether no more fits, once all is stored that is to be.
    pub(super) fn is_full(&self, store: &[StoredAction]) -> bool {
        let added = self.added().count();
        store.len() + added >= MAX_ACTIONS
    }

    /// Whether a name is stored, or will be.
    pub(super) fn knows(&self, store: &[StoredAction], name: &str) -> bool {
        let mut names: Vec<&str> = store.iter().map(|action| action.name.as_str()).collect();
        for pending in &self.pending {
            match &pending.change {
                Change::Add(action) => names.push(&action.name),
                Change::Delete(old) => names.retain(|name| name != old),
                Change::Rename(old, new) => {
                    names.retain(|name| name != old);
                    names.push(new);
                }
            }
        }
        names.contains(&name)
    }

    fn added(&self) -> impl Iterator<Item = &StoredAction> {
        self.pending.iter().filter_map(|pending| match &pending.change {
            Change::Add(action) => Some(action),
            _ => None,
        })
    }

    /// The power was cut: no client waits for an answer. What the disk is at may still be done.
    pub(super) fn restart(&mut self) {
        self.refused.clear();
        self.pending.retain_mut(|pending| {
            pending.reply_to = None;
            pending.told
        });
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

impl Change {
    fn apply(&self, store: &mut Vec<StoredAction>) {
        match self {
            Change::Add(action) => store.push(action.clone()),
            Change::Delete(name) => store.retain(|stored| stored.name != *name),
            Change::Rename(old, new) => {
                if let Some(index) = store.iter().position(|stored| stored.name == *old) {
                    let action = store.remove(index);
                    store.push(StoredAction { name: new.clone(), ..action });
                }
            }
        }
    }
}

impl Robot {
    /// What became of an [`Output::Store`]: the action is stored and its host answered, or refused
    /// and forgotten. An answer to anything else than the latest changes nothing.
    pub fn stored(&mut self, now: Instant, id: u64, ok: bool) {
        let now = self.advance(now);
        let asked = |pending: &Pending| pending.id == id && pending.told;
        if !self.storing.pending.front().is_some_and(asked) {
            return;
        }
        let Some(Pending { change, reply_to, .. }) = self.storing.pending.pop_front() else {
            return;
        };
        if ok {
            change.apply(&mut self.store);
            // Numbers may mean other actions now.
            if !matches!(change, Change::Add(_)) {
                self.latest_play = None;
            }
        } else if let Change::Add(action) = change {
            self.storing.refuse(action.name, action.saved_at, Code::NotStored, now);
        }
        match reply_to {
            Some(ReplyTo::Datagram { address, layout, sequence }) => {
                let code = if ok { Code::Success } else { Code::NotStored };
                self.answer_to(address, layout, sequence, Command::Save, code);
            }
            Some(ReplyTo::Call(call, due)) => self.answer_stored(now, (call, due), ok),
            None => {}
        }
        self.advance(now);
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
        let reply_to = Some(ReplyTo::Datagram { address: from, layout, sequence });
        match self.storable(now, save) {
            Err(code) => Some(code),
            Ok(None) => {
                // The one that waits is told when it is done, under the number that came last.
                if let Some(pending) = self.storing.pending.front_mut() {
                    pending.reply_to = reply_to;
                }
                None
            }
            Ok(Some(action)) => {
                self.storing.push(Change::Add(action), reply_to);
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
        if let Some(Pending { change, reply_to, .. }) = self.storing.pending.front() {
            let same =
                |action: &StoredAction| action.name == name && action.saved_at == save.timestamp;
            let by_datagram = !matches!(reply_to, Some(ReplyTo::Call(..)));
            if by_datagram && matches!(change, Change::Add(action) if same(action)) {
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
