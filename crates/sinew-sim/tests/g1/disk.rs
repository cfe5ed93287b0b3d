//! Saves and the disk: the answer follows it, and everything else goes on meanwhile.

use std::net::SocketAddr;

use sinew_sim::g1::{Code, MAX_ACTIONS, Mode, Options, Output, Robot, StoredAction};
use sinew_wire::teach::{Datagram, Layout, Message, Sender, Sequence};

use crate::support::{EXIT, LIST, client, enter, ms, play, save, stored};

const KEYS: &[(u16, u16, f32)] = &[(15, 0, 0.5), (15, 2500, -0.25)];

/// A robot whose disk does what a test says, when it says so.
struct Desk {
    robot: Robot,
    now: std::time::Instant,
    sequence: Sequence,
    asked: Vec<(u64, Vec<StoredAction>)>,
    answers: Vec<(SocketAddr, Sequence, Code)>,
}

impl Desk {
    fn new(actions: Vec<StoredAction>) -> Self {
        let now = std::time::Instant::now();
        let robot = Robot::new(Options { operator: None, actions, ..Options::default() }, now);
        Desk { robot, now, sequence: Sequence(0), asked: Vec::new(), answers: Vec::new() }
    }

    fn send(&mut self, message: &Message<'_>) -> Sequence {
        self.send_as(0, message)
    }

    fn send_as(&mut self, number: u16, message: &Message<'_>) -> Sequence {
        let bytes = message.to_vec(Layout::Documented, self.sequence).unwrap();
        self.sequence = self.sequence.next();
        self.robot.handle_datagram(self.now, client(number), &bytes);
        self.fetch();
        self.sequence
    }

    /// What the disk has done with the latest.
    fn stored(&mut self, ok: bool) {
        let id = self.asked.last().unwrap().0;
        self.robot.stored(self.now, id, ok);
        self.fetch();
    }

    fn run(&mut self, time: std::time::Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now = self.robot.poll_timeout().min(end);
            self.robot.handle_timeout(self.now);
            self.fetch();
        }
    }

    fn fetch(&mut self) {
        while let Some(output) = self.robot.poll_output() {
            match output {
                Output::Store { id, actions } => self.asked.push((id, actions)),
                Output::Send { to, bytes } => {
                    let datagram = Datagram::new_checked(&bytes).unwrap();
                    let message = Message::parse(&datagram, Some(Sender::Robot)).unwrap();
                    if let Message::Answer { status, .. } = message {
                        let code = Code::from_number(status).unwrap();
                        self.answers.push((to, datagram.sequence, code));
                    }
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn answers(&mut self) -> Vec<(Sequence, Code)> {
        self.answers.drain(..).map(|(_, sequence, code)| (sequence, code)).collect()
    }

    fn names(&self) -> Vec<&str> {
        self.robot.actions().iter().map(|action| action.name.as_str()).collect()
    }
}

#[test]
fn a_save_is_answered_when_it_is_on_the_disk() {
    let mut desk = Desk::new(vec![stored("old", KEYS)]);
    let answer = desk.send(&save("wave", 1, KEYS));
    let names: Vec<_> = desk.asked[0].1.iter().map(|action| action.name.as_str()).collect();
    assert_eq!(names, ["old", "wave"], "all that is to be stored");
    assert_eq!((desk.answers(), desk.names()), (vec![], vec!["old"]));
    desk.run(ms(3000));
    assert_eq!((desk.answers(), desk.names()), (vec![], vec!["old"]));
    desk.stored(true);
    assert_eq!(
        (desk.answers(), desk.names()),
        (vec![(answer, Code::Success)], vec!["old", "wave"])
    );
    assert_eq!(desk.asked.len(), 1);
}

#[test]
fn what_the_disk_refuses_is_refused_and_not_there() {
    let mut desk = Desk::new(vec![stored("old", KEYS)]);
    let answer = desk.send(&save("wave", 1, KEYS));
    desk.stored(false);
    assert_eq!((desk.answers(), desk.names()), (vec![(answer, Code::NotStored)], vec!["old"]));
    // A repetition that was under way is refused as well, or it would be there all the same.
    let answer = desk.send(&save("wave", 1, KEYS));
    assert_eq!((desk.answers(), desk.asked.len()), (vec![(answer, Code::NotStored)], 1));
    // Another attempt is another save.
    let answer = desk.send(&save("wave", 2, KEYS));
    desk.stored(true);
    assert_eq!(
        (desk.answers(), desk.names()),
        (vec![(answer, Code::Success)], vec!["old", "wave"])
    );
    // And so is one long after.
    desk.send(&save("bow", 1, KEYS));
    desk.stored(false);
    desk.run(ms(20_000));
    desk.send(&save("bow", 1, KEYS));
    desk.stored(true);
    assert_eq!(desk.names(), ["old", "wave", "bow"]);
}

#[test]
fn repetitions_while_it_is_stored_are_one_save_with_one_answer() {
    let mut desk = Desk::new(vec![]);
    let mut latest = Sequence(0);
    for _ in 0..5 {
        latest = desk.send(&save("wave", 1, KEYS));
    }
    assert_eq!((desk.asked.len(), desk.answers()), (1, vec![]));
    desk.stored(true);
    assert_eq!((desk.answers(), desk.names()), (vec![(latest, Code::Success)], vec!["wave"]));
    latest = desk.send(&save("wave", 1, KEYS));
    assert_eq!((desk.asked.len(), desk.answers()), (1, vec![(latest, Code::Success)]));
}

#[test]
fn a_disk_that_is_dead_holds_up_nothing_and_costs_no_more_than_one_save() {
    let mut desk = Desk::new(vec![stored("old", KEYS)]);
    desk.send(&save("wave", 1, KEYS));
    for number in 0..1000_u32 {
        let name = format!("action {number}");
        let answer = desk.send_as((number % 7) as u16, &save(&name, 1, KEYS));
        assert_eq!(desk.answers(), [(answer, Code::Storing)]);
    }
    assert_eq!(desk.asked.len(), 1);
    // Teaching, playing and stopping are as always.
    for (message, mode) in [(enter(), Mode::Teaching), (play(1), Mode::Playing), (EXIT, Mode::Idle)]
    {
        let answer = desk.send(&message);
        assert_eq!((desk.answers(), desk.robot.mode()), (vec![(answer, Code::Success)], mode));
        desk.run(ms(100));
        desk.answers();
    }
    desk.send(&LIST);
    desk.run(ms(60_000));
    assert_eq!((desk.names(), desk.asked.len()), (vec!["old"], 1));
    // It wakes up: what it was at is answered, and the next save is taken.
    desk.stored(true);
    assert_eq!(desk.names(), ["old", "wave"]);
    desk.send(&save("bow", 9, KEYS));
    assert_eq!(desk.asked.len(), 2);
}

#[test]
fn an_answer_of_the_disk_counts_once_and_only_for_what_was_asked() {
    let mut desk = Desk::new(vec![]);
    desk.robot.stored(desk.now, 1, true);
    desk.send(&save("wave", 1, KEYS));
    let id = desk.asked[0].0;
    for other in [0, id + 1, u64::MAX] {
        desk.robot.stored(desk.now, other, true);
    }
    assert!(desk.names().is_empty());
    desk.stored(true);
    desk.stored(true);
    desk.stored(false);
    assert_eq!((desk.answers().len(), desk.names()), (1, vec!["wave"]));
}

/// The power goes while the disk is at it: what it has done then counts.
#[test]
fn a_restart_while_it_is_stored_answers_nothing_and_loses_nothing() {
    for ok in [true, false] {
        let mut desk = Desk::new(vec![]);
        desk.send(&save("wave", 1, KEYS));
        desk.robot.restart(desk.now);
        desk.stored(ok);
        assert_eq!(desk.answers(), []);
        assert_eq!(desk.names(), if ok { vec!["wave"] } else { vec![] });
    }
}

#[test]
fn a_full_store_is_full_whatever_the_disk_does() {
    let mut desk = Desk::new(vec![]);
    for number in 0..MAX_ACTIONS {
        desk.send(&save(&number.to_string(), 1, KEYS));
        desk.stored(true);
    }
    desk.answers();
    let answer = desk.send(&save("more", 1, KEYS));
    assert_eq!(desk.answers(), [(answer, Code::StoreFull)]);
}
