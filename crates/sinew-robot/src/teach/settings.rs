use std::time::Duration;

use serde::{Serialize, Serializer};
use sinew_wire::teach::Layout;

/// What can be set for a teaching link.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Settings {
    /// The layout that is sent; both are understood.
    #[serde(serialize_with = "layout")]
    pub layout: Layout,
    /// Unix time in seconds at the `now` that [`Session::new`](super::Session::new) gets: a
    /// session has no clock, and a save carries the time. Without it nothing can be saved.
    #[serde(skip)]
    pub unix_time: Option<u64>,
    /// How often a request is sent before it is given up.
    pub tries: u32,
    /// How long each waits for an answer.
    #[serde(rename = "retry_ms", serialize_with = "milliseconds")]
    pub retry: Duration,
    /// How often the opening cycle is repeated.
    #[serde(rename = "cycle_ms", serialize_with = "milliseconds")]
    pub cycle: Duration,
    /// How often teaching is maintained.
    #[serde(rename = "maintain_ms", serialize_with = "milliseconds")]
    pub maintain: Duration,
    /// How long teaching goes on while no client asks for anything; `list` does not count, since
    /// programs ask for it by themselves.
    #[serde(rename = "idle_exit_ms", serialize_with = "milliseconds")]
    pub idle_exit: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            layout: Layout::Documented,
            unix_time: None,
            tries: 3,
            retry: Duration::from_millis(400),
            // The documents' "~4.7 s" and "every 4.5 s".
            cycle: Duration::from_millis(4700),
            maintain: Duration::from_millis(4500),
            idle_exit: Duration::from_secs(300),
        }
    }
}

fn milliseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64() * 1000.0)
}

fn layout<S: Serializer>(layout: &Layout, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(layout)
}
