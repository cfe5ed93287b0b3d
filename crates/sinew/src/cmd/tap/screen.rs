//! What passes, frame by frame, as it passes: shown by a thread of its own, since a terminal may be slow
//! and a pipe may not be read.

use std::{
    io::{self, Write},
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use serde_json::{Map, Value, json};
use sinew_capture::{Line, Piece};
use sinew_io::tap::{Passage, Show};
use sinew_wire::explain::{Element, Options, Proto, explain};

use crate::{
    output::{printable, printable_json},
    say::{columns, cut, is_quiet},
};

/// Passages that may wait to be shown.
const WAITING: usize = 4096;
/// How long the last lines may take.
const FAREWELL: Duration = Duration::from_millis(500);
/// How wide a line may be where there is no terminal.
const WIDE: usize = 200;

enum Shown {
    Passage(Passage),
    Line(Value, Option<String>),
}

pub(super) struct Screen {
    queue: SyncSender<Shown>,
    done: Receiver<()>,
    lost: Arc<AtomicU64>,
    frames: bool,
}

impl Screen {
    pub(super) fn start(json: bool) -> io::Result<Self> {
        let (queue, shown) = sync_channel(WAITING);
        let (tell, done) = sync_channel(1);
        let lost = Arc::<AtomicU64>::default();
        let missed = Arc::clone(&lost);
        thread::Builder::new().name("screen".into()).spawn(move || {
            // A reader that has gone is no reason to end: bytes are to pass.
            let _ = Printer { json, missed, lines: Default::default(), begin: None }.run(&shown);
            let _ = tell.send(());
        })?;
        // Those who want JSON want quiet from everything else.
        Ok(Screen { queue, done, lost, frames: json || !is_quiet() })
    }

    /// What passages are given to.
    pub(super) fn show(&self) -> Show {
        if !self.frames {
            return Box::new(|_| {});
        }
        let (queue, lost) = (self.queue.clone(), Arc::clone(&self.lost));
        Box::new(move |passage| {
            if queue.try_send(Shown::Passage(passage.clone())).is_err() {
                lost.fetch_add(1, Ordering::Relaxed);
            }
        })
    }

    /// The first line.
    pub(super) fn ready(&self, object: Value, words: String) {
        let _ = self.queue.send(Shown::Line(object, Some(words)));
    }

    /// Something that happened, for programs.
    pub(super) fn event(&self, event: &str, text: &str) {
        let object = json!({ "type": "event", "event": event, "text": text });
        let _ = self.queue.try_send(Shown::Line(object, None));
    }

    /// The last line, for programs.
    pub(super) fn finish(self, object: Value) {
        let _ = self.queue.try_send(Shown::Line(object, None));
        drop(self.queue);
        let _ = self.done.recv_timeout(FAREWELL);
    }
}

struct Printer {
    json: bool,
    missed: Arc<AtomicU64>,
    /// The host's side, then the device's.
    lines: [Line; 2],
    begin: Option<u64>,
}

impl Printer {
    fn run(&mut self, shown: &Receiver<Shown>) -> io::Result<()> {
        for what in shown {
            let lost = self.missed.swap(0, Ordering::Relaxed);
            if lost > 0 {
                let object = json!({ "type": "event", "event": "not_shown", "reads": lost });
                let words = format!("{lost} reads are not shown: this output is too slow");
                self.print(&object, Some(&words))?;
            }
            match what {
                Shown::Line(object, words) => self.print(&object, words.as_deref())?,
                Shown::Passage(passage) => self.passage(&passage)?,
            }
        }
        Ok(())
    }

    fn passage(&mut self, passage: &Passage) -> io::Result<()> {
        let Passage { nanos, from_host, ends, bytes } = passage;
        if ends.is_some() {
            let element = element(bytes, None, *from_host);
            return self.frame(passage, bytes, element);
        }
        let mut found = Vec::new();
        let line = &mut self.lines[usize::from(!from_host)];
        line.push(*nanos as i64, bytes, |piece| {
            let proto = match piece {
                Piece::Gd32(_) => Proto::Gd32,
                Piece::Delta2d(_) => Proto::Delta2d,
                Piece::Rubbish(_) => Proto::Unknown,
            };
            let bytes = piece.bytes();
            found.push((bytes.to_vec(), element(bytes, Some(proto), *from_host)));
        });
        found.into_iter().try_for_each(|(bytes, element)| self.frame(passage, &bytes, element))
    }

    fn frame(
        &mut self,
        passage: &Passage,
        bytes: &[u8],
        element: Option<Element>,
    ) -> io::Result<()> {
        let Passage { nanos, from_host, ends, .. } = passage;
        let begin = *self.begin.get_or_insert(*nanos);
        let hex: Vec<_> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
        let from = if *from_host { "host" } else { "device" };
        let proto = element.as_ref().map_or(Proto::Unknown, |element| element.proto);
        if self.json {
            let rows = element.iter().flat_map(|element| &element.rows);
            let fields: Map<String, Value> =
                rows.filter_map(|row| Some((row.name.into(), row.value.clone()?))).collect();
            let object = json!({
                "type": "frame",
                "timestamp_us": nanos / 1000,
                "from": from,
                "ends": ends.map(|(from, to)| [from.to_string(), to.to_string()]),
                "protocol": proto.to_string(),
                "name": element.as_ref().map(|element| element.title.as_str()),
                "fields": fields,
                "bytes": hex.join(" "),
            });
            return self.print(&object, None);
        }
        let seconds = nanos.saturating_sub(begin) as f64 / 1e9;
        let what = match &element {
            Some(element) if element.proto != Proto::Unknown => {
                let rows = element.rows.iter().filter(|row| row.value.is_some());
                let rows: Vec<_> = rows.map(|row| format!("{} {}", row.name, row.text)).collect();
                format!("{}  {}", element.title, rows.join(", "))
            }
            _ => format!("{} bytes: {}", bytes.len(), hex.join(" ")),
        };
        let arrow = if *from_host { "host > " } else { "     < robot" };
        let line = printable(&format!("{seconds:>12.6}  {arrow:<12}  {what}"));
        let room = columns(io::stdout()).unwrap_or(WIDE);
        self.write(&cut(&line, room))
    }

    fn print(&self, object: &Value, words: Option<&str>) -> io::Result<()> {
        match (self.json, words) {
            (true, _) => self.write(&printable_json(object)),
            (false, Some(words)) => self.write(&printable(words)),
            (false, None) => Ok(()),
        }
    }

    fn write(&self, line: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{line}")?;
        out.flush()
    }
}

/// What bytes are; none of what is nothing known.
fn element(bytes: &[u8], proto: Option<Proto>, from_host: bool) -> Option<Element> {
    let options = Options { proto, from_robot: Some(!from_host), ..Options::default() };
    let mut found = None;
    let _ = explain(bytes, &options, &mut |element| {
        found = Some(element);
        ControlFlow::Break(())
    });
    found
}
