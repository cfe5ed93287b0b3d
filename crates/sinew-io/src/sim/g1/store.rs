use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use sinew_sim::g1::StoredAction;

use crate::{file, wake::Waker};

const FILE: &str = "actions.json";
/// How long the disk gets for what it is at when the robot ends.
const FAREWELL: Duration = Duration::from_secs(2);

/// A robot's actions in a directory. They are written on a thread of their own: a robot goes on
/// moving, and can be stopped, while its disk is slow.
pub(super) struct Store {
    jobs: mpsc::Sender<Job>,
    done: mpsc::Receiver<Done>,
    writing: bool,
}

struct Job {
    id: u64,
    actions: Vec<StoredAction>,
}

/// What became of a job.
pub(super) struct Done {
    pub(super) id: u64,
    pub(super) ok: bool,
}

impl Store {
    /// Opens a directory, with what was stored there. The waker is woken when something has been
    /// written, or could not be.
    pub(super) fn open(dir: PathBuf, waker: Arc<Waker>) -> io::Result<(Self, Vec<StoredAction>)> {
        let actions = load(&dir)?;
        let ((jobs, inbox), (finished, done)) = (mpsc::channel::<Job>(), mpsc::channel());
        let work = move || {
            for Job { id, actions } in inbox {
                let written = save(&dir, &actions);
                if let Err(error) = &written {
                    eprintln!("actions are not kept in {}: {error}", dir.display());
                }
                if finished.send(Done { id, ok: written.is_ok() }).is_err() {
                    return;
                }
                waker.wake();
            }
        };
        thread::Builder::new().name("store".into()).spawn(work)?;
        Ok((Store { jobs, done, writing: false }, actions))
    }

    /// Begins to write; false when that cannot be. A robot asks for one thing at a time.
    pub(super) fn write(&mut self, id: u64, actions: Vec<StoredAction>) -> bool {
        self.writing = self.jobs.send(Job { id, actions }).is_ok();
        self.writing
    }

    /// What was written, or could not be.
    pub(super) fn poll(&mut self) -> Option<Done> {
        let done = self.done.try_recv().ok()?;
        self.writing = false;
        Some(done)
    }
}

/// Another robot may be started on the directory: what is being written comes before it. A disk
/// that never ends is left to itself.
impl Drop for Store {
    fn drop(&mut self) {
        if self.writing {
            let _ = self.done.recv_timeout(FAREWELL);
        }
    }
}

fn load(dir: &Path) -> io::Result<Vec<StoredAction>> {
    fs::create_dir_all(dir)?;
    let path = dir.join(FILE);
    match fs::read(&path) {
        Ok(text) => serde_json::from_slice(&text).map_err(|error| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", path.display()))
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn save(dir: &Path, actions: &[StoredAction]) -> io::Result<()> {
    file::remove_leftovers(dir);
    file::replace(&dir.join(FILE), &serde_json::to_vec_pretty(actions)?)
}
