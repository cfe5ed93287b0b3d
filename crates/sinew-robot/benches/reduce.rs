//! How long a recording of a minute takes to become twenty keyframes, beside numpy in the same run.
//!
//! `cargo xtask bench` runs it. An argument keeps only the cases whose name contains it. The median
//! of several turns counts. Numpy solves the same task by a dynamic programme of its own, and both
//! must reach the same error: otherwise the bench fails.

#![allow(clippy::print_stdout, reason = "a bench prints")]

use std::{
    env,
    error::Error,
    f32::consts::TAU,
    fs,
    hint::black_box,
    process::{Command, ExitCode},
    time::{Duration, Instant},
};

use sinew_robot::trajectory::{Recording, reduce};
use sinew_wire::teach::{JOINTS, KEYFRAME_SLOTS};

const TURNS: usize = 9;
const SECONDS: u32 = 60;
/// Half the width of an encoder's noise, rad.
const NOISE: f32 = 1e-3;
/// How far the errors of two solutions may differ, rad.
const SAME: f64 = 1e-4;
/// Frames up to which the choice is the best one, so that numpy's must be as good.
const EXACT: usize = 4_000;
/// What numpy is given of longer recordings.
const SHORT: usize = 3_000;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let filter = env::args().skip(1).find(|arg| !arg.starts_with('-')).unwrap_or_default();
    println!(
        "{:<44} {:>12} {:>12} {:>12} {:>7}  errors",
        "case", "median", "of its time", "error, rad", "ratio"
    );
    let mut agree = true;
    for (name, joints, hz, noise) in [
        ("reduce 60 s at 50 Hz, smooth wave", 3, 50, 0.0),
        ("reduce 60 s at 50 Hz, all joints, noise", JOINTS, 50, NOISE),
        ("reduce 60 s at 100 Hz, all joints, noise", JOINTS, 100, NOISE),
    ] {
        if name.contains(&filter) {
            agree &= case(name, &motion(joints, hz, noise)?)?;
        }
    }
    Ok(if agree { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints a recording's figures; whether numpy, when there is one to ask, agrees.
fn case(name: &str, recording: &Recording) -> Result<bool, Box<dyn Error>> {
    let mut ours = measure(name, recording)?;
    let Some(python) = env::var_os("SINEW_BENCH_PYTHON") else { return Ok(true) };
    let mut compared = recording.clone();
    if recording.len() > EXACT {
        compared = recording.part(0, SHORT - 1);
        ours = measure(&format!("  its first {SHORT} frames"), &compared)?;
    }
    let numpy = numpy(Command::new(python), &compared)?;
    let agree = (ours.error - numpy.error).abs() <= SAME;
    let verdict = if agree { "the same" } else { "DIFFER" };
    let ratio = numpy.time.as_secs_f64() / ours.time.as_secs_f64();
    let figures = numpy.figures(&compared);
    println!("{:<44} {figures} {ratio:>7.0}  {verdict}", "  numpy");
    Ok(agree)
}

/// What a reduction took and reached.
struct Outcome {
    time: Duration,
    error: f64,
}

impl Outcome {
    fn figures(&self, recording: &Recording) -> String {
        let millis = self.time.as_secs_f64() * 1e3;
        let share = millis / f64::from(recording.duration_ms());
        format!("{:>12} {share:>12.5} {:>12.6}", format!("{millis:.1} ms"), self.error)
    }
}

fn measure(name: &str, recording: &Recording) -> Result<Outcome, Box<dyn Error>> {
    let mut times = Vec::new();
    let mut error = 0.0;
    for _ in 0..TURNS {
        let start = Instant::now();
        error = black_box(reduce(black_box(recording), KEYFRAME_SLOTS))?.error.into();
        times.push(start.elapsed());
    }
    times.sort_unstable();
    let outcome = Outcome { time: times[TURNS / 2], error };
    println!("{name:<44} {}", outcome.figures(recording));
    Ok(outcome)
}

/// The same reduction in numpy.
fn numpy(mut python: Command, recording: &Recording) -> Result<Outcome, Box<dyn Error>> {
    let frames = recording.frames().iter();
    let rows = frames.flat_map(|frame| [frame.time_ms as f32].into_iter().chain(frame.positions));
    let bytes: Vec<_> = rows.flat_map(f32::to_le_bytes).collect();
    let file = env::temp_dir().join(format!("sinew-bench-{}.bin", std::process::id()));
    fs::write(&file, bytes)?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/reduce_numpy.py");
    let output = python.arg(script).arg(&file).arg(KEYFRAME_SLOTS.to_string()).output();
    let _ = fs::remove_file(&file);
    let output = output?;
    let text = String::from_utf8_lossy(&output.stdout);
    let (seconds, error) = text.trim().split_once(' ').ok_or_else(|| {
        format!("numpy did not reduce: {}", String::from_utf8_lossy(&output.stderr))
    })?;
    Ok(Outcome { time: Duration::from_secs_f64(seconds.parse()?), error: error.parse()? })
}

/// Some joints swing, each less far and faster than the one before it. The same every run.
fn motion(joints: usize, hz: u32, noise: f32) -> Result<Recording, Box<dyn Error>> {
    let mut random = fastrand::Rng::with_seed(7);
    let mut recording = Recording::new();
    for frame in 0..SECONDS * hz {
        let time_ms = frame * 1000 / hz;
        let seconds = time_ms as f32 / 1e3;
        let mut positions = [0.0; JOINTS];
        for (joint, position) in (0u8..).zip(&mut positions).take(joints) {
            let number = f32::from(joint);
            let turns = seconds * (0.02 + 0.01 * number);
            *position = 0.8 * 0.5_f32.powi(joint.into()) * (TAU * turns + number).sin();
            *position += noise * (2.0 * random.f32() - 1.0);
        }
        recording.push(time_ms, positions)?;
    }
    Ok(recording)
}
