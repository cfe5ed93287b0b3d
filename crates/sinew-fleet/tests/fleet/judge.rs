//! Sees the truth, which no party does, and has the rules by heart: it is asked at every step of a run.

use crate::{
    client::Client,
    daemon::{Answer, Ask, DEADMAN, Packet},
    net::{MS, SECOND},
};

/// What clocks that are wrong by 200 ppm may cost.
const SLACK: u64 = MS;
/// How old a command may be that is no velocity.
const PATIENCE: u64 = 2 * SECOND;

/// What happened in a run, so that it can be told whether it tried anything.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    /// Velocities that moved the robot.
    pub(crate) moved: u64,
    /// Refused, and for these reasons: a message may have several.
    pub(crate) too_old: u64,
    pub(crate) gone: u64,
    pub(crate) overtaken: u64,
    pub(crate) elsewhere: u64,
    /// An Enable that came after its client's later Stop.
    pub(crate) outrun: u64,
    /// The robot moved while its mover was cut off.
    pub(crate) cut: u64,
}

/// What is known of one name in this life of the daemon.
#[derive(Debug, Clone, Copy, Default)]
struct Name {
    /// The highest number of all its messages that came, and of its stops.
    seq: Option<u64>,
    stop: Option<u64>,
    /// Its token: was it ever there, and did it go.
    has_come: bool,
    is_gone: bool,
}

/// What is known of one client in the whole run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    /// Its newest velocity: when it was wished for, and when it went out.
    wished: u64,
    out: u64,
    /// Its velocities that came, and when it moved the robot.
    pub(crate) came: u64,
    pub(crate) moved: Vec<u64>,
}

/// The judge of one run.
#[derive(Debug)]
pub(crate) struct Judge {
    seed: u64,
    instance: String,
    names: Vec<Name>,
    pub(crate) records: Vec<Record>,
    holder: Option<usize>,
    is_stopped: bool,
    pub(crate) tally: Tally,
}

impl Judge {
    /// One that knows nothing yet.
    pub(crate) fn new(seed: u64, clients: usize, instance: &str) -> Self {
        Judge {
            seed,
            instance: instance.into(),
            names: Vec::new(),
            records: vec![Record::default(); clients],
            holder: None,
            is_stopped: true,
            tally: Tally::default(),
        }
    }

    /// The daemon was started anew, and all is forgotten.
    pub(crate) fn restarted(&mut self, instance: &str) {
        self.instance = instance.into();
        self.names.clear();
        (self.holder, self.is_stopped) = (None, true);
    }

    /// A message goes out.
    pub(crate) fn sent(&mut self, now: u64, packet: &Packet) {
        if packet.ask == Ask::Go {
            let record = &mut self.records[packet.who];
            record.wished = record.wished.max(packet.wished);
            record.out = now;
        }
    }

    /// A token came.
    pub(crate) fn token_came(&mut self, id: usize) {
        self.name(id).has_come = true;
    }

    /// A token went.
    pub(crate) fn token_gone(&mut self, id: usize) {
        self.name(id).is_gone = true;
        if self.holder == Some(id) {
            (self.holder, self.is_stopped) = (None, true);
        }
    }

    /// A message came, and this was the answer.
    pub(crate) fn came(&mut self, now: u64, packet: &Packet, answer: Answer) {
        let age = now - packet.wished;
        let name = *self.name(packet.id);
        let had_effect = answer == Answer::Done && !matches!(packet.ask, Ask::Ping | Ask::Stop);
        if had_effect {
            self.is_lawful(age, packet, name);
        }
        let number = Some(packet.stamp.seq);
        let record = &mut self.records[packet.who];
        match packet.ask {
            Ask::Go => {
                record.came += 1;
                if had_effect {
                    record.moved.push(now);
                    self.tally.moved += 1;
                }
            }
            Ask::Stop => {
                self.name(packet.id).stop = name.stop.max(number);
                self.is_stopped = true;
            }
            Ask::TakeControl if had_effect => {
                self.is_stopped |= self.holder.is_some_and(|holder| holder != packet.id);
            }
            Ask::Enable if had_effect => self.is_stopped = false,
            _ => {}
        }
        if had_effect {
            self.holder = Some(packet.id);
        }
        if answer == Answer::Denied {
            self.count(age, packet, name);
        }
        self.name(packet.id).seq = name.seq.max(number);
    }

    /// Time has passed: this name moved the robot until this moment.
    pub(crate) fn moved(&mut self, now: u64, id: usize, until: u64, client: &Client) {
        let (seed, record, net) = (self.seed, &self.records[client.who], &client.net);
        if until == now {
            assert_eq!(
                self.holder,
                Some(id),
                "seed {seed}: moved at {now} by one without controls"
            );
            assert!(!self.is_stopped, "seed {seed}: moves at {now}, though it was stopped");
        }
        let longest = net.there.longest();
        assert!(
            until <= record.wished + 2 * DEADMAN + SLACK,
            "seed {seed}: moves at {until}, nothing was wished since {}",
            record.wished,
        );
        let was_cut = net.cuts.iter().any(|cut| cut.begin <= until && record.out < cut.end);
        assert!(
            was_cut || until <= record.out + longest + DEADMAN + SLACK,
            "seed {seed}: moves at {until}, nothing was sent since {}",
            record.out,
        );
        if let Some(cut) = net.cut(until) {
            self.tally.cut += u64::from(until == now);
            assert!(
                until <= cut.begin + longest.min(DEADMAN) + DEADMAN + SLACK,
                "seed {seed}: moves at {until}, cut off since {}",
                cut.begin,
            );
        }
    }

    /// A message that has an effect must have had the right to.
    fn is_lawful(&self, age: u64, packet: &Packet, name: Name) {
        let (seed, number) = (self.seed, Some(packet.stamp.seq));
        let limit = match packet.ask {
            Ask::Go | Ask::Halt => DEADMAN,
            _ => PATIENCE,
        };
        assert!(age <= limit + SLACK, "seed {seed}: {age} us old, with effect: {packet:?}");
        assert!(!name.is_gone, "seed {seed}: of a name that went, with effect: {packet:?}");
        assert!(name.has_come, "seed {seed}: without a token, with effect: {packet:?}");
        let is_meant = packet.stamp.to.as_deref() == Some(&self.instance);
        assert!(is_meant, "seed {seed}: meant for another daemon, with effect: {packet:?}");
        let undoes = packet.ask == Ask::Enable && number < name.stop;
        assert!(!undoes, "seed {seed}: undoes a later stop of its own: {packet:?}, {name:?}");
        assert!(number > name.seq, "seed {seed}: overtaken, with effect: {packet:?}, {name:?}");
        if packet.ask != Ask::TakeControl {
            let may = self.holder.is_none_or(|holder| holder == packet.id);
            assert!(may, "seed {seed}: of one without controls, with effect: {packet:?}");
        }
        let moves = packet.ask == Ask::Go;
        assert!(!moves || !self.is_stopped, "seed {seed}: it was stopped, and {packet:?} moves it");
    }

    fn count(&mut self, age: u64, packet: &Packet, name: Name) {
        let (tally, number) = (&mut self.tally, Some(packet.stamp.seq));
        tally.too_old += u64::from(age > DEADMAN && packet.ask == Ask::Go);
        tally.gone += u64::from(name.is_gone);
        tally.overtaken += u64::from(number <= name.seq);
        tally.elsewhere += u64::from(packet.stamp.to.as_deref() != Some(&self.instance));
        tally.outrun += u64::from(packet.ask == Ask::Enable && number < name.stop);
    }

    fn name(&mut self, id: usize) -> &mut Name {
        if self.names.len() <= id {
            self.names.resize(id + 1, Name::default());
        }
        &mut self.names[id]
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        let Tally { moved, too_old, gone, overtaken, elsewhere, outrun, cut } = other;
        self.moved += moved;
        self.too_old += too_old;
        self.gone += gone;
        self.overtaken += overtaken;
        self.elsewhere += elsewhere;
        self.outrun += outrun;
        self.cut += cut;
    }
}
