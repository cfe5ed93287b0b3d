//! A simulated G1 and a client that may send anything.

use std::time::{Duration, Instant};

use sinew_sim::g1::{
    Channel, MAX_VELOCITY, Mode, Options, Output, Robot, UnitreeOptions, Walking, What,
};
use sinew_wire::{
    teach::G1_ARM_JOINTS,
    unitree::{Binary, Form, Message, validation_answer_with},
};

/// Messages of one input; more would make it slow and show nothing new.
const MOST: usize = 24;

const TEXTS: [&str; 12] = [
    r#"{"type":"rtc_inner_req","topic":"","data":{"req_type":"disable_traffic_saving","instruction":"on"}}"#,
    r#"{"type":"subscribe","topic":"rt/arm/action/state"}"#,
    r#"{"type":"subscribe","topic":"rt/unitree/slam_mapping/points"}"#,
    r#"{"type":"req","topic":"rt/api/arm/request","data":{"header":{"identity":{"id":1,"api_id":7107}},"parameter":""}}"#,
    r#"{"type":"req","topic":"rt/api/arm/request","data":{"header":{"identity":{"id":2,"api_id":7106}},"parameter":"{\"data\":26}"}}"#,
    r#"{"type":"req","topic":"rt/api/arm/request","data":{"header":{"identity":{"id":3,"api_id":7108}},"parameter":"{\"action_name\":\"Spin_discs\"}"}}"#,
    r#"{"type":"req","topic":"rt/api/arm/request","data":{"header":{"identity":{"id":4,"api_id":7110}},"parameter":"{\"action_name\":\"a\"}"}}"#,
    r#"{"type":"req","topic":"rt/api/arm/request","data":{"header":{"identity":{"id":5,"api_id":7109}},"parameter":"{\"pre_name\":\"a\",\"new_name\":\"b\"}"}}"#,
    r#"{"type":"req","topic":"rt/api/slam_operate/request","data":{"header":{"identity":{"id":6,"api_id":1801}},"parameter":"{\"data\":{\"slam_type\":\"indoor\"}}"}}"#,
    r#"{"type":"req","topic":"rt/api/slam_operate/request","data":{"header":{"identity":{"id":7,"api_id":1802}},"parameter":"{\"data\":{\"address\":\"/home/unitree/a.pcd\"}}"}}"#,
    r#"{"type":"req","topic":"rt/api/slam_operate/request","data":{"header":{"identity":{"id":8,"api_id":1804}},"parameter":"{\"data\":{\"x\":0,\"y\":0,\"z\":0,\"q_x\":0,\"q_y\":0,\"q_z\":0,\"q_w\":1,\"address\":\"/home/unitree/a.pcd\"}}"}}"#,
    r#"{"type":"req","topic":"rt/api/slam_operate/request","data":{"header":{"identity":{"id":9,"api_id":1102}},"parameter":"{\"data\":{\"targetPose\":{\"x\":1,\"y\":0,\"z\":0,\"q_x\":0,\"q_y\":0,\"q_z\":0,\"q_w\":1},\"mode\":1}}"}}"#,
];

const STOPS: [&str; 3] = [
    r#"{"type":"req","topic":"rt/api/arm/request","data":{"header":{"identity":{"id":1,"api_id":7113}},"parameter":""}}"#,
    r#"{"type":"req","topic":"rt/api/arm/request","data":{"header":{"identity":{"id":1,"api_id":7110}},"parameter":""}}"#,
    r#"{"type":"req","topic":"rt/api/slam_operate/request","data":{"header":{"identity":{"id":1,"api_id":1901}},"parameter":"{\"data\":{}}"}}"#,
];

/// Messages, one on a line behind a byte that says how long to wait after it; alone and in a row.
pub fn seeds() -> Vec<Vec<u8>> {
    let lines: Vec<Vec<u8>> = TEXTS.iter().map(|text| [b"A", text.as_bytes()].concat()).collect();
    lines.iter().cloned().chain([lines.join(&b'\n')]).collect()
}

/// A robot stays within its limits, says only what can be read, and obeys a stop.
pub fn exercise(data: &[u8]) {
    let mut bench = Bench::new();
    bench.join(1);
    for line in data.split(|byte| *byte == b'\n').take(MOST) {
        let Some((wait, text)) = line.split_first() else { continue };
        bench.send(1, text);
        bench.pass(Duration::from_millis(u64::from(*wait) * 8));
    }
    // The first channel may have been closed by what it sent.
    bench.join(2);
    for stop in STOPS {
        bench.send(2, stop.as_bytes());
    }
    bench.pass(Duration::from_secs(5));
    assert_eq!((bench.robot.mode(), bench.robot.walking()), (Mode::Idle, Walking::No));
}

struct Bench {
    robot: Robot,
    now: Instant,
    /// The latest text of the robot.
    said: Vec<u8>,
}

impl Bench {
    fn new() -> Self {
        let unitree = UnitreeOptions {
            md5: Some(digest),
            points_per_cloud: 100,
            go2_voxels: true,
            ..UnitreeOptions::default()
        };
        let now = Instant::now();
        let robot = Robot::new(Options { unitree, ..Options::default() }, now);
        Bench { robot, now, said: Vec::new() }
    }

    fn join(&mut self, client: u32) {
        self.robot.handle_channel(self.now, Channel { client, what: What::Opened }, b"");
        self.listen();
        let challenge = Message::parse(&self.said).expect("what the robot says");
        let challenge = challenge.data.expect("a challenge");
        let answer = validation_answer_with(challenge.as_str().expect("text"), digest);
        self.send(client, answer.emit().as_bytes());
    }

    fn send(&mut self, client: u32, text: &[u8]) {
        let what = What::Message(Form::Text);
        self.robot.handle_channel(self.now, Channel { client, what }, text);
        self.listen();
    }

    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            let next = self.robot.poll_timeout();
            assert!(next > self.now, "a robot that was called has nothing left to do");
            self.now = next.min(end);
            self.robot.handle_timeout(self.now);
            self.listen();
        }
    }

    fn listen(&mut self) {
        while let Some(output) = self.robot.poll_output() {
            if let Output::Store { id, .. } = output {
                self.robot.stored(self.now, id, true);
            }
        }
        let mut bytes = Vec::new();
        while let Some(channel) = self.robot.poll_channel(true, &mut bytes) {
            let bytes = std::mem::take(&mut bytes);
            match channel.what {
                What::Message(Form::Text) => {
                    Message::parse(&bytes).expect("what the robot says");
                    self.said = bytes;
                }
                What::Message(Form::Binary) => {
                    let binary = Binary::new_checked(&bytes).expect("what the robot says");
                    binary.message().expect("what the robot says");
                }
                What::Opened | What::Closed => assert!(bytes.is_empty()),
            }
        }
        for (position, joint) in self.robot.joints().iter().zip(&G1_ARM_JOINTS) {
            assert_eq!(joint.clamp(*position), *position, "{}", joint.name);
        }
        assert!(
            self.robot.velocities().iter().all(|velocity| velocity.abs() <= MAX_VELOCITY * 1.01)
        );
    }
}

/// Stands in for MD5: what it is does not matter, as long as both sides use the same.
fn digest(message: &[u8]) -> [u8; 16] {
    let fold = |seed: u64| {
        message
            .iter()
            .fold(seed, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
    };
    (u128::from(fold(0xcbf2_9ce4)) << 64 | u128::from(fold(0x8422_2325))).to_le_bytes()
}
