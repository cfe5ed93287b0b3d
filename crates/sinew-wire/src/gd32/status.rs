use core::fmt;

use crate::{Error, Result, Wanted};

/// Bytes of a status packet's payload.
pub const STATUS_LEN: usize = 96;

/// The controller's sensor readings (0x15), about 110 times a second.
///
/// ```text
/// 00 flags, eight bytes   08 battery, V x 10
/// 10 encoder u64   18 encoder u64
/// 28 gyro yaw    2A accel x   2C gyro pitch   2E accel y   30 gyro roll   32 accel z
/// 34 gravity x   36 gravity y   38 gravity z
/// 3A start button u32   3E dock button u32   46 water tank, %
/// ```
///
/// Offsets are hexadecimal, numbers little endian, the rest of the 96 bytes
/// unknown. Flags, encoders and buttons come from document 003; the others
/// from the later state of its project.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Status {
    flags: [u8; 8],
    /// Battery voltage in tenths of a volt.
    pub battery_decivolts: u8,
    /// Water tank level in percent.
    pub water_tank: u8,
    /// The encoders in the order they are sent; a [`Profile`](super::Profile) says which is which.
    pub encoders: [u64; 2],
    /// Gyroscope and accelerometer in turns, then gravity, as they are sent.
    motion: [i16; 9],
    /// Start button; not zero while pressed.
    pub start_button: u32,
    /// Dock button; not zero while pressed.
    pub dock_button: u32,
}

const FLAGS: usize = 0x00;
const BATTERY: usize = 0x08;
const ENCODERS: [usize; 2] = [0x10, 0x18];
const MOTION: usize = 0x28;
const START_BUTTON: usize = 0x3A;
const DOCK_BUTTON: usize = 0x3E;
const WATER_TANK: usize = 0x46;

const GYRO: [usize; 3] = [0, 2, 4];
const ACCEL: [usize; 3] = [1, 3, 5];
const GRAVITY: [usize; 3] = [6, 7, 8];

macro_rules! flags {
    ($($(#[$doc:meta])+ $flag:ident $name:literal byte $byte:literal bit $bit:literal;)+) => {
        /// A bit of a status packet that is known.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Flag {
            $($(#[$doc])+ $flag,)+
        }

        impl Flag {
            /// All of them.
            pub const ALL: &[Flag] = &[$(Flag::$flag),+];

            /// Its name in the network interface.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Flag::$flag => $name,)+
                }
            }

            /// The byte of the payload it stands in.
            pub const fn offset(self) -> usize {
                match self {
                    $(Flag::$flag => $byte,)+
                }
            }

            /// Its bit in that byte.
            pub const fn mask(self) -> u8 {
                match self {
                    $(Flag::$flag => 1 << $bit,)+
                }
            }
        }
    };
}

flags! {
    /// Right bumper pressed.
    BumperRight "bumper_right" byte 1 bit 1;
    /// Left bumper pressed.
    BumperLeft "bumper_left" byte 1 bit 2;
    /// Cliff under the left side sensor.
    CliffLeftSide "cliff_left_side" byte 3 bit 0;
    /// Cliff under the left front sensor.
    CliffLeftFront "cliff_left_front" byte 3 bit 1;
    /// Cliff under the right front sensor.
    CliffRightFront "cliff_right_front" byte 3 bit 2;
    /// Cliff under the right side sensor.
    CliffRightSide "cliff_right_side" byte 3 bit 3;
    /// Dustbox in place.
    DustboxAttached "dustbox_attached" byte 4 bit 2;
    /// On the dock; document 003 calls this bit "battery".
    OnDock "is_dock_connected" byte 7 bit 0;
    /// Charging.
    Charging "is_charging" byte 7 bit 1;
}

impl Status {
    /// Reads the first 96 bytes of a payload.
    #[inline]
    pub fn parse(payload: &[u8]) -> Result<Self> {
        let Some(raw) = payload.first_chunk::<STATUS_LEN>() else {
            let wanted = Wanted::AtLeast(STATUS_LEN as u64);
            return Err(Error::count("payload length", wanted, payload.len()));
        };
        Ok(Status {
            flags: at(raw, FLAGS),
            battery_decivolts: raw[BATTERY],
            water_tank: raw[WATER_TANK],
            encoders: ENCODERS.map(|place| u64::from_le_bytes(at(raw, place))),
            motion: core::array::from_fn(|i| i16::from_le_bytes(at(raw, MOTION + 2 * i))),
            start_button: u32::from_le_bytes(at(raw, START_BUTTON)),
            dock_button: u32::from_le_bytes(at(raw, DOCK_BUTTON)),
        })
    }

    /// Writes the fields over `raw` and leaves the bytes between them as they are.
    pub fn emit(&self, raw: &mut [u8; STATUS_LEN]) {
        raw[BATTERY] = self.battery_decivolts;
        raw[WATER_TANK] = self.water_tank;
        let mut put = |place: usize, bytes: &[u8]| {
            for (to, from) in raw.iter_mut().skip(place).zip(bytes) {
                *to = *from;
            }
        };
        put(FLAGS, &self.flags);
        for (place, count) in ENCODERS.iter().zip(self.encoders) {
            put(*place, &count.to_le_bytes());
        }
        for (place, value) in (MOTION..).step_by(2).zip(self.motion) {
            put(place, &value.to_le_bytes());
        }
        put(START_BUTTON, &self.start_button.to_le_bytes());
        put(DOCK_BUTTON, &self.dock_button.to_le_bytes());
    }

    /// Whether a flag is set.
    pub const fn is(&self, flag: Flag) -> bool {
        self.flags[flag.offset()] & flag.mask() != 0
    }

    /// Sets or clears a flag.
    pub const fn set(&mut self, flag: Flag, on: bool) {
        let byte = &mut self.flags[flag.offset()];
        *byte = if on { *byte | flag.mask() } else { *byte & !flag.mask() };
    }

    /// Gyroscope, raw: yaw, pitch, roll in the robot's own axes.
    pub fn gyro(&self) -> [i16; 3] {
        GYRO.map(|place| self.motion[place])
    }

    /// Accelerometer, raw: x, y, z.
    pub fn accel(&self) -> [i16; 3] {
        ACCEL.map(|place| self.motion[place])
    }

    /// Low-pass gravity vector, raw: x, y, z.
    pub fn gravity(&self) -> [i16; 3] {
        GRAVITY.map(|place| self.motion[place])
    }

    /// Sets what [`gyro`](Self::gyro) gives.
    pub fn set_gyro(&mut self, values: [i16; 3]) {
        self.set_motion(GYRO, values);
    }

    /// Sets what [`accel`](Self::accel) gives.
    pub fn set_accel(&mut self, values: [i16; 3]) {
        self.set_motion(ACCEL, values);
    }

    /// Sets what [`gravity`](Self::gravity) gives.
    pub fn set_gravity(&mut self, values: [i16; 3]) {
        self.set_motion(GRAVITY, values);
    }

    fn set_motion(&mut self, places: [usize; 3], values: [i16; 3]) {
        for (place, value) in places.into_iter().zip(values) {
            self.motion[place] = value;
        }
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
        let [yaw, pitch, roll] = self.gyro();
        [roll, pitch, yaw.saturating_neg()]
    }
}

/// N bytes of a status packet, from a constant place.
#[inline(always)]
fn at<const N: usize>(raw: &[u8; STATUS_LEN], place: usize) -> [u8; N] {
    core::array::from_fn(|i| raw[place + i])
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
