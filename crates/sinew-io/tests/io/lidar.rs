//! The lidar's driver beside the controller's, on pseudo-terminals.

use std::{
    path::Path,
    sync::{Arc, Mutex, mpsc},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use sinew_io::{
    Pty, Wiring,
    kind::{Entry, KINDS, Settings as Table},
    lidar::{Lidar, Settings},
    sim::Simulator,
    vacuum::Vacuum,
};
use sinew_robot::{
    Epoch, Origin,
    capability::{Audience, Detail, Driver, Reading, Sensors},
    lidar::{LinkState, Mounting, View},
    vacuum::{self, Command},
};
use sinew_wire::delta2d::FrameBuf;

use crate::vacuum::runtime;

const PATIENCE: Duration = Duration::from_secs(60);

/// Keeps what it is told: readings as 5555 has them and as the other ports do, and events.
struct Told(Mutex<mpsc::Sender<(Value, Value)>>, Mutex<Vec<Value>>);

impl Audience for Told {
    fn wants_sensors(&self) -> bool {
        true
    }

    fn sensors(&self, reading: &Reading) {
        let json = |detail| serde_json::from_str(&(reading.json)(detail)).unwrap();
        let _ = self.0.lock().unwrap().send((json(Detail::WithRaw), json(Detail::Values)));
    }

    fn frame(&self, _: &str, _: Vec<u8>) {}

    fn blocks_changed(&self, _: &str) {}

    fn wants_frames(&self, _: &str) -> bool {
        false
    }

    fn event(&self, event: Value) {
        self.1.lock().unwrap().push(event);
    }

    fn changed(&self) {}

    fn missed(&self, _: u64) {}
}

struct Robot {
    controller: Vacuum,
    lidar: Lidar,
    told: Arc<Told>,
    turns: mpsc::Receiver<(Value, Value)>,
    simulator: Simulator,
}

impl Robot {
    /// A simulated robot; its lidar's line is the simulator's or another.
    fn start(line: Option<&Path>, view: View) -> Self {
        let options = sinew_sim::vacuum::Options { seed: 9, ..Default::default() };
        let simulator = Simulator::spawn(options, None).unwrap();
        let settings = vacuum::Settings::default();
        let controller = Vacuum::spawn(simulator.path(), settings, Wiring::default()).unwrap();
        let (sender, turns) = mpsc::channel();
        let told = Arc::new(Told(Mutex::new(sender), Mutex::default()));
        let settings = Settings { view, mounting: Mounting::default() };
        let line = line.unwrap_or(simulator.lidar_path());
        let lidar =
            Lidar::spawn(line, 115_200, settings, controller.clone(), told.clone(), None).unwrap();
        Robot { controller, lidar, told, turns, simulator }
    }

    fn execute(&self, command: Command) {
        let origin = Origin {
            by: "test".into(),
            client: 1,
            robot: "vacuum".into(),
            epoch: Epoch::default().now(),
            received: Instant::now(),
            presence: Default::default(),
        };
        until("the controller", || {
            let done = runtime().block_on(self.controller.execute(command.clone(), origin.clone()));
            done.is_ok().then_some(())
        });
    }

    /// Switches it on and waits for a turn. On a machine so busy that the simulator falls silent the
    /// controller's link is lost, rightly, and all is off.
    fn turn(&self) -> (Value, Value) {
        until("a turn", || {
            self.execute(Command::LidarOn { pwm: 60 });
            self.turns.recv_timeout(Duration::from_secs(8)).ok()
        })
    }

    fn link(&self) -> Value {
        self.lidar.report().link
    }

    fn reaches(&self, state: &str) {
        until(state, || (self.link()["state"] == state).then_some(()));
    }

    fn shut_down(self) {
        self.lidar.shut_down();
        self.controller.shut_down();
        drop(self.simulator);
    }
}

#[track_caller]
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "waited too long: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn points(values: &Value) -> &Vec<Value> {
    values["values"]["scan"]["PointCloud2D"].as_array().unwrap()
}

#[test]
fn turns_come_while_the_controller_has_it_switched_on() {
    let robot = Robot::start(None, View::Raw);
    robot.reaches("silent");
    assert!(robot.lidar.report().fresh, "one that is off is not stale");
    let (legacy, other) = robot.turn();
    assert_eq!(robot.link()["state"], "turning");
    assert_eq!((&legacy["group_id"], &legacy["type"]), (&json!("lidar"), &json!("SensorGroup")));
    assert_eq!(legacy["values"].as_object().unwrap().len(), 1, "only what document 003 has");
    assert!((300..360).contains(&points(&legacy).len()), "{}", points(&legacy).len());
    for point in points(&legacy) {
        let [angle, distance, quality] = [0, 1, 2].map(|at| point[at].as_f64().unwrap());
        assert!((0.0..std::f64::consts::TAU).contains(&angle), "{point}");
        assert!((0.01..8.0).contains(&distance) && quality > 0.0, "{point}");
    }
    assert_eq!(points(&legacy), points(&other));
    let values = &other["values"];
    assert_eq!(values["pose"]["Vector3"], json!([0.0, 0.0, 0.0]), "it stands where it was");
    let (began, ended) = (&values["began_us"]["U64"], &other["timestamp_us"]);
    let took = ended.as_u64().unwrap() - began.as_u64().unwrap();
    assert!((150_000..400_000).contains(&took), "{took} us");
    assert_eq!(values["view"]["String"], "raw");
    let report = robot.lidar.report();
    let scan = &report.state["scan"];
    assert_eq!((&scan["check"], &scan["spacing"]), (&json!("proven"), &json!("next_frame")));
    robot.execute(Command::LidarOff);
    robot.reaches("silent");
    assert!(robot.lidar.report().fresh);
    let events = robot.told.1.lock().unwrap().clone();
    let links = events.iter().filter(|event| event["event"] == "link");
    let links: Vec<_> = links.map(|event| event["link"]["state"].as_str().unwrap()).collect();
    assert_eq!(links[..3], ["silent", "starting", "turning"], "{events:?}");
    assert_eq!(links.last(), Some(&"silent"), "{events:?}");
    assert!(events.iter().all(|event| event["event"] != "link" || event["driver"] == "lidar"));
    robot.shut_down();
}

#[test]
fn seen_from_the_robot_the_walls_are_where_they_are() {
    let robot = Robot::start(None, View::Robot);
    // Echoes are missing in a turn now and then.
    until("all walls in one turn", || {
        let (legacy, _) = robot.turn();
        let near = |x: f64, y: f64| {
            points(&legacy).iter().any(|point| {
                let (sin, cos) = point[0].as_f64().unwrap().sin_cos();
                let distance = point[1].as_f64().unwrap();
                (distance * cos - x).hypot(distance * sin - y) < 0.08
            })
        };
        // The docked robot looks along x: the far wall ahead, the box to its left, the wall behind it.
        let sees = near(4.78, 0.0) && near(2.0, 1.4) && near(-0.22, 0.0) && near(0.0, -1.5);
        sees.then_some(())
    });
    robot.shut_down();
}

#[test]
fn a_line_that_is_not_there_says_why_and_the_controller_works_on() {
    let line = std::env::temp_dir().join(format!("sinew-no-lidar-{}", std::process::id()));
    let robot = Robot::start(Some(&line), View::Raw);
    let reason = until("a reason", || robot.link()["reason"].as_str().map(String::from));
    assert_eq!(robot.link()["state"], "disconnected");
    assert!(reason.contains("No such file"), "{reason}");
    robot.execute(Command::LidarOn { pwm: 60 });
    until("the lidar to be on", || (!robot.lidar.report().fresh).then_some(()));
    // Plugged in, but nothing at its other end.
    let pty = Pty::open(Some(&line)).unwrap();
    robot.reaches("silent");
    assert!(robot.link()["reason"].is_string(), "switched on, and nothing comes");
    drop(pty);
    robot.reaches("disconnected");
    robot.shut_down();
}

#[test]
fn frames_are_taken_whoever_switched_it_on_and_a_damaged_one_costs_one() {
    let pty = Pty::open(None).unwrap();
    let robot = Robot::start(Some(pty.path()), View::Raw);
    robot.reaches("silent");
    let master = std::fs::File::from(pty.master().unwrap());
    let mut number = 0u16;
    let mut send = |damaged: bool| {
        let [high, low] = (number % 15 * 2400).to_be_bytes();
        number += 1;
        let payload = [&[100, 0, 0, high, low][..], &[200, 0x0F, 0xA0].repeat(24)].concat();
        let mut frame = FrameBuf::new(0xAD, &payload).unwrap().as_bytes().to_vec();
        frame[20] ^= u8::from(damaged);
        until("room in the line", || std::io::Write::write(&mut &master, &frame).ok());
    };
    (0..46).for_each(|_| send(false));
    for _ in 0..2 {
        let (turn, _) = robot.turns.recv_timeout(PATIENCE).unwrap();
        assert_eq!(points(&turn).len(), 360);
        assert_eq!(points(&turn)[1], json!([0.01745, 1.0, 200]));
    }
    send(true);
    (0..14).for_each(|_| send(false));
    let (turn, _) = robot.turns.recv_timeout(PATIENCE).unwrap();
    assert_eq!(points(&turn).len(), 360 - 24);
    until("the state to be shown", || (robot.lidar.state().turns == 3).then_some(()));
    let counters = robot.lidar.state().counters;
    assert_eq!((counters.bad_checks, counters.frames), (1, 60));
    until("silence", || (robot.lidar.state().link == LinkState::Lost).then_some(()));
    assert_eq!(robot.link()["state"], "silent", "the controller never switched it on");
    assert_eq!(robot.lidar.groups(), ["lidar"]);
    robot.shut_down();
}

#[test]
fn settings_of_the_lidar_are_checked() {
    let table = |key: &str, value: Value| {
        let link = ("link".to_owned(), json!("serial:/dev/ttyS3"));
        Table::from_iter([link, (key.to_owned(), value)])
    };
    let read = |key: &str, value: Value| Entry::read(KINDS, &table(key, value));
    for (key, value) in [
        ("lidar", json!("serial:/dev/ttyS1?baud=230400")),
        ("lidar", json!("off")),
        ("lidar_view", json!("robot")),
        ("lidar_zero_deg", json!(-90)),
        ("lidar_clockwise", json!(false)),
    ] {
        let entry = read(key, value.clone()).unwrap();
        assert_eq!(
            entry.settings[key].to_string().trim_matches('"'),
            match &value {
                Value::String(text) => text.clone(),
                Value::Number(_) => "-90.0".into(),
                other => other.to_string(),
            }
        );
    }
    for (key, value, said) in [
        ("lidar", json!("udp:1.2.3.4"), "lidar: wanted serial:, off or auto, got udp:1.2.3.4"),
        ("lidar", json!("/dev/ttyS1"), "lidar: wanted serial:, off or auto, got \"/dev/ttyS1\""),
        ("lidar_x", json!(3.0), "lidar_x: wanted -1 to 1, got 3"),
        ("lidar_view", json!("sideways"), "lidar_view: "),
        ("ladar", json!("off"), "did you mean robot.lidar?"),
    ] {
        let error = read(key, value).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}
