//! The mutation driver: no instrumentation, any toolchain, the same inputs for the same seed.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use fastrand::Rng;

use crate::{Target, mutate};

/// Most mutations between a seed and an input made of it.
const MAX_STEPS: usize = 6;

/// What to run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The codec under test.
    pub target: Target,
    /// Decides every input.
    pub seed: u64,
    /// When to stop.
    pub limit: Limit,
    /// How long an input may take before it counts as a hang.
    pub patience: Duration,
    /// Where an input that breaks the target is kept.
    pub artifacts: PathBuf,
    /// Inputs to start from besides the target's seeds.
    pub corpus: Vec<Vec<u8>>,
}

/// When to stop if nothing is found.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// After this time.
    Time(Duration),
    /// After the seeds and this many mutated inputs.
    Mutations(u64),
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    /// Inputs tried.
    pub executions: u64,
    /// How long that took.
    pub elapsed: Duration,
    /// The input that broke the target, if one did.
    pub finding: Option<Finding>,
}

/// An input that breaks the target.
#[derive(Debug)]
pub struct Finding {
    /// What it does.
    pub what: Breakage,
    /// The input.
    pub input: Vec<u8>,
    /// Where it is kept; or why it could not be.
    pub file: io::Result<PathBuf>,
}

/// What an input does to the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breakage {
    /// It panics.
    Panic,
    /// It takes longer than the plan's patience.
    Hang,
}

/// Runs the plan to its limit or to the first finding.
///
/// The target runs in a thread of its own, so that one that hangs can be
/// reported. Its thread is then left behind: the process should end soon.
/// `progress` hears several times a second how many inputs have been tried.
pub fn run(plan: &Plan, mut progress: impl FnMut(u64, Duration)) -> Outcome {
    let start = Instant::now();
    let watch = Arc::new(Watch::default());
    let (done, broken) = mpsc::channel();
    thread::spawn({
        let (plan, watch) = (plan.clone(), Arc::clone(&watch));
        move || {
            // The receiver is gone when this very input was reported as a hang.
            let _ = done.send(find_panic(&plan, start, &watch));
        }
    });
    let tick = (plan.patience / 4).min(Duration::from_millis(250));
    let (mut last, mut since) = (0, Instant::now());
    let broken = loop {
        match broken.recv_timeout(tick) {
            Ok(input) => break input.map(|input| (Breakage::Panic, input)),
            Err(RecvTimeoutError::Disconnected) => {
                break Some((Breakage::Panic, watch.input()));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        let executions = watch.executions.load(Relaxed);
        progress(executions, start.elapsed());
        if executions != last {
            (last, since) = (executions, Instant::now());
        } else if since.elapsed() > plan.patience {
            break Some((Breakage::Hang, watch.input()));
        }
    };
    Outcome {
        executions: watch.executions.load(Relaxed),
        elapsed: start.elapsed(),
        finding: broken.map(|(what, input)| Finding {
            what,
            file: keep(&plan.artifacts, what, &input),
            input,
        }),
    }
}

/// Whether the target panics on an input; the panic's message goes to standard error.
pub fn panics(target: Target, input: &[u8]) -> bool {
    catch_unwind(AssertUnwindSafe(|| (target.exercise)(input))).is_err()
}

/// What the two threads share.
#[derive(Debug, Default)]
struct Watch {
    executions: AtomicU64,
    input: Mutex<Vec<u8>>,
}

impl Watch {
    fn input(&self) -> Vec<u8> {
        let input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        input.clone()
    }

    fn begin(&self, new: &[u8]) {
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        input.clear();
        input.extend_from_slice(new);
        self.executions.fetch_add(1, Relaxed);
    }
}

fn find_panic(plan: &Plan, start: Instant, watch: &Watch) -> Option<Vec<u8>> {
    let mut pool = (plan.target.seeds)();
    pool.extend(plan.corpus.iter().cloned());
    let panics = |input: &[u8]| {
        watch.begin(input);
        panics(plan.target, input)
    };
    if let Some(seed) = pool.iter().find(|seed| panics(seed)) {
        return Some(seed.clone());
    }
    let mut rng = Rng::with_seed(plan.seed);
    let mut input = Vec::new();
    let mut mutations = 0;
    while match plan.limit {
        Limit::Time(limit) => start.elapsed() < limit,
        Limit::Mutations(limit) => mutations < limit,
    } {
        input.clear();
        input.extend_from_slice(rng.choice(&pool).map_or(&[][..], Vec::as_slice));
        for _ in 0..rng.usize(1..=MAX_STEPS) {
            mutate(&mut rng, &mut input, &pool);
        }
        mutations += 1;
        if panics(&input) {
            return Some(input);
        }
    }
    None
}

fn keep(directory: &Path, what: Breakage, input: &[u8]) -> io::Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    let kind = match what {
        Breakage::Panic => "panic",
        Breakage::Hang => "hang",
    };
    let file = directory.join(format!("{kind}-{:016x}", hasher.finish()));
    fs::create_dir_all(directory)?;
    fs::write(&file, input)?;
    Ok(file)
}
