//! A client's side of the rules: what it says beside its messages.

use std::time::Duration;

use crate::{Answered, Stamp, stamp::micros};

/// One client of one daemon, under one name. A daemon that knows it no more needs another.
#[derive(Debug, Clone)]
pub struct Asker {
    client: String,
    name: String,
    token: Option<String>,
    to: Option<String>,
    seq: u64,
    /// The newest answer's time, and when it came.
    echo: Option<(u64, u64)>,
    /// The daemon said so in its newest answer.
    is_in_step: bool,
    is_over: bool,
}

impl Asker {
    /// A client with the name of its token, and one for people.
    pub fn new(client: impl Into<String>, name: impl Into<String>, token: Option<String>) -> Self {
        let (client, name) = (client.into(), name.into());
        let (to, seq, echo) = (None, 0, None);
        Asker { client, name, token, to, seq, echo, is_in_step: false, is_over: false }
    }

    /// The name of its token.
    pub fn client(&self) -> &str {
        &self.client
    }

    /// What to send with a message that was wished for so long ago.
    pub fn stamp(&mut self, now_us: u64, since: Duration) -> Stamp {
        self.seq += 1;
        let held_us = self.echo.map_or(0, |(_, came_us)| now_us.saturating_sub(came_us));
        Stamp {
            client: Some(self.client.clone()),
            name: Some(self.name.clone()),
            to: self.to.clone(),
            seq: self.seq,
            sent_us: now_us,
            echo_us: self.echo.map(|(daemon_us, _)| daemon_us),
            held_us,
            since_us: micros(since),
            beats: true,
            token: self.token.clone(),
        }
    }

    /// An answer came.
    pub fn answered(&mut self, now_us: u64, answered: &Answered) {
        match &self.to {
            None => self.to = Some(answered.instance.clone()),
            // Another daemon of that name, or the same one after it was started anew: its clock is not the one meant.
            Some(to) if *to != answered.instance => {
                self.is_over = true;
                return;
            }
            Some(_) => {}
        }
        self.is_over |= !answered.known;
        // One that was overtaken says nothing new.
        if self.echo.is_none_or(|(daemon_us, _)| daemon_us < answered.daemon_us) {
            self.echo = Some((answered.daemon_us, now_us));
            self.is_in_step = answered.in_step;
        }
    }

    /// Whether the daemon can tell how old its messages are.
    pub fn is_in_step(&self) -> bool {
        self.is_in_step
    }

    /// Whether nothing more can come of it: another client has to take its place.
    pub fn is_over(&self) -> bool {
        self.is_over
    }
}
