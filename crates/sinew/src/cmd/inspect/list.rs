//! A line for each payload.

use std::io::{self, BufWriter, IsTerminal, Write};

use serde_json::json;
use sinew_capture::Sight;

use crate::output::{printable, printable_json};

pub(super) struct List {
    out: Box<dyn Write>,
    json: bool,
}

impl List {
    pub(super) fn new(json: bool) -> Self {
        // What is captured right now is to be seen right now.
        let out: Box<dyn Write> = match io::stdout().is_terminal() {
            true => Box::new(io::stdout()),
            false => Box::new(BufWriter::new(io::stdout())),
        };
        List { out, json }
    }

    pub(super) fn line(&mut self, sight: &Sight<'_>) -> anyhow::Result<()> {
        let (from, to) = sight.ends();
        let seconds = sight.since as f64 / 1e9;
        let text = sight.to_string();
        let text = text.trim_end();
        let (number, protocol, length) = (sight.number, sight.protocol.name(), sight.length);
        if self.json {
            let line = json!({
                "number": number,
                "time_s": seconds,
                "from": from,
                "to": to,
                "transport": sight.transport.to_string(),
                "protocol": protocol,
                "length": length,
                "command": sight.command,
                "text": text,
            });
            writeln!(self.out, "{}", printable_json(&line))?;
        } else {
            let ends = format!("{from} > {to}");
            let text = printable(text);
            let line = format!("{number:>7} {seconds:>12.6}  {ends:<43} {protocol:<9} {length:>5}");
            writeln!(self.out, "{line}  {text}")?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}
