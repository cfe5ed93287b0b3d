//! Captures that tcpdump made of our own traffic, and the record of a line.

use std::{collections::BTreeMap, process::Command};

use serde_json::Value;

use crate::{
    g1::Daemon,
    namespace::{self, HERE},
    support::{Dir, Process, Rig, run, sinew, until},
    unitree::python::Python,
};

/// A capture of all that goes over loopback in this namespace.
struct Dump {
    process: Process,
    dir: Dir,
}

impl Dump {
    /// None where there is no tcpdump.
    fn start() -> Option<Self> {
        if Command::new("tcpdump").arg("--version").output().is_err() {
            eprintln!("skipped: tcpdump is not installed (apt-get install tcpdump)");
            return None;
        }
        let dir = Dir::new();
        let mut command = Command::new("tcpdump");
        // As root it would give its rights away, and with them those to the file.
        command.args(["-i", "lo", "-U", "-n", "-Z", "root", "-w"]).arg(dir.join("dump.pcap"));
        let process = Process::spawn(&mut command);
        until("tcpdump", || process.errors().contains("listening on").then_some(()));
        Some(Dump { process, dir })
    }

    /// The report, when it holds what is waited for.
    fn report(&self, is_there: impl Fn(&Value) -> bool) -> Value {
        until("what tcpdump wrote", || {
            let ended = run(&self.dir, &["inspect", "dump.pcap", "--json"]);
            // It may not have written its header yet.
            (ended.code == Some(0)).then(|| ended.json()).filter(&is_there)
        })
    }

    /// How many frames tshark takes for a protocol; none without tshark.
    fn tshark(&self, protocol: &str) -> Option<u64> {
        let mut command = Command::new("tshark");
        // Told to look for media on any port; it knows their ports from signalling otherwise. Of
        // encrypted RTCP it names the layer, though its filter `rtcp` does not match.
        command.args(["-n", "--enable-heuristic", "rtp_udp", "--enable-heuristic", "rtcp_udp"]);
        command.args(["-T", "fields", "-e", "frame.protocols", "-r"]);
        let Ok(output) = command.arg(self.dir.join("dump.pcap")).output() else {
            eprintln!("not compared: tshark is not installed (apt-get install tshark)");
            return None;
        };
        let text = String::from_utf8_lossy(&output.stdout);
        let is_it = |line: &&str| line.split(':').any(|layer| layer == protocol);
        Some(text.lines().filter(is_it).count() as u64)
    }

    /// Nothing more is written.
    fn end(&mut self) {
        self.process.signal("INT");
        self.process.wait();
    }
}

fn packets(report: &Value) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for flow in report["flows"].as_array().unwrap() {
        let name = flow["protocol"].as_str().unwrap().to_owned();
        *counts.entry(name).or_default() += flow["packets"].as_u64().unwrap();
    }
    counts
}

fn verdicts(report: &Value) -> Vec<&str> {
    let verdicts = report["verdicts"].as_array().unwrap().iter();
    verdicts.map(|verdict| verdict["kind"].as_str().unwrap()).collect()
}

#[test]
fn datagrams_of_the_simulator_are_commands() {
    namespace::inside("inspect::datagrams_of_the_simulator_are_commands", || {
        let Some(mut dump) = Dump::start() else { return };
        let dir = Dir::new();
        let robot = Process::sinew(&dir, &["sim", "g1", "--json", "--teach", "127.0.0.1:0"]);
        let link = robot.ready()["link"].as_str().unwrap().to_owned();
        run(&dir, &["teach", "list", "--link", &link]).ok();
        let listed = |report: &Value| {
            let rows = report["commands"].as_array().unwrap();
            rows.iter().any(|row| row["id"] == 0x1A && row["count"].as_u64() >= Some(2))
        };
        dump.report(listed);
        dump.end();
        let report = dump.report(listed);
        assert_eq!(verdicts(&report), ["teaching_datagrams"], "{report}");
        let verdict = &report["verdicts"][0];
        assert_eq!(verdict["crc_valid"], verdict["records"]);
        assert_eq!(verdict["records"].as_u64(), packets(&report).get("teach").copied());
    });
}

#[test]
fn a_data_channel_is_not() {
    namespace::inside("inspect::a_data_channel_is_not", || {
        namespace::add_addresses(0);
        let Some(mut dump) = Dump::start() else { return };
        let dir = Dir::new();
        let mut command = sinew(&dir);
        let address = format!("{HERE}:9991");
        command.args(["sim", "g1", "--json", "--teach", "127.0.0.1:0", "--webrtc", &address]);
        let robot = Process::spawn(&mut command);
        robot.ready();
        let daemon = Daemon::start(&dir, &format!("webrtc:{HERE}"));
        daemon.wait_link("ready");
        dump.report(|report| packets(report).get("dtls") > Some(&100));
        drop((daemon, robot));
        dump.end();
        let report = dump.report(|_| true);
        // ICE may begin on one pair of addresses and go on with a better one: a flow each.
        let kinds = verdicts(&report);
        assert!(!kinds.is_empty(), "{report}");
        assert!(kinds.iter().all(|kind| *kind == "dtls_taken_for_commands"), "{report}");
        for verdict in report["verdicts"].as_array().unwrap() {
            assert_eq!(verdict["crc_valid"], 0, "{verdict}");
            assert_eq!(verdict["lengths_fit"], verdict["records"], "{verdict}");
        }
        let ours = packets(&report);
        for protocol in ["dtls", "stun"] {
            if let Some(theirs) = dump.tshark(protocol) {
                assert_eq!(ours.get(protocol), Some(&theirs), "{protocol}");
            }
        }
        let whys: Vec<_> = report["flows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|flow| flow["why"].to_string())
            .collect();
        assert!(whys.iter().any(|why| why.contains("cipher suite TLS_")), "{whys:?}");
    });
}

#[test]
fn a_connection_of_programs_written_elsewhere_is_what_tshark_says() {
    let Some(python) = Python::set_up() else { return };
    let name = "inspect::a_connection_of_programs_written_elsewhere_is_what_tshark_says";
    namespace::inside(name, || {
        namespace::add_addresses(0);
        let Some(mut dump) = Dump::start() else { return };
        let said = Process::spawn(&mut python.script("peers.py")).wait().ok().json();
        assert_eq!(said["came"], 60);
        dump.report(|report| packets(report).get("dtls") > Some(&120));
        dump.end();
        let report = dump.report(|_| true);
        assert_eq!(verdicts(&report), ["dtls_taken_for_commands"], "{report}");
        assert_eq!(report["verdicts"][0]["sequence_gaps"], 0);
        let ours = packets(&report);
        for (protocol, theirs) in
            [("dtls", "dtls"), ("stun", "stun"), ("srtp", "rtp"), ("srtcp", "rtcp")]
        {
            assert!(ours.get(protocol) > Some(&0), "{protocol}: {ours:?}");
            if let Some(theirs) = dump.tshark(theirs) {
                assert_eq!(ours.get(protocol), Some(&theirs), "{protocol}");
            }
        }
    });
}

#[test]
fn the_record_of_a_line_is_a_capture() {
    let rig = Rig::start();
    let report = until("status frames", || {
        let ended = run(&rig.dir, &["inspect", "record.csv", "--json"]).ok();
        let report = ended.json();
        let rows = report["commands"].as_array().unwrap();
        let is_there = rows.iter().any(|row| row["id"] == 0x15 && row["count"].as_u64() > Some(50));
        is_there.then_some(report)
    });
    assert_eq!(report["format"], "csv");
    assert_eq!(packets(&report).keys().collect::<Vec<_>>(), ["gd32"]);
}
