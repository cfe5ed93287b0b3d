use std::sync::Arc;

use serde::Serialize;

/// How a part of the beacon can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(crate) enum Reach {
    /// It has not been heard yet.
    Opening,
    Ready,
    Down {
        reason: Arc<str>,
    },
}
