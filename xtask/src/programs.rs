//! Programs written elsewhere that tests compare ours with.

use std::process::Command;

use crate::{
    python,
    tools::{Failure, apt_install},
};

/// Each with its package and what it is for. Tests say that they are skipped where one is missing; the gate says it at
/// its end, too. A Python package that tests need is [`python::fleet`]'s.
const PROGRAMS: [(&str, &str, &str); 5] = [
    ("ip", "iproute2", "networks of several hosts were not tried"),
    ("mosquitto", "mosquitto", "the bridge to Home Assistant was not tried with a broker"),
    (
        "mosquitto_sub",
        "mosquitto-clients",
        "the bridge to Home Assistant was not tried with clients",
    ),
    ("tcpdump", "tcpdump", "captures of our own traffic were not made"),
    ("tshark", "tshark", "captures and the dissector were not compared with tshark"),
];

/// Sees to it that they are there; says what is not tried without those that are not.
pub(crate) fn are_there() -> Result<Option<String>, Failure> {
    let missing = PROGRAMS.iter().filter(|(name, ..)| !is_there(name));
    let packages: Vec<&str> = missing.map(|(_, package, _)| *package).collect();
    if !packages.is_empty() {
        apt_install(&packages)?;
    }
    let said: Vec<String> = left_out(is_there).into_iter().chain(python::fleet()?).collect();
    Ok((!said.is_empty()).then(|| said.join("; ")))
}

fn is_there(name: &str) -> bool {
    // Some of them call it a failure to be asked.
    Command::new(name).arg("--help").output().is_ok()
}

fn left_out(is_there: impl Fn(&str) -> bool) -> Option<String> {
    let missing = PROGRAMS.iter().filter(|(name, ..)| !is_there(name));
    let say = |(name, package, what): &(&str, &str, &str)| {
        format!("{what}: no {name} (apt-get install {package})")
    };
    let said: Vec<String> = missing.map(say).collect();
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
