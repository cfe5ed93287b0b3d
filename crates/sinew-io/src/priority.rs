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
