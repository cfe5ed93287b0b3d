//! From counts to findings: what only the whole flow can tell.

use sinew_wire::text::grouped;

use crate::{
    analysis::{Analysis, Others},
    entry::{Detail, Entry, Taught},
    flows::{Flow, MAX_FLOWS},
    identify::Protocol,
    read::{Capture, End},
    report::{self, Answers, Command, Cycle, Report, Sequence},
    sight::named,
    tally::{Row, Sequences},
    verdict, why,
};

/// Intervals that differ less than this part of their average make a beat, and periods that differ less
/// than the second are one.
const BEAT: f64 = 0.5;
const SAME: f64 = 0.1;
/// Commands that make a cycle, and how often each must have come.
const CYCLE: (usize, u64) = (3, 3);

/// Makes a report of all that was counted.
pub(crate) fn report(mut analysis: Analysis, capture: &Capture) -> Report {
    let start = analysis.start.unwrap_or(0);
    let mut notes = notes(&analysis, capture);
    let uncounted: u64 = analysis.flows.entries.iter().map(|entry| entry.uncounted).sum();
    if uncounted > 0 {
        let count = grouped(uncounted);
        notes.push(format!("{count} commands are not in the tables: there are too many kinds."));
    }
    let is_bare =
        |entry: &&Entry| entry.protocol.has_details() && matches!(entry.detail, Detail::None);
    let bare = analysis.flows.entries.iter().filter(is_bare).count();
    if bare > 0 {
        let bare = grouped(bare as u64);
        notes.push(format!("{bare} flows are only counted, without verdicts: there are too many."));
    }
    let (mut flows, mut commands, mut verdicts) = (Vec::new(), Vec::new(), Vec::new());
    let mut entries: Vec<_> =
        std::mem::take(&mut analysis.flows.entries).into_iter().map(Some).collect();
    for flow in &analysis.flows.flows {
        let take = |index: &u32| entries.get_mut(*index as usize).and_then(Option::take);
        let of_flow: Vec<Entry> = flow.entries.iter().filter_map(take).collect();
        let of_flow = settle(of_flow);
        let proven = of_flow.iter().map(valid).sum();
        for entry in of_flow.iter().filter(|entry| entry.packets > 0) {
            let index = flows.len();
            let rows = self::commands(entry, index);
            let cycle = cycle(entry);
            verdicts.extend(verdict::of(entry, flow.misfits, proven, index, cycle.as_ref()));
            flows.push(described(flow, entry, start, cycle));
            commands.extend(rows);
        }
    }
    let (first, last) = analysis.span.unwrap_or_default();
    Report {
        format: capture.format(),
        packets: analysis.packets,
        bytes: analysis.bytes,
        duration: last.saturating_sub(first),
        end: capture.end().unwrap_or(End::Whole),
        flows,
        commands,
        verdicts,
        notes,
    }
}

/// Decides what single packets could not.
fn settle(mut entries: Vec<Entry>) -> Vec<Entry> {
    settle_taught(&mut entries);
    settle_media(&mut entries);
    entries
}

/// A damaged teaching datagram of the compact layout is a DTLS record by its lengths. Where a flow's
/// records are rather such, they are counted as damaged, and not as commands.
fn settle_taught(entries: &mut Vec<Entry>) {
    let place = |protocol| move |entry: &Entry| entry.protocol == protocol;
    let Some(at) = entries.iter().position(place(Protocol::Dtls)) else { return };
    let Some(Detail::Dtls(dtls)) = entries.get(at).map(|entry| &entry.detail) else { return };
    let (records, sample) = (dtls.alike.records, dtls.sample.clone());
    let is_taught = entries.iter().any(|entry| valid(entry) > 0);
    if !dtls.is_damaged_teaching(is_taught) {
        return;
    }
    let mut damaged = entries.remove(at);
    (damaged.commands, damaged.uncounted) = (None, 0);
    match entries.iter_mut().find(|entry| entry.protocol == Protocol::Teach) {
        Some(entry) => {
            entry.add(&damaged);
            if let Detail::Teach(taught) = &mut entry.detail {
                taught.damaged += records;
                taught.compact += records;
                taught.sample.add(&sample);
            }
        }
        None => {
            let mut taught = Taught::new();
            (taught.damaged, taught.compact, taught.sample) = (records, records, sample);
            damaged.protocol = Protocol::Teach;
            damaged.detail = Detail::Teach(Box::new(taught));
            entries.push(damaged);
        }
    }
}

/// What begins like RTP is that where the flow carries STUN, DTLS or other RTP, or where packets follow
/// each other; by chance it would be one of four datagrams.
fn settle_media(entries: &mut Vec<Entry>) {
    let is_media = |entry: &Entry| matches!(entry.protocol, Protocol::Srtp | Protocol::Srtcp);
    let is_proof = |entry: &Entry| match (&entry.detail, entry.protocol) {
        (_, Protocol::Stun | Protocol::Dtls) => true,
        (Detail::Media(media), _) => media.followed > 0 && media.followed * 2 >= entry.packets,
        _ => false,
    };
    if entries.iter().any(is_proof) {
        return;
    }
    while let Some(at) = entries.iter().position(is_media) {
        let mut media = entries.remove(at);
        match entries.iter_mut().find(|entry| entry.protocol == Protocol::Unknown) {
            Some(unknown) => unknown.add(&media),
            None => {
                media.protocol = Protocol::Unknown;
                media.detail = Detail::None;
                entries.push(media);
            }
        }
    }
}

/// Teaching datagrams whose CRC is right.
fn valid(entry: &Entry) -> u64 {
    match &entry.detail {
        Detail::Teach(taught) => taught.valid,
        _ => 0,
    }
}

fn described(flow: &Flow, entry: &Entry, start: i64, cycle: Option<Cycle>) -> report::Flow {
    let sequence = match &entry.detail {
        Detail::Dtls(dtls) => Some(sequence(&dtls.sequences)),
        Detail::Teach(taught) => {
            Some(sequence(std::slice::from_ref(verdict::counting(&taught.sequences))))
        }
        _ => None,
    };
    let said = match &entry.detail {
        Detail::Messages(spoken) => Some(&spoken.said),
        _ => None,
    };
    let lines = flow.lines.as_ref().map(|lines| {
        let [there, back] = &**lines;
        (there.counters(), back.counters())
    });
    report::Flow {
        a: named(flow.a, flow.transport),
        b: named(flow.b, flow.transport),
        transport: flow.transport.to_string(),
        ends: [flow.a, flow.b],
        carrier: flow.transport,
        protocol: entry.protocol,
        why: why::text(entry, lines),
        packets: entry.packets,
        bytes: entry.bytes,
        first: entry.first.saturating_sub(start),
        last: entry.last.saturating_sub(start),
        sizes: entry.sizes.groups(),
        sequence,
        cycle,
        stream: flow.facts,
        messages: said.map(|said| said.messages),
        topics: said.map_or(Vec::new(), |said| said.topics.clone()),
    }
}

fn sequence(sides: &[Sequences]) -> Sequence {
    let sum = |of: fn(&Sequences) -> u64| sides.iter().map(of).fold(0, u64::saturating_add);
    Sequence {
        missing: sum(|one| one.missing),
        repeats: sum(|one| one.repeats),
        late: sum(|one| one.late),
    }
}

fn commands(entry: &Entry, flow: usize) -> Vec<Command> {
    let Some(commands) = &entry.commands else { return Vec::new() };
    let mut rows = commands.rows().to_vec();
    rows.sort_unstable_by_key(|row| row.id);
    let total: u64 = rows.iter().map(|row| row.count).sum();
    let duration = entry.last.saturating_sub(entry.first) as f64 / 1e9;
    let has_times = duration > 0.0;
    let row = |row: &Row| Command {
        flow,
        id: row.id,
        name: entry.protocol.command(row.id),
        count: row.count,
        average_size: row.average(),
        min_size: row.min,
        max_size: row.max,
        deviation: row.deviation(),
        rate_hz: if has_times { row.count as f64 / duration } else { 0.0 },
        share: row.count as f64 / total.max(1) as f64,
        interval: (row.intervals.count > 0 && has_times)
            .then(|| (row.intervals.mean(), row.intervals.deviation())),
        answers: answers(row).filter(|_| has_times && entry.protocol != Protocol::Dtls),
    };
    rows.iter().map(row).collect()
}

/// Which side asks is not known; the one that is answered sooner does.
fn answers(row: &Row) -> Option<Answers> {
    let answered = row.answers.iter().filter(|answers| answers.latency.count > 0);
    let sooner = answered.min_by(|a, b| a.latency.mean().total_cmp(&b.latency.mean()))?;
    let latency = &sooner.latency;
    Some(Answers {
        answered: latency.count,
        unanswered: sooner.unanswered,
        latency: (latency.min, latency.mean(), latency.max),
    })
}

/// The period that most commands share.
fn cycle(entry: &Entry) -> Option<Cycle> {
    let rows = entry.commands.as_ref()?.rows();
    let beats = |row: &&Row| {
        let intervals = &row.intervals;
        row.count >= CYCLE.1 && intervals.deviation() < BEAT * intervals.mean()
    };
    let mut steady: Vec<&Row> = rows.iter().filter(beats).collect();
    steady.sort_unstable_by(|a, b| a.intervals.mean().total_cmp(&b.intervals.mean()));
    let alike = |from: usize| {
        let first = steady.get(from).map_or(0.0, |row| row.intervals.mean());
        let rest = steady.get(from..).unwrap_or_default();
        let end = rest.partition_point(|row| row.intervals.mean() <= first * (1.0 + SAME));
        rest.get(..end).unwrap_or_default()
    };
    let group = (0..steady.len()).map(alike).max_by_key(|group| group.len())?;
    if group.len() < CYCLE.0 {
        return None;
    }
    let period = group.iter().map(|row| row.intervals.mean()).sum::<f64>() / group.len() as f64;
    let mut commands: Vec<_> = group.iter().map(|row| row.id).collect();
    commands.sort_unstable();
    Some(Cycle { period, commands })
}

fn notes(analysis: &Analysis, capture: &Capture) -> Vec<String> {
    let Others { not_ip, links, short } = &analysis.others;
    let mut notes = Vec::new();
    match capture.end() {
        Some(End::CutOff) => notes.push(format!(
            "The file ends in the middle{}: what was cut off is missing here.",
            capture.trouble().map_or(String::new(), |error| format!(" ({error})"))
        )),
        Some(End::Damaged(what)) => {
            let at = grouped(capture.offset());
            notes.push(format!("At byte {at} {what}: nothing behind it can be read."));
        }
        _ => {}
    }
    for (kind, count) in not_ip {
        let name = match *kind {
            0x0806 => "ARP".into(),
            0x88CC => "LLDP".into(),
            0x888E => "EAPOL".into(),
            0..0x0600 => "IEEE 802.3".into(),
            u16::MAX => "several kinds".into(),
            other => format!("type 0x{other:04X}"),
        };
        notes.push(format!("{} are not IP: {name}.", packets(*count)));
    }
    for (link, count) in links {
        let count = packets(*count);
        notes.push(format!("{count} are of link type {link}, which is not looked into."));
    }
    if *short > 0 {
        notes.push(format!("{} are too short for what they say they are.", packets(*short)));
    }
    let lost = analysis.fragments.lost();
    if lost > 0 {
        notes.push(format!("{} are pieces of datagrams whose rest is missing.", packets(lost)));
    }
    let over = analysis.flows.over;
    if over > 0 {
        let limit = grouped(MAX_FLOWS as u64);
        notes.push(format!("{} belong to flows beyond the first {limit}.", packets(over)));
    }
    let strange = capture.strange_lines();
    match strange {
        0 => {}
        1 => notes.push("1 line is none of a tap's log.".into()),
        lines => notes.push(format!("{} lines are none of a tap's log.", grouped(lines))),
    }
    notes
}

fn packets(count: u64) -> String {
    match count {
        1 => "1 packet".into(),
        count => format!("{} packets", grouped(count)),
    }
}
