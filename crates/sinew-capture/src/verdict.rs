//! Whether what looks like the teaching documents' commands is that.
//!
//! Neither a port nor a count decides: a CRC-32 that is right does, and where none is, lengths and
//! numbers that are a DTLS record's.

use serde_json::{Value, json};
use sinew_wire::text::grouped;

use crate::{
    entry::{Detail, Dtls, Entry, Taught},
    report::{Cycle, rounded},
    tally::{Sequences, chi_square},
};

/// Of 256 counts that chance made, one in a hundred times chi-square is above this.
const CHANCE: f64 = 310.5;

/// A finding about what looks like commands.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Verdict {
    /// Which.
    pub kind: Kind,
    /// Which of the report's flows it is about.
    pub flow: usize,
    /// Records or datagrams that begin like a teaching datagram.
    pub records: u64,
    /// Those whose length field fits.
    pub lengths_fit: u64,
    /// First number of the side that sent more; of teaching datagrams, of the side that asks.
    pub first_sequence: u64,
    /// Its last number.
    pub last_sequence: u64,
    /// Numbers that are missing: of DTLS records of either side, of teaching datagrams of the side that asks.
    pub sequence_gaps: u64,
    /// Those whose CRC-32 is right.
    pub crc_valid: u64,
    /// Bits a byte of what stands behind the header.
    pub entropy_bits: f64,
    /// All of it in words.
    pub text: String,
}

/// What a verdict says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// They are DTLS records.
    DtlsTakenForCommands,
    /// They are teaching datagrams.
    TeachingDatagrams,
}

impl Kind {
    /// Its name for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::DtlsTakenForCommands => "dtls_taken_for_commands",
            Kind::TeachingDatagrams => "teaching_datagrams",
        }
    }
}

impl Verdict {
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "kind": self.kind.name(),
            "flow": self.flow,
            "records": self.records,
            "lengths_fit": self.lengths_fit,
            "first_sequence": self.first_sequence,
            "last_sequence": self.last_sequence,
            "sequence_gaps": self.sequence_gaps,
            "crc_valid": self.crc_valid,
            "entropy_bits": rounded(self.entropy_bits, 1e3),
            "text": self.text,
        })
    }
}

/// The verdict about one protocol of a flow, if it has any. `misfits` are datagrams of the flow that
/// begin alike and fit nothing, `proven` those whose CRC is right.
pub(crate) fn of(
    entry: &Entry,
    misfits: u64,
    proven: u64,
    flow: usize,
    cycle: Option<&Cycle>,
) -> Option<Verdict> {
    match &entry.detail {
        Detail::Dtls(dtls) if dtls.alike.records > 0 => {
            Some(mistaken(dtls, misfits, proven, flow, cycle))
        }
        Detail::Teach(taught) if taught.valid > 0 => Some(real(taught, misfits, flow)),
        _ => None,
    }
}

/// The side of teaching datagrams that counts: answers carry their request's number and one, so that
/// the numbers of a side that answers are no count.
pub(crate) fn counting(both: &[Sequences; 2]) -> &Sequences {
    let [there, back] = both;
    let is_back = back.count > 0 && (there.count == 0 || back.missing < there.missing);
    if is_back { back } else { there }
}

/// The side that sent more, and what both miss.
fn busier(both: &[Sequences; 2]) -> (&Sequences, u64) {
    let [there, back] = both;
    let busier = if back.count > there.count { back } else { there };
    (busier, there.missing.saturating_add(back.missing))
}

fn mistaken(dtls: &Dtls, misfits: u64, proven: u64, flow: usize, cycle: Option<&Cycle>) -> Verdict {
    let fit = dtls.alike.records;
    let records = fit + misfits;
    let (numbers, gaps) = busier(&dtls.sequences);
    let (first, last) = (numbers.first, numbers.last);
    let entropy = dtls.sample.entropy();
    let chi = chi_square(&dtls.alike.low);
    let used = || dtls.alike.low.iter().copied().filter(|count| *count > 0);
    let (rarest, commonest) = (used().min().unwrap_or(0), used().max().unwrap_or(0));
    let both = dtls.sequences.iter().all(|side| side.count > 0);
    let datagrams = dtls.alike.datagrams + misfits;
    let is_shared = datagrams < records;
    let what = match (records, is_shared) {
        (1, _) => {
            "This datagram is no command, though documents 000 to 002 take such for one. It is a \
                   DTLS record: a piece"
                .into()
        }
        (_, false) => format!(
            "These {} datagrams are not commands, though documents 000 to 002 take such for commands. \
             They are DTLS records: pieces",
            grouped(records)
        ),
        (_, true) => format!(
            "What is in {} is not commands, though documents 000 to 002 take such for commands. It is {} \
             DTLS records: pieces",
            counted(datagrams, "this", "these"),
            grouped(records)
        ),
    };
    let mut text = format!("{what} of an encrypted connection, as WebRTC uses it.");
    let mut reason = |reason: String| {
        text.push_str("\n- ");
        text.push_str(&reason);
    };
    reason(format!(
        "Length: in {} of {} the two bytes before the payload are the record's length{}.",
        grouped(fit),
        grouped(records),
        if is_shared {
            "; each with its header of 13 bytes, records end where the next one begins, and the last where \
             its datagram does"
        } else {
            ", the datagram's less 13, which is the size of a DTLS record's header"
        }
    ));
    reason(format!(
        "Numbers: bytes 5 to 10 are one 48-bit number that counts records{}, {} to {}, {}.",
        if both { ", for each side (here the side that sent more)" } else { "" },
        grouped(first),
        grouped(last),
        match gaps {
            0 => "and none is missing".into(),
            gaps =>
                format!("of which {} are missing: packets that the capture lost", grouped(gaps)),
        }
    ));
    reason(spread(records, (rarest, commonest), used().count(), chi));
    reason(format!(
        "CRC: the CRC-32 that would end a teaching datagram is right in 0 of {}.{}",
        grouped(records),
        match proven {
            0 => String::new(),
            _ => format!(
                " The flow's {} with a right one are teaching datagrams, and counted apart.",
                grouped(proven)
            ),
        }
    ));
    reason(format!(
        "Content: {entropy:.2} bits a byte over {} bytes{}.",
        grouped(dtls.sample.total()),
        if dtls.sample.total() < 4096 {
            ", too few to say more"
        } else if entropy > 7.9 {
            ": all values are equally frequent, as in what is encrypted. Joint angles and zeros have far \
             less"
        } else {
            ", which is less than encrypted data has"
        }
    ));
    if let Some(cycle) = cycle {
        reason(format!(
            "Cycle: the \"cycle\" of {:.2} s in which all \"commands\" come is the time that 256 \
             records take.",
            cycle.period
        ));
    }
    text.push_str(
        "\nSo the table of commands counts record numbers (the first of each datagram). What was really said is inside the encrypted \
         connection and cannot be read from a capture.",
    );
    Verdict {
        kind: Kind::DtlsTakenForCommands,
        flow,
        records,
        lengths_fit: fit,
        first_sequence: first,
        last_sequence: last,
        sequence_gaps: gaps,
        // One whose CRC is right is no record.
        crc_valid: 0,
        entropy_bits: entropy,
        text,
    }
}

/// So many datagrams, with a word before.
fn counted(count: u64, one: &str, many: &str) -> String {
    let text = match count {
        1 => format!("{one} 1 datagram"),
        count => format!("{many} {} datagrams", grouped(count)),
    };
    text.trim_start().into()
}

/// What the frequencies of "commands" say.
fn spread(records: u64, (rarest, commonest): (u32, u32), used: usize, chi: f64) -> String {
    let times = if rarest == commonest {
        format!("{} times", grouped(rarest.into()))
    } else {
        format!("{} to {} times", grouped(rarest.into()), grouped(commonest.into()))
    };
    let figure = format!("chi-square {chi:.1} over 256 values");
    if chi > CHANCE {
        return format!(
            "\"Commands\": they would be the low byte of that number; {used} values occur, {times} each \
             ({figure}: uneven, since records are missing)."
        );
    }
    format!(
        "\"Commands\": they would be the low byte of that number, so no value is favoured: {used} values \
         occur, {times} each ({figure}: chance gives about 255, a count that goes on less, real commands \
         thousands{}).",
        if records < 1280 { "; with so few records it says little" } else { "" }
    )
}

fn real(taught: &Taught, misfits: u64, flow: usize) -> Verdict {
    let fit = taught.total();
    let records = fit + misfits;
    let numbers = counting(&taught.sequences);
    let gaps = numbers.missing;
    // They were moved up to have room below.
    let (first, last) = (numbers.first & 0xFFFF, numbers.last & 0xFFFF);
    let entropy = taught.sample.entropy();
    let what = match records {
        1 => {
            "This is a teaching datagram as documents 000 to 002 describe it: the CRC-32 at its end"
                .into()
        }
        _ => format!(
            "These {} datagrams are teaching datagrams as documents 000 to 002 describe them: the CRC-32 \
             at their end",
            grouped(records)
        ),
    };
    let mut text = format!(
        "{what} is right in {} of {}, which chance would do once in 4,294,967,296.",
        grouped(taught.valid),
        grouped(taught.valid + taught.damaged)
    );
    let mut reason = |reason: String| {
        text.push_str("\n- ");
        text.push_str(&reason);
    };
    reason(format!(
        "Length: the length field fits the datagram in {} of {} ({} in the documented layout, {} in the \
         compact one).",
        grouped(fit),
        grouped(records),
        grouped(taught.documented),
        grouped(taught.compact)
    ));
    reason(format!(
        "Numbers: the side that counts sends {} to {}; {} are missing.",
        grouped(first),
        grouped(last),
        grouped(gaps)
    ));
    reason(format!(
        "Content: {entropy:.2} bits a byte over {} bytes; what is encrypted would have nearly 8.",
        grouped(taught.sample.total())
    ));
    if taught.damaged > 0 {
        let damaged = counted(taught.damaged, "", "");
        reason(format!(
            "Damage: in {damaged} the CRC-32 is wrong; they are in no row of the table."
        ));
    }
    text.push_str("\nSo the table of commands counts commands.");
    Verdict {
        kind: Kind::TeachingDatagrams,
        flow,
        records,
        lengths_fit: fit,
        first_sequence: first,
        last_sequence: last,
        sequence_gaps: gaps,
        crc_valid: taught.valid,
        entropy_bits: entropy,
        text,
    }
}
