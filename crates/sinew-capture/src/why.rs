//! How it is known what a flow is.

use std::fmt::Write;

use sinew_wire::{stream::Counters, text::grouped};

use crate::{
    entry::{Detail, Entry},
    identify::{Protocol, suite_name},
    message::Said,
};

/// Counters of a line's two directions, of the vacuum's frames and of the lidar's.
pub(crate) type Lines = ((Counters, Counters), (Counters, Counters));

/// A sentence or two.
pub(crate) fn text(entry: &Entry, lines: Option<Lines>) -> String {
    match (&entry.detail, entry.protocol) {
        (Detail::Stun { asked, answered, other }, _) => format!(
            "magic cookie 21 12 A4 42, and lengths fit: {} requests, {} answers, {} others",
            grouped(*asked),
            grouped(*answered),
            grouped(*other)
        ),
        (Detail::Dtls(dtls), _) => {
            let version = if dtls.version == 0xFEFF { "1.0" } else { "1.2" };
            let mut text = format!(
                "DTLS {version} record headers whose lengths fit: handshake {}, application data {}",
                grouped(dtls.handshake),
                grouped(dtls.application)
            );
            if dtls.other > 0 {
                let _ = write!(text, ", others {}", grouped(dtls.other));
            }
            match dtls.suite.map(|suite| (suite, suite_name(suite))) {
                Some((_, Some(name))) => {
                    let _ = write!(text, "; cipher suite {name}");
                }
                Some((suite, None)) => {
                    let _ = write!(text, "; cipher suite 0x{suite:04X}");
                }
                None => text.push_str("; the cipher suite was not seen"),
            }
            text
        }
        (Detail::Teach(taught), _) => {
            let layout = match (taught.documented, taught.compact) {
                (_, 0) => "documented layout".into(),
                (0, _) => "compact layout".into(),
                (documented, compact) => format!(
                    "documented layout in {}, compact in {}",
                    grouped(documented),
                    grouped(compact)
                ),
            };
            let checked = taught.valid + taught.damaged;
            let mut text = format!(
                "teaching header, length and CRC-32: right in {} of {}; {layout}",
                grouped(taught.valid),
                grouped(checked)
            );
            if taught.damaged > 0 {
                let damaged = grouped(taught.damaged);
                let _ = write!(text, "; {damaged} damaged, which are not counted as commands");
            }
            if taught.unchecked > 0 {
                let _ = write!(text, "; {} were not captured whole", grouped(taught.unchecked));
            }
            text
        }
        (Detail::Media(media), protocol) => {
            let kinds: Vec<_> = media.kinds.iter().map(u8::to_string).collect();
            let name = if protocol == Protocol::Srtp { "RTP" } else { "RTCP" };
            format!(
                "{name} version 2 header, types {}; {} packets follow one of the same source. \
                 Whether the rest is encrypted does not show; WebRTC always does",
                kinds.join(", "),
                grouped(media.followed)
            )
        }
        (Detail::Discovery { questions, answers }, _) => format!(
            "JSON of a Unitree robot's discovery: {} questions, {} answers",
            grouped(*questions),
            grouped(*answers)
        ),
        (Detail::Messages(spoken), protocol) => messages(&spoken.said, protocol),
        (_, protocol) if protocol.has_details() => {
            "its header and length; there are too many flows to say more of this one".into()
        }
        (_, Protocol::Gd32 | Protocol::Delta2d) => line(entry, lines),
        (_, Protocol::Slam) => "two lengths, then JSON: the envelope of a G1's clouds".into(),
        (_, Protocol::Voxel) => "two lengths, then JSON: the envelope of a GO2's voxel map".into(),
        (_, Protocol::Unitree) => "messages of a Unitree robot's data channel, in clear".into(),
        (_, Protocol::Sangamio) => {
            "messages with their length before them and a topic of SangamIO's interface".into()
        }
        (_, Protocol::Http) => "begins with words of HTTP".into(),
        (_, Protocol::Tls) => "a TLS record's header".into(),
        (_, Protocol::Ssh) => "begins with SSH-".into(),
        (_, Protocol::Hint(_, port)) => {
            format!("port {port} alone, which is a hint: its bytes were not looked into")
        }
        (_, Protocol::Ip(number)) => format!("protocol {number} of IP"),
        _ => unknown(entry),
    }
}

fn messages(said: &Said, protocol: Protocol) -> String {
    let what = match protocol {
        Protocol::Sangamio => "messages of SangamIO's interface",
        _ => "envelopes of clouds or maps",
    };
    let mut text = format!(
        "{what} with their length before them: {}, {} bytes",
        grouped(said.messages),
        grouped(said.bytes)
    );
    let topics = said.topics.iter().map(|(name, count)| format!("{name} {}", grouped(*count)));
    let topics: Vec<_> = topics.take(8).collect();
    if !topics.is_empty() {
        let more = if said.topics.len() > 8 || said.others > 0 { ", …" } else { "" };
        let _ = write!(text, "; {}{more}", topics.join(", "));
    }
    if said.lost > 0 {
        let _ = write!(text, "; no message begins where one should {} times", grouped(said.lost));
    }
    text
}

fn line(entry: &Entry, lines: Option<Lines>) -> String {
    let (there, back) = lines.unwrap_or_default();
    let (name, there, back) = match entry.protocol {
        Protocol::Gd32 => ("FA FB frames of a GD32 motor controller", there.0, back.0),
        _ => ("AA frames of a Delta-2D lidar", there.1, back.1),
    };
    let sum = |of: fn(&Counters) -> u64| grouped(of(&there) + of(&back));
    format!(
        "{name}: length and check right in {}; beginnings with a wrong check {}, with an impossible \
         length {}",
        sum(|counters| counters.frames),
        sum(|counters| counters.bad_checks),
        sum(|counters| counters.bad_lengths)
    )
}

fn unknown(entry: &Entry) -> String {
    let front = entry.front.bytes();
    if front.is_empty() {
        return "no payload".into();
    }
    let front: Vec<_> = front.iter().map(|byte| format!("{byte:02x}")).collect();
    let first = format!("first bytes {}", front.join(" "));
    let Detail::Plain(sample) = &entry.detail else {
        return format!("nothing known; {first}");
    };
    let (bits, total) = (sample.entropy(), sample.total());
    // So few bytes cannot show more.
    let most = (total.max(1) as f64).log2().min(8.0);
    let kind = match bits / most.max(1.0) {
        _ if total < 256 => "too few bytes to tell what kind",
        0.97.. => "as in what is encrypted or compressed",
        0.6.. => "less than encrypted data has: structured",
        _ => "much is repeated: text or plain numbers",
    };
    format!(
        "nothing known; entropy {bits:.2} of 8 bits a byte ({kind}), over {} bytes; {first}",
        grouped(total)
    )
}
