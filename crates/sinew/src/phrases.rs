//! The daemon's answers in the words of the command line.

use std::fmt;
#[cfg(feature = "g1")]
use std::time::Duration;

use sinew_robot::{Refusal, Remedy};

/// Why the daemon did not do something, and what to do about it here.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) Refusal);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        self.0.remedy.and_then(remedy).map_or(Ok(()), |remedy| write!(f, "; {remedy}"))
    }
}

impl std::error::Error for Refused {}

/// What the command line has for a remedy.
fn remedy(remedy: Remedy) -> Option<&'static str> {
    Some(match remedy {
        Remedy::TakeControl => "`sinew take` takes them over, `sinew release` frees them",
        Remedy::Confirm => "add --confirm if it is meant",
        Remedy::Enable => "`sinew vacuum drive` lets them turn, and drives",
        Remedy::NameRobot => "say which with --robot NAME",
        Remedy::ShowToken => "give one that may with --token, or in SINEW_TOKEN",
        Remedy::UseLibrary => "--library does it in the library alone",
        Remedy::Enter => "`sinew teach enter` makes them soft",
        Remedy::Exit => "`sinew teach exit` makes them stiff",
        _ => return None,
    })
}

/// Bumpers and cliff sensors by their names in the robot's status: `bumper_left` is the left
/// bumper.
pub(crate) fn hazards<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let words = names.map(|name| match name.split_once('_') {
        Some(("bumper", side)) => format!("{side} bumper"),
        Some(("cliff", place)) => format!("cliff at the {}", place.replace('_', " ")),
        _ => name.replace('_', " "),
    });
    words.collect::<Vec<_>>().join(" and ")
}

/// A time as people say it: `5 min`, `90 s`, `1.5 s`.
#[cfg(feature = "g1")]
pub(crate) fn span(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds >= 60.0 && seconds % 60.0 == 0.0 => format!("{:.0} min", seconds / 60.0),
        seconds if seconds.fract() == 0.0 => format!("{seconds:.0} s"),
        seconds => format!("{seconds:.1} s"),
    }
}

/// Names as in a sentence: `a, b and c`.
pub(crate) fn listed<T: AsRef<str>>(names: &[T]) -> String {
    match names {
        [] => "none".into(),
        [one] => one.as_ref().into(),
        [all @ .., last] => {
            let all: Vec<_> = all.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", all.join(", "), last.as_ref())
        }
    }
}

#[cfg(test)]
mod tests {
    use sinew_robot::Code;

    use super::*;

    #[test]
    fn a_remedy_is_a_flag_or_a_command() {
        let refusal = Refusal::new(Code::Busy, "Ann holds the controls of vacuum");
        assert_eq!(Refused(refusal.clone()).to_string(), "Ann holds the controls of vacuum");
        let helped = Refused(refusal.helped_by(Remedy::TakeControl)).to_string();
        assert!(
            helped.ends_with("vacuum; `sinew take` takes them over, `sinew release` frees them")
        );
    }

    #[test]
    fn hazards_are_told_in_words() {
        let told = |names: &[&str]| hazards(names.iter().copied());
        assert_eq!(told(&["bumper_left"]), "left bumper");
        assert_eq!(
            told(&["bumper_right", "cliff_left_front"]),
            "right bumper and cliff at the left front"
        );
        assert_eq!(told(&["wheel"]), "wheel");
    }

    #[cfg(feature = "g1")]
    #[test]
    fn times_are_short() {
        let told = |ms| span(Duration::from_millis(ms));
        assert_eq!([told(300_000), told(90_000), told(1500)], ["5 min", "90 s", "1.5 s"]);
    }

    #[test]
    fn names_are_listed() {
        assert_eq!(listed::<&str>(&[]), "none");
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
    }
}
