//! Priorities of threads.

/// Asks for real-time priority for this thread, so that the load of the machine does not delay what
/// is timed on it; whether it was given.
pub(crate) fn raise_priority(priority: u8) -> bool {
    use thread_priority::{
        RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
        set_thread_priority_and_policy, thread_native_id,
    };
    let Ok(value) = ThreadPriorityValue::try_from(priority) else { return false };
    set_thread_priority_and_policy(
        thread_native_id(),
        ThreadPriority::Crossplatform(value),
        ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo),
    )
    .is_ok()
}

/// Lets this thread, and those it starts, have what the others leave of the processors.
pub(crate) fn lower_priority() -> anyhow::Result<()> {
    rustix::process::nice(19)?;
    Ok(())
}
