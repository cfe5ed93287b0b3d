use super::{Curves, Error, Interpolation, JOINTS, Keyframe, Recording};

/// Longest motion that keyframes can hold: their times have 16 bits.
pub const MAX_SAVED_MS: u32 = u16::MAX as u32;

/// Samples among which the best choice is found; of longer recordings every second, third …
/// sample is a candidate.
const MAX_CANDIDATES: usize = 4_000;
/// How close to the best possible error the search gets, rad: finer than any encoder.
const RESOLUTION: f64 = 1e-6;
/// Samples on one line must count as such although their slopes differ in the last bits.
const ROUNDING: f64 = 1e-9;

/// A recording reduced to keyframes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reduced {
    /// In the order of slots, each slot's in order of time; times are from the first frame.
    pub keyframes: Vec<Keyframe>,
    /// Largest distance of any recorded value from the straight lines between keyframes, rad. A
    /// joint without keyframes holds its first value.
    pub error: f32,
}

/// Chooses at most `max_keyframes` of the recorded samples, over all joints, so that the largest
/// error is as small as it can be.
///
/// A joint gets none, or at least its first and last sample. The choice is the best one for up to
/// 4,000 frames. Longer recordings are thinned for the choice; the error is of all frames.
pub fn reduce(recording: &Recording, max_keyframes: usize) -> Result<Reduced, Error> {
    if recording.duration_ms() > MAX_SAVED_MS {
        let wanted = format!("at most {MAX_SAVED_MS} ms, which is all that keyframes can count");
        return Err(Error::new("duration", wanted, format!("{} ms", recording.duration_ms())));
    }
    let step = recording.len().div_ceil(MAX_CANDIDATES).max(1);
    let candidates = recording.thinned(step);
    let joints: Vec<_> = (0..JOINTS).map(|joint| Series::new(&candidates, joint)).collect();
    let chosen = Search { joints: &joints, max_keyframes }.run();

    let mut keyframes = Vec::new();
    let first = candidates.frames().first().map_or(0, |frame| frame.time_ms);
    for (slot, kept) in chosen.iter().enumerate() {
        for frame in kept.iter().filter_map(|&index| candidates.frames().get(index)) {
            keyframes.push(Keyframe {
                joint: slot as u16,
                time_ms: (frame.time_ms - first) as u16,
                value: frame.positions.get(slot).copied().unwrap_or_default(),
            });
        }
    }
    let error = error_of(recording, &keyframes);
    Ok(Reduced { keyframes, error })
}

/// Largest distance of any recorded value from straight lines between these keyframes, rad.
pub fn error_of(recording: &Recording, keyframes: &[Keyframe]) -> f32 {
    let Some(first) = recording.frames().first() else { return 0.0 };
    let curves = Curves::new(first.positions, keyframes);
    let mut error = 0.0_f64;
    for frame in recording.frames() {
        let time = f64::from(frame.time_ms - first.time_ms);
        let given = curves.exact(time, Interpolation::Linear);
        for (value, given) in frame.positions.iter().zip(given) {
            error = error.max((f64::from(*value) - given).abs());
        }
    }
    error as f32
}

/// Samples kept of a joint, by number.
type Kept = Vec<usize>;

/// The smallest error for which all joints together need no more keyframes than there are.
struct Search<'a> {
    joints: &'a [Series],
    max_keyframes: usize,
}

impl Search<'_> {
    fn run(&self) -> Vec<Kept> {
        // No keyframes at all: always possible, and nothing worse is of interest.
        let mut best: Vec<Kept> = vec![Vec::new(); self.joints.len()];
        let mut high = self.joints.iter().map(|joint| joint.rest_error).fold(0.0, f64::max);
        let mut low = 0.0;
        // What joints need at `low`, as far as that is known. A joint that needs no fewer at
        // `high` needs as many between, and what it has at `low` will do.
        let mut at_low: Vec<Option<Kept>> = vec![None; self.joints.len()];
        let mut error = 0.0;
        while high > 0.0 {
            match self.attempt(error, &best, &mut at_low) {
                Some(found) => {
                    let reached = self.joints.iter().zip(&found).map(|(j, kept)| j.error(kept));
                    high = reached.fold(0.0, f64::max).min(error);
                    best = found;
                }
                None => low = error,
            }
            if high - low <= RESOLUTION {
                break;
            }
            error = (low + high) / 2.0;
        }
        best
    }

    /// The fewest samples of every joint for an error; none when they are too many. What was
    /// found on the way to too many is noted in `at_low`, where only errors that are too small
    /// may leave anything.
    fn attempt(&self, error: f64, best: &[Kept], at_low: &mut [Option<Kept>]) -> Option<Vec<Kept>> {
        let settled = |joint: usize| {
            let (low, high) = (at_low.get(joint)?.as_ref()?, best.get(joint)?);
            (low.len() == high.len()).then(|| low.clone())
        };
        // Every joint that moves by more than the error needs two at least.
        let least: Vec<_> =
            self.joints.iter().map(|j| if j.rest_error <= error { 0 } else { 2 }).collect();
        let mut reserved: usize = least.iter().sum();
        let mut used = 0;
        let mut found = Vec::with_capacity(self.joints.len());
        for (index, joint) in self.joints.iter().enumerate() {
            reserved -= least.get(index).copied().unwrap_or(0);
            let budget = self.max_keyframes.checked_sub(used + reserved);
            let kept = budget.and_then(|budget| {
                let kept = settled(index).or_else(|| joint.fewest(error, budget));
                kept.filter(|kept| kept.len() <= budget)
            });
            let Some(kept) = kept else {
                for (place, kept) in at_low.iter_mut().zip(found) {
                    *place = Some(kept);
                }
                return None;
            };
            used += kept.len();
            found.push(kept);
        }
        Some(found)
    }
}

/// One joint's samples.
struct Series {
    times: Vec<f64>,
    values: Vec<f64>,
    /// Error of holding the first value.
    rest_error: f64,
}

impl Series {
    fn new(recording: &Recording, joint: usize) -> Self {
        let frames = recording.frames();
        let value = |positions: &[f32; JOINTS]| {
            f64::from(positions.get(joint).copied().unwrap_or_default())
        };
        let times = frames.iter().map(|frame| f64::from(frame.time_ms)).collect();
        let values: Vec<_> = frames.iter().map(|frame| value(&frame.positions)).collect();
        let first = values.first().copied().unwrap_or_default();
        let rest_error = values.iter().map(|value| (value - first).abs()).fold(0.0, f64::max);
        Series { times, values, rest_error }
    }

    /// The fewest samples whose lines stay within `error`; none when that takes over `budget`.
    ///
    /// Samples are the nodes of a graph, lines that stay within the error its edges; a search by
    /// levels from both ends meets on a shortest way. Taking the longest line each time would not
    /// do: a shorter one may lead to a sample from which a longer one goes on.
    fn fewest(&self, error: f64, budget: usize) -> Option<Kept> {
        if self.rest_error <= error {
            return Some(Vec::new());
        }
        let last = self.values.len().checked_sub(1)?;
        let mut forth = Front::new(self.values.len(), 0);
        let mut back = Front::new(self.values.len(), last);
        for _line in 1..budget {
            let forward = forth.edge.len() <= back.edge.len();
            let (mine, other) = if forward { (&mut forth, &back) } else { (&mut back, &forth) };
            if let Some(meeting) = self.expand(mine, other, forward, error + ROUNDING) {
                let mut kept = forth.way(meeting);
                kept.reverse();
                kept.extend(back.way(meeting).into_iter().skip(1));
                return Some(kept);
            }
        }
        None
    }

    /// One line further from every sample of the edge; where the other front has been, they meet.
    fn expand(&self, mine: &mut Front, other: &Front, forward: bool, error: f64) -> Option<usize> {
        for from in std::mem::take(&mut mine.edge) {
            let (start, origin) = (*self.times.get(from)?, *self.values.get(from)?);
            // Slopes of lines that pass all samples so far within the error.
            let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
            let mut visit = |to: usize, time: f64, value: f64| {
                let per_ms = 1.0 / (time - start).abs();
                let slope = (value - origin) * per_ms;
                let slack = error * per_ms;
                let fits = low <= slope && slope <= high;
                low = low.max(slope - slack);
                high = high.min(slope + slack);
                let meets = fits && mine.reach(to, from) && other.has_reached(to);
                (meets, low <= high)
            };
            let samples = self.times.iter().zip(&self.values).enumerate();
            // Both ways in one loop would need a boxed iterator in the innermost of all loops.
            if forward {
                for (to, (&time, &value)) in samples.skip(from + 1) {
                    match visit(to, time, value) {
                        (true, _) => return Some(to),
                        (_, false) => break,
                        _ => {}
                    }
                }
            } else {
                for (to, (&time, &value)) in samples.take(from).rev() {
                    match visit(to, time, value) {
                        (true, _) => return Some(to),
                        (_, false) => break,
                        _ => {}
                    }
                }
            }
        }
        None
    }

    fn error(&self, kept: &[usize]) -> f64 {
        if kept.is_empty() {
            return self.rest_error;
        }
        let at = |index: usize| Some((*self.times.get(index)?, *self.values.get(index)?));
        let mut error = 0.0_f64;
        for (&from, &to) in kept.iter().zip(kept.iter().skip(1)) {
            let (Some((t0, v0)), Some((t1, v1))) = (at(from), at(to)) else { continue };
            for (time, value) in (from + 1..to).filter_map(at) {
                let line = v0 + (v1 - v0) * ((time - t0) / (t1 - t0));
                error = error.max((value - line).abs());
            }
        }
        error
    }
}

/// How far a search by levels has come.
struct Front {
    /// The sample from which each was first reached; its own number at the start.
    from: Vec<Option<u32>>,
    /// The samples of the last level.
    edge: Vec<usize>,
}

impl Front {
    fn new(samples: usize, start: usize) -> Self {
        let mut front = Front { from: vec![None; samples], edge: Vec::new() };
        front.reach(start, start);
        front
    }

    /// Whether it was reached for the first time.
    fn reach(&mut self, to: usize, from: usize) -> bool {
        match self.from.get_mut(to) {
            Some(place @ None) => {
                *place = Some(from as u32);
                self.edge.push(to);
                true
            }
            _ => false,
        }
    }

    fn has_reached(&self, sample: usize) -> bool {
        self.from.get(sample).is_some_and(Option::is_some)
    }

    /// From a sample back to the start.
    fn way(&self, sample: usize) -> Vec<usize> {
        let mut way = vec![sample];
        let mut at = sample;
        while let Some(Some(from)) = self.from.get(at)
            && *from as usize != at
        {
            at = *from as usize;
            way.push(at);
        }
        way
    }
}
