//! Between str0m's SDP and that of robots and their clients.

use std::{fmt::Write, net::IpAddr};

/// Most candidates that are taken of one description.
const MOST_CANDIDATES: usize = 32;
/// What a side takes that does not say: the stack of a G1 does not, and takes this.
const MESSAGE: &str = "a=max-message-size:262144";

/// A description, cut where its sections begin.
struct Sections<'a> {
    session: Vec<&'a str>,
    media: Vec<Vec<&'a str>>,
}

impl<'a> Sections<'a> {
    fn new(sdp: &'a str) -> Self {
        let mut sections = Sections { session: Vec::new(), media: Vec::new() };
        for line in sdp.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
            if line.starts_with("m=") {
                sections.media.push(Vec::new());
            }
            sections.media.last_mut().unwrap_or(&mut sections.session).push(line);
        }
        sections
    }

    fn mids(&self) -> Vec<&'a str> {
        let mid = |lines: &Vec<&'a str>| lines.iter().find_map(|line| line.strip_prefix("a=mid:"));
        self.media.iter().map(|lines| mid(lines).unwrap_or_default()).collect()
    }

    /// All candidates, each once.
    fn candidates(&self) -> Vec<&'a str> {
        let mut candidates = Vec::new();
        for line in self.session.iter().chain(self.media.iter().flatten()) {
            if line.starts_with("a=candidate:") && !candidates.contains(line) {
                candidates.push(*line);
            }
        }
        candidates
    }
}

/// An offer as the public library makes it: all candidates in every section and no more to come,
/// sections called 0, 1, 2.
pub(super) fn offer(own: &str) -> String {
    let sections = Sections::new(own);
    let (mids, candidates) = (sections.mids(), sections.candidates());
    let mut text = String::new();
    for line in &sections.session {
        match line.starts_with("a=group:BUNDLE") {
            true => {
                let all: Vec<_> = (0..mids.len()).map(|index| index.to_string()).collect();
                put(&mut text, &format!("a=group:BUNDLE {}", all.join(" ")));
            }
            // Robots may answer before they know their own addresses if more were to come.
            false if line.starts_with("a=ice-options:") => {}
            false => put(&mut text, line),
        }
    }
    for (index, lines) in sections.media.iter().enumerate() {
        for line in lines {
            match line.split_once(':').map_or(*line, |(name, _)| name) {
                "a=mid" => put(&mut text, &format!("a=mid:{index}")),
                "a=ice-options" | "a=candidate" | "a=end-of-candidates" => {}
                _ => put(&mut text, line),
            }
        }
        candidates.iter().for_each(|candidate| put(&mut text, candidate));
        put(&mut text, "a=end-of-candidates");
    }
    text
}

/// A robot's answer to `offer`, which is `own` reshaped, as str0m takes it.
pub(super) fn answer(own: &str, theirs: &str) -> String {
    let mids: Vec<_> = Sections::new(own).mids().into_iter().map(String::from).collect();
    let theirs = Sections::new(theirs);
    normal(&theirs, |index, mid| match mid.parse::<usize>() {
        Ok(number) => mids.get(number).cloned(),
        // Without a name a section is known by its place.
        Err(_) if mid.is_empty() => mids.get(index).cloned(),
        Err(_) => None,
    })
}

/// What str0m is particular about, put right: lines it does not know, candidates that it would drop
/// for what follows their kind, hashes of fingerprints that it takes for SHA-256.
fn normal(theirs: &Sections<'_>, own_mid: impl Fn(usize, &str) -> Option<String>) -> String {
    let mids: Vec<_> = theirs
        .mids()
        .iter()
        .enumerate()
        .map(|(index, mid)| own_mid(index, mid).unwrap_or_else(|| (*mid).to_owned()))
        .collect();
    let mut text = String::from("v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n");
    put(&mut text, &format!("a=group:BUNDLE {}", mids.join(" ")));
    for line in theirs.session.iter().filter(|line| is_attribute(line)) {
        if !line.starts_with("a=group:") {
            put(&mut text, line);
        }
    }
    let candidates: Vec<_> =
        theirs.candidates().into_iter().filter_map(plain_candidate).take(MOST_CANDIDATES).collect();
    for (lines, mid) in theirs.media.iter().zip(&mids) {
        let (first, rest) = lines.split_first().unwrap_or((&"", &[]));
        put(&mut text, first);
        put(&mut text, "c=IN IP4 0.0.0.0");
        put(&mut text, &format!("a=mid:{mid}"));
        let has_message = rest.iter().any(|line| line.starts_with("a=max-message-size:"));
        if first.starts_with("m=application") && !has_message {
            put(&mut text, MESSAGE);
        }
        for line in rest.iter().filter(|line| is_attribute(line)) {
            if !["a=mid:", "a=candidate:"].iter().any(|name| line.starts_with(name)) {
                put(&mut text, line);
            }
        }
        candidates.iter().for_each(|candidate| put(&mut text, candidate));
    }
    text
}

/// An attribute that is of use to str0m. Of fingerprints it takes the first, whatever its hash.
fn is_attribute(line: &str) -> bool {
    let Some(attribute) = line.strip_prefix("a=") else { return false };
    let (name, value) = attribute.split_once(':').unwrap_or((attribute, ""));
    let sha256 = || value.get(..8).is_some_and(|hash| hash.eq_ignore_ascii_case("sha-256 "));
    !name.is_empty() && (name != "fingerprint" || sha256())
}

/// A candidate up to its kind, if it is one to send datagrams to.
fn plain_candidate(line: &str) -> Option<String> {
    let words: Vec<_> = line.split_ascii_whitespace().take(8).collect();
    let [_, component, transport, _, address, port, _, kind] = *words.as_slice() else {
        return None;
    };
    let address: IpAddr = address.parse().ok()?;
    let port: u16 = port.parse().ok()?;
    let good = component == "1"
        && transport.eq_ignore_ascii_case("udp")
        && !address.is_unspecified()
        && port != 0
        && kind == "host";
    good.then(|| words.join(" "))
}

/// Whether the side that answers is the one that begins DTLS.
pub(super) fn is_active(answer: &str) -> bool {
    answer.lines().any(|line| line.trim_end() == "a=setup:active")
}

fn put(text: &mut String, line: &str) {
    let _ = write!(text, "{line}\r\n");
}

#[cfg(feature = "sim")]
pub(super) mod robot {
    use super::{Sections, Write, normal, put};

    /// A client's offer as str0m takes it, which answers as the DTLS client if it is to be `active`.
    pub(in super::super) fn offer(theirs: &str, active: bool) -> String {
        let text = normal(&Sections::new(theirs), |_, _| None);
        let setup = if active { "a=setup:passive" } else { "a=setup:active" };
        text.replace("a=setup:actpass", setup)
    }

    /// Whether an offer has the SCTP lines of older clients.
    pub(in super::super) fn is_old(offer: &str) -> bool {
        let mut lines = offer.lines();
        lines.any(|line| line.starts_with("m=application") && line.contains(" DTLS/SCTP "))
    }

    /// An answer as a G1 gives it: it has the look of Amazon's KVS, with the same candidates in every
    /// section and none to come, and does not say how long a message may be.
    pub(in super::super) fn answer(own: &str) -> String {
        let sections = Sections::new(own);
        let mut candidates = String::new();
        for line in sections.candidates() {
            let words: Vec<_> = line.split_ascii_whitespace().collect();
            if let [_, _, _, _, address, port, ..] = *words.as_slice() {
                let _ = write!(
                    candidates,
                    "a=candidate:1 1 udp 2130706431 {address} {port} typ host raddr 0.0.0.0 rport 0 \
                     generation 0 network-cost 999\r\n"
                );
            }
        }
        let mut text = String::from("v=0\r\no=- 3974623012 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n");
        put(&mut text, &format!("a=group:BUNDLE {}", sections.mids().join(" ")));
        put(&mut text, "a=msid-semantic: WMS myKvsVideoStream");
        let shared: Vec<_> = sections
            .session
            .iter()
            .filter(|line| line.starts_with("a=") && !is_own_look(line))
            .collect();
        for lines in &sections.media {
            for line in lines {
                match line.starts_with("c=") {
                    true => text.push_str("c=IN IP4 127.0.0.1\r\n"),
                    false if is_own_look(line) => {}
                    false => put(&mut text, line),
                }
            }
            shared.iter().for_each(|line| put(&mut text, line));
            text.push_str(&candidates);
            if lines.first().is_some_and(|line| !line.starts_with("m=application")) {
                text.push_str("a=ice-options:trickle\r\n");
            }
        }
        text
    }

    /// What str0m says and a G1 does not, or says elsewhere.
    fn is_own_look(line: &str) -> bool {
        [
            "a=group:",
            "a=msid-semantic",
            "a=ice-options:",
            "a=candidate:",
            "a=end-of-candidates",
            "a=max-message-size:",
        ]
        .iter()
        .any(|name| line.starts_with(name))
    }
}
