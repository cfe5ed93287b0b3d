//! The 3-D map that is made here of a robot's clouds.
//!
//! A thread of its own takes the clouds in: that takes milliseconds, which a pump does not have. Its
//! queue is short, and where it is full the newest wins. Readers of the map never wait for it: while
//! it writes they get nothing, and when it has written they are told.

mod export;

use std::{
    collections::VecDeque,
    io,
    sync::{
        Arc, Condvar, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use sinew_api::frame::{self, Header, MAP_POINTS};
use sinew_robot::{
    capability::{Audience, Blocks, Figure},
    map::{Cursor, VoxelMap, VoxelSettings},
    mapping::{Bounds, Cloud, Info, Pose},
};

use crate::{lock, report::timestamp_us};

/// The topic of the map.
pub const MAP: &str = "map";
/// Clouds that may wait: those of some tenths of a second.
const WAITING: usize = 4;
/// How long a recording waits for room at most.
const PATIENCE: Duration = Duration::from_secs(5);

/// The map of a robot. Clones are the same one; its thread ends with the last of them.
#[derive(Debug, Clone)]
pub struct Volume {
    kept: Arc<Kept>,
    _end: Arc<End>,
}

/// What the thread and the map's readers see.
#[derive(Debug)]
struct Kept {
    inner: RwLock<Inner>,
    queue: Mutex<Queue>,
    /// Told when the queue changes.
    changed: Condvar,
    /// Counts frames.
    frames: AtomicU64,
    figures: Mutex<Figures>,
}

#[derive(Debug)]
struct Inner {
    map: VoxelMap,
    /// The frame of the first cloud: a map has one.
    frame: Option<Arc<str>>,
    /// Where the robot was with the last cloud.
    pose: Option<Pose>,
    /// When that came, here and by the clock. A map that is not added to any more does not look
    /// fresh to a reader that comes later.
    seen: Option<(Instant, u64)>,
}

#[derive(Debug, Default)]
struct Queue {
    jobs: VecDeque<Job>,
    is_over: bool,
}

#[derive(Debug)]
enum Job {
    /// Begin anew.
    Clear,
    /// Tell readers.
    Tell,
    Cloud {
        came: Instant,
        time_us: u64,
        cloud: Arc<Cloud>,
    },
}

/// What is shown of a map without looking at it.
#[derive(Debug, Clone, Default)]
struct Figures {
    /// None while none is made.
    voxels: Option<u64>,
    bytes: usize,
    /// Clouds that are in the map.
    clouds: u64,
    /// Clouds that found no room in the queue, or were of no use, since the beginning.
    left_out: u64,
    trouble: Option<Arc<str>>,
}

/// Ends the thread.
#[derive(Debug)]
struct End(Arc<Kept>);

impl Drop for End {
    fn drop(&mut self) {
        lock(&self.0.queue).is_over = true;
        self.0.changed.notify_all();
    }
}

impl Volume {
    /// An empty map, and the thread that fills it.
    pub fn spawn(audience: Arc<dyn Audience>) -> io::Result<Self> {
        let map = VoxelMap::new(VoxelSettings::default());
        let kept = Arc::new(Kept {
            inner: RwLock::new(Inner { map, frame: None, pose: None, seen: None }),
            queue: Mutex::default(),
            changed: Condvar::new(),
            frames: AtomicU64::new(0),
            figures: Mutex::default(),
        });
        let end = Arc::new(End(Arc::clone(&kept)));
        let worker = Arc::clone(&kept);
        thread::Builder::new().name("map".into()).spawn(move || worker.run(&*audience))?;
        Ok(Volume { kept, _end: end })
    }

    /// The map for its readers.
    pub fn blocks(&self) -> Arc<dyn Blocks> {
        self.kept.clone()
    }

    /// Begins a new map: what comes from here on is of it. Does not wait.
    pub fn begin(&self) {
        let mut queue = lock(&self.kept.queue);
        queue.jobs.clear();
        queue.jobs.push_back(Job::Clear);
        lock(&self.kept.figures).voxels = Some(0);
        self.kept.changed.notify_all();
    }

    /// Takes a cloud. Where others wait already it takes the place of the oldest; one that comes
    /// from a recording `waits` instead, since a recording can.
    pub fn take(&self, cloud: Arc<Cloud>, waits: bool) {
        let job = Job::Cloud { came: Instant::now(), time_us: timestamp_us(), cloud };
        let mut queue = lock(&self.kept.queue);
        if waits {
            let is_full = |queue: &mut Queue| queue.jobs.len() >= WAITING && !queue.is_over;
            let waited = self.kept.changed.wait_timeout_while(queue, PATIENCE, is_full);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let is_cloud = |job: &Job| matches!(job, Job::Cloud { .. });
        if queue.jobs.len() >= WAITING
            && let Some(oldest) = queue.jobs.iter().position(is_cloud)
        {
            queue.jobs.remove(oldest);
            lock(&self.kept.figures).left_out += 1;
        }
        queue.jobs.push_back(job);
        self.kept.changed.notify_all();
    }

    /// Forgets the map; it is gone when this returns. What the robot goes on to send makes a new one.
    pub fn clear(&self) {
        lock(&self.kept.queue).jobs.clear();
        self.kept.clear();
        lock(&self.kept.queue).jobs.push_back(Job::Tell);
        self.kept.changed.notify_all();
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.kept.read().map.is_empty()
    }

    /// Fills in what is known of the map. Looks at all of it, which takes milliseconds.
    pub fn fill(&self, info: &mut Info) {
        let figures = lock(&self.kept.figures).clone();
        info.voxels = figures.voxels;
        info.bounds = self.bounds();
        info.trouble = figures.trouble.as_deref().map(Into::into);
    }

    fn bounds(&self) -> Option<Bounds> {
        self.kept.read().map.bounds()
    }

    /// For the robot's state.
    pub fn state(&self) -> Value {
        let Figures { voxels, bytes, clouds, left_out, trouble } = lock(&self.kept.figures).clone();
        let mut state = json!({
            "voxels": voxels, "bytes": bytes, "clouds": clouds, "left_out": left_out,
        });
        if let Some(trouble) = trouble {
            state["trouble"] = (*trouble).into();
        }
        state
    }

    /// For `/metrics`.
    pub fn figures(&self) -> [Figure; 4] {
        let Figures { voxels, bytes, clouds, left_out, .. } = lock(&self.kept.figures).clone();
        let voxels = voxels.unwrap_or(0) as f64;
        [
            Figure::gauge("map_voxels", "Cells of the map that is made here.", voxels),
            Figure::gauge("map_bytes", "Memory that it takes.", bytes as f64),
            Figure::gauge("map_clouds", "Clouds that are in it.", clouds as f64),
            Figure::counter(
                "map_clouds_left_out_total",
                "Clouds that came faster than they were taken in, or were of no use.",
                left_out,
            ),
        ]
    }
}

impl Kept {
    /// A panic while it was written left a map that may lack some of a cloud.
    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, audience: &dyn Audience) {
        while let Some(job) = self.next_job() {
            match job {
                Job::Tell => {}
                Job::Clear => {
                    self.clear();
                    lock(&self.figures).voxels = Some(0);
                }
                Job::Cloud { came, time_us, cloud } => self.insert(came, time_us, &cloud),
            }
            // After the lock is free: a reader that found it taken looks again.
            audience.blocks_changed(MAP);
            audience.changed();
        }
    }

    fn next_job(&self) -> Option<Job> {
        let mut queue = lock(&self.queue);
        loop {
            if queue.is_over {
                return None;
            }
            if let Some(job) = queue.jobs.pop_front() {
                self.changed.notify_all();
                return Some(job);
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn clear(&self) {
        let mut inner = self.write();
        inner.map.clear();
        (inner.frame, inner.pose, inner.seen) = (None, None, None);
        let mut figures = lock(&self.figures);
        *figures = Figures { left_out: figures.left_out, ..Figures::default() };
    }

    fn insert(&self, came: Instant, time_us: u64, cloud: &Cloud) {
        let mut inner = self.write();
        let outcome = inner.insert(came, time_us, cloud);
        let full = inner.map.full().map(|full| full.to_string());
        let (voxels, bytes) = (inner.map.len(), inner.map.bytes());
        drop(inner);
        let mut figures = lock(&self.figures);
        (figures.voxels, figures.bytes) = (Some(voxels), bytes);
        match outcome {
            Ok(()) => figures.clouds += 1,
            Err(_) => figures.left_out += 1,
        }
        let trouble = outcome.err().or(full);
        if figures.trouble.as_deref() != trouble.as_deref() {
            figures.trouble = trouble.map(Into::into);
        }
    }
}

impl Inner {
    /// Takes a cloud in, or says why not; the map is then as it was.
    fn insert(&mut self, came: Instant, time_us: u64, cloud: &Cloud) -> Result<(), String> {
        if let Some(frame) = self.frame.as_ref().filter(|frame| **frame != cloud.frame) {
            return Err(format!(
                "clouds come in frame {:?} now, and the map is in {frame:?}: they are left out",
                cloud.frame
            ));
        }
        self.map.insert(came, cloud).map_err(|unusable| unusable.to_string())?;
        self.frame.get_or_insert_with(|| Arc::clone(&cloud.frame));
        (self.pose, self.seen) = (cloud.pose, Some((came, time_us)));
        Ok(())
    }
}

impl Blocks for Kept {
    fn next(&self, place: &mut Cursor) -> Option<Vec<u8>> {
        // Whenever it cannot be had it is being written, and it is told when that is over.
        let inner = match self.inner.try_read() {
            Ok(inner) => inner,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let (before, mut points) = (*place, Vec::new());
        let (seen, time_us) = inner.seen.unwrap_or_else(|| (Instant::now(), timestamp_us()));
        inner.map.changes(seen, place, MAP_POINTS, &mut points);
        if *place == before {
            return None;
        }
        let header = Header {
            sequence: self.frames.fetch_add(1, Ordering::Relaxed) + 1,
            time_us,
            epoch: inner.map.epoch(),
            name: inner.frame.as_deref().unwrap_or_default(),
            pose: inner.pose,
            origin: inner.map.origin(),
            unit: inner.map.unit(),
            ..Header::default()
        };
        Some(frame::map(&header, &points))
    }
}
