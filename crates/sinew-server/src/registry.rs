use std::{io, mem::replace, sync::Arc};

use sinew_robot::{Epoch, capability::Audience};

use tokio::task::{AbortHandle, JoinSet};

use crate::{
    Relay, feed,
    hub::{Hub, Member, Roster},
    relay::Relayed,
};

/// Lets robots that other daemons serve join, before the server runs or while it does.
#[derive(Debug, Clone)]
pub struct Registry(pub(crate) Arc<Roster>);

impl Registry {
    /// Adds a robot that another daemon serves; `start` builds its relay for the audience that it is
    /// given, and must not have another one join. The rules for names are those of
    /// [`Server::add`](crate::Server::add). A relay of the same name is replaced at its place, since
    /// what it told of itself was another robot: its topics end, and those who read them read those of
    /// the new one. A robot of our own is not replaced.
    pub fn join(
        &self,
        name: &str,
        start: impl FnOnce(Arc<dyn Audience>, Epoch) -> Arc<dyn Relay>,
    ) -> io::Result<()> {
        let epoch = &self.0.epoch;
        let is_relay = |member: &Member| member.relayed.is_some();
        self.0.add(name, is_relay, |place| {
            let relay = start(place.feed.clone(), epoch.clone());
            let before = place.before.and_then(|before| before.relayed.as_ref());
            let relayed = Relayed::new(relay, before);
            Ok(Member::relay(name, relayed, place.feed, epoch.clone()))
        })
    }
}

/// Has the state of every robot told, also of those that join.
pub(crate) async fn tell_states(hub: &Hub) {
    let mut news = hub.roster.news();
    // Dropped, it ends what it holds.
    let mut telling = JoinSet::new();
    let mut told: Vec<(Arc<Member>, AbortHandle)> = Vec::new();
    loop {
        for (place, member) in hub.members().iter().enumerate() {
            if told.get(place).is_some_and(|(before, _)| Arc::ptr_eq(before, member)) {
                continue;
            }
            let run = telling.spawn_on(feed::run(Arc::clone(member)), &hub.workers);
            let next = (Arc::clone(member), run);
            match told.get_mut(place) {
                None => told.push(next),
                Some(before) => replace(before, next).1.abort(),
            }
        }
        while telling.try_join_next().is_some() {}
        // The hub has the other end.
        let _ = news.changed().await;
    }
}
