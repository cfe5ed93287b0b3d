//! Ctrl-C and SIGTERM as something to look at.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
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
