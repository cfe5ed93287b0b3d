//! How fast captures are read, beside reading the file, tshark and scapy, and in how much memory.
//!
//! `cargo xtask bench inspect` runs it. tshark (`apt-get install tshark`) and scapy (`pip install scapy`
//! for `python3`, or for what `SINEW_BENCH_SCAPY` names) are left out where they are missing. All get
//! as many rounds, of which the best counts. What tshark and scapy take to start is not counted, what
//! we take is.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints, and fails by panicking"
)]

use std::{
    env,
    fs::{self, File},
    io::{self, BufWriter, Read, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use sinew_capture::{Analysis, Capture, Filter};

const MB: u64 = 1_000_000;
/// The file that all read, and how much of it scapy does, which takes minutes for all of it.
const SIZE: u64 = 100 * MB;
const PART: u64 = 5 * MB;
const LARGE: u64 = 1000 * MB;
const ROUNDS: usize = 3;
/// How the bench starts itself, to have a process of its own to look at.
const CHILD: &str = "--analyse";

fn main() {
    let arguments: Vec<String> = env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == CHILD) {
        return child(&arguments[at + 1]);
    }
    let filter = arguments.iter().skip(1).find(|argument| !argument.starts_with('-'));
    if filter.is_some_and(|filter| !"inspect".contains(filter.as_str())) {
        return;
    }
    let directory = env::temp_dir().join(format!("sinew-inspect-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    run(&directory);
    fs::remove_dir_all(&directory).unwrap();
}

fn run(directory: &Path) {
    let (file, part) = (directory.join("whole.pcap"), directory.join("part.pcap"));
    let packets = write(File::create(&file).unwrap(), SIZE);
    let fewer = write(File::create(&part).unwrap(), PART);
    let bytes = fs::metadata(&file).unwrap().len();
    println!("{:<28} {:>14} {:>12}", "inspect, 100 MB of packets", "packets/s", "MB/s");
    let row = |name: &str, count: u64, size: u64, time: Duration| {
        let seconds = time.as_secs_f64();
        let (rate, speed) = (count as f64 / seconds, size as f64 / 1e6 / seconds);
        println!("{name:<28} {rate:>14.0} {speed:>12.1}");
        rate
    };
    let best = |mut run: Box<dyn FnMut() -> Duration>| (0..ROUNDS).map(|_| run()).min().unwrap();
    let plain = file.clone();
    row("reading the file", packets, bytes, best(Box::new(move || read(&plain))));
    let (own, mut memory) = (file.clone(), 0);
    let mut fastest = Duration::MAX;
    for _ in 0..ROUNDS {
        let (time, peak) = analyse(&own, packets);
        (fastest, memory) = (fastest.min(time), memory.max(peak));
    }
    let ours = row("sinew inspect", packets, bytes, fastest);
    let empty = directory.join("empty.pcap");
    write(File::create(&empty).unwrap(), 0);
    compare(
        "tshark",
        30.0,
        ours,
        tshark(&file, &empty).map(|time| row("tshark", packets, bytes, time)),
    );
    let size = fs::metadata(&part).unwrap().len();
    compare("scapy", 200.0, ours, scapy(&part, fewer).map(|time| row("scapy", fewer, size, time)));
    let large = piped();
    for (name, peak) in [("100 MB", memory), ("1 GB, by a pipe", large)] {
        let verdict = if peak < 64 * MB { "reached" } else { "MISSED" };
        let peak = peak as f64 / 1e6;
        println!("peak memory, {name:<20} {peak:>9.1} MB   target < 64 MB: {verdict}");
    }
}

fn compare(name: &str, target: f64, ours: f64, theirs: Option<f64>) {
    match theirs {
        Some(theirs) => {
            let ratio = ours / theirs;
            let verdict = if ratio >= target { "reached" } else { "MISSED" };
            println!("{ratio:>42.0} x {name}   target {target:.0} x: {verdict}");
        }
        None => println!("{name:<28} not compared: it is not installed"),
    }
}

fn read(file: &Path) -> Duration {
    let begin = Instant::now();
    let (mut file, mut buffer) = (File::open(file).unwrap(), vec![0; 512 << 10]);
    while file.read(&mut buffer).unwrap() > 0 {}
    begin.elapsed()
}

/// The time that a process takes from its start to its end, and its peak memory.
fn analyse(file: &Path, packets: u64) -> (Duration, u64) {
    let begin = Instant::now();
    let output = Command::new(env::current_exe().unwrap()).arg(CHILD).arg(file).output().unwrap();
    (begin.elapsed(), told(&output.stdout, packets))
}

fn piped() -> u64 {
    let mut child = Command::new(env::current_exe().unwrap())
        .args([CHILD, "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let packets = write(child.stdin.take().unwrap(), LARGE);
    told(&child.wait_with_output().unwrap().stdout, packets)
}

/// The peak memory that a child told, which must have seen all packets.
fn told(stdout: &[u8], packets: u64) -> u64 {
    let text = String::from_utf8_lossy(stdout);
    let mut numbers = text.split_whitespace().map(|number| number.parse::<u64>().unwrap());
    assert_eq!(numbers.next(), Some(packets), "packets were lost");
    numbers.next().unwrap()
}

fn child(file: &str) {
    let source: Box<dyn Read> =
        if file == "-" { Box::new(io::stdin()) } else { Box::new(File::open(file).unwrap()) };
    let mut capture = Capture::open(source).unwrap();
    let mut analysis = Analysis::new(Filter::default());
    while let Some(record) = capture.next_record() {
        analysis.take(&record, |_| {});
    }
    let report = analysis.finish(&capture, |_| {});
    let length: usize = report.json_parts(file).map(|part| part.len()).sum();
    assert!(length > 1000);
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|peak| peak.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    println!("{} {}", report.packets, peak.unwrap_or(0) * 1024);
}

/// With the least that tshark can do and still say what packets are: statistics alone are printed.
fn tshark(file: &Path, empty: &Path) -> Option<Duration> {
    let run = |file: &Path| {
        let begin = Instant::now();
        let mut command = Command::new("tshark");
        let output = command.args(["-n", "-q", "-z", "io,phs", "-r"]).arg(file).output().ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(begin.elapsed())
    };
    let best = |file: &Path| (0..ROUNDS).map(|_| run(file)).min().flatten();
    Some(best(file)?.saturating_sub(best(empty)?))
}

fn scapy(file: &Path, packets: u64) -> Option<Duration> {
    let python = env::var_os("SINEW_BENCH_SCAPY").map_or("python3".into(), PathBuf::from);
    let script = "import sys, time\nfrom scapy.all import PcapReader, UDP\nt = time.perf_counter()\n\
                  n = sum(1 for p in PcapReader(sys.argv[1]) if UDP in p)\n\
                  print(n, time.perf_counter() - t)";
    let has_scapy = Command::new(&python).args(["-c", "import scapy.all"]).output().ok()?;
    if !has_scapy.status.success() {
        return None;
    }
    let round = || {
        let output = Command::new(&python).args(["-c", script]).arg(file).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let (counted, seconds) = text.trim().split_once(' ')?;
        assert_eq!(counted.parse(), Ok(packets), "{}", String::from_utf8_lossy(&output.stderr));
        seconds.parse().ok().map(Duration::from_secs_f64)
    };
    (0..ROUNDS).map(|_| round()).min().flatten()
}

/// Writes a capture like one of a phone that drives a robot: mostly short DTLS records, media of 1,200
/// bytes, STUN, and some flows of others. Returns how many packets it has.
fn write(out: impl Write, size: u64) -> u64 {
    let mut out = BufWriter::with_capacity(1 << 20, out);
    let mut random = fastrand::Rng::with_seed(7);
    let noise: Vec<u8> = (0..8192).map(|_| random.u8(..)).collect();
    let mut header = 0xA1B2_C3D4_u32.to_le_bytes().to_vec();
    header.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0, 1, 0, 0, 0]);
    out.write_all(&header).unwrap();
    let (mut written, mut count, mut records, mut media) = (24_u64, 0_u64, 0_u64, 0_u16);
    let mut packet = Vec::new();
    while written < size {
        let mut payload: Vec<u8>;
        let body = |length: usize| {
            let at = (count as usize * 37) % (noise.len() - length);
            &noise[at..at + length]
        };
        let (from, to) = match count % 16 {
            0..=9 => {
                records += 1;
                payload = vec![0x17, 0xFE, 0xFD, 0, 1];
                payload.extend(&records.to_be_bytes()[2..]);
                payload.extend([0, 44]);
                payload.extend(body(44));
                (41_000_u16, 49_504_u16)
            }
            10..=12 => {
                media = media.wrapping_add(1);
                payload = vec![0x80, 0x60];
                payload.extend(media.to_be_bytes());
                payload.extend([0, 0, 0, 1, 0, 0, 0xAB, 0xCD]);
                payload.extend(body(1188));
                (49_504, 41_000)
            }
            13 => {
                payload = vec![0, 1, 0, 0, 0x21, 0x12, 0xA4, 0x42];
                payload.extend(body(12));
                (41_000, 49_504)
            }
            _ => {
                payload = body(200).to_vec();
                payload[0] = 0x40;
                (42_000 + (count / 16 % 500) as u16, 9999)
            }
        };
        packet.clear();
        packet.extend([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0]);
        packet.extend(((28 + payload.len()) as u16).to_be_bytes());
        packet.extend([0, 1, 0, 0, 64, 17, 0, 0, 192, 168, 86, 10, 192, 168, 86, 3]);
        packet.extend([from.to_be_bytes(), to.to_be_bytes()].concat());
        packet.extend(((8 + payload.len()) as u16).to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(&payload);
        let (seconds, micros) = ((count / 5000) as u32, (count % 5000 * 200) as u32);
        let length = packet.len() as u32;
        for number in [seconds, micros, length, length] {
            out.write_all(&number.to_le_bytes()).unwrap();
        }
        out.write_all(&packet).unwrap();
        written += 16 + packet.len() as u64;
        count += 1;
    }
    out.flush().unwrap();
    count
}
