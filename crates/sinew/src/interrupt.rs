//! Ctrl-C and SIGTERM as something to look at.

use std::{
    io::{self, Read},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use signal_hook::{
    consts::{SIGINT, SIGTERM, SIGWINCH},
    iterator::Signals,
    low_level::pipe,
};

/// Whether the user or the system wants us to end.
#[derive(Clone)]
pub(crate) struct Interrupted(Arc<(Mutex<bool>, Condvar)>);

/// Starts to listen for SIGINT and SIGTERM.
pub(crate) fn flag() -> std::io::Result<Interrupted> {
    let flag = Interrupted(Arc::new((Mutex::new(false), Condvar::new())));
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let raised = flag.clone();
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            let (set, changed) = &*raised.0;
            *set.lock().unwrap_or_else(PoisonError::into_inner) = true;
            changed.notify_all();
        }
    });
    Ok(flag)
}

impl Interrupted {
    pub(crate) fn is_set(&self) -> bool {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(feature = "sim")]
    /// Waits until it is set.
    pub(crate) fn wait_for_it(&self) {
        let (set, changed) = &*self.0;
        let set = set.lock().unwrap_or_else(PoisonError::into_inner);
        drop(changed.wait_while(set, |set| !*set));
    }
}

/// Signals as something to wait for beside other things: the end, and a terminal's new size.
pub(crate) struct Wake {
    end: Arc<AtomicBool>,
    pipe: UnixStream,
}

impl Wake {
    pub(crate) fn new() -> io::Result<Self> {
        let (pipe, written) = UnixStream::pair()?;
        pipe.set_nonblocking(true)?;
        let end = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&end))?;
        }
        for signal in [SIGINT, SIGTERM, SIGWINCH] {
            pipe::register(signal, written.try_clone()?)?;
        }
        Ok(Wake { end, pipe })
    }

    /// Whether the user or the system wants us to end. What woke us is forgotten.
    pub(crate) fn is_end(&mut self) -> bool {
        while self.pipe.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
        self.end.load(Ordering::SeqCst)
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}
