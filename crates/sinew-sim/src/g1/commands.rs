//! What a robot does with a client's commands.

use std::{net::SocketAddr, time::Instant};

use sinew_wire::teach::{
    Action, Actions, Command, Datagram, Interpolation, Layout, MAGIC, Message, Name, Play, Sender,
    Sequence,
};

use super::{
    Code, Key, MAX_ACTIONS, Motion, PLAY_RETRY, Robot,
    action::keys,
    clients::Order,
    player::{PlayOptions, Player, too_long},
    robot::{Playing, Recording},
};

impl Robot {
    /// Obeys a datagram and answers it, if it is one to be obeyed.
    pub(super) fn obey(&mut self, now: Instant, from: SocketAddr, bytes: &[u8]) {
        self.counters.received += 1;
        let Ok(datagram) = Datagram::new_checked(bytes) else {
            let ours = bytes.starts_with(&MAGIC);
            *(if ours { &mut self.counters.malformed } else { &mut self.counters.foreign }) += 1;
            return;
        };
        if let Command::Unknown(_) = Command::from(datagram.command) {
            self.counters.unknown += 1;
            return;
        }
        match self.clients.hear(from, datagram.sequence, now) {
            Order::New => self.counters.answered += 1,
            Order::Duplicate => return self.counters.duplicates += 1,
            Order::Old => return self.counters.old += 1,
        }
        match Message::parse(&datagram, Some(Sender::Host)) {
            Ok(Message::ListRequest { .. }) => self.send_list(from, &datagram),
            Ok(message) => {
                if let Some(code) = self.execute(now, from, &datagram, &message) {
                    self.answer(from, &datagram, code);
                }
            }
            Err(_) => self.answer(from, &datagram, Code::BadPayload),
        }
    }

    /// Carries out a request and says how to answer it; not yet, when that takes a while.
    fn execute(
        &mut self,
        now: Instant,
        from: SocketAddr,
        datagram: &Datagram<'_>,
        message: &Message<'_>,
    ) -> Option<Code> {
        if let Message::Save(save) = message
            && self.may_teach(from)
        {
            return self.save(now, from, datagram, save);
        }
        let done = self.execute_at_once(now, from, datagram, message);
        Some(done.err().unwrap_or(Code::Success))
    }

    fn may_teach(&self, from: SocketAddr) -> bool {
        !self.needs_opening || self.clients.is_open(from)
    }

    fn execute_at_once(
        &mut self,
        now: Instant,
        from: SocketAddr,
        datagram: &Datagram<'_>,
        message: &Message<'_>,
    ) -> Result<(), Code> {
        match message {
            Message::ControlMode { .. }
            | Message::ParameterSync { .. }
            | Message::Subscribe { .. }
            | Message::Ready { .. } => {
                let opening = self.clients.open(from, message.command());
                if self.needs_opening {
                    opening?;
                }
                if message.command() == Command::Subscribe {
                    self.clients.subscribe(from, datagram.layout, now);
                }
                Ok(())
            }
            // A client that wants the arms to rest need not have sent anything before.
            Message::Exit { .. } => {
                self.stop();
                Ok(())
            }
            _ if !self.may_teach(from) => Err(Code::NotOpened),
            // The arms belong to a client of the data channel.
            Message::Enter(_) if !self.unitree.arm.is_free() => Err(Code::Busy),
            Message::Enter(_) => {
                self.unitree.arm.give_up_returning();
                // A host that gets no status has only zeros to send, so its flags decide nothing.
                if self.maintained.replace(now).is_none() {
                    self.operator.restart();
                }
                Ok(())
            }
            Message::Maintain { .. } => {
                self.maintained.as_mut().map(|at| *at = now).ok_or(Code::WrongMode)
            }
            Message::Record { flag, .. } => self.switch_recording(now, *flag),
            Message::Play(play) => self.play(now, from, play),
            _ => Err(Code::BadPayload),
        }
    }

    /// Starts or stops a recording. A repeated start goes on with the one that runs.
    fn switch_recording(&mut self, now: Instant, flag: u32) -> Result<(), Code> {
        if flag > 1 {
            return Err(Code::BadPayload);
        }
        if self.maintained.is_none() {
            return Err(Code::WrongMode);
        }
        match flag {
            0 if self.recording.is_none() => return Err(Code::NothingRecorded),
            0 => self.stop_recording(),
            _ if self.playing.is_some() => return Err(Code::Busy),
            _ if self.is_recording() => {}
            _ => self.recording = Some(Recording { poses: Vec::new(), next: Some(now) }),
        }
        Ok(())
    }

    fn play(&mut self, now: Instant, from: SocketAddr, play: &Play<'_>) -> Result<(), Code> {
        let retry = self.latest_play.is_some_and(|(id, began)| {
            id == play.action_id && now.saturating_duration_since(began) < PLAY_RETRY
        });
        if retry {
            return Ok(());
        }
        let id = usize::try_from(play.action_id).ok().filter(|id| (1..=MAX_ACTIONS).contains(id));
        let action = id.and_then(|id| self.store.get(id - 1));
        if matches!(play.interpolation, Interpolation::Other(_)) {
            return Err(Code::BadPayload);
        }
        if too_long(play.duration_ms) {
            return Err(Code::TooLong);
        }
        let own = keys(&play.keyframes);
        own.iter().try_for_each(Key::check)?;
        // Keyframes in a play are a motion of its own, for which no action need be stored.
        let given = own.iter().map(|key| u32::from(key.time_ms)).max().filter(|_| id.is_some());
        let own = Motion::Keyframes(own);
        let (motion, action_ms, frames, looped) = match (given, action) {
            (Some(last), _) => (&own, last, 0, false),
            (None, Some(action)) => {
                (&action.motion, action.duration_ms, action.frames, action.is_looped())
            }
            (None, None) => return Err(Code::UnknownId),
        };
        if self.playing.is_some() || self.is_recording() || !self.unitree.arm.is_free() {
            return Err(Code::Busy);
        }
        let options = PlayOptions {
            interpolation: play.interpolation,
            action_ms,
            frames,
            play_frames: play.frame_count,
            play_ms: play.duration_ms,
            looped,
        };
        let player = Player::new(motion, options, &self.arms);
        self.unitree.arm.give_up_returning();
        self.operator.let_go();
        self.playing = Some(Playing { player, client: Some(from) });
        self.latest_play = Some((play.action_id, now));
        Ok(())
    }

    fn send_list(&mut self, to: SocketAddr, asked: &Datagram<'_>) {
        let listed = self.store.iter().filter_map(|stored| {
            // What was stored has a name that fits; the metadata is the simulator's choice.
            let name = Name::new(&stored.name).ok()?;
            Some(Action { name, metadata: stored.duration_ms })
        });
        let listed: Vec<Action> = listed.collect();
        if let Ok(list) = Actions::new(&listed) {
            self.send(to, asked.layout, asked.sequence.next(), &Message::List(list));
        }
    }

    fn answer(&mut self, to: SocketAddr, asked: &Datagram<'_>, code: Code) {
        self.answer_to(to, asked.layout, asked.sequence, asked.command.into(), code);
    }

    pub(super) fn answer_to(
        &mut self,
        to: SocketAddr,
        layout: Layout,
        asked: Sequence,
        command: Command,
        code: Code,
    ) {
        self.counters.refused += u64::from(code != Code::Success);
        let answer = Message::Answer { command, status: code.number(), rest: &[] };
        self.send(to, layout, asked.next(), &answer);
    }
}
