//! Programs written elsewhere that tests compare ours with.

use std::process::Command;

use crate::tools::{Failure, apt_install, works};

/// Each with what it is for. Tests say that they are skipped where one is missing; the gate says it at
/// its end, too.
const PROGRAMS: [(&str, &str); 2] = [
    ("tcpdump", "captures of our own traffic were not made"),
    ("tshark", "captures and the dissector were not compared with tshark"),
];

/// Sees to it that they are there; says what is not tried without those that are not.
pub(crate) fn are_there() -> Result<Option<String>, Failure> {
    let missing: Vec<&str> =
        PROGRAMS.iter().map(|(name, _)| *name).filter(|name| !is_there(name)).collect();
    if !missing.is_empty() {
        apt_install(&missing)?;
    }
    Ok(left_out(is_there))
}

fn is_there(name: &str) -> bool {
    works(Command::new(name).arg("--version"))
}

fn left_out(is_there: impl Fn(&str) -> bool) -> Option<String> {
    let missing = PROGRAMS.iter().filter(|(name, _)| !is_there(name));
    let said: Vec<String> =
        missing.map(|(name, what)| format!("{what}: no {name} (apt-get install {name})")).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

#[cfg(test)]
mod tests {
    use super::left_out;

    #[test]
    fn what_is_missing_is_said() {
        assert_eq!(left_out(|_| true), None);
        let said = left_out(|name| name != "tshark").expect("is missing");
        assert!(said.contains("apt-get install tshark") && !said.contains("tcpdump"), "{said}");
    }
}
