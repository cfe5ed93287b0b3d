use sinew_wire::teach::{KEYFRAME_SLOTS, Keyframe};

use super::{Error, MAX_SAVED_MS, Pose, Recording, reduce};

/// A part of a motion that has few enough keyframes to be sent at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// When it begins, in milliseconds from the beginning of the motion.
    pub start_ms: u32,
    /// How long it takes.
    pub duration_ms: u32,
    /// Where joints without keyframes are meanwhile.
    pub rest: Pose,
    /// At most twenty; times are from the beginning of the piece.
    pub keyframes: Vec<Keyframe>,
    /// Largest error, rad; see [`Reduced`](super::Reduced).
    pub error: f32,
}

/// Splits a motion into successive pieces of at most twenty keyframes and 65,535 ms, halving until
/// each is within `tolerance`, or has two frames and cannot be halved.
pub fn pieces(recording: &Recording, tolerance: f32) -> Result<Vec<Piece>, Error> {
    let Some(first) = recording.frames().first() else { return Ok(Vec::new()) };
    let mut pieces = Vec::new();
    let mut waiting = vec![(0, recording.len() - 1)];
    while let Some((from, to)) = waiting.pop() {
        let part = recording.part(from, to);
        let divisible = to - from > 1;
        let halves = |waiting: &mut Vec<(usize, usize)>| {
            let middle = from + (to - from) / 2;
            waiting.push((middle, to));
            waiting.push((from, middle));
        };
        if part.duration_ms() > MAX_SAVED_MS && divisible {
            halves(&mut waiting);
            continue;
        }
        let reduced = reduce(&part, KEYFRAME_SLOTS)?;
        if reduced.error > tolerance && divisible {
            halves(&mut waiting);
            continue;
        }
        let Some(start) = part.frames().first() else { continue };
        pieces.push(Piece {
            start_ms: start.time_ms - first.time_ms,
            duration_ms: part.duration_ms(),
            rest: start.positions,
            keyframes: reduced.keyframes,
            error: reduced.error,
        });
    }
    Ok(pieces)
}
