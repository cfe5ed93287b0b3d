use std::{fmt, time::Duration};

/// What can be set for a G1's channel, and what the session cannot know by itself.
#[derive(Clone)]
pub struct Settings {
    /// Unix time in seconds at the `now` that [`Session::new`](super::Session::new) gets: a
    /// session has no clock, and heartbeats and the names of recordings carry the time.
    pub unix_time: u64,
    /// Chance, from which the numbers of calls and files are made.
    pub seed: u64,
    /// MD5, which the validation of a channel needs.
    pub md5: fn(&[u8]) -> [u8; 16],
    /// How long a call waits for its answer. Records and plays take a third of a second, storing a
    /// map longer; what is known to take long has more.
    pub answer: Duration,
    /// How long an open channel may take to be validated.
    pub validation: Duration,
    /// How long nothing at all may come before the channel is given up.
    pub silence: Duration,
    /// How long a recording goes on when its client has gone.
    pub orphan: Duration,
    /// The largest file that is taken from the robot, bytes.
    pub largest_file: usize,
}

impl Settings {
    /// With the usual times.
    pub fn new(unix_time: u64, seed: u64, md5: fn(&[u8]) -> [u8; 16]) -> Self {
        Settings {
            unix_time,
            seed,
            md5,
            answer: Duration::from_secs(3),
            validation: Duration::from_secs(10),
            silence: Duration::from_secs(5),
            orphan: Duration::from_secs(60),
            largest_file: 64 << 20,
        }
    }
}

/// Without the seed, which makes what others must not guess.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { answer, validation, silence, orphan, largest_file, .. } = self;
        f.debug_struct("Settings")
            .field("answer", answer)
            .field("validation", validation)
            .field("silence", silence)
            .field("orphan", orphan)
            .field("largest_file", largest_file)
            .finish_non_exhaustive()
    }
}
