use std::future::pending;

use sinew_api::Topic;

use super::Connection;
use crate::hub::Hub;

/// In a build that has robots of its own only, there are none to follow.
pub(super) struct Following;

impl Following {
    pub(super) fn new(_: &Hub) -> Self {
        Following
    }

    pub(super) async fn changed(&mut self) {
        pending().await
    }

    pub(super) fn add(&mut self, _: Option<&str>, _: &[Topic], _: Option<f64>) {}

    pub(super) fn clear(&mut self) {}
}

impl Connection {
    pub(super) fn follow(&mut self) {}
}
