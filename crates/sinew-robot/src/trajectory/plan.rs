use std::collections::BTreeSet;

use super::{
    Curves, Document, Error, Frame, Interpolation, JOINTS, JointMap, Keyframe, MAX_DURATION_MS,
    Pose, Recording, reduce,
};

/// A piece that is further off than this is divided, if it can be, rad.
const TOLERANCE: f32 = 0.03;
/// Shorter pieces are not made: the robot stands still for a moment between two of them.
const LEAST_MS: u32 = 500;
/// Longer ones neither: finding their keyframes takes more time than it is worth.
const LONGEST_MS: u32 = 16_000;
/// Nearer than this to where a motion begins, no easing is needed, rad.
const NEAR: f32 = 0.01;
/// Least time to get from the present pose to where a motion begins.
const EASE_MS: f32 = 1000.0;
/// Fastest that a joint turns on that way, rad/s.
const EASE_VELOCITY: f32 = 1.0;
/// The steepest part of a smooth step is this much faster than its mean.
const STEEPEST: f32 = 1.5;
/// The part of the allowed velocity that is for making up what the piece before left undone.
const CATCHING_UP: f32 = 0.25;

/// How a motion is to be played.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlanOptions {
    /// How values between keyframes are found, for motions that are given by keyframes.
    pub interpolation: Interpolation,
    /// 1 is as recorded; 0.05 to 4.
    pub speed: f32,
    /// Fastest that a joint may turn, rad/s; where the motion is faster it takes longer, for all
    /// joints alike. The robot's own guard is at 10.
    pub max_velocity: f32,
    /// Most keyframes in a piece: what the robot takes at once.
    pub keyframes: usize,
}

/// A part of a motion that has few enough keyframes to be sent at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// How long it takes.
    pub duration_ms: u32,
    /// As few as the robot takes at once; times are from the beginning of the piece. A joint without any stays where
    /// the piece before left it; one with some begins there.
    pub keyframes: Vec<Keyframe>,
    /// How values between them are found.
    pub interpolation: Interpolation,
    /// Largest distance of any joint from where the motion has it, rad.
    pub error: f32,
}

/// A motion made ready for a robot that takes so many keyframes at a time: within the joint limits,
/// no faster than allowed, and without a jump anywhere (of over 0.01 rad where it begins).
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Where the motion begins; none for joints it leaves alone.
    pub start: [Option<f32>; JOINTS],
    /// To be played one after the other.
    pub pieces: Vec<Piece>,
    /// Largest error of any piece, rad.
    pub error: f32,
    /// How long all of them take.
    pub duration_ms: u32,
    /// Joints that were to go beyond their limits, and will only go up to them.
    pub limited: Vec<&'static str>,
    /// Whether some of it takes longer than it should, since a joint would be too fast.
    pub slowed: bool,
    /// Most keyframes in a piece.
    pub keyframes: usize,
}

impl Default for PlanOptions {
    fn default() -> Self {
        PlanOptions {
            interpolation: Interpolation::Linear,
            speed: 1.0,
            max_velocity: 2.0,
            keyframes: 20,
        }
    }
}

impl Plan {
    /// Plans a motion. What was recorded counts, its first `frames` or, for 0, all of them;
    /// keyframes count where nothing was.
    pub fn new(
        document: &Document,
        frames: usize,
        options: PlanOptions,
        joints: &JointMap,
    ) -> Result<Self, Error> {
        if !(0.05..=4.0).contains(&options.speed) {
            return Err(Error::new("speed", "0.05 to 4", options.speed));
        }
        if !(options.max_velocity > 0.0 && options.max_velocity.is_finite()) {
            return Err(Error::new("max_velocity", "more than 0 rad/s", options.max_velocity));
        }
        if options.keyframes < 2 {
            return Err(Error::new("keyframes", "at least 2 in a piece", options.keyframes));
        }
        let (recording, moves) = source(document, frames, options.interpolation)?;
        let (recording, limited) = limited(&recording, joints)?;
        let fastest = options.max_velocity * (1.0 - CATCHING_UP);
        if f64::from(recording.duration_ms()) / f64::from(options.speed) > MAX_DURATION_MS.into() {
            let wanted = format!("one at which it takes at most {MAX_DURATION_MS} ms");
            return Err(Error::new("speed", wanted, options.speed));
        }
        let wanted = recording.faster(options.speed)?.without_gaps(LONGEST_MS / 2)?;
        let recording = wanted.no_faster_than(fastest)?;
        let slowed = recording.duration_ms() > wanted.duration_ms();
        let Some(first) = recording.frames().first() else {
            return Err(Error::new("motion", "frames or keyframes", "none"));
        };
        let mut start = first.positions.map(Some);
        for (value, moves) in start.iter_mut().zip(moves) {
            *value = value.filter(|_| moves);
        }
        let pieces = pieces(&recording, options, joints)?;
        let error = pieces.iter().map(|piece| piece.error).fold(0.0, f32::max);
        let duration_ms = pieces.iter().map(|piece| piece.duration_ms).sum();
        Ok(Plan {
            start,
            pieces,
            error,
            duration_ms,
            limited,
            slowed,
            keyframes: options.keyframes,
        })
    }

    /// The way from a pose to where the motion begins: gently, and as many joints at a
    /// time as there are two keyframes for. Nothing when they are there already.
    pub fn approach(&self, present: &Pose) -> Vec<Piece> {
        let ways = present.iter().zip(self.start).enumerate();
        let far: Vec<_> = ways
            .filter_map(|(slot, (&from, to))| to.map(|to| (slot as u16, from, to)))
            .filter(|(_, from, to)| (to - from).abs() > NEAR)
            .collect();
        far.chunks((self.keyframes / 2).max(1)).map(ease).collect()
    }
}

fn ease(ways: &[(u16, f32, f32)]) -> Piece {
    let farthest = ways.iter().map(|(_, from, to)| (to - from).abs()).fold(0.0, f32::max);
    let needed = 1000.0 * STEEPEST * farthest / EASE_VELOCITY;
    let time_ms = needed.max(EASE_MS).ceil() as u16;
    let keyframes = ways.iter().flat_map(|&(joint, from, to)| {
        let at = |time_ms, value| Keyframe { joint, time_ms, value };
        [at(0, from), at(time_ms, to)]
    });
    Piece {
        duration_ms: time_ms.into(),
        keyframes: keyframes.collect(),
        interpolation: Interpolation::Smooth,
        error: 0.0,
    }
}

/// The frames of a motion, and which joints are its business.
fn source(
    document: &Document,
    frames: usize,
    way: Interpolation,
) -> Result<(Recording, [bool; JOINTS]), Error> {
    let recording = &document.recording;
    if !recording.is_empty() {
        let last = if frames == 0 { recording.len() } else { frames };
        return Ok((recording.part(0, last - 1), [true; JOINTS]));
    }
    if frames > 0 {
        return Err(Error::new("frames", "0, since this motion has keyframes only", frames));
    }
    let mut moves = [false; JOINTS];
    for keyframe in &document.keyframes {
        if let Some(moves) = moves.get_mut(usize::from(keyframe.joint)) {
            *moves = true;
        }
    }
    Ok((document.frames(way), moves))
}

/// The motion within the limits, and the joints that were beyond theirs.
fn limited(
    recording: &Recording,
    joints: &JointMap,
) -> Result<(Recording, Vec<&'static str>), Error> {
    let mut limited = Recording::new();
    let mut beyond = BTreeSet::new();
    for frame in recording.frames() {
        beyond.extend(joints.beyond(&frame.positions).map(|joint| joint.name));
        limited.push(frame.time_ms, joints.clamp(frame.positions))?;
    }
    Ok((limited, beyond.into_iter().collect()))
}

fn pieces(
    recording: &Recording,
    options: PlanOptions,
    joints: &JointMap,
) -> Result<Vec<Piece>, Error> {
    let catching_up = options.max_velocity * CATCHING_UP;
    let Some(first) = recording.frames().first() else { return Ok(Vec::new()) };
    let mut held = first.positions;
    let mut pieces = Vec::new();
    let mut waiting = vec![(0, recording.len() - 1)];
    while let Some((from, to)) = waiting.pop() {
        let mut divide = |at: usize| {
            waiting.push((at, to));
            waiting.push((from, at));
        };
        let part = recording.part(from, to);
        let halves = split(recording.frames(), from, to);
        if let Some(at) = halves.filter(|_| part.duration_ms() > LONGEST_MS) {
            divide(at);
            continue;
        }
        // It begins where the robot really is, which is where the piece before left it.
        let joined = part.beginning_at(held, catching_up, joints);
        let reduced = reduce(&joined, options.keyframes)?;
        if let Some(at) = halves.filter(|_| reduced.error > TOLERANCE) {
            divide(at);
            continue;
        }
        let error = distance(&part, &Curves::new(held, &reduced.keyframes));
        for keyframe in &reduced.keyframes {
            if let Some(value) = held.get_mut(usize::from(keyframe.joint)) {
                *value = keyframe.value;
            }
        }
        pieces.push(Piece {
            duration_ms: part.duration_ms(),
            keyframes: reduced.keyframes,
            interpolation: Interpolation::Linear,
            error,
        });
    }
    Ok(pieces)
}

/// How far curves are from what they stand for, rad.
fn distance(part: &Recording, curves: &Curves) -> f32 {
    let first = part.frames().first().map_or(0, |frame| frame.time_ms);
    let far = part.frames().iter().flat_map(|frame| {
        let given = curves.pose((frame.time_ms - first).into(), Interpolation::Linear);
        frame.positions.into_iter().zip(given).map(|(wanted, given)| (wanted - given).abs())
    });
    far.fold(0.0, f32::max)
}

/// Where to divide: neither end too short, at the stillest moment of the middle half.
fn split(frames: &[Frame], from: usize, to: usize) -> Option<usize> {
    let time = |index: usize| frames.get(index).map(|frame| frame.time_ms);
    let (begin, end) = (time(from)?, time(to)?);
    let margin = ((end - begin) / 4).max(LEAST_MS);
    let allowed =
        |at: &usize| time(*at).is_some_and(|time| time - begin >= margin && end - time >= margin);
    let speed = |at: usize| {
        let (before, after) = (frames.get(at - 1)?, frames.get(at + 1)?);
        let way = before.positions.iter().zip(after.positions).map(|(a, b)| (a - b).abs());
        Some(way.sum::<f32>() / (after.time_ms - before.time_ms) as f32)
    };
    let moments = (from + 1..to).filter(allowed).filter_map(|at| Some((at, speed(at)?)));
    moments.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
}
