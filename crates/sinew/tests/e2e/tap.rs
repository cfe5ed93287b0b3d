//! A tap between a program and a robot: what passes, what is written down, and what goes away meanwhile.

use std::{
    fs::{self, File},
    io::{Read, Write},
    net::UdpSocket,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    support::{DEADLINE, Dir, Process, Rig, frame, run, serve, simulator, sinew, until},
    through,
};

/// The bytes of both sides of a log: the host's, then the robot's.
fn streams(path: &Path) -> [Vec<u8>; 2] {
    let mut streams = [Vec::new(), Vec::new()];
    let text = fs::read_to_string(path).unwrap();
    // The last row of a log that is being written may not be whole.
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    for row in whole.lines().filter(|row| !row.starts_with('#')) {
        let [time, side, bytes] = *row.split(',').collect::<Vec<_>>() else { panic!("{row}") };
        time.parse::<u64>().unwrap();
        let bytes = bytes.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap());
        streams[usize::from(side == "RX")].extend(bytes);
    }
    streams
}

fn tap(dir: &Dir, more: &[&str]) -> Process {
    let args = [&["tap", "serial:port", "--symlink", "tapped", "-q"], more].concat();
    let tap = Process::sinew(dir, &args);
    assert_eq!(tap.line(), "tap of serial:port at serial:tapped");
    tap
}

fn contains(all: &[u8], part: &[u8]) -> bool {
    !part.is_empty() && all.windows(part.len()).any(|window| window == part)
}

/// A file that is written to until it holds what is wanted.
fn read_until(file: &mut File, wanted: &[u8]) -> Vec<u8> {
    let mut got = Vec::new();
    until(&format!("{wanted:02X?}; got {got:02X?}"), || {
        let mut buffer = [0; 4096];
        if let Ok(count) = file.read(&mut buffer) {
            got.extend_from_slice(&buffer[..count]);
        }
        contains(&got, wanted).then(|| got.clone())
    })
}

#[test]
fn nothing_is_lost_reordered_or_held_up_at_500_hz() {
    let dir = Dir::new();
    let (_port, device) = through::device(&dir.join("port")).unwrap();
    let mut tap = tap(&dir, &["--csv", "tap.csv", "--pcapng", "tap.pcapng"]);
    let host = through::open(&dir.join("tapped")).unwrap();
    let passed = through::both_ways(&device, &host, 500, Duration::from_secs(3)).unwrap();
    for (passed, name) in passed.iter().zip(["device", "host"]) {
        assert_eq!(passed.sent, 1500);
        assert_eq!(passed.delays.len(), passed.sent, "{name}: frames were lost");
        assert_eq!((passed.late, passed.rubbish), (0, 0), "{name}");
        let mut delays = passed.delays.clone();
        delays.sort_unstable();
        let [half, most] = [0.5, 0.99].map(|share| delays[(delays.len() as f64 * share) as usize]);
        println!("{name}: p50 {half:?}, p99 {most:?}, max {:?}", delays[delays.len() - 1]);
        // What a machine under load adds to that is not ours.
        assert!(half < Duration::from_millis(5), "{name}: {half:?}");
    }
    tap.signal("TERM");
    tap.wait().ok();
    let report = run(&dir, &["inspect", "tap.csv", "--json"]).ok().json();
    let commands = report["commands"].as_array().unwrap();
    let counts: Vec<_> = commands.iter().map(|row| (&row["id"], &row["count"])).collect();
    assert_eq!(counts, [(&json!(0x15), &json!(1500)), (&json!(0x66), &json!(1500))]);
    let packets = run(&dir, &["inspect", "tap.pcapng", "--json"]).ok().json();
    assert_eq!(packets["packets"], 3000);
    assert_eq!(packets["commands"][0]["count"], 1500);
}

#[test]
fn daemon_and_simulator_do_not_notice_it_and_its_log_has_all() {
    let dir = Dir::new();
    let sim =
        Process::sinew(&dir, &["sim", "vacuum", "--symlink", "port", "--rate", "500", "--json"]);
    sim.ready();
    let mut tap = tap(&dir, &["--csv", "tap.csv", "--pcapng", "tap.pcapng"]);
    let link = format!("serial:{}", dir.join("tapped").display());
    let (mut daemon, ready) = serve(sinew(&dir), &link, &["--record", "record.csv"]);
    let server = ready["lines"].as_str().unwrap();
    crate::support::await_robots(&dir, server);
    let drive = ["vacuum", "drive", "--linear", "0.1", "--for", "1s", "--server", server];
    run(&dir, &drive).ok();
    daemon.signal("TERM");
    daemon.wait().ok();
    tap.signal("INT");
    tap.wait().ok();
    let [sent, heard] = streams(&dir.join("record.csv"));
    let [host, device] = streams(&dir.join("tap.csv"));
    assert!(heard.len() > 100_000, "{}", heard.len());
    assert_eq!(sent, host, "what the daemon sent");
    assert!(contains(&device, &heard), "what the daemon heard");
    drop(sim);
    tshark_agrees(&dir);
}

/// Each frame is one packet, with its direction, its name and its fields.
fn tshark_agrees(dir: &Dir) {
    fs::write(dir.join("sinew.lua"), run(dir, &["inspect", "--dissector"]).ok().stdout).unwrap();
    let mut tshark = Command::new("tshark");
    tshark.args(["-X", &format!("lua_script:{}", dir.join("sinew.lua").display())]);
    tshark.args(["-T", "fields", "-e", "frame.packet_flags_direction", "-e", "sinew_gd32.command"]);
    let Ok(output) = tshark.arg("-r").arg(dir.join("tap.pcapng")).output() else {
        eprintln!("skipped: tshark is not installed (apt-get install tshark)");
        return;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<_> = text.lines().map(|row| row.split('\t').collect::<Vec<_>>()).collect();
    let report = run(dir, &["inspect", "tap.pcapng", "--json"]).ok().json();
    assert_eq!(rows.len() as u64, report["packets"].as_u64().unwrap(), "{:?}", output.stderr);
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).unwrap(),
        None => text.parse().unwrap(),
    };
    for row in report["commands"].as_array().unwrap() {
        let id = row["id"].as_u64().unwrap();
        let same = rows.iter().filter(|row| row.len() > 1 && number(row[1]) == id).count() as u64;
        assert_eq!(same, row["count"].as_u64().unwrap(), "0x{id:02X}");
    }
    let status = rows.iter().find(|row| number(row[1]) == 0x15).unwrap();
    let velocity = rows.iter().find(|row| number(row[1]) == 0x66).unwrap();
    assert_eq!((number(status[0]), number(velocity[0])), (1, 2), "inbound and outbound");
}

#[test]
fn a_log_is_whole_up_to_the_last_second_when_the_tap_is_killed() {
    let dir = Dir::new();
    let (_port, mut device) = through::device(&dir.join("port")).unwrap();
    let mut tap = tap(&dir, &["--csv", "tap.csv", "--pcapng", "tap.pcapng"]);
    let mut host = through::open(&dir.join("tapped")).unwrap();
    let beat = [0xFA, 0xFB, 0x03, 0x06, 0x00, 0x06];
    let (mut sent, begin) = (Vec::new(), Instant::now());
    while begin.elapsed() < Duration::from_millis(2500) {
        device.write_all(&beat).unwrap();
        sent.push(begin.elapsed());
        read_until(&mut host, &beat);
    }
    let end = begin.elapsed();
    tap.kill();
    let old = sent.iter().filter(|at| **at + Duration::from_secs(1) < end).count();
    let written = streams(&dir.join("tap.csv"))[1].len() / beat.len();
    assert!(written >= old, "{written} of {} frames, {old} of them old", sent.len());
    let report = run(&dir, &["inspect", "tap.pcapng", "--json"]).ok().json();
    assert_eq!(report["truncated"], false);
    assert!(report["packets"].as_u64().unwrap() >= old as u64, "{report}");
}

#[test]
fn either_side_may_go_away_and_come_back() {
    let dir = Dir::new();
    let (port, mut device) = through::device(&dir.join("port")).unwrap();
    let mut tap = Process::sinew(&dir, &["tap", "port", "--symlink", "tapped", "--csv", "tap.csv"]);
    tap.line();
    let said = |tap: &Process, what: &str| {
        until(&format!("{what:?} in {}", tap.errors()), || {
            tap.errors().contains(what).then_some(())
        });
    };
    said(&tap, "the device is open");
    let mut host = through::open(&dir.join("tapped")).unwrap();
    host.write_all(b"one").unwrap();
    read_until(&mut device, b"one");
    // The program ends; the robot goes on, and what it said meanwhile is not for the next program.
    drop(host);
    said(&tap, "no program has the pseudo-terminal open");
    device.write_all(b"unheard").unwrap();
    until("the log", || contains(&streams(&dir.join("tap.csv"))[1], b"unheard").then_some(()));
    let mut host = through::open(&dir.join("tapped")).unwrap();
    host.write_all(b"two").unwrap();
    read_until(&mut device, b"two");
    device.write_all(b"three").unwrap();
    assert_eq!(read_until(&mut host, b"three"), b"three");
    // The device is unplugged, and plugged in again.
    drop((port, device));
    said(&tap, "the device is not open");
    let (_port, mut device) = through::device(&dir.join("port")).unwrap();
    until("the device", || (tap.errors().matches("the device is open").count() == 2).then_some(()));
    host.write_all(b"four").unwrap();
    read_until(&mut device, b"four");
    device.write_all(b"five").unwrap();
    read_until(&mut host, b"five");
    tap.signal("INT");
    tap.wait().ok();
    let [sent, heard] = streams(&dir.join("tap.csv"));
    assert_eq!(sent, b"onetwofour");
    assert_eq!(heard, b"unheardthreefive");
    assert!(!dir.join("tapped").exists());
}

#[test]
fn a_full_disk_is_said_and_bytes_pass() {
    let dir = Dir::new();
    let (_port, mut device) = through::device(&dir.join("port")).unwrap();
    let mut tap = tap(&dir, &["--csv", "/dev/full", "--pcapng", "tap.pcapng"]);
    let mut host = through::open(&dir.join("tapped")).unwrap();
    let beat = [0xFA, 0xFB, 0x03, 0x06, 0x00, 0x06];
    for _ in 0..50 {
        host.write_all(&beat).unwrap();
        read_until(&mut device, &beat);
    }
    until("a warning", || {
        tap.errors().contains("cannot write /dev/full: No space left").then_some(())
    });
    assert!(tap.errors().contains("forwarding goes on"), "{}", tap.errors());
    tap.signal("TERM");
    tap.wait().ok();
    let report = run(&dir, &["inspect", "tap.pcapng", "--json"]).ok().json();
    assert_eq!(report["packets"], 50);
}

#[test]
fn a_disk_that_has_room_again_is_written_again() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root mounts file systems");
        return;
    }
    let dir = Dir::new();
    let small = dir.join("small");
    fs::create_dir(&small).unwrap();
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(&small).status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no tmpfs can be mounted here");
        return;
    }
    let _mounted = Mounted(small.clone());
    fs::write(small.join("filler"), vec![0; 48 << 10]).unwrap();
    let (_port, device) = through::device(&dir.join("port")).unwrap();
    let mut tap = tap(&dir, &["--csv", "small/tap.csv", "--pcapng", "small/tap.pcapng"]);
    let host = through::open(&dir.join("tapped")).unwrap();
    let second = Duration::from_secs(1);
    let passed = through::both_ways(&device, &host, 200, second).unwrap();
    assert!(passed.iter().all(|passed| passed.delays.len() == passed.sent));
    until("a warning", || tap.errors().contains("No space left").then_some(()));
    fs::remove_file(small.join("filler")).unwrap();
    until("it to be mended", || tap.errors().contains("is written again").then_some(()));
    tap.signal("TERM");
    tap.wait().ok();
    for name in ["small/tap.csv", "small/tap.pcapng"] {
        let report = run(&dir, &["inspect", name, "--json"]).ok().json();
        assert_eq!(report["truncated"], false, "{name}");
    }
}

struct Mounted(std::path::PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn logs_are_rotated_and_bounded() {
    let dir = Dir::new();
    let (_port, device) = through::device(&dir.join("port")).unwrap();
    let more = ["--csv", "tap.csv", "--pcapng", "tap.pcapng", "--rotate", "20kB", "--keep", "3"];
    let mut tap = tap(&dir, &more);
    let host = through::open(&dir.join("tapped")).unwrap();
    let passed = through::both_ways(&device, &host, 500, Duration::from_secs(2)).unwrap();
    assert!(passed.iter().all(|passed| passed.delays.len() == passed.sent));
    tap.signal("TERM");
    tap.wait().ok();
    for name in ["tap.csv", "tap.pcapng"] {
        let files = fs::read_dir(dir.join("")).unwrap();
        let names: Vec<_> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        let count = names.iter().filter(|other| other.starts_with(name)).count();
        assert_eq!(count, 3, "{names:?}");
        for older in ["", ".1", ".2"] {
            let name = format!("{name}{older}");
            let report = run(&dir, &["inspect", &name, "--json"]).ok().json();
            assert_eq!(report["truncated"], false, "{name}");
            assert!(fs::metadata(dir.join(&name)).unwrap().len() < 200_000, "{name}");
        }
        let counted = |name: &str| {
            let report = run(&dir, &["inspect", name, "--json"]).ok().json();
            report["packets"].as_u64().unwrap()
        };
        assert!(counted(&format!("{name}.1")) > 20);
    }
}

#[test]
fn frames_are_told_as_they_pass() {
    let dir = Dir::new();
    let (_port, mut device) = through::device(&dir.join("port")).unwrap();
    let tap = Process::sinew(&dir, &["tap", "port", "--symlink", "tapped", "--json"]);
    let ready = tap.ready();
    assert_eq!(
        (&ready["link"], &ready["device"]),
        (&json!("serial:tapped"), &json!("serial:port"))
    );
    let mut host = through::open(&dir.join("tapped")).unwrap();
    let velocity: Vec<u8> = frame("66 C8 00 00 00 00 00 00 00")
        .split(' ')
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect();
    // In two pieces, as a line may hand it over.
    host.write_all(&velocity[..5]).unwrap();
    read_until(&mut device, &velocity[..5]);
    host.write_all(&velocity[5..]).unwrap();
    let shown = until("a frame", || {
        let line: Value = serde_json::from_str(&tap.line()).unwrap();
        (line["type"] == "frame").then_some(line)
    });
    assert_eq!((&shown["from"], &shown["protocol"]), (&json!("host"), &json!("gd32")));
    assert_eq!(shown["bytes"], frame("66 C8 00 00 00 00 00 00 00"));
    assert!((shown["fields"]["linear"].as_f64().unwrap() - 0.2).abs() < 1e-6, "{shown}");
}

#[test]
fn what_cannot_be_done_is_said_with_what_to_do() {
    let dir = Dir::new();
    dir.file("old.csv", "# a log\n");
    let ended = run(&dir, &["tap", "serial:port", "--csv", "old.csv"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("old.csv: is there already: choose another name"), "{ended:?}");
    for wrong in [
        &["tap"][..],
        &["tap", "udp:127.0.0.1:1"],
        &["tap", "port", "--rotate", "5"],
        &["tap", "port", "--rotate", "1b"],
        &["tap", "--udp", "127.0.0.1:1"],
        &["tap", "port", "--udp", "127.0.0.1:1", "127.0.0.1:2"],
    ] {
        assert_eq!(run(&dir, wrong).code, Some(2), "{wrong:?}");
    }
}

#[test]
fn datagrams_pass_between_several_clients_and_a_target() {
    let dir = Dir::new();
    let target = UdpSocket::bind("127.0.0.1:0").unwrap();
    target.set_read_timeout(Some(DEADLINE)).unwrap();
    let at = target.local_addr().unwrap().to_string();
    let args = [
        "tap",
        "--udp",
        "127.0.0.1:0",
        &at,
        "--pcapng",
        "tap.pcapng",
        "--csv",
        "tap.csv",
        "--json",
    ];
    let mut tap = Process::sinew(&dir, &args);
    let ready = tap.ready();
    let link = ready["link"].as_str().unwrap().strip_prefix("udp:").unwrap().to_owned();
    let clients: Vec<_> = (0..3)
        .map(|_| {
            let client = UdpSocket::bind("127.0.0.1:0").unwrap();
            client.connect(&link).unwrap();
            client.set_read_timeout(Some(DEADLINE)).unwrap();
            client
        })
        .collect();
    let mut buffer = [0; 2048];
    for round in 0..20_u8 {
        for (number, client) in clients.iter().enumerate() {
            client.send(&[round, number as u8]).unwrap();
            let (count, from) = target.recv_from(&mut buffer).unwrap();
            assert_eq!(buffer[..count], [round, number as u8]);
            target.send_to(&[round, number as u8, 7], from).unwrap();
            let count = client.recv(&mut buffer).unwrap();
            assert_eq!(buffer[..count], [round, number as u8, 7]);
        }
    }
    tap.signal("TERM");
    tap.wait().ok();
    let report = run(&dir, &["inspect", "tap.pcapng", "--json"]).ok().json();
    assert_eq!((&report["packets"], &report["truncated"]), (&json!(120), &json!(false)));
    let flows = report["flows"].as_array().unwrap();
    assert_eq!(flows.len(), 3, "{report}");
    for (flow, client) in flows.iter().zip(&clients) {
        assert_eq!(flow["a"], client.local_addr().unwrap().to_string());
        assert_eq!(flow["b"], at.as_str());
    }
    // Check sums of IP and UDP are right, too.
    let mut tshark = Command::new("tshark");
    tshark.args(["-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-T", "fields"]);
    tshark.args(["-e", "udp.checksum.status", "-e", "ip.checksum.status", "-r"]);
    match tshark.arg(dir.join("tap.pcapng")).output() {
        Ok(output) => {
            let text = String::from_utf8(output.stdout).unwrap();
            assert_eq!(text.lines().filter(|row| *row == "1\t1").count(), 120, "{text}");
        }
        Err(_) => eprintln!("skipped: tshark is not installed (apt-get install tshark)"),
    }
}

#[test]
fn a_robot_drives_as_before_through_a_tap_that_is_killed_and_started_again() {
    let dir = Dir::new();
    let _sim = simulator(&dir);
    let mut first = tap(&dir, &["--csv", "one.csv"]);
    let link = format!("serial:{}", dir.join("tapped").display());
    let (_daemon, ready) = serve(sinew(&dir), &link, &[]);
    let server = ready["lines"].as_str().unwrap();
    crate::support::await_robots(&dir, server);
    first.kill();
    // The name leads nowhere now; the next tap takes it over.
    let _second = tap(&dir, &["--csv", "two.csv"]);
    thread::yield_now();
    until("the robot to be booted anew", || {
        let robots = run(&dir, &["robots", "--json", "--server", server]).json();
        let booted = streams(&dir.join("two.csv"))[0].len() > 100;
        (robots[0]["link"]["state"] == "ready" && booted).then_some(())
    });
}

/// The daemon's own record has the form of a tap's log.
#[test]
fn a_record_of_the_daemon_is_played_as_a_robot() {
    let rig = Rig::start();
    until("status packets", || {
        let [_, heard] = streams(&rig.dir.join("record.csv"));
        (heard.len() > 20_000).then_some(())
    });
    let link = format!("replay:{}", rig.dir.join("record.csv").display());
    let (_daemon, ready) = serve(sinew(&rig.dir), &link, &[]);
    let server = ready["lines"].as_str().unwrap();
    until("a battery", || {
        let robot = run(&rig.dir, &["status", "--json", "--server", server]).json();
        robot["state"]["battery_percent"].is_u64().then_some(())
    });
}
