use super::{Error, JOINTS, JointMap};

/// Positions of the twelve joints, rad.
pub type Pose = [f32; JOINTS];

/// Most frames in a recording: ten minutes at 100 a second.
pub const MAX_FRAMES: usize = 60_000;
/// Longest recording.
pub const MAX_DURATION_MS: u32 = 600_000;

/// A pose at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// Milliseconds from some beginning.
    pub time_ms: u32,
    /// Where the joints were.
    pub positions: Pose,
}

/// Frames in order of time, none of them at the same.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recording {
    frames: Vec<Frame>,
}

/// A motion read from somewhere, with what was left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The motion.
    pub recording: Recording,
    /// Joints it had that no slot takes.
    pub dropped: Vec<String>,
}

impl Recording {
    /// An empty one.
    pub fn new() -> Self {
        Recording::default()
    }

    /// Adds a frame after all others.
    pub fn push(&mut self, time_ms: u32, positions: Pose) -> Result<(), Error> {
        if let Some(value) = positions.iter().find(|value| !value.is_finite()) {
            return Err(Error::new("position", "a finite number", value));
        }
        if self.frames.len() >= MAX_FRAMES {
            return Err(Error::new("frames", format!("at most {MAX_FRAMES}"), "more"));
        }
        if let (Some(first), Some(last)) = (self.frames.first(), self.frames.last()) {
            if time_ms <= last.time_ms {
                let wanted = format!("more than the frame before, {} ms", last.time_ms);
                return Err(Error::new("time_ms", wanted, time_ms));
            }
            if time_ms - first.time_ms > MAX_DURATION_MS {
                let wanted = format!("at most {MAX_DURATION_MS} ms after the first frame");
                return Err(Error::new("time_ms", wanted, time_ms));
            }
        }
        self.frames.push(Frame { time_ms, positions });
        Ok(())
    }

    /// The frames.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// From the first frame to the last.
    pub fn duration_ms(&self) -> u32 {
        match (self.frames.first(), self.frames.last()) {
            (Some(first), Some(last)) => last.time_ms - first.time_ms,
            _ => 0,
        }
    }

    /// Longest time between two frames.
    pub fn largest_gap_ms(&self) -> u32 {
        let pairs = self.frames.iter().zip(self.frames.iter().skip(1));
        pairs.map(|(a, b)| b.time_ms - a.time_ms).max().unwrap_or(0)
    }

    /// The pose so many milliseconds after the first frame, on straight lines between frames; the
    /// last one after the end, none when there are no frames.
    pub fn pose_at(&self, offset_ms: u32) -> Option<Pose> {
        let first = self.frames.first()?;
        let at = u64::from(first.time_ms) + u64::from(offset_ms);
        let next = self.frames.partition_point(|frame| u64::from(frame.time_ms) <= at);
        let before = next.checked_sub(1).and_then(|index| self.frames.get(index))?;
        let Some(after) = self.frames.get(next) else { return Some(before.positions) };
        let part =
            (at - u64::from(before.time_ms)) as f64 / f64::from(after.time_ms - before.time_ms);
        let mut pose = before.positions;
        for (value, end) in pose.iter_mut().zip(after.positions) {
            *value = (f64::from(*value) + (f64::from(end) - f64::from(*value)) * part) as f32;
        }
        Some(pose)
    }

    /// The same motion with a frame every `period_ms`, from time 0. The last frame stays, even
    /// where that leaves a shorter step.
    pub fn resampled(&self, period_ms: u32) -> Result<Recording, Error> {
        if period_ms == 0 {
            return Err(Error::new("period_ms", "at least 1", 0));
        }
        let end = self.duration_ms();
        let mut resampled = Recording::new();
        let mut at = 0;
        while let Some(pose) = self.pose_at(at) {
            resampled.push(at, pose)?;
            if at == end {
                break;
            }
            at = at.saturating_add(period_ms).min(end);
        }
        Ok(resampled)
    }

    /// Frames `from` to `to`, both included as far as they exist.
    #[must_use]
    pub fn part(&self, from: usize, to: usize) -> Recording {
        let frames = self.frames.iter().take(to.saturating_add(1)).skip(from).copied().collect();
        Recording { frames }
    }

    /// The same motion at another speed, from time 0. Of frames that fall on the same millisecond
    /// the last stays.
    pub(super) fn faster(&self, speed: f32) -> Result<Recording, Error> {
        let begin = self.frames.first().map_or(0, |frame| frame.time_ms);
        let mut faster = Recording::new();
        for frame in &self.frames {
            let time = f64::from(frame.time_ms - begin) / f64::from(speed);
            let time_ms = time.round() as u32;
            if faster.frames.last().is_some_and(|last| last.time_ms == time_ms) {
                faster.frames.pop();
            }
            faster.push(time_ms, frame.positions)?;
        }
        Ok(faster)
    }

    /// The same motion with frames on the straight line where there would be none for longer.
    pub(super) fn without_gaps(&self, longest_ms: u32) -> Result<Recording, Error> {
        let begin = self.frames.first().map_or(0, |frame| frame.time_ms);
        let mut filled = Recording::new();
        for frame in &self.frames {
            while let Some(last) = filled.frames.last()
                && frame.time_ms - last.time_ms > longest_ms
            {
                let time_ms = last.time_ms + longest_ms;
                filled.push(time_ms, self.pose_at(time_ms - begin).unwrap_or_default())?;
            }
            filled.push(frame.time_ms, frame.positions)?;
        }
        Ok(filled)
    }

    /// The same motion, with more time where a joint would be faster than this, rad/s.
    pub(super) fn no_faster_than(&self, velocity: f32) -> Result<Recording, Error> {
        let mut slower = Recording::new();
        let (mut time, mut before) = (0, self.frames.first());
        for frame in &self.frames {
            if let Some(before) = before {
                let ways = before.positions.iter().zip(frame.positions);
                let way = ways.map(|(a, b)| f64::from((a - b).abs())).fold(0.0, f64::max);
                let needed = (1000.0 * way / f64::from(velocity)).ceil() as u32;
                time = needed.max(frame.time_ms - before.time_ms).saturating_add(time);
            }
            slower.push(time, frame.positions)?;
            before = Some(frame);
        }
        Ok(slower)
    }

    /// The same motion from another pose, towards its own at this velocity, rad/s.
    pub(super) fn beginning_at(&self, pose: Pose, velocity: f32, joints: &JointMap) -> Recording {
        let mut joined = self.clone();
        let Some(first) = self.frames.first() else { return joined };
        for frame in &mut joined.frames {
            let made_up = velocity * (frame.time_ms - first.time_ms) as f32 / 1000.0;
            let ways = pose.iter().zip(first.positions);
            for (value, (from, to)) in frame.positions.iter_mut().zip(ways) {
                let left = (from - to).abs() - made_up;
                *value += left.max(0.0).copysign(from - to);
            }
            frame.positions = joints.clamp(frame.positions);
        }
        joined
    }

    /// Every `step`th frame, the first and the last.
    #[must_use]
    pub fn thinned(&self, step: usize) -> Recording {
        let last = self.frames.len().saturating_sub(1);
        let kept = |index: &usize| index.is_multiple_of(step.max(1)) || *index == last;
        let frames = self.frames.iter().enumerate().filter(|(index, _)| kept(index));
        Recording { frames: frames.map(|(_, frame)| *frame).collect() }
    }
}

/// Longest text that is read: twice what the longest recording takes as JSON.
const MAX_TEXT: usize = 16 << 20;

pub(super) fn check_size(text: &str) -> Result<(), Error> {
    if text.len() > MAX_TEXT {
        let wanted = format!("at most {MAX_TEXT} bytes");
        return Err(Error::new("text", wanted, format!("{} bytes", text.len())));
    }
    Ok(())
}
