use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Subcommand, ValueEnum};
use sinew_wire::teach::{
    Action, Actions, Command, Datagram, Interpolation, JOINTS, Keyframe, Keyframes, Layout,
    Message, Name, Play, Save, Sequence, State, Status,
};

use super::{Bytes, bytes};
use crate::cmd::number;

/// A teaching datagram: any command by number, or a typed one.
#[derive(clap::Args)]
#[command(
    subcommand_negates_reqs = true,
    subcommand_help_heading = "Typed commands",
    subcommand_value_name = "TYPED"
)]
pub(crate) struct Args {
    /// Which of the two layouts.
    #[arg(long, global = true, default_value = "documented")]
    layout: LayoutArg,
    /// The datagram's number.
    #[arg(long, global = true, value_parser = number::<u16>, default_value = "0")]
    sequence: u16,
    /// The command byte.
    #[arg(long, value_parser = number::<u8>, required = true)]
    command: Option<u8>,
    /// The payload as hex.
    #[arg(long, value_parser = bytes, default_value = "")]
    payload: Bytes,
    #[command(subcommand)]
    typed: Option<Typed>,
}

#[derive(Clone, Copy, ValueEnum)]
enum LayoutArg {
    Documented,
    Compact,
}

#[derive(Clone, Copy, ValueEnum)]
enum InterpolationArg {
    Linear,
    Cubic,
    Smooth,
}

#[derive(Subcommand)]
enum Typed {
    /// 0x09.
    ControlMode,
    /// 0x0A.
    ParameterSync,
    /// 0x0B.
    Subscribe,
    /// 0x0C.
    Ready,
    /// 0x0D with the state of the robot.
    Enter {
        #[command(flatten)]
        joints: JointArgs,
        /// Bit 0: damping.
        #[arg(long, value_parser = number::<u32>, default_value = "1")]
        mode_flags: u32,
        /// Acceleration x, y, z, then angular velocity x, y, z.
        #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
        imu: Vec<f32>,
        /// Forces on the four feet.
        #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
        feet: Vec<f32>,
        #[arg(long, default_value_t = 0)]
        time_ms: u32,
        /// Documented layout only.
        #[arg(long, value_parser = number::<u32>, default_value = "0")]
        flags: u32,
    },
    /// 0x0D, to stay in teaching mode.
    Maintain {
        #[arg(long, value_parser = number::<u32>, default_value = "1")]
        mode_flags: u32,
    },
    /// 0x0E.
    Exit,
    /// 0x0F.
    #[command(group = clap::ArgGroup::new("flag").required(true))]
    Record {
        #[arg(long, group = "flag")]
        start: bool,
        #[arg(long, group = "flag")]
        stop: bool,
    },
    /// 0x1A.
    List,
    /// 0x2B.
    Save {
        /// 1 to 31 bytes.
        #[arg(long)]
        name: String,
        /// Unix time in seconds; now, if not given.
        #[arg(long)]
        timestamp: Option<u32>,
        #[arg(long, default_value_t = 0)]
        duration_ms: u32,
        /// How many frames were recorded.
        #[arg(long, default_value_t = 0)]
        frames: u32,
        /// 1 save, 2 loop, 4 speed.
        #[arg(long, value_parser = number::<u32>, default_value = "1")]
        flags: u32,
        /// JOINT:MILLISECONDS:RADIANS, up to twenty times.
        #[arg(long = "keyframe", value_parser = keyframe, allow_hyphen_values = true)]
        keyframes: Vec<Keyframe>,
    },
    /// 0x41.
    Play {
        /// 1 to 15.
        #[arg(long)]
        id: u32,
        /// How many frames to play; 0 is all.
        #[arg(long, default_value_t = 0)]
        frames: u32,
        /// How long to take; 0 is as recorded.
        #[arg(long, default_value_t = 0)]
        duration_ms: u32,
        #[arg(long, default_value = "linear")]
        interpolation: InterpolationArg,
        /// JOINT:MILLISECONDS:RADIANS, up to twenty times.
        #[arg(long = "keyframe", value_parser = keyframe, allow_hyphen_values = true)]
        keyframes: Vec<Keyframe>,
    },
    /// 0x0B as the robot pushes it.
    Status {
        #[command(flatten)]
        joints: JointArgs,
        #[arg(long, default_value_t = 0)]
        time_ms: u32,
        #[arg(long, value_parser = number::<u32>, default_value = "0")]
        mode: u32,
        #[arg(long, value_parser = number::<u32>, default_value = "0")]
        flags: u32,
    },
    /// 0x1A as the robot answers it.
    Actions {
        /// NAME or NAME=METADATA, for each action.
        #[arg(long = "action", value_parser = action)]
        actions: Vec<Action>,
    },
    /// Any other answer of the robot.
    Answer {
        /// The command that is answered.
        #[arg(long = "to", value_parser = number::<u8>)]
        to: u8,
        /// 0 is success.
        #[arg(long, value_parser = number::<u32>, default_value = "0")]
        status: u32,
    },
}

#[derive(clap::Args)]
struct JointArgs {
    /// Twelve positions in radians; 0, if not given.
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    positions: Vec<f32>,
    /// Twelve velocities in rad/s; 0, if not given.
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    velocities: Vec<f32>,
}

pub(super) fn encode(args: Args) -> anyhow::Result<Vec<u8>> {
    let layout = match args.layout {
        LayoutArg::Documented => Layout::Documented,
        LayoutArg::Compact => Layout::Compact,
    };
    let sequence = Sequence(args.sequence);
    match args.typed {
        Some(typed) => typed.encode(layout, sequence),
        None => {
            let payload = &args.payload.0;
            let mut out = vec![0; layout.overhead() + payload.len()];
            let command = args.command.unwrap_or_default();
            Datagram::emit(layout, sequence, command, payload, &mut out)?;
            Ok(out)
        }
    }
}

impl Typed {
    fn encode(self, layout: Layout, sequence: Sequence) -> anyhow::Result<Vec<u8>> {
        let actions;
        let rest = &[];
        let message = match self {
            Typed::ControlMode => Message::ControlMode { rest },
            Typed::ParameterSync => Message::ParameterSync { rest },
            Typed::Subscribe => Message::Subscribe { rest },
            Typed::Ready => Message::Ready { ready: 1, rest },
            Typed::Enter { joints, mode_flags, imu, feet, time_ms, flags } => {
                Message::Enter(State {
                    mode_flags,
                    positions: exactly("positions", &joints.positions)?,
                    velocities: exactly("velocities", &joints.velocities)?,
                    imu: exactly("imu", &imu)?,
                    feet: exactly("feet", &feet)?,
                    timestamp_ms: time_ms,
                    flags,
                    rest,
                })
            }
            Typed::Maintain { mode_flags } => Message::Maintain { mode_flags, rest },
            Typed::Exit => Message::Exit { mode_flags: 0, rest },
            Typed::Record { start, .. } => Message::Record { flag: start.into(), rest },
            Typed::List => Message::ListRequest { rest },
            Typed::Save { name, timestamp, duration_ms, frames, flags, keyframes } => {
                Message::Save(Save {
                    name: Name::new(&name)?,
                    timestamp: timestamp.unwrap_or_else(now),
                    duration_ms,
                    frame_count: frames,
                    flags,
                    keyframes: Keyframes::new(&keyframes)?,
                    rest,
                })
            }
            Typed::Play { id, frames, duration_ms, interpolation, keyframes } => {
                Message::Play(Play {
                    action_id: id,
                    frame_count: frames,
                    duration_ms,
                    interpolation: match interpolation {
                        InterpolationArg::Linear => Interpolation::Linear,
                        InterpolationArg::Cubic => Interpolation::Cubic,
                        InterpolationArg::Smooth => Interpolation::Smooth,
                    },
                    keyframes: Keyframes::new(&keyframes)?,
                    rest,
                })
            }
            Typed::Status { joints, time_ms, mode, flags } => Message::Status(Status {
                positions: exactly::<JOINTS>("positions", &joints.positions)?,
                velocities: exactly::<JOINTS>("velocities", &joints.velocities)?,
                time_ms,
                mode,
                flags,
                rest,
            }),
            Typed::Actions { actions: given } => {
                actions = given;
                Message::List(Actions::new(&actions)?)
            }
            Typed::Answer { to, status } => {
                Message::Answer { command: Command::from(to), status, rest }
            }
        };
        let mut problem = None;
        message.problems(|error| problem = problem.or(Some(error)));
        if let Some(error) = problem {
            anyhow::bail!("{error} (--command and --payload encode anything)");
        }
        Ok(message.to_vec(layout, sequence)?)
    }
}

/// All of the values, or zeros when none were given.
fn exactly<const N: usize>(field: &str, values: &[f32]) -> anyhow::Result<[f32; N]> {
    if values.is_empty() {
        return Ok([0.0; N]);
    }
    let count = values.len();
    values.try_into().map_err(|_| anyhow::anyhow!("{field}: wanted {N} numbers, got {count}"))
}

fn keyframe(text: &str) -> Result<Keyframe, String> {
    let parts: Vec<_> = text.split(':').collect();
    let [joint, time_ms, value] = parts.as_slice() else {
        return Err(format!("{text:?} is not JOINT:MILLISECONDS:RADIANS"));
    };
    Ok(Keyframe {
        joint: number(joint)?,
        time_ms: number(time_ms)?,
        value: value.parse().map_err(|_| format!("{value:?} is no number"))?,
    })
}

fn action(text: &str) -> Result<Action, String> {
    let (name, metadata) = text.rsplit_once('=').unwrap_or((text, "0"));
    let name = Name::new(name).map_err(|error| error.to_string())?;
    Ok(Action { name, metadata: number(metadata)? })
}

fn now() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u32::try_from(since.as_secs()).unwrap_or(u32::MAX)
}
