use std::time::Duration;

use serde::{Serialize, Serializer};
use sinew_wire::gd32::{EncoderOrder, EncoderWidth, Profile};

/// What can be set for a vacuum.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Settings {
    /// What differs between robots of the same protocol.
    #[serde(serialize_with = "profile")]
    pub profile: Profile,
    /// How long a velocity counts without a new one.
    #[serde(rename = "deadman_ms", serialize_with = "milliseconds")]
    pub deadman: Duration,
    /// Fastest allowed, m/s; also for each wheel.
    pub max_linear: f32,
    /// Fastest allowed turn, rad/s.
    pub max_angular: f32,
    /// Metres between the wheels.
    pub wheel_base: f32,
    /// Encoder ticks per metre of each wheel.
    pub ticks_per_metre: f32,
    /// How often a status packet is expected.
    #[serde(rename = "status_period_ms", serialize_with = "milliseconds")]
    pub status_period: Duration,
    /// How long after a failed boot the next one is tried.
    #[serde(rename = "boot_retry_ms", serialize_with = "milliseconds")]
    pub boot_retry: Duration,
    /// How long a return to the dock may take.
    #[serde(rename = "dock_timeout_ms", serialize_with = "milliseconds")]
    pub dock_timeout: Duration,
    /// Bits per second of the line. The port's address says it, so it is not said again.
    #[serde(skip)]
    pub baud: u32,
}

impl Settings {
    /// How long the status stream may pause before the link is lost.
    pub fn link_timeout(&self) -> Duration {
        self.status_period.saturating_mul(5).max(Duration::from_millis(200))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            profile: Profile::DOCUMENT,
            deadman: Duration::from_millis(300),
            max_linear: 0.3,
            max_angular: 1.0,
            wheel_base: 0.233,
            ticks_per_metre: 4464.0,
            // 115200 baud carry at most 112 status packets a second.
            status_period: Duration::from_secs(1) / 110,
            boot_retry: Duration::from_secs(3),
            dock_timeout: Duration::from_secs(120),
            baud: 115_200,
        }
    }
}

fn milliseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64() * 1000.0)
}

fn profile<S: Serializer>(profile: &Profile, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Fields {
        encoder_order: &'static str,
        encoder_bits: u8,
        velocity_scale: f32,
        vacuum_scale: f32,
    }
    let fields = Fields {
        encoder_order: match profile.encoder_order {
            EncoderOrder::RightFirst => "right_first",
            EncoderOrder::LeftFirst => "left_first",
        },
        encoder_bits: match profile.encoder_width {
            EncoderWidth::Bits16 => 16,
            EncoderWidth::Bits64 => 64,
        },
        velocity_scale: profile.velocity_scale,
        vacuum_scale: profile.vacuum_scale,
    };
    fields.serialize(serializer)
}
