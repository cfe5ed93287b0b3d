//! Which topics are wanted when.

use sinew_wire::unitree::{
    Inner, Kind, Message,
    arm::STATE_TOPIC as ARM,
    mapping::{INFO_TOPIC, KEY_INFO_TOPIC},
    state::{LOW_STATE_TOPIC, SERVICE_STATE_TOPIC},
};

use super::{Event, Session, outbox::Sort};

pub(super) const BATTERY: &str = "rt/lf/bmsstate";
pub(super) const MOTION: &str = "rt/lf/sportmodestate";
pub(super) const MAP_POINTS: &str = "rt/unitree/slam_mapping/points";
pub(super) const MAP_ODOMETRY: &str = "rt/unitree/slam_mapping/odom";
pub(super) const FOUND_POINTS: &str = "rt/unitree/slam_relocation/points";
pub(super) const FOUND_ODOMETRY: &str = "rt/unitree/slam_relocation/odom";

/// Wanted as long as there is a channel.
const ALWAYS: [&str; 7] =
    [ARM, LOW_STATE_TOPIC, BATTERY, SERVICE_STATE_TOPIC, MOTION, INFO_TOPIC, KEY_INFO_TOPIC];
/// Wanted while a map is made.
const MAPPING: [&str; 2] = [MAP_ODOMETRY, MAP_POINTS];
/// Wanted while a map is loaded.
const FOUND: [&str; 2] = [FOUND_ODOMETRY, FOUND_POINTS];

impl Session {
    /// Asks for the topics that are wanted now, and no longer for the others.
    pub(super) fn subscribe(&mut self) {
        if !self.is_validated() {
            return;
        }
        let mapping = self.state.mapping.active || self.slam.begins_map();
        let found = self.state.mapping.map.is_some();
        let wanted = |topic: &str| {
            ALWAYS.contains(&topic)
                || (mapping && MAPPING.contains(&topic))
                || (found && FOUND.contains(&topic))
        };
        for topic in ALWAYS.into_iter().chain(MAPPING).chain(FOUND) {
            let has = self.channel.subscribed.contains(&topic);
            if wanted(topic) && !has && self.is_offered(topic) {
                if [MAP_POINTS, FOUND_POINTS].contains(&topic) {
                    self.turn_saving_off();
                }
                self.channel.subscribed.push(topic);
                self.send(Sort::Plain, Message::new(Kind::Subscribe, topic).emit());
            } else if has && !wanted(topic) {
                self.channel.subscribed.retain(|other| *other != topic);
                self.send(Sort::Plain, Message::new(Kind::Unsubscribe, topic).emit());
            }
        }
    }

    /// Robots thin out what they send unless told not to, and send no clouds then.
    fn turn_saving_off(&mut self) {
        if !std::mem::replace(&mut self.channel.saving_off, true) {
            let off = Inner::TrafficSaving { disabled: true };
            self.send(Sort::Plain, off.message(false).emit());
        }
    }

    pub(super) fn is_offered(&self, topic: &str) -> bool {
        !self.state.not_offered.iter().any(|other| **other == *topic)
    }

    /// Clouds may be there once the service that makes them runs.
    pub(super) fn offer_clouds_again(&mut self) {
        let not_cloud = |topic: &&std::sync::Arc<str>| {
            !MAPPING.contains(&&***topic) && !FOUND.contains(&&***topic)
        };
        if self.state.not_offered.iter().any(|topic| !not_cloud(&topic)) {
            let left = self.state.not_offered.iter().filter(not_cloud).cloned().collect();
            self.state.not_offered = left;
        }
    }

    /// The robot does not have a topic. Where it names it, it is not asked for again.
    pub(super) fn not_offered(&mut self, words: &str) {
        let named = |topic: &&&'static str| words.contains(**topic);
        // The longest, since the name of one may be within another's.
        let subscribed = &mut self.channel.subscribed;
        let topic = subscribed.iter().filter(named).max_by_key(|topic| topic.len()).copied();
        let Some(topic) = topic else {
            let topic = crate::cut(words.into(), 100).into();
            return self.event(Event::NotOffered { topic });
        };
        subscribed.retain(|other| *other != topic);
        let all = self.state.not_offered.iter().cloned();
        self.state.not_offered = all.chain([topic.into()]).collect();
        self.event(Event::NotOffered { topic: topic.into() });
    }
}
