//! Payloads into files, with where they come from beside them.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use anyhow::Context;
use serde_json::json;
use sinew_capture::{Protocol, Sight};

/// Flows that get files; each has two open.
const MOST: usize = 200;

pub(super) struct Extract {
    directory: PathBuf,
    source: String,
    format: String,
    files: HashMap<(String, String, String, Protocol), Files>,
    /// Payloads of further flows.
    over: u64,
}

struct Files {
    bytes: BufWriter<File>,
    index: BufWriter<File>,
    a: String,
    offset: u64,
}

impl Extract {
    pub(super) fn new(directory: &Path, source: &str, format: &str) -> anyhow::Result<Self> {
        fs::create_dir_all(directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
        Ok(Extract {
            directory: directory.into(),
            source: source.into(),
            format: format.into(),
            files: HashMap::new(),
            over: 0,
        })
    }

    pub(super) fn take(&mut self, sight: &Sight<'_>) -> anyhow::Result<()> {
        if sight.payload.is_empty() {
            return Ok(());
        }
        let (from, to) = sight.ends();
        let (low, high) = if from <= to { (&from, &to) } else { (&to, &from) };
        let key = (low.clone(), high.clone(), sight.transport.to_string(), sight.protocol);
        if !self.files.contains_key(&key) {
            if self.files.len() >= MOST {
                self.over += 1;
                return Ok(());
            }
            let files = self.begin(sight, &from, &to)?;
            self.files.insert(key.clone(), files);
        }
        let Some(files) = self.files.get_mut(&key) else { return Ok(()) };
        files.bytes.write_all(sight.payload)?;
        let row = json!({
            "record": sight.number,
            "time_s": sight.since as f64 / 1e9,
            "from": if from == files.a { "a" } else { "b" },
            "offset": files.offset,
            "length": sight.payload.len(),
            "length_on_wire": sight.length,
            "command": sight.command,
        });
        let comma = if files.offset == 0 { "" } else { "," };
        write!(files.index, "{comma}\n  {row}")?;
        files.offset += sight.payload.len() as u64;
        Ok(())
    }

    fn begin(&self, sight: &Sight<'_>, a: &str, b: &str) -> anyhow::Result<Files> {
        let stem = format!("flow{:03}_{}", self.files.len(), sight.protocol.name());
        let create = |ending: &str| {
            let path = self.directory.join(format!("{stem}.{ending}"));
            // What is there stays: it may be another capture's.
            let file = File::create_new(&path)
                .with_context(|| format!("cannot write {}", path.display()))?;
            anyhow::Ok(BufWriter::new(file))
        };
        let (bytes, mut index) = (create("bin")?, create("json")?);
        let head = json!({
            "source": self.source,
            "format": self.format,
            "a": a,
            "b": b,
            "transport": sight.transport.to_string(),
            "protocol": sight.protocol.name(),
            "bytes": format!("{stem}.bin"),
        });
        let head = head.to_string();
        write!(index, "{},\"payloads\":[", head.strip_suffix('}').unwrap_or(&head))?;
        Ok(Files { bytes, index, a: a.into(), offset: 0 })
    }

    /// Writes what is left, and says what there is.
    pub(super) fn finish(&mut self) -> anyhow::Result<String> {
        let count = self.files.len();
        for (_, mut files) in self.files.drain() {
            files.bytes.flush()?;
            writeln!(files.index, "\n]}}")?;
            files.index.flush()?;
        }
        let over = match self.over {
            0 => String::new(),
            over => format!("; {over} payloads of further flows were left out"),
        };
        Ok(format!("wrote {count} flows to {}{over}", self.directory.display()))
    }
}
