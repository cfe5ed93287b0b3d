//! The list of robots. Others look at it while one joins: it is never changed, only replaced.

use std::{
    io,
    sync::{Arc, Mutex},
};

use sinew_robot::Epoch;
use tokio::sync::watch;

use super::Member;
use crate::{feed::Feed, lock};

/// Most robots that there may be. Frames could count more, people hardly.
const MOST: usize = 4096;

/// All robots at one moment, each at its place.
pub(crate) type Members = Arc<[Arc<Member>]>;

/// Which robots there are, from before the server runs until it ends.
#[derive(Debug)]
pub(crate) struct Roster {
    members: watch::Sender<Members>,
    /// Whether the server has ended. Held while a robot is given its place.
    is_over: Mutex<bool>,
    pub(crate) epoch: Epoch,
}

/// Where a robot comes to stand.
pub(crate) struct Place<'a> {
    pub(crate) feed: Arc<Feed>,
    /// The one that it takes the place of.
    #[cfg_attr(not(feature = "relay"), expect(dead_code, reason = "only relays are replaced"))]
    pub(crate) before: Option<&'a Arc<Member>>,
}

impl Roster {
    pub(crate) fn new() -> Self {
        let members = watch::Sender::new(Members::default());
        Roster { members, is_over: Mutex::new(false), epoch: Epoch::default() }
    }

    /// All of them, for now.
    pub(crate) fn members(&self) -> Members {
        Arc::clone(&self.members.borrow())
    }

    /// Tells when the list was replaced.
    #[cfg(feature = "relay")]
    pub(crate) fn news(&self) -> watch::Receiver<Members> {
        self.members.subscribe()
    }

    /// Puts a robot on the list, which `make` makes for its place. One that `may_replace` takes keeps
    /// its place, and its topics end; of another the name must be new.
    pub(crate) fn add<E: From<io::Error>>(
        &self,
        name: &str,
        may_replace: impl FnOnce(&Member) -> bool,
        make: impl FnOnce(Place<'_>) -> Result<Member, E>,
    ) -> Result<(), E> {
        let is_over = lock(&self.is_over);
        let members = self.members();
        let found = members.iter().position(|member| *member.name == *name);
        let before = found.map(|place| &members[place]);
        if *is_over {
            let ended = io::Error::new(io::ErrorKind::NotConnected, "the server has ended");
            return Err(ended.into());
        }
        check(name, members.len(), before, may_replace)?;
        let place = found.unwrap_or(members.len());
        // There are never more than fit.
        let feed = Arc::new(Feed::new(name, place as u16));
        let member = Arc::new(make(Place { feed, before })?);
        let mut next = members.to_vec();
        next.truncate(place);
        next.push(Arc::clone(&member));
        next.extend(members.iter().skip(place + 1).cloned());
        let next = Members::from(next);
        self.members.send_modify(|members| {
            // Nobody sees the list between: an order is given to this robot, or counts as before it.
            match before {
                None => member.joins(),
                #[cfg(feature = "relay")]
                Some(before) => before.feed.end(),
                #[cfg(not(feature = "relay"))]
                Some(_) => {}
            }
            *members = next;
        });
        Ok(())
    }

    /// Lets go of all robots; none joins any more.
    #[cfg(feature = "relay")]
    pub(crate) fn end(&self) {
        *lock(&self.is_over) = true;
        self.members.send_replace(Members::default());
    }
}

/// Whether a robot may have this name. Names stand in addresses.
fn check(
    name: &str,
    count: usize,
    before: Option<&Arc<Member>>,
    may_replace: impl FnOnce(&Member) -> bool,
) -> io::Result<()> {
    let wrong = |what: String| {
        Err(io::Error::new(io::ErrorKind::InvalidInput, format!("robot {name:?}: {what}")))
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match before {
        _ if name.is_empty() || !name.chars().all(fits) => {
            wrong("wanted letters, digits, - _ and .".into())
        }
        Some(before) if !may_replace(before) => wrong("there is one of this name already".into()),
        None if count >= MOST => wrong(format!("there are {MOST} already, the most there may be")),
        _ => Ok(()),
    }
}
