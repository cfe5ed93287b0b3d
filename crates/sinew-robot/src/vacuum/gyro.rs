use std::f64::consts::PI;

use sinew_wire::gd32::Status;

/// Raw units per rad/s. The project that document 003 comes from measured 0.01025 degrees a second
/// for each; no other source says. Where it is not so, the encoders disagree and are believed.
const UNITS: f64 = 180.0 / (0.01025 * PI);
/// What a gyroscope at rest may read, in raw units: two degrees a second.
const MOST_BIAS: f64 = 200.0;
/// Readings at rest before it is believed, and how many the mean goes back.
const FEWEST: u32 = 50;
const MOST: u32 = 500;
/// A gap longer than this, in seconds, is bridged by the encoders.
const LONGEST_GAP: f64 = 0.1;
/// Packets over which it is compared with the encoders, since each counts whole ticks; the turn in
/// radians that tells something; and the share of it by which they may be apart.
const COMPARED: u32 = 64;
const TELLING: f64 = 0.15;
const APART: f64 = 0.25;

/// How the gyroscope reads, learned while it runs.
///
/// Encoders that differ by one percent turn a straight metre into a curve of two and a half
/// degrees; the gyroscope knows better.
#[derive(Debug, Default)]
pub(super) struct Gyro {
    /// What it reads at rest, over how many readings.
    bias: f64,
    rested: u32,
    /// It reads noise. One that is not there always reads the same.
    alive: bool,
    last: Option<i16>,
    /// Turns by the encoders and by this, over how many packets.
    turned: (f64, f64),
    packets: u32,
    /// The last telling turns were not those of the encoders.
    disagrees: bool,
}

impl Gyro {
    /// The controller zeroed it.
    pub(super) fn zeroed(&mut self) {
        *self = Gyro { alive: self.alive, disagrees: self.disagrees, ..Gyro::default() };
    }

    /// The robot stands.
    pub(super) fn rest(&mut self, status: &Status) {
        let raw = self.read(status).0;
        if raw.abs() <= MOST_BIAS {
            self.rested = (self.rested + 1).min(MOST);
            self.bias += (raw - self.bias) / f64::from(self.rested);
        }
    }

    /// By how much the robot turned in the `seconds` since the packet before, when it turned by
    /// `encoders` according to those. What was believed wrongly until now is made good.
    pub(super) fn turn(&mut self, status: &Status, seconds: f64, encoders: f64) -> f64 {
        let (raw, before) = self.read(status);
        let known = self.alive && self.rested >= FEWEST;
        if !known || seconds > LONGEST_GAP {
            return encoders;
        }
        // In the robot's own axes yaw counts clockwise.
        let turn = (self.bias - f64::midpoint(raw, before)) / UNITS * seconds;
        let before = self.disagrees;
        let apart = self.compare(encoders, turn);
        match (before, self.disagrees) {
            (true, _) => encoders,
            (false, true) => turn + apart,
            (false, false) => turn,
        }
    }

    /// This reading and the one before.
    fn read(&mut self, status: &Status) -> (f64, f64) {
        let [raw, ..] = status.gyro();
        let before = self.last.replace(raw).unwrap_or(raw);
        self.alive |= raw != before;
        (raw.into(), before.into())
    }

    /// Decides whom to believe, and says by how much the encoders turned further since it last did.
    fn compare(&mut self, encoders: f64, turn: f64) -> f64 {
        self.turned = (self.turned.0 + encoders, self.turned.1 + turn);
        self.packets += 1;
        let (encoders, turn) = self.turned;
        let apart = encoders - turn;
        if self.packets == COMPARED {
            let most = encoders.abs().max(turn.abs());
            if most > TELLING {
                self.disagrees = apart.abs() > APART * most;
            }
            (self.turned, self.packets) = ((0.0, 0.0), 0);
        }
        apart
    }
}
