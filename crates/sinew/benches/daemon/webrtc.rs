//! A G1 over WebRTC: from a request on a TCP socket to the robot's answer, and what clouds cost.
//!
//! Beside it the package that people use in Python does the same on the same simulated robot. What
//! it does not do: our daemon also follows the robot's state, and serves clients. In a network
//! namespace, since the package knows the robots' ports and no others.

use std::{
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use anyhow::Context;
use serde_json::{Value, json};

use crate::{
    Bench, Distribution, Round, Row,
    client::Client,
    micros, namespace,
    process::{Meter, Process},
    python::Python,
    wait_for,
};

const TURNS: usize = 500;
const TIME: Duration = Duration::from_secs(10);
/// What the simulated robot takes for an answer, as a real one does.
const ANSWERS: Duration = Duration::from_millis(20);
const ANY: &str = "127.0.0.1:0";
const ROBOT: &str = "127.0.0.1:9991";

pub(crate) fn bench(bench: &Bench) -> anyhow::Result<()> {
    if !"webrtc, requests and clouds".contains(&bench.filter) {
        return Ok(());
    }
    let python = Python::set_up();
    let mut outcome = Ok(());
    namespace::inside("webrtc, requests and clouds", || {
        namespace::add_addresses(0);
        outcome = [906, 20_000].into_iter().try_for_each(|points| {
            let name = format!("webrtc, requests and clouds of {points} points");
            bench.once(&name, || round(points, python.as_ref()))
        });
    });
    outcome
}

/// What a client got of a robot.
struct Got {
    times: Distribution,
    clouds: f64,
    bytes: f64,
    seconds: f64,
    /// Processor time in seconds.
    cpu: f64,
}

fn round(points: usize, python: Option<&Python>) -> anyhow::Result<Round> {
    let count = points.to_string();
    let robot = ["sim", "g1", "--teach", ANY, "--webrtc", ROBOT, "--cloud-points", &count];
    let _robot = Process::sinew(&robot)?;
    let (ours, note) = ours()?;
    let theirs = python.map(theirs).transpose()?;
    // Each point is six bytes of the message; the rest is little.
    let bytes = ours.bytes / ours.clouds;
    let theirs = theirs.as_ref();
    let beside = |figure: &dyn Fn(&Got) -> f64, show: &dyn Fn(f64) -> String| match theirs {
        Some(theirs) => {
            let (ours, theirs) = (figure(&ours), figure(theirs));
            format!("{} / {} = {:.2}", show(ours), show(theirs), ours / theirs)
        }
        None => show(figure(&ours)),
    };
    let time = |seconds: f64| micros(Duration::from_secs_f64(seconds));
    let at = |share| move |got: &Got| (got.times.at(share).saturating_sub(ANSWERS)).as_secs_f64();
    let megabytes = |rate: f64| format!("{rate:.2} MB/s");
    Ok(Round {
        rows: vec![
            Row::new("request to reply less the robot's 20 ms, p50", beside(&at(0.5), &time)),
            Row::new("  p99", beside(&at(0.99), &time)),
            Row::new(
                "clouds",
                beside(&|got| got.clouds / got.seconds, &|hz| format!("{hz:.1} Hz")),
            ),
            Row::new("throughput", beside(&|got| got.bytes / got.seconds / 1e6, &megabytes)),
            Row::new("processor time a cloud", beside(&|got| got.cpu / got.clouds, &time)),
            Row::new(
                "throughput a core used",
                beside(&|got| got.bytes / got.cpu / 1e6, &megabytes),
            ),
        ],
        note: format!(
            "{}; {TURNS} requests, {bytes:.0} bytes a cloud, {note}",
            match theirs {
                Some(_) => "ours / Python's = ratio",
                None => "Python's package could not be installed, so ours alone",
            }
        ),
        rank: 0.0,
    })
}

/// By our daemon and a client of it.
fn ours() -> anyhow::Result<(Got, String)> {
    let link = format!("webrtc:{ROBOT}");
    let ports = ["--tcp", "off", "--http", "off", "--lines", ANY];
    let daemon = Process::sinew(&[&["serve", "--g1", &link][..], &ports].concat())?;
    let mut client = Client::connect(daemon.address("lines")?)?;
    client.wait_until_ready()?;
    let mut times = Vec::new();
    for _ in 0..TURNS {
        let begin = Instant::now();
        ask(&mut client, &json!({ "type": "Teach", "op": "list" }))?;
        times.push(begin.elapsed());
    }
    ask(&mut client, &json!({ "type": "Mapping", "op": "start" }))?;
    wait_for("clouds", || Ok(clouds(&mut client)?.0 >= 5.0))?;
    let (before, _) = clouds(&mut client)?;
    let (meter, begin) = (Meter::start([&daemon])?, Instant::now());
    thread::sleep(TIME);
    let usage = meter.read()?;
    let seconds = begin.elapsed().as_secs_f64();
    let (after, points) = clouds(&mut client)?;
    ask(&mut client, &json!({ "type": "Mapping", "op": "close" }))?;
    let clouds = after - before;
    let cpu = usage.daemon * seconds;
    let times = Distribution::new(times)?;
    daemon.end()?;
    Ok((Got { times, clouds, bytes: clouds * points * 6.0, seconds, cpu }, usage.note()))
}

/// How many clouds there were, and how many points the last had.
fn clouds(client: &mut Client) -> anyhow::Result<(f64, f64)> {
    let info = ask(client, &json!({ "type": "Mapping", "op": "info" }))?;
    let number = |pointer: &str| info.pointer(pointer).and_then(Value::as_f64).unwrap_or_default();
    Ok((number("/clouds"), number("/last_cloud/points")))
}

fn ask(client: &mut Client, request: &Value) -> anyhow::Result<Value> {
    let mut request = request.clone();
    request["req"] = 1.into();
    let mut reply: Value = serde_json::from_str(&client.ask(format!("{request}\n").as_bytes())?)?;
    anyhow::ensure!(reply["ok"] == true, "{request} was answered by {reply}");
    Ok(reply["data"].take())
}

/// By the package.
fn theirs(python: &Python) -> anyhow::Result<Got> {
    let mut script = python.script("bench.py");
    script.args(["127.0.0.1", &TURNS.to_string(), &TIME.as_secs().to_string()]);
    let ended = script.stderr(Stdio::piped()).output()?;
    let errors = String::from_utf8_lossy(&ended.stderr);
    let report: Value =
        serde_json::from_slice(&ended.stdout).with_context(|| errors.to_string())?;
    let times = report["times"].as_array().into_iter().flatten().filter_map(Value::as_f64);
    let times = Distribution::new(times.map(Duration::from_secs_f64).collect())?;
    let clouds = report.get("clouds").context("no clouds")?;
    let number = |name: &str| clouds[name].as_f64().context("no number");
    // Points alone, as of ours.
    let bytes = number("points")? * 6.0;
    let (clouds, seconds, cpu) = (number("clouds")?, number("seconds")?, number("cpu")?);
    Ok(Got { times, clouds, bytes, seconds, cpu })
}
