//! Robots in Home Assistant, with a real broker and clients that were written elsewhere.

use std::{
    collections::BTreeMap,
    net::TcpListener,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    clients::drive,
    support::{
        Dir, Ended, Process, Rig, STILL, await_robots, frame, run, serve, sinew, until,
        until_within,
    },
};

/// What topics of a daemon begin with.
const NODE: &str = "sinew/flat";
/// Two seconds for the broker, half a one until the next beat, and some for a busy machine.
const LATEST: Duration = Duration::from_millis(3200);
/// After which a daemon gives a return up, and some more.
const DOCK_TIMEOUT: Duration = Duration::from_secs(130);

/// A broker on a port of its own.
struct Mosquitto {
    process: Process,
    config: String,
    port: u16,
    /// How its clients are told to reach it.
    arguments: Vec<String>,
    /// Its configuration's.
    _dir: Dir,
}

impl Mosquitto {
    /// None where it is not installed.
    fn start(more: &str) -> Option<Self> {
        let dir = Dir::new();
        if Command::new("mosquitto").arg("-h").output().is_err() {
            eprintln!(
                "skipped: mosquitto is not installed (apt-get install mosquitto mosquitto-clients)"
            );
            return None;
        }
        let anonymous = !more.contains("password_file");
        // It opens no port of the system's choice: one that was free a moment ago may be taken.
        for _ in 0..10 {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let text = format!(
                "listener {port} 127.0.0.1\nallow_anonymous {anonymous}\npersistence false\nuser root\n{more}\n"
            );
            let config = dir.file("mosquitto.conf", &text);
            let arguments = vec!["-h".into(), "127.0.0.1".into(), "-p".into(), port.to_string()];
            let mut process = Self::run(&config);
            if listens(&mut process) {
                return Some(Mosquitto { process, config, port, arguments, _dir: dir });
            }
        }
        panic!("no port for a broker");
    }

    fn run(config: &str) -> Process {
        Process::spawn(Command::new("mosquitto").args(["-c", config, "-v"]))
    }

    fn restart(&mut self) {
        self.process = Self::run(&self.config);
        assert!(listens(&mut self.process), "{}", self.process.errors());
    }

    fn url(&self) -> String {
        format!("mqtt://127.0.0.1:{}", self.port)
    }

    fn publish(&self, topic: &str, payload: &str, more: &[&str]) -> Ended {
        let mut command = Command::new("mosquitto_pub");
        command.args(&self.arguments).args(["-t", topic, "-m", payload]).args(more);
        Process::spawn(&mut command).wait().ok()
    }

    fn command(&self, payload: &str) {
        self.publish(&format!("{NODE}/vacuum/command"), payload, &[]);
    }

    fn listen(&self) -> Home {
        let mut command = Command::new("mosquitto_sub");
        command.args(&self.arguments).args(["-v", "-F", "%r %t %x", "-t", "#"]);
        let process = Process::spawn(&mut command);
        Home { process, known: BTreeMap::new(), order: Vec::new() }
    }
}

/// Whether it has opened its port.
fn listens(broker: &mut Process) -> bool {
    until("the broker", || {
        let runs = broker.errors().contains(" running");
        (runs || !broker.is_running()).then_some(runs)
    })
}

/// What Home Assistant sees.
struct Home {
    process: Process,
    /// The newest payload of each topic, and whether it had been kept.
    known: BTreeMap<String, (Vec<u8>, bool)>,
    /// The topics as they came.
    order: Vec<String>,
}

impl Home {
    fn take(&mut self) {
        while let Some(line) = self.process.try_line() {
            let mut words = line.splitn(3, ' ');
            let (retained, topic) = (words.next() == Some("1"), words.next().unwrap().to_owned());
            let hex = words.next().unwrap_or_default();
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            let payload = (0..hex.len()).step_by(2).map(byte).collect();
            self.order.push(topic.clone());
            self.known.insert(topic, (payload, retained));
        }
    }

    fn payload(&mut self, topic: &str) -> Option<Vec<u8>> {
        self.take();
        self.known.get(topic).map(|(payload, _)| payload.clone())
    }

    fn json(&mut self, topic: &str) -> Option<Value> {
        serde_json::from_slice(&self.payload(topic)?).ok()
    }

    /// What is published of the vacuum.
    fn vacuum(&mut self) -> Option<Value> {
        self.json(&format!("{NODE}/vacuum/state"))
    }

    /// Waits until the vacuum's published state has this.
    fn until_state(&mut self, member: &str, wanted: &Value) {
        until(&format!("{member} to be {wanted}"), || {
            (self.vacuum()?[member] == *wanted).then_some(())
        });
    }

    fn until_is(&mut self, topic: &str, payload: &str) {
        until(&format!("{topic} to be {payload}"), || {
            (self.payload(topic)? == payload.as_bytes()).then_some(())
        });
    }
}

/// A vacuum in a flat with a broker; more arguments are the daemon's.
fn start() -> Option<(Mosquitto, Rig)> {
    let broker = Mosquitto::start("")?;
    let rig = Rig::with(&["--mqtt", &broker.url(), "--mqtt-node", "flat"]);
    Some((broker, rig))
}

/// The same with the vacuum on its way back to the dock.
fn returning() -> Option<(Mosquitto, Rig, Home)> {
    let (broker, rig) = start()?;
    let mut home = broker.listen();
    home.until_state("state", &json!("docked"));
    until("it to leave the dock", || {
        let driven = rig.cli(&["vacuum", "drive", "--linear", "0.3", "--for", "4s"]).wait();
        let state = rig.robot()["state"].clone();
        // Shown if the test fails.
        eprintln!("{driven:?}: at {}", state["pose"]);
        let away = state["pose"]["x"].as_f64()?.hypot(state["pose"]["y"].as_f64()?) > 0.5;
        (away && state["is_dock_connected"] == false).then_some(())
    });
    home.until_state("state", &json!("idle"));
    send_home(&broker, &mut home);
    until("the robot to move", || {
        let velocity = &rig.robot()["state"]["velocity"];
        (velocity["linear"] != 0.0 || velocity["angular"] != 0.0).then_some(())
    });
    assert_eq!(rig.robot()["holder"], "mqtt");
    Some((broker, rig, home))
}

/// Has the vacuum return. A pause of the machine ends that at once, as it should: it is told again then.
fn send_home(broker: &Mosquitto, home: &mut Home) {
    until_within(DOCK_TIMEOUT, "it to return", || {
        broker.command("return_to_base");
        let told = Instant::now();
        while told.elapsed() < Duration::from_secs(3) {
            if home.vacuum()?["state"] == "returning" {
                return Some(());
            }
            thread::sleep(Duration::from_millis(5));
        }
        None
    });
}

/// How long it took until the wheels were told to stand still for good.
fn time_to_stop(rig: &Rig, begin: Instant) -> Duration {
    until("the robot to be stopped", || rig.robot()["stopped_by"].is_string().then_some(()));
    let took = begin.elapsed();
    let mark = rig.quiet();
    let still = frame(STILL);
    let record = rig.velocities(0);
    assert_eq!(record.last(), Some(&still), "after {mark} frames");
    took
}

#[test]
fn home_assistant_finds_the_vacuum_and_runs_it() {
    let Some((broker, rig)) = start() else { return };
    let mut home = broker.listen();
    home.until_state("state", &json!("docked"));
    home.until_is(&format!("{NODE}/status"), "online");
    home.until_is(&format!("{NODE}/vacuum/availability"), "online");
    let config = home.json("homeassistant/device/sinew_flat_vacuum/config").expect("is announced");
    let components = &config["components"];
    for (key, platform) in [
        ("vacuum", "vacuum"),
        ("battery", "sensor"),
        ("bumper_left", "binary_sensor"),
        ("led", "select"),
        ("stop", "button"),
    ] {
        assert_eq!(components[key]["platform"], platform, "{key}");
    }
    // One that listens later gets all of it from the broker, known before its state.
    let mut late = broker.listen();
    late.until_state("state", &json!("docked"));
    assert!(late.known.values().all(|(_, retained)| *retained), "{:?}", late.known.keys());
    let mark = rig.quiet();
    broker.publish(components["vacuum"]["set_fan_speed_topic"].as_str().unwrap(), "quiet", &[]);
    broker.command("start");
    home.until_state("state", &json!("cleaning"));
    home.until_state("suction", &json!(25.0));
    assert!(rig.velocities(mark).is_empty(), "it does not drive");
    let light = components["led"]["options"][7].as_str().unwrap().to_owned();
    broker.publish(&format!("{NODE}/vacuum/led"), &light, &[]);
    home.until_state("led", &json!(light));
    until("the controls to be free", || rig.robot()["holder"].is_null().then_some(()));
    broker.command("stop");
    home.until_state("state", &json!("docked"));
    home.until_state("suction", &json!(0.0));
    home.until_state("stopped_by", &json!("mqtt"));
    // Another client's controls are respected, and that is said.
    let mut driver = rig.lines();
    driver.ok(json!({ "type": "TakeControl", "name": "ann" }));
    broker.command("start");
    until("a refusal", || {
        let state = home.json(&format!("{NODE}/vacuum/state"))?;
        state["error"].as_str()?.contains("ann").then_some(())
    });
    drop(driver);
}

#[test]
fn a_command_that_the_broker_kept_is_not_carried_out_by_a_daemon_that_comes() {
    let Some(broker) = Mosquitto::start("") else { return };
    broker.publish(&format!("{NODE}/vacuum/command"), "start", &["-r"]);
    let rig = Rig::with(&["--mqtt", &broker.url(), "--mqtt-node", "flat"]);
    let mut home = broker.listen();
    let light = format!("{NODE}/vacuum/led");
    home.until_state("state", &json!("docked"));
    broker.publish(&light, "0 off", &[]);
    home.until_state("led", &json!("0 off"));
    assert_eq!(rig.robot()["state"]["vacuum"], 0);
}

#[test]
fn maps_and_actions_are_there_too() {
    let dir = Dir::new();
    let Some(broker) = Mosquitto::start("") else { return };
    let link = ["--g1", "sim:", "--mqtt", &broker.url(), "--mqtt-node", "flat"];
    let (_daemon, ready) = serve(sinew(&dir), "sim:", &link);
    let lines = ready["lines"].as_str().unwrap();
    await_robots(&dir, lines);
    run(&dir, &["map", "--robot", "vacuum", "start", "--server", lines]).ok();
    let mut home = broker.listen();
    let png = until("a picture of the map", || home.payload(&format!("{NODE}/vacuum/map")));
    assert!(png.starts_with(b"\x89PNG"), "{} bytes", png.len());
    let config = "homeassistant/device/sinew_flat_g1/config";
    let name = until("a button", || {
        let config = home.json(config)?;
        let mut components = config["components"].as_object()?.values();
        let play =
            components.find(|component| component["command_topic"] == format!("{NODE}/g1/play"))?;
        Some(play["payload_press"].as_str()?.to_owned())
    });
    broker.publish(&format!("{NODE}/g1/play"), &name, &[]);
    until("it to play", || {
        (home.json(&format!("{NODE}/g1/state"))?["playing"] == *name).then_some(())
    });
}

#[test]
fn a_return_to_the_dock_arrives() {
    let Some((broker, rig, mut home)) = returning() else { return };
    // A robot that misses its dock tries again, for as long as its daemon lets it.
    until_within(DOCK_TIMEOUT, "the return to end", || {
        let state = home.vacuum().filter(|state| state["state"] != "returning")?;
        if state["state"] == "docked" {
            return Some(());
        }
        let error = state["error"].as_str().unwrap_or_default();
        assert!(error.contains("a pause of the computer"), "{state}");
        send_home(&broker, &mut home);
        None
    });
    until("the controls to be free", || rig.robot()["holder"].is_null().then_some(()));
    home.until_state("error", &Value::Null);
}

#[test]
fn a_broker_that_does_not_acknowledge_stops_a_return() {
    let Some((broker, rig, mut home)) = returning() else { return };
    broker.process.signal("STOP");
    let took = time_to_stop(&rig, Instant::now());
    broker.process.signal("CONT");
    assert!(took < LATEST, "{took:?}");
    home.until_state("state", &json!("idle"));
    assert!(!rig.robot()["state"]["is_dock_connected"].as_bool().unwrap(), "it was on its way");
}

#[test]
fn a_broker_that_is_gone_stops_a_return_and_gets_everything_when_it_is_back() {
    let Some((mut broker, rig, _)) = returning() else { return };
    broker.process.kill();
    let took = time_to_stop(&rig, Instant::now());
    assert!(took < Duration::from_secs(1), "{took:?}");
    broker.restart();
    // It had kept nothing.
    let mut home = broker.listen();
    home.until_state("state", &json!("idle"));
    home.until_is(&format!("{NODE}/status"), "online");
    let place = |wanted: &str| home.order.iter().position(|topic| topic.contains(wanted)).unwrap();
    assert!(place("/config") < place("/vacuum/state"), "{:?}", home.order);
    broker.command("start");
    home.until_state("state", &json!("cleaning"));
}

#[test]
fn home_assistants_end_and_a_stop_end_a_return() {
    let Some((broker, rig, _home)) = returning() else { return };
    broker.publish("homeassistant/status", "offline", &[]);
    let took = time_to_stop(&rig, Instant::now());
    assert!(took < Duration::from_secs(1), "{took:?}");
    broker.command("return_to_base");
    until("another return", || (rig.robot()["holder"] == "mqtt").then_some(()));
    // Any client may stop it, and it stays stopped.
    rig.lines().ok(json!({ "type": "Stop" }));
    time_to_stop(&rig, Instant::now());
    until("the controls to be free", || rig.robot()["holder"].is_null().then_some(()));
    rig.lines().fails(drive(0.1), "not_ready");
}

#[test]
fn a_daemon_that_dies_or_ends_is_offline() {
    let Some((broker, mut rig)) = start() else { return };
    let mut home = broker.listen();
    let status = format!("{NODE}/status");
    home.until_is(&status, "online");
    rig.daemon.signal("TERM");
    rig.daemon.wait().ok();
    home.until_is(&status, "offline");
    let (mut daemon, _) = crate::support::daemon(
        &rig.dir,
        "port",
        "record-2.csv",
        &["--mqtt", &broker.url(), "--mqtt-node", "flat"],
    );
    home.until_is(&status, "online");
    daemon.kill();
    home.until_is(&status, "offline");
}

#[test]
fn a_broker_asks_for_a_login_and_speaks_tls() {
    let dir = Dir::new();
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let execute = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        Process::spawn(command.args(arguments)).wait().ok()
    };
    if Command::new("mosquitto_passwd").output().is_err()
        || Command::new("openssl").arg("version").output().is_err()
    {
        eprintln!("skipped: mosquitto or openssl is not installed");
        return;
    }
    execute(
        "openssl",
        &[
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=127.0.0.1",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-keyout",
            &path("key.pem"),
            "-out",
            &path("cert.pem"),
        ],
    );
    execute("mosquitto_passwd", &["-c", "-b", &path("passwords"), "ann", "geheim"]);
    let more = format!(
        "password_file {}\ncafile {cert}\ncertfile {cert}\nkeyfile {}\n",
        path("passwords"),
        path("key.pem"),
        cert = path("cert.pem"),
    );
    let Some(mut broker) = Mosquitto::start(&more) else { return };
    let login = ["-u", "ann", "-P", "geheim", "--cafile", &path("cert.pem")];
    broker.arguments.extend(login.map(String::from));
    let url = format!("mqtts://127.0.0.1:{}", broker.port);
    let common = ["--mqtt", &url, "--mqtt-node", "flat", "--mqtt-user", "ann"];
    let wrong = dir.secret("wrong", "gehein\n");
    let rig = Rig::with(
        &[&common[..], &["--mqtt-password-file", &wrong, "--mqtt-ca-file", &path("cert.pem")]]
            .concat(),
    );
    until("a refusal in the log", || rig.daemon.errors().contains("mqtt: no broker").then_some(()));
    assert!(!rig.daemon.errors().contains("gehein"), "passwords are not logged");
    drop(rig);
    // A certificate of an unknown authority.
    let right = dir.secret("right", "geheim\n");
    let rig = Rig::with(&[&common[..], &["--mqtt-password-file", &right]].concat());
    until("a refusal in the log", || rig.daemon.errors().contains("mqtt: no broker").then_some(()));
    drop(rig);
    let files = ["--mqtt-password-file", &right, "--mqtt-ca-file", &path("cert.pem")];
    let _rig = Rig::with(&[&common[..], &files].concat());
    broker.listen().until_state("state", &json!("docked"));
}

#[test]
fn rubbish_from_the_broker_changes_nothing() {
    let Some((broker, rig)) = start() else { return };
    let mut home = broker.listen();
    home.until_state("state", &json!("docked"));
    let mark = rig.quiet();
    let long = "x".repeat(9000);
    for (leaf, payload) in [
        ("command", "START"),
        ("command", ""),
        ("command", "{\"command\":\"start\"}"),
        ("command", &long),
        ("fan_speed", "11"),
        ("led", "99"),
        ("play", "wave"),
        ("velocity", "0.3 0"),
        ("state", "{}"),
    ] {
        broker.publish(&format!("{NODE}/vacuum/{leaf}"), payload, &[]);
    }
    broker.publish("homeassistant/status", &long, &[]);
    assert!(rig.acts(mark).is_empty(), "{:?}", rig.acts(mark));
    broker.command("start");
    home.until_state("suction", &json!(75.0));
}
