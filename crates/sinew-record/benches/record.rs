//! How fast messages are recorded, beside writing the same bytes to a plain file, in one run.
//!
//! `cargo xtask bench record` runs it.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints, and fails by panicking"
)]

use std::{
    collections::BTreeMap,
    env,
    fs::{self, File},
    io::Write,
    time::{Duration, Instant},
};

use serde_json::json;
use sinew_api::{
    Event,
    frame::{self, Header},
};
use sinew_record::{Converter, Segment, Topical};

/// Seconds of two robots that are recorded.
const SECONDS: u64 = 120;
const ROUNDS: usize = 3;

fn main() {
    let filter = env::args().skip(1).find(|argument| !argument.starts_with('-'));
    if filter.is_some_and(|filter| !"record".contains(filter.as_str())) {
        return;
    }
    let told = told();
    let mut converter = Converter::new(vec!["vacuum".into(), "g1".into()]);
    let begin = Instant::now();
    let mut messages = Vec::new();
    for (at_ns, told) in &told {
        match told {
            Told::Event(event) => converter.event(*at_ns, event.clone(), |one| messages.push(one)),
            Told::Frame(bytes) => converter.frame(*at_ns, bytes, |one| messages.push(one)),
        }
    }
    let converted = begin.elapsed();
    let bytes: usize = messages.iter().map(|message| message.data.len()).sum();
    let dir = tempfile::tempdir().unwrap();
    let plain = best(|| plain(&dir.path().join("plain"), &messages));
    let mut size = 0;
    let mcap = best(|| {
        let path = dir.path().join("a.mcap");
        let time = record(&path, &messages);
        size = fs::metadata(&path).unwrap().len();
        time
    });
    let speed = |time: Duration| bytes as f64 / 1e6 / time.as_secs_f64();
    println!(
        "record, {SECONDS} s of two robots: {} messages, {:.1} MB",
        messages.len(),
        bytes as f64 / 1e6
    );
    println!("{:<28} {:>10.1} MB/s", "converting", speed(converted));
    println!("{:<28} {:>10.1} MB/s", "plain file", speed(plain));
    println!(
        "{:<28} {:>10.1} MB/s  {:.2} of a plain file",
        "MCAP, zstd, indexed",
        speed(mcap),
        speed(mcap) / speed(plain)
    );
    println!(
        "{:<28} {:>10.1} MB    {:.2} of the messages",
        "file",
        size as f64 / 1e6,
        size as f64 / bytes as f64
    );
    let busy = (converted + mcap).as_secs_f64() / SECONDS as f64;
    println!("{:<28} {:>10.2} % of a core", "recording in real time", busy * 100.0);
}

enum Told {
    Event(Event),
    Frame(Vec<u8>),
}

/// What a vacuum with a lidar and a G1 tell: status at 110 Hz, turns at 5 Hz, joints at 50 Hz, states at 10 Hz,
/// clouds of 900 points at 10 Hz.
fn told() -> Vec<(u64, Told)> {
    let mut told = Vec::new();
    let mut add = |hz: u64, make: &mut dyn FnMut(u64) -> Told| {
        for number in 0..SECONDS * hz {
            told.push((number * 1_000_000_000 / hz, make(number)));
        }
    };
    let event = |topic: &str, robot: &str, data| {
        Told::Event(Event { topic: topic.into(), robot: robot.into(), data })
    };
    add(110, &mut |number| {
        event(
            "sensors/gd32_status",
            "vacuum",
            json!({ "type": "SensorGroup", "group_id": "gd32_status",
            "timestamp_us": number * 9090, "values": {
            "bumper_left": { "Bool": false }, "bumper_right": { "Bool": false }, "battery_voltage": { "F32": 15.0 },
            "battery_level": { "U8": 75 }, "wheel_left": { "U16": number % 65536 },
            "wheel_right": { "U16": (number * 3) % 65536 }, "is_charging": { "Bool": true } } }),
        )
    });
    add(5, &mut |number| {
        let scan: Vec<_> = (0..340)
            .map(|sample| {
                json!([
                    f64::from(sample) * 0.01745,
                    1.0 + f64::from((sample * 7 + number as u32) % 100) / 400.0,
                    199
                ])
            })
            .collect();
        event(
            "sensors/lidar",
            "vacuum",
            json!({ "timestamp_us": number * 200_000, "values": { "scan": { "PointCloud2D": scan } } }),
        )
    });
    add(50, &mut |number| {
        let positions: Vec<_> =
            (0..12).map(|joint| (number as f64 / 50.0 + f64::from(joint)).sin()).collect();
        event(
            "sensors/joints",
            "g1",
            json!({ "timestamp_us": number * 20_000, "values": { "positions": positions, "velocities": positions } }),
        )
    });
    add(10, &mut |number| {
        event(
            "state",
            "vacuum",
            json!({ "name": "vacuum", "kind": "crl200s", "fresh": true, "state": {
            "battery_percent": 75, "pose": { "x": number as f64 / 100.0, "y": 0.0, "heading": 0.1 } } }),
        )
    });
    let mut seed = 1_u32;
    add(10, &mut |number| {
        let points: Vec<[u16; 3]> = (0..900)
            .map(|_| {
                std::array::from_fn(|_| {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (seed >> 20) as u16
                })
            })
            .collect();
        let header = Header {
            robot: 1,
            sequence: number,
            time_us: number * 100_000,
            unit: 0.001,
            name: "map",
            ..Header::default()
        };
        Told::Frame(frame::cloud(&header, &points))
    });
    told.sort_by_key(|(at_ns, _)| *at_ns);
    told
}

fn best(mut run: impl FnMut() -> Duration) -> Duration {
    (0..ROUNDS).map(|_| run()).min().unwrap()
}

/// The same bytes, a write each, and a sync each second as the recorder has it.
fn plain(path: &std::path::Path, messages: &[Topical]) -> Duration {
    let begin = Instant::now();
    let mut file = std::io::BufWriter::with_capacity(1 << 20, File::create(path).unwrap());
    let mut flushed = 0;
    for message in messages {
        file.write_all(&message.data).unwrap();
        if message.log_ns - flushed > 1_000_000_000 {
            flushed = message.log_ns;
            file.flush().unwrap();
            file.get_ref().sync_data().unwrap();
        }
    }
    file.flush().unwrap();
    begin.elapsed()
}

fn record(path: &std::path::Path, messages: &[Topical]) -> Duration {
    let begin = Instant::now();
    let mut segment = Segment::new(path, true).unwrap();
    let mut flushed = 0;
    for message in messages {
        segment.take(message).unwrap();
        if message.log_ns - flushed > 1_000_000_000 {
            flushed = message.log_ns;
            segment.flush().unwrap();
        }
    }
    segment.finish(BTreeMap::new()).unwrap();
    begin.elapsed()
}
