use crate::{Error, Result, Wanted};

/// Bytes of a status packet's payload.
pub const STATUS_LEN: usize = 96;

/// The controller's sensor readings (0x15), about 110 times a second.
///
/// ```text
/// 01 bumpers   03 cliffs   04 dustbox   07 power   08 battery, V x 10
/// 10 encoder u64   18 encoder u64
/// 28 gyro yaw    2A accel x   2C gyro pitch   2E accel y   30 gyro roll   32 accel z
/// 34 gravity x   36 gravity y   38 gravity z
/// 3A start button u32   3E dock button u32   46 water tank, %
/// ```
///
/// Offsets are hexadecimal, numbers little endian, the rest of the 96 bytes
/// unknown. Bumpers, cliffs, dustbox, charging, encoders and buttons come from
/// document 003; the others from the later state of its project.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Status {
    /// Right bumper pressed.
    pub bumper_right: bool,
    /// Left bumper pressed.
    pub bumper_left: bool,
    /// Cliff under the left side sensor.
    pub cliff_left_side: bool,
    /// Cliff under the left front sensor.
    pub cliff_left_front: bool,
    /// Cliff under the right front sensor.
    pub cliff_right_front: bool,
    /// Cliff under the right side sensor.
    pub cliff_right_side: bool,
    /// Dustbox in place.
    pub dustbox_attached: bool,
    /// On the dock; document 003 calls this bit "battery".
    pub on_dock: bool,
    /// Charging.
    pub charging: bool,
    /// Battery voltage in tenths of a volt.
    pub battery_decivolts: u8,
    /// The encoders in the order they are sent; a [`Profile`](super::Profile) says which is which.
    pub encoders: [u64; 2],
    /// Gyroscope, raw: yaw, pitch, roll in the robot's own axes.
    pub gyro: [i16; 3],
    /// Accelerometer, raw: x, y, z.
    pub accel: [i16; 3],
    /// Low-pass gravity vector, raw: x, y, z.
    pub gravity: [i16; 3],
    /// Start button; not zero while pressed.
    pub start_button: u32,
    /// Dock button; not zero while pressed.
    pub dock_button: u32,
    /// Water tank level in percent.
    pub water_tank: u8,
}

const BUMPER: usize = 0x01;
const CLIFF: usize = 0x03;
const DUSTBOX: usize = 0x04;
const POWER: usize = 0x07;
const BATTERY: usize = 0x08;
const ENCODERS: [usize; 2] = [0x10, 0x18];
const GYRO: [usize; 3] = [0x28, 0x2C, 0x30];
const ACCEL: [usize; 3] = [0x2A, 0x2E, 0x32];
const GRAVITY: [usize; 3] = [0x34, 0x36, 0x38];
const START_BUTTON: usize = 0x3A;
const DOCK_BUTTON: usize = 0x3E;
const WATER_TANK: usize = 0x46;

impl Status {
    /// Reads the first 96 bytes of a payload.
    #[inline]
    pub fn parse(payload: &[u8]) -> Result<Self> {
        let Some(raw) = payload.first_chunk::<STATUS_LEN>() else {
            let wanted = Wanted::AtLeast(STATUS_LEN as u64);
            return Err(Error::count("payload length", wanted, payload.len()));
        };
        let bit = |at: usize, bit: u8| raw[at] & 1 << bit != 0;
        let i16s = |at: [usize; 3]| at.map(|at| i16::from_le_bytes([raw[at], raw[at + 1]]));
        let u32_at = |at: usize| u32::from_le_bytes(core::array::from_fn(|i| raw[at + i]));
        let u64_at = |at: usize| u64::from_le_bytes(core::array::from_fn(|i| raw[at + i]));
        Ok(Status {
            bumper_right: bit(BUMPER, 1),
            bumper_left: bit(BUMPER, 2),
            cliff_left_side: bit(CLIFF, 0),
            cliff_left_front: bit(CLIFF, 1),
            cliff_right_front: bit(CLIFF, 2),
            cliff_right_side: bit(CLIFF, 3),
            dustbox_attached: bit(DUSTBOX, 2),
            on_dock: bit(POWER, 0),
            charging: bit(POWER, 1),
            battery_decivolts: raw[BATTERY],
            encoders: ENCODERS.map(u64_at),
            gyro: i16s(GYRO),
            accel: i16s(ACCEL),
            gravity: i16s(GRAVITY),
            start_button: u32_at(START_BUTTON),
            dock_button: u32_at(DOCK_BUTTON),
            water_tank: raw[WATER_TANK],
        })
    }

    /// Writes the known fields over `raw` and leaves its unknown bits and bytes as they are.
    pub fn emit(&self, raw: &mut [u8; STATUS_LEN]) {
        let flags = [
            (BUMPER, 1, self.bumper_right),
            (BUMPER, 2, self.bumper_left),
            (CLIFF, 0, self.cliff_left_side),
            (CLIFF, 1, self.cliff_left_front),
            (CLIFF, 2, self.cliff_right_front),
            (CLIFF, 3, self.cliff_right_side),
            (DUSTBOX, 2, self.dustbox_attached),
            (POWER, 0, self.on_dock),
            (POWER, 1, self.charging),
        ];
        for (at, bit, on) in flags {
            raw[at] = raw[at] & !(1 << bit) | u8::from(on) << bit;
        }
        raw[BATTERY] = self.battery_decivolts;
        raw[WATER_TANK] = self.water_tank;
        let mut put = |at: usize, bytes: &[u8]| {
            for (place, byte) in raw.iter_mut().skip(at).zip(bytes) {
                *place = *byte;
            }
        };
        for (at, count) in ENCODERS.iter().zip(self.encoders) {
            put(*at, &count.to_le_bytes());
        }
        let vectors = [(GYRO, self.gyro), (ACCEL, self.accel), (GRAVITY, self.gravity)];
        for (places, values) in vectors {
            for (at, value) in places.iter().zip(values) {
                put(*at, &value.to_le_bytes());
            }
        }
        put(START_BUTTON, &self.start_button.to_le_bytes());
        put(DOCK_BUTTON, &self.dock_button.to_le_bytes());
    }

    /// Battery voltage.
    pub fn battery_volts(&self) -> f32 {
        f32::from(self.battery_decivolts) / 10.0
    }

    /// Battery charge in percent: 13.5 V is empty, 15.5 V is full.
    pub fn battery_percent(&self) -> u8 {
        // Tenths of a volt above 13.5 V, of which 20 make 100 %.
        self.battery_decivolts.saturating_sub(135).min(20) * 5
    }

    /// Raw gyroscope in the axes of REP-103: roll, pitch, yaw.
    pub fn gyro_ros(&self) -> [i16; 3] {
        let [yaw, pitch, roll] = self.gyro;
        [roll, pitch, yaw.saturating_neg()]
    }
}
