//! Frames of the host as a tester looks at them: by their bytes, not by the session's types.

use std::fmt;

use sinew_wire::gd32::{Body, Frame, FrameBuf, Message, Sender};

/// Metres between the wheels, for the turn that wheel speeds imply.
const WHEEL_BASE: f64 = 0.233;

/// A frame of the host.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Wire {
    pub(crate) command: u8,
    pub(crate) payload: Vec<u8>,
}

impl Wire {
    pub(crate) fn new(command: u8, payload: &[u8]) -> Self {
        Wire { command, payload: payload.to_vec() }
    }

    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let frame = Frame::new_checked(bytes).unwrap();
        Wire::new(frame.command(), frame.payload())
    }

    /// 0x06, 0x66 or 0x67: what keeps the controller's watchdog quiet.
    pub(crate) fn is_beat(&self) -> bool {
        matches!(self.command, 0x06 | 0x66 | 0x67)
    }

    pub(crate) fn is_velocity(&self) -> bool {
        matches!(self.command, 0x66 | 0x67)
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.payload.iter().all(|&byte| byte == 0)
    }

    /// A velocity that is not zero.
    pub(crate) fn moves(&self) -> bool {
        self.is_velocity() && !self.is_zero()
    }

    /// Switches something on that a stop switches off.
    pub(crate) fn switches_on(&self) -> bool {
        let output = matches!(self.command, 0x65 | 0x68 | 0x69 | 0x6A | 0x71 | 0x97);
        (output || self.command == 0xA2) && !self.is_zero()
    }

    /// Asks something of a motor: what the controller ignores after a mode switch.
    pub(crate) fn actuates(&self) -> bool {
        self.moves()
            || (matches!(self.command, 0x68 | 0x69 | 0x6A | 0x71 | 0x97) && !self.is_zero())
    }

    /// Forward speed and turn rate in m/s and rad/s, and the speed of each wheel when they were
    /// given one by one. `scale` is the profile's, wire units per m/s and rad/s of 0x66.
    pub(crate) fn speeds(&self, scale: f64) -> Option<(f64, f64, Option<[f64; 2]>)> {
        match (self.command, self.payload.as_slice()) {
            (0x66, &[a, b, c, d, e, f, g, h]) => {
                let linear = f64::from(i32::from_le_bytes([a, b, c, d])) / scale;
                let angular = f64::from(i32::from_le_bytes([e, f, g, h])) / scale;
                Some((linear, angular, None))
            }
            (0x67, &[a, b, c, d]) => {
                let left = f64::from(i16::from_le_bytes([a, b])) / 1000.0;
                let right = f64::from(i16::from_le_bytes([c, d])) / 1000.0;
                let turn = (right - left) / WHEEL_BASE;
                Some((f64::midpoint(left, right), turn, Some([left, right])))
            }
            _ => None,
        }
    }

    pub(crate) fn is_forward(&self) -> bool {
        self.speeds(1.0).is_some_and(|(linear, ..)| linear > 0.0)
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02X} {:02X?}", self.command, self.payload)
    }
}

/// The frame with this content.
pub(crate) fn framed(body: Body<'_>) -> Wire {
    Wire::parse(Message::from(body).frame().unwrap().as_bytes())
}

/// What a frame says, for a trace.
pub(crate) fn described(frame: &FrameBuf) -> String {
    let parsed = Frame::new_checked(frame.as_bytes()).unwrap();
    match Message::parse(&parsed, Some(Sender::Host)) {
        Ok(message) => format!("{:?}", message.body),
        Err(_) => format!("{frame:?}"),
    }
}
