//! Threads that have to hold their time.

/// Asks for real-time priority for this thread, which takes a privilege; whether it was given.
pub(crate) fn raise(level: u8) -> bool {
    use thread_priority::{
        RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
        set_thread_priority_and_policy, thread_native_id,
    };
    let Ok(value) = ThreadPriorityValue::try_from(level) else { return false };
    set_thread_priority_and_policy(
        thread_native_id(),
        ThreadPriority::Crossplatform(value),
        ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo),
    )
    .is_ok()
}

/// Whether a thread of this process may have the real-time priority that drivers ask for: tried on
/// one that ends with it.
pub fn may_have_real_time() -> bool {
    let tried = std::thread::spawn(|| raise(crate::vacuum::PRIORITY));
    tried.join().unwrap_or(false)
}

/// The niceness of a thread that is favoured.
pub const FAVOURED: i32 = -10;

/// Asks for a greater share of the processors for this thread than ordinary ones have, which takes
/// the same privilege; whether it was given. It keeps none from running.
pub fn favour() -> bool {
    // Without a process it is the calling thread's, on Linux.
    rustix::process::setpriority_process(None, FAVOURED).is_ok()
}

/// Asks for half of that, for a thread that both hears clients and works for them. Threads that it starts have the
/// same.
pub fn prefer() {
    let _ = rustix::process::setpriority_process(None, FAVOURED / 2);
}

/// Lets threads of ordinary priority have a greater share than this one.
pub fn step_back() {
    // Every process may do this.
    let _ = rustix::process::setpriority_process(None, 1);
}

/// Lets all other threads have their share before this one.
pub fn give_way() {
    // Every process may do this.
    let _ = rustix::process::setpriority_process(None, 19);
}
