//! A G1's session and a robot that may send anything.

use std::time::{Duration, Instant};

use sinew_robot::{
    Order, OrderKind, Origin, Output, Presence, Session as _,
    mapping::Request as Map,
    teach::RobotRequest,
    unitree::{Session, Settings},
};
use sinew_wire::unitree::{Form, Message};

use crate::{take_byte, unitree};

/// Messages of one input; more would make it slow and show nothing new.
const MOST: usize = 24;

/// The messages of the vectors, each behind the bytes that say what else happens, alone and in a
/// row.
pub fn seeds() -> Vec<Vec<u8>> {
    let valid = br#"{"type":"validation","topic":"","data":"Validation Ok."}"#.to_vec();
    let lines = [valid].into_iter().chain(unitree::seeds());
    let lines: Vec<Vec<u8>> =
        lines.enumerate().map(|(at, line)| [&[at as u8, b'a'][..], &line].concat()).collect();
    lines.iter().cloned().chain([lines.join(&b'\n')]).collect()
}

/// Whatever comes: each request ends once, what is sent can be read, and it closes in time.
pub fn exercise(data: &[u8]) {
    let start = Instant::now();
    let mut bench = Bench {
        session: Session::new(Settings::new(1, 1, |_| [0; 16]), start),
        now: start,
        asked: 0,
        replied: Vec::new(),
    };
    bench.session.connected(start);
    bench.input(Form::Text, br#"{"type":"validation","topic":"","data":"Validation Ok."}"#);
    for mut line in data.split(|byte| *byte == b'\n').take(MOST) {
        let (what, wait) = (take_byte(&mut line), take_byte(&mut line));
        bench.act(what);
        bench.input(if what & 0x80 == 0 { Form::Text } else { Form::Binary }, line);
        bench.pass(Duration::from_millis(u64::from(wait) * 8));
    }
    bench.session.close(bench.now, &"the end".into());
    bench.fetch();
    bench.pass(Duration::from_secs(4));
    assert!(bench.session.is_closed());
    assert_eq!(bench.replied.len(), bench.asked, "a request that never ended");
}

struct Bench {
    session: Session,
    now: Instant,
    asked: usize,
    replied: Vec<u64>,
}

impl Bench {
    fn act(&mut self, what: u8) {
        let request = match what & 0x0F {
            0 => RobotRequest::List.into(),
            1 => RobotRequest::RecordStart { name: None }.into(),
            2 => RobotRequest::RecordStop.into(),
            3 => RobotRequest::Stop.into(),
            4 => Map::Start.into(),
            5 => Map::Close.into(),
            6 => Map::Download { name: "a".into() }.into(),
            7 => {
                let (by, kind) = ("b".into(), OrderKind::Stop);
                self.session.order(self.now, &Order { kind, epoch: 1, by, client: None });
                return self.fetch();
            }
            8 => {
                self.session.disconnected(self.now, "cut");
                self.session.connected(self.now);
                return self.fetch();
            }
            _ => return,
        };
        let origin = Origin {
            by: "a".into(),
            client: 1,
            robot: "g1".into(),
            epoch: 0,
            received: self.now,
            presence: Presence::default(),
        };
        self.asked += 1;
        self.session.request(self.now, request, &origin);
        self.fetch();
    }

    fn input(&mut self, form: Form, bytes: &[u8]) {
        self.session.handle_input(self.now, form, bytes);
        self.fetch();
    }

    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(next) = self.session.poll_timeout().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            self.session.handle_timeout(self.now);
            self.fetch();
            let again = self.session.poll_timeout();
            assert!(again.is_none_or(|at| at > self.now), "a time-out that does not pass");
        }
        self.now = end;
    }

    fn fetch(&mut self) {
        let mut bytes = Vec::new();
        while let Some(output) = self.session.poll_output(true, &mut bytes) {
            match output {
                Output::Transmit(_) => {
                    let text = std::mem::take(&mut bytes);
                    assert!(Message::parse(&text).is_ok(), "what is sent can be read");
                }
                Output::Reply(id, _) => {
                    assert!(!self.replied.contains(&id), "a request that ended twice");
                    self.replied.push(id);
                }
                Output::Reconnect(reason) => {
                    self.session.disconnected(self.now, &reason);
                    self.session.connected(self.now);
                }
                Output::Event(_) => {}
                Output::Job(job) => match job {},
            }
        }
    }
}
