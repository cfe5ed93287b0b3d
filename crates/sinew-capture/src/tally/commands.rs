//! What is counted of each command of a flow.

/// The commands of a flow, by their byte.
#[derive(Debug, Clone)]
pub(crate) struct Commands {
    rows: Vec<Row>,
    /// Which row a byte has, where there are so many that looking through them takes longer.
    index: Option<Box<[u16; 256]>>,
}

/// Rows that are looked through.
const FEW: usize = 8;
/// The place of a byte that has no row.
const NONE: u16 = u16::MAX;

/// A command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) id: u8,
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    pub(crate) min: u32,
    pub(crate) max: u32,
    /// For how far sizes are from their average.
    squares: f64,
    /// When each side sent it last.
    last: [Option<i64>; 2],
    /// From one to the next of the same side.
    pub(crate) intervals: Spread,
    /// Answers by the flow's second end to what the first asked, and the other way round.
    pub(crate) answers: [Answers; 2],
}

/// Answers to what one side asked.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Answers {
    /// When it asked what is not yet answered.
    asked: Option<i64>,
    pub(crate) unanswered: u64,
    pub(crate) latency: Spread,
}

/// Count, average, least and most, and how far from the average as a rule.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spread {
    pub(crate) count: u64,
    mean: f64,
    squares: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Commands {
    pub(crate) const fn new() -> Self {
        Commands { rows: Vec::new(), index: None }
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Counts a command that the flow's second end sent, or its first. A new row is taken from
    /// `left`, and none is made when there are none left.
    #[inline]
    pub(crate) fn count(
        &mut self,
        id: u8,
        size: usize,
        time: i64,
        is_back: bool,
        left: &mut usize,
    ) -> bool {
        let place = match self.place(id) {
            Some(place) => place,
            None => {
                let Some(fewer) = left.checked_sub(1) else { return false };
                *left = fewer;
                self.push(Row::new(id))
            }
        };
        if let Some(row) = self.rows.get_mut(place) {
            row.count(size, time, is_back);
        }
        true
    }

    #[inline]
    fn place(&self, id: u8) -> Option<usize> {
        match &self.index {
            Some(index) => {
                let place = index.get(usize::from(id)).filter(|place| **place != NONE);
                place.map(|place| usize::from(*place))
            }
            None => self.rows.iter().position(|row| row.id == id),
        }
    }

    fn push(&mut self, row: Row) -> usize {
        let place = self.rows.len();
        if place < FEW {
            // Most flows that pass for some with commands have one or two.
            self.rows.reserve_exact(1);
        }
        let id = usize::from(row.id);
        self.rows.push(row);
        if self.index.is_none() && self.rows.len() > FEW {
            let mut index = Box::new([NONE; 256]);
            for (row, place) in self.rows.iter().zip(0..) {
                if let Some(entry) = index.get_mut(usize::from(row.id)) {
                    *entry = place;
                }
            }
            self.index = Some(index);
        } else if let Some(entry) = self.index.as_mut().and_then(|index| index.get_mut(id)) {
            *entry = place as u16;
        }
        place
    }

    /// Adds what was counted elsewhere. Latencies stay those of this side.
    pub(crate) fn add(&mut self, other: &Self) {
        for more in &other.rows {
            match self.place(more.id).and_then(|place| self.rows.get_mut(place)) {
                None => {
                    self.push(*more);
                }
                Some(row) => {
                    row.count += more.count;
                    row.bytes += more.bytes;
                    row.squares += more.squares;
                    (row.min, row.max) = (row.min.min(more.min), row.max.max(more.max));
                }
            }
        }
    }
}

impl Row {
    const fn new(id: u8) -> Self {
        const ANSWERS: Answers = Answers { asked: None, unanswered: 0, latency: Spread::new() };
        Row {
            id,
            count: 0,
            bytes: 0,
            min: u32::MAX,
            max: 0,
            squares: 0.0,
            last: [None; 2],
            intervals: Spread::new(),
            answers: [ANSWERS; 2],
        }
    }

    #[inline]
    fn count(&mut self, size: usize, time: i64, is_back: bool) {
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        let [there, back] = &mut self.answers;
        let (asks, answers) = if is_back { (back, there) } else { (there, back) };
        if let Some(asked) = answers.asked.take() {
            answers.latency.take(seconds(time.saturating_sub(asked)));
        }
        if asks.asked.replace(time).is_some() {
            asks.unanswered += 1;
        }
        let last = self.last.get_mut(usize::from(is_back)).and_then(|last| last.replace(time));
        if let Some(last) = last {
            self.intervals.take(seconds(time.saturating_sub(last)));
        }
        self.count += 1;
        self.bytes += u64::from(size);
        self.squares += f64::from(size).powi(2);
        (self.min, self.max) = (self.min.min(size), self.max.max(size));
    }

    pub(crate) fn average(&self) -> f64 {
        self.bytes as f64 / self.count.max(1) as f64
    }

    /// How far sizes are from their average, as a rule.
    pub(crate) fn deviation(&self) -> f64 {
        let mean = self.average();
        (self.squares / self.count.max(1) as f64 - mean * mean).max(0.0).sqrt()
    }
}

impl Spread {
    const fn new() -> Self {
        Spread { count: 0, mean: 0.0, squares: 0.0, min: 0.0, max: 0.0 }
    }

    #[inline]
    pub(crate) fn take(&mut self, value: f64) {
        if self.count == 0 {
            (self.min, self.max) = (value, value);
        }
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
        (self.min, self.max) = (self.min.min(value), self.max.max(value));
    }

    pub(crate) const fn mean(&self) -> f64 {
        self.mean
    }

    pub(crate) fn deviation(&self) -> f64 {
        (self.squares / self.count.max(1) as f64).sqrt()
    }
}

fn seconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e9
}
