//! What a tap adds to a line: loss, order, delay.

use std::{path::Path, time::Duration};

use anyhow::Context;

use crate::{
    Bench, Distribution, Round, Row,
    client::Client,
    line::Line,
    micros,
    process::{Meter, Process},
    through::{self, Passed},
};

const RATE: u32 = 500;
const TIME: Duration = Duration::from_secs(60);

pub(crate) fn bench(bench: &Bench) -> anyhow::Result<()> {
    bench.once("tap, 500 frames/s both ways for a minute", || round(TIME))?;
    bench.once("tap between daemon and simulator, a minute", || between(TIME))
}

fn round(time: Duration) -> anyhow::Result<Round> {
    let dir = tempfile::tempdir()?;
    let path = |name: &str| dir.path().join(name);
    // The same line without a tap: what pseudo-terminals and this machine cost.
    let (_direct, master) = through::device(&path("direct"))?;
    let direct = through::both_ways(&master, &through::open(&path("direct"))?, RATE, time / 6)?;
    let (_device, master) = through::device(&path("device"))?;
    let (csv, pcapng) = (path("tap.csv"), path("tap.pcapng"));
    let text = |path: &Path| path.display().to_string();
    let args = [
        "tap",
        &format!("serial:{}", text(&path("device"))),
        "--symlink",
        &text(&path("tapped")),
        "--csv",
        &text(&csv),
        "--pcapng",
        &text(&pcapng),
    ];
    let tap = Process::sinew(&args)?;
    let meter = Meter::start([&tap])?;
    let tapped = through::both_ways(&master, &through::open(&path("tapped"))?, RATE, time)?;
    let note = meter.read()?.note();
    drop(tap);
    let lost: usize = tapped.iter().map(|passed| passed.sent - passed.delays.len()).sum();
    let late: usize = tapped.iter().map(|passed| passed.late).sum();
    let rubbish: u64 = tapped.iter().map(|passed| passed.rubbish).sum();
    let sent: usize = tapped.iter().map(|passed| passed.sent).sum();
    let figures = |passed: &[Passed; 2]| -> anyhow::Result<Distribution> {
        Distribution::new(passed.iter().flat_map(|passed| passed.delays.iter().copied()).collect())
    };
    let (plain, through) = (figures(&direct)?, figures(&tapped)?);
    let shown = |times: &Distribution| {
        let [half, most, all] = [times.at(0.5), times.at(0.99), times.max()].map(micros);
        format!("{half}, {most}, {all}")
    };
    let added = through.at(0.99).saturating_sub(plain.at(0.99));
    let rows = vec![
        Row::new("frames sent, both ways", sent.to_string()),
        Row::new("lost, out of order, bytes of no frame", format!("{lost}, {late}, {rubbish}"))
            .with_target("0, 0, 0", (lost, late, rubbish) == (0, 0, 0)),
        Row::new("delay without a tap: p50, p99, max", shown(&plain)),
        Row::new("delay with it: p50, p99, max", shown(&through)),
        Row::new("added at p99", micros(added))
            .with_target("1 ms", added < Duration::from_millis(1)),
    ];
    Ok(Round { rows, note, rank: added.as_secs_f64() })
}

/// The daemon and a simulated controller, each of which counts.
fn between(time: Duration) -> anyhow::Result<Round> {
    let dir = tempfile::tempdir()?;
    let path = |name: &str| dir.path().join(name).display().to_string();
    let line = Line::start(RATE)?;
    let (link, csv) = (path("tapped"), path("tap.csv"));
    let tap = Process::sinew(&["tap", &line.link(), "--symlink", &link, "--csv", &csv])?;
    let binary = Path::new(env!("CARGO_BIN_EXE_sinew"));
    let record = path("record.csv");
    let served = format!("serial:{link}");
    let daemon = Process::serve(binary, &served, &["--record", &record])?;
    let mut client = Client::connect(daemon.address("lines")?)?;
    client.wait_until_ready()?;
    let usage = Meter::start([&tap])?.run(time)?;
    daemon.end()?;
    drop(tap);
    let [host, device] = streams(&csv)?;
    let [own, heard] = streams(&record)?;
    let is_sent = own == host;
    let is_heard = device.windows(heard.len()).any(|part| part == heard);
    let rows = vec![
        Row::new(
            "bytes of the daemon, and of the simulator",
            format!("{}, {}", own.len(), heard.len()),
        ),
        Row::new("the tap's log has all, in order", format!("{is_sent}, {is_heard}"))
            .with_target("true, true", is_sent && is_heard),
    ];
    Ok(Round { rows, note: usage.note(), rank: 0.0 })
}

/// The bytes of both sides of a log.
pub(crate) fn streams(path: &str) -> anyhow::Result<[Vec<u8>; 2]> {
    let mut streams = [Vec::new(), Vec::new()];
    for row in std::fs::read_to_string(path)?.lines().filter(|row| !row.starts_with('#')) {
        let mut fields = row.split(',').skip(1);
        let side = usize::from(fields.next().context("no side")? == "RX");
        for byte in fields.next().context("no bytes")?.split(' ') {
            streams[side].push(u8::from_str_radix(byte, 16)?);
        }
    }
    Ok(streams)
}
