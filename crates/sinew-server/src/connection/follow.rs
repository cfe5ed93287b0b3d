//! Subscriptions while robots join: one that names no robot holds for all that will come, one that names
//! a robot for whichever has the name.

use std::{mem::replace, sync::Arc};

use sinew_api::Topic;
use tokio::sync::watch;

use super::Connection;
use crate::{
    frame::Framing,
    hub::{Hub, Member, Members},
};

/// What a client subscribed to, and the robots for which that is done.
pub(super) struct Following {
    news: watch::Receiver<Members>,
    seen: Members,
    wishes: Vec<Wish>,
}

struct Wish {
    robot: Option<Box<str>>,
    topic: Topic,
    max_hz: Option<f64>,
}

impl Wish {
    fn is_of(&self, member: &Member) -> bool {
        self.robot.as_ref().is_none_or(|robot| **robot == *member.name)
    }
}

impl Following {
    pub(super) fn new(hub: &Hub) -> Self {
        let mut news = hub.roster.news();
        let seen = Arc::clone(&news.borrow_and_update());
        Following { news, seen, wishes: Vec::new() }
    }

    /// Waits until robots have joined.
    pub(super) async fn changed(&mut self) {
        // The hub has the other end.
        let _ = self.news.changed().await;
    }

    /// Remembers a subscription. There are never more than robots have topics.
    pub(super) fn add(&mut self, robot: Option<&str>, topics: &[Topic], max_hz: Option<f64>) {
        for topic in topics {
            self.wishes.retain(|wish| wish.robot.as_deref() != robot || wish.topic != *topic);
            let (robot, topic) = (robot.map(Into::into), topic.clone());
            self.wishes.push(Wish { robot, topic, max_hz });
        }
    }

    pub(super) fn clear(&mut self) {
        self.wishes.clear();
    }

    /// Robots that have joined since the last time.
    fn newcomers(&mut self) -> Vec<Arc<Member>> {
        let now = Arc::clone(&self.news.borrow_and_update());
        let seen = replace(&mut self.seen, Arc::clone(&now));
        let is_new = |(place, member): &(usize, &Arc<Member>)| {
            seen.get(*place).is_none_or(|before| !Arc::ptr_eq(before, member))
        };
        now.iter().enumerate().filter(is_new).map(|(_, member)| Arc::clone(member)).collect()
    }
}

impl Connection {
    /// Subscribes to what has joined as the client did to what was there; what was replaced is read no
    /// more.
    pub(super) fn follow(&mut self) {
        self.telemetry.drop_ended();
        let mut greeting = Vec::new();
        let wishes = std::mem::take(&mut self.following.wishes);
        for member in self.following.newcomers() {
            // The last word on a topic counts.
            let meant = wishes.iter().rev().filter(|wish| wish.is_of(&member));
            for Wish { topic, max_hz, .. } in meant {
                // It may have been there when the client asked.
                let ring = self.ring(&member, topic);
                if let Some(ring) = ring.filter(|ring| !self.telemetry.reads(ring)) {
                    self.listen(topic, &member, ring, *max_hz, &mut greeting);
                }
            }
        }
        self.following.wishes = wishes;
        self.out.append(&mut greeting);
        if self.framing.is_legacy() && self.telemetry.is_empty() {
            self.stream_legacy();
            if self.framing == Framing::Sangam {
                self.send_datagrams(&self.lasting());
            }
        }
    }
}
