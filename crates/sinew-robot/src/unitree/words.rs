//! What the robot's numbers say to people.

use sinew_wire::unitree::{Response, mapping::SlamReply};

use super::{Phase, Session};
use crate::{Code, Refusal, cut};

/// Where the SLAM service keeps maps, by the vendor's documentation.
const MAPS: &str = "/home/unitree/";
/// The longest name of a map.
const MAX_NAME: usize = 64;

impl Session {
    /// The robot's no of the arm service. `states` are those that an action needs, if it says so.
    pub(super) fn arm_refusal(
        &self,
        op: &str,
        response: &Response,
        states: Option<&[i64]>,
    ) -> Refusal {
        let mut message = no(op, response);
        let code = match response.code {
            7400 => {
                message += &self.occupied();
                Code::Refused
            }
            7402 => Code::NotFound,
            7404 => {
                if let Some(states) = states {
                    let states: Vec<_> = states.iter().map(i64::to_string).collect();
                    message += &format!("; this action needs state {}", states.join(" or "));
                }
                message += "; running means fsm_mode 0 or 3";
                message += &match self.state.fsm {
                    Some(fsm) => format!("; it is in {fsm}"),
                    None => "; which state it is in, it does not say".into(),
                };
                message += "; Sinew changes no stance: bring it there with the remote control";
                Code::Refused
            }
            _ => Code::Refused,
        };
        Refusal::new(code, message)
    }

    /// What occupies the arms, and what to do about it.
    fn occupied(&self) -> String {
        let stop = "wait for the end, or stop it";
        match &self.state.arm {
            Some(arm) if arm.phase == Phase::Recording => {
                format!("; they record {:?}: {stop}", arm.name)
            }
            Some(arm) if arm.phase == Phase::Playing => {
                format!("; they play {:?}: {stop}", arm.name)
            }
            Some(arm) if arm.phase == Phase::Returning => "; they return: try again".into(),
            _ => "; what was asked of them last may be about to begin, which a stop ends, or \
                  another client has them, as the phone's app"
                .into(),
        }
    }
}

/// What the SLAM service says: yes, or why not.
pub(super) fn slam_outcome(op: &str, response: &Response) -> Result<(), Refusal> {
    if !response.is_good() {
        return Err(Refusal::new(Code::Refused, no(op, response)));
    }
    if response.data.is_null() || response.data == "" {
        return Ok(());
    }
    let reply = SlamReply::parse(&response.data).map_err(|error| {
        let message = format!("the robot's answer to {op} cannot be read: {error}");
        Refusal::new(Code::Unconfirmed, message)
    })?;
    if reply.succeed {
        return Ok(());
    }
    let code = reply.error_code;
    let known = sinew_wire::unitree::status_text(&response.service, code);
    let info = cut(reply.info.chars().filter(|c| !crate::text::is_unshowable(*c)).collect(), 200);
    let words = match known {
        Some(known) if info.is_empty() => known.into(),
        Some(known) => format!("{known} ({info})"),
        None if info.is_empty() => "it does not say why".into(),
        None => info,
    };
    Err(Refusal::new(Code::Refused, format!("the robot refused {op} with {code}: {words}")))
}

fn no(op: &str, response: &Response) -> String {
    let code = response.code;
    match response.code_text() {
        Some(text) => format!("the robot refused {op} with {code}: {text}"),
        None => format!("the robot refused {op} with {code}, a number of its own"),
    }
}

/// The file of a map. The name becomes part of a path in the robot, so only plain ones are taken.
pub(super) fn map_file(name: &str) -> Result<String, Refusal> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let good = (1..=MAX_NAME).contains(&name.len())
        && name.chars().all(plain)
        && !name.starts_with(['.', '-']);
    if !good {
        return Err(Refusal::invalid(format!(
            "name: wanted up to {MAX_NAME} letters, digits, -, _ and ., the first of them a letter, \
             a digit or _, got {:?}",
            cut(name.into(), 60)
        )));
    }
    Ok(format!("{MAPS}{name}.pcd"))
}

/// The name of a map as the robot tells it: without folder and ending.
pub(super) fn map_name(text: &str) -> &str {
    let file = text.rsplit('/').next().unwrap_or(text);
    file.strip_suffix(".pcd").unwrap_or(file)
}
