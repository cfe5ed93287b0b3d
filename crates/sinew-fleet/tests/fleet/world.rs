//! A daemon, its clients and the networks between them, in virtual time.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
    ops::Range,
    rc::Rc,
};

use fastrand::Rng;

use crate::{
    client::{Client, Manner, Reply, name},
    daemon::{Daemon, Packet},
    judge::Judge,
    net::{Clock, MS, Net, SECOND, Way, happens},
};

/// The variable that makes every test run this seed alone, and tell all that happens in it.
const ONE: &str = "SINEW_FLEET_SEED";
/// How long a client may be cut off before Zenoh gives it up.
const LEASE: u64 = 2 * SECOND;
/// How much longer than the base delay a token takes mostly: it is no part of the messages' order.
const TOKEN: u64 = 150 * MS;

/// So many seeds, or the one that is asked for.
pub(crate) fn seeds(count: u64) -> Range<u64> {
    let one = std::env::var(ONE).ok().map(|seed| seed.parse().expect("a seed is a number"));
    one.map_or(0..count, |seed: u64| seed..seed + 1)
}

/// Something that is going to happen.
#[derive(Debug)]
pub(crate) enum Event {
    Wake(usize),
    Comes(Rc<Packet>),
    Reply(Reply),
    TokenComes(usize),
    TokenGoes(usize),
    /// A client was cut off or frozen for as long as the lease: its tokens go.
    LeaseEnds(usize),
    /// A client can be reached again: its token is declared again, under the same name.
    Rejoins(usize),
    /// For so long.
    Freeze(usize, u64),
    Thaw(usize),
    /// The daemon is started anew.
    Restart,
}

/// A run.
pub(crate) struct World {
    seed: u64,
    pub(crate) random: Rng,
    pub(crate) judge: Judge,
    daemon: Daemon,
    clients: Vec<Client>,
    /// Which client each name is one of.
    names: Vec<usize>,
    events: BinaryHeap<Reverse<Due>>,
    number: u64,
    lives: u32,
    now: u64,
    /// Tells all that happens.
    is_traced: bool,
}

impl World {
    /// A world with these clients, whose cuts are planned, too.
    pub(crate) fn new(seed: u64, mut random: Rng, nets: Vec<(Net, Manner)>) -> Self {
        let daemon = Daemon::new("life1", Clock::any(&mut random));
        let judge = Judge::new(seed, nets.len(), daemon.remotes.instance());
        let mut world = World {
            seed,
            random,
            judge,
            daemon,
            clients: Vec::new(),
            names: (0..nets.len()).collect(),
            events: BinaryHeap::new(),
            number: 0,
            lives: 1,
            now: 0,
            is_traced: std::env::var_os(ONE).is_some(),
        };
        for (who, (net, manner)) in nets.into_iter().enumerate() {
            for cut in &net.cuts {
                world.plan_lease(who, cut.begin, cut.end);
            }
            let clock = Clock::any(&mut world.random);
            world.clients.push(Client::new(who, who, clock, net, manner));
            world.declare(who);
            world.wake_at(who, 0);
        }
        world
    }

    /// Plans something.
    pub(crate) fn plan(&mut self, at: u64, event: Event) {
        self.number += 1;
        self.events.push(Reverse(Due { at, number: self.number, event }));
    }

    /// Goes on until this moment.
    pub(crate) fn run(&mut self, until: u64) {
        while self.events.peek().is_some_and(|Reverse(due)| due.at <= until) {
            let Some(Reverse(due)) = self.events.pop() else { return };
            self.now = due.at;
            self.look();
            if self.is_traced {
                eprintln!("{:>9} {:?}", due.at, due.event);
            }
            self.happen(due.event);
            self.look();
        }
        self.now = until;
        self.look();
    }

    /// Which of all names a client has.
    pub(crate) fn name(&self, who: usize) -> usize {
        self.clients[who].id
    }

    fn look(&mut self) {
        if let Some((id, until)) = self.daemon.moved(self.now) {
            self.judge.moved(self.now, id, until, &self.clients[self.names[id]]);
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Wake(who) => self.wake(who),
            Event::Comes(packet) => self.comes(packet),
            Event::Reply(reply) => self.replied(reply),
            Event::TokenComes(id) => {
                self.daemon.remotes.token_came(&name(id));
                self.judge.token_came(id);
            }
            Event::TokenGoes(id) => self.token_goes(id),
            Event::LeaseEnds(who) => {
                for id in 0..self.names.len() {
                    if self.names[id] == who {
                        self.token_goes(id);
                    }
                }
            }
            Event::Rejoins(who) => self.declare(who),
            Event::Freeze(who, time) => self.freeze(who, time),
            Event::Thaw(who) => self.thaw(who),
            Event::Restart => self.restart(),
        }
    }

    fn wake(&mut self, who: usize) {
        let client = &mut self.clients[who];
        if client.is_frozen || client.wakes != self.now {
            return;
        }
        if client.is_over() {
            self.rename(who);
        }
        let acts = self.clients[who].wake(&mut self.random, self.now);
        for packet in acts.packets {
            self.send(Rc::new(packet));
        }
        if acts.leaves {
            self.rename(who);
        }
        self.wake_at(who, acts.next.max(self.now + 1));
    }

    fn wake_at(&mut self, who: usize, at: u64) {
        self.clients[who].wakes = at;
        self.plan(at, Event::Wake(who));
    }

    fn send(&mut self, packet: Rc<Packet>) {
        self.judge.sent(self.now, &packet);
        let net = &mut self.clients[packet.who].net;
        for at in net.send(&mut self.random, self.now, Way::There).into_iter().flatten() {
            self.plan(at, Event::Comes(packet.clone()));
        }
    }

    fn comes(&mut self, packet: Rc<Packet>) {
        let (answer, answered) = self.daemon.take(self.now, &packet);
        if self.is_traced {
            eprintln!("          {answer:?}");
        }
        self.judge.came(self.now, &packet, answer);
        let net = &mut self.clients[packet.who].net;
        for at in net.send(&mut self.random, self.now, Way::Back).into_iter().flatten() {
            let (packet, answered) = (packet.clone(), answered.clone());
            self.plan(at, Event::Reply(Reply { packet, answer, answered }));
        }
    }

    fn replied(&mut self, reply: Reply) {
        let client = &mut self.clients[reply.packet.who];
        if client.is_frozen {
            client.unread.push(reply);
        } else if client.read(&mut self.random, self.now, &reply) {
            self.wake_at(reply.packet.who, self.now);
        }
    }

    fn rename(&mut self, who: usize) {
        let old = self.clients[who].id;
        let begin = self.clients[who].net.cut(self.now).map_or(self.now, |cut| cut.end);
        // Nothing keeps it behind what was sent before.
        let at = begin + self.token_takes(who);
        self.plan(at, Event::TokenGoes(old));
        self.clients[who].rename(self.names.len());
        self.names.push(who);
        self.declare(who);
    }

    /// Its token is told of, unless it is cut off: then that is done when it rejoins.
    fn declare(&mut self, who: usize) {
        let client = &self.clients[who];
        if client.is_frozen || client.net.cut(self.now).is_some() {
            return;
        }
        let id = client.id;
        let at = self.now + self.token_takes(who);
        self.plan(at, Event::TokenComes(id));
    }

    fn token_takes(&mut self, who: usize) -> u64 {
        let longest = if happens(&mut self.random, 0.2) { SECOND } else { TOKEN };
        self.random.u64(..=self.clients[who].net.there.base + longest)
    }

    fn token_goes(&mut self, id: usize) {
        self.daemon.token_gone(&name(id), id);
        self.judge.token_gone(id);
    }

    fn plan_lease(&mut self, who: usize, begin: u64, end: u64) {
        if end - begin > LEASE {
            self.plan(begin + LEASE, Event::LeaseEnds(who));
        }
        self.plan(end, Event::Rejoins(who));
    }

    fn freeze(&mut self, who: usize, time: u64) {
        let client = &mut self.clients[who];
        if client.is_frozen {
            return;
        }
        client.is_frozen = true;
        // What was stamped already goes out when it runs again, with the stamps that it has.
        let waiting = client.burst(&mut self.random, self.now);
        client.unsent = waiting.into_iter().map(Rc::new).collect();
        self.plan_lease(who, self.now, self.now + time);
        self.plan(self.now + time, Event::Thaw(who));
    }

    fn thaw(&mut self, who: usize) {
        let client = &mut self.clients[who];
        client.is_frozen = false;
        let (unsent, unread) =
            (std::mem::take(&mut client.unsent), std::mem::take(&mut client.unread));
        for packet in unsent {
            self.send(packet);
        }
        for reply in unread {
            self.replied(reply);
        }
        self.declare(who);
        self.wake_at(who, self.now);
    }

    fn restart(&mut self) {
        self.lives += 1;
        // Its clock may go on, have another zero after a start of the machine, or be that of another machine that took
        // its place and shows nearly the same.
        let clock = match self.random.u8(..3) {
            0 => self.daemon.clock,
            1 => Clock::any(&mut self.random),
            _ => self.daemon.clock.set_back(self.random.u64(..3 * SECOND)),
        };
        self.daemon = Daemon::new(&format!("life{}", self.lives), clock);
        self.judge.restarted(self.daemon.remotes.instance());
        for who in 0..self.clients.len() {
            self.declare(who);
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let (seed, now) = (self.seed, self.now);
            eprintln!("in seed {seed} at {now} us; {ONE}={seed} runs it alone and tells all of it");
        }
    }
}

/// An event with its time; those of the same time in the order of their planning.
struct Due {
    at: u64,
    number: u64,
    event: Event,
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Due {}
