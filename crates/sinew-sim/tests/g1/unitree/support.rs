//! A client that sends what a test says, over a channel that loses nothing.

use std::time::{Duration, Instant};

use md5::{Digest, Md5};
use serde_json::Value;
use sinew_robot::{Output, Session};
use sinew_sim::g1::{Channel, Options, Peer, Robot, Stored, StoredAction, UnitreeOptions, What};
use sinew_wire::unitree::{Form, Kind, Message, Response, request_topic, validation_answer_with};

use crate::support::ms;

pub(crate) fn md5(message: &[u8]) -> [u8; 16] {
    Md5::digest(message).into()
}

/// A robot with a data channel, whose arms nothing moves.
pub(crate) fn options() -> Options {
    let unitree = UnitreeOptions { md5: Some(md5), ..UnitreeOptions::default() };
    Options { operator: None, unitree, ..Options::default() }
}

pub(crate) struct Line {
    pub(crate) robot: Robot,
    pub(crate) now: Instant,
    pub(crate) heard: Vec<Heard>,
    pub(crate) closed: Vec<u32>,
    pub(crate) datagrams: Vec<Vec<u8>>,
    pub(crate) disk: Vec<StoredAction>,
    pub(crate) disk_works: bool,
    pub(crate) room: bool,
    /// Whether the disk answers at once.
    pub(crate) jobs: Option<Vec<u64>>,
    next_id: i64,
}

/// A message of the robot.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Heard {
    pub(crate) at: Instant,
    pub(crate) client: u32,
    pub(crate) form: Form,
    pub(crate) bytes: Vec<u8>,
}

impl Heard {
    pub(crate) fn text(&self) -> &str {
        str::from_utf8(&self.bytes).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap()
    }

    pub(crate) fn message(&self) -> Option<Message> {
        (self.form == Form::Text).then(|| Message::parse(&self.bytes).unwrap())
    }
}

impl Line {
    pub(crate) fn new(options: Options) -> Self {
        let now = Instant::now();
        Line {
            robot: Robot::new(options, now),
            now,
            heard: Vec::new(),
            closed: Vec::new(),
            datagrams: Vec::new(),
            disk: Vec::new(),
            disk_works: true,
            room: true,
            jobs: None,
            next_id: 1,
        }
    }

    /// A robot and its first client, validated.
    pub(crate) fn open(options: Options) -> Self {
        let mut line = Line::new(options);
        line.join(1);
        line
    }

    /// Opens a channel and answers its challenge.
    #[track_caller]
    pub(crate) fn join(&mut self, client: u32) {
        self.input(client, What::Opened, b"");
        let challenge = self.heard.last().unwrap().json();
        let challenge = challenge["data"].as_str().unwrap();
        let answer = validation_answer_with(challenge, md5).emit();
        self.text(client, &answer);
        let said = self.heard.iter().rev().take(2).map(|heard| heard.text().to_owned());
        let said: Vec<String> = said.collect();
        assert_eq!(said[1], r#"{"type":"validation","topic":"","data":"Validation Ok."}"#);
        assert_eq!(said[0], r#"{"type":"errors","topic":"","data":[]}"#);
    }

    pub(crate) fn input(&mut self, client: u32, what: What, bytes: &[u8]) {
        let peer = Peer::Channel(Channel { client, what });
        Session::handle_input(&mut self.robot, self.now, peer, bytes);
        self.listen();
    }

    pub(crate) fn text(&mut self, client: u32, text: &str) {
        self.input(client, What::Message(Form::Text), text.as_bytes());
    }

    /// Sends a text as the first client.
    pub(crate) fn send(&mut self, text: &str) {
        self.text(1, text);
    }

    pub(crate) fn subscribe(&mut self, topic: &str) {
        self.send(&format!(r#"{{"type":"subscribe","topic":"{topic}"}}"#));
    }

    /// Calls a service, waits for the answer, and gives it.
    #[track_caller]
    pub(crate) fn call(&mut self, service: &str, api_id: i64, parameter: &str) -> Response {
        let (before, id) = (self.heard.len(), self.request(service, api_id, parameter));
        let end = self.now + ms(500);
        while self.now < end {
            if let Some(response) = self.response(before, id) {
                return response;
            }
            self.run(ms(1));
        }
        panic!("no answer to {service} {api_id} {parameter}");
    }

    /// Calls a service and does not wait.
    pub(crate) fn request(&mut self, service: &str, api_id: i64, parameter: &str) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        let topic = request_topic(service);
        let parameter = Value::from(parameter);
        self.send(&format!(
            r#"{{"type":"req","topic":"{topic}","data":{{"header":{{"identity":{{"id":{id},"api_id":{api_id}}}}},"parameter":{parameter}}}}}"#
        ));
        id
    }

    pub(crate) fn response(&self, from: usize, id: i64) -> Option<Response> {
        let responses = self.heard[from..].iter().filter_map(|heard| {
            Response::parse(&heard.message().filter(|message| message.kind == Kind::Res)?).ok()
        });
        let mut responses = responses.filter(|response| response.id == id);
        responses.next()
    }

    #[track_caller]
    pub(crate) fn code(&mut self, service: &str, api_id: i64, parameter: &str) -> i64 {
        self.call(service, api_id, parameter).code
    }

    #[track_caller]
    pub(crate) fn arm(&mut self, api_id: i64, parameter: &str) -> i64 {
        self.code("arm", api_id, parameter)
    }

    /// Names and seconds of the taught actions.
    #[track_caller]
    pub(crate) fn taught(&mut self) -> Vec<(String, f64)> {
        let list = self.call("arm", 7107, "").json().unwrap();
        let taught = list[1].as_array().unwrap().iter();
        taught
            .map(|one| (one["name"].as_str().unwrap().to_owned(), one["time"].as_f64().unwrap()))
            .collect()
    }

    /// Lets time pass, calling the robot whenever it asks.
    pub(crate) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            let next = Session::poll_timeout(&self.robot).unwrap();
            assert!(next > self.now, "a robot that was called has nothing left to do");
            self.now = next.min(end);
            Session::handle_timeout(&mut self.robot, self.now);
            self.listen();
        }
    }

    /// Keeps a recording alive as the app does, for so long.
    #[track_caller]
    pub(crate) fn keep_alive(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            assert_eq!(self.arm(7110, r#"{"action_name":""}"#), 0);
            self.run((end - self.now).min(ms(1000)));
        }
    }

    /// Texts on a topic since a place in what was heard.
    pub(crate) fn on(&self, from: usize, topic: &str) -> Vec<(Instant, Message)> {
        let on = |heard: &Heard| {
            let message = heard.message().filter(|message| message.topic() == topic)?;
            Some((heard.at, message))
        };
        self.heard[from..].iter().filter_map(on).collect()
    }

    pub(crate) fn listen(&mut self) {
        let mut bytes = Vec::new();
        while let Some(output) = Session::poll_output(&mut self.robot, self.room, &mut bytes) {
            match output {
                Output::Transmit(Peer::Channel(Channel { client, what })) => match what {
                    What::Message(form) => {
                        let bytes = std::mem::take(&mut bytes);
                        self.heard.push(Heard { at: self.now, client, form, bytes });
                    }
                    What::Closed => self.closed.push(client),
                    What::Opened => panic!("a robot opens no channel"),
                },
                Output::Transmit(Peer::Datagram(_)) => {
                    self.datagrams.push(std::mem::take(&mut bytes));
                }
                Output::Job(job) => match &mut self.jobs {
                    Some(jobs) => jobs.push(job.id),
                    None => {
                        if self.disk_works {
                            self.disk = job.actions;
                        }
                        let done = Stored { id: job.id, ok: self.disk_works };
                        Session::handle_done(&mut self.robot, self.now, done);
                    }
                },
                _ => panic!("a robot has nothing else to say"),
            }
        }
    }
}
