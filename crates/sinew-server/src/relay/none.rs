//! A build that has robots of its own only.

use std::sync::Arc;

use serde_json::Value;
use sinew_api::{Command, Halt, RobotReport, Rules};
use sinew_robot::{
    Order, Origin, Refusal,
    capability::{Boxed, Reading, Task},
};
use tokio::runtime::Handle;

use crate::hub::{Client, Member};

/// What no robot of such a build has.
#[derive(Debug, Clone)]
pub(crate) enum Relayed {}

impl Relayed {
    pub(crate) fn report(&self) -> RobotReport {
        match *self {}
    }

    pub(crate) fn retained(&self, _: &str) -> Option<Reading> {
        match *self {}
    }

    #[cfg(feature = "maps")]
    pub(crate) fn export(
        &self,
        _: sinew_robot::mapping::Format,
    ) -> Boxed<'static, Result<Vec<u8>, Refusal>> {
        match *self {}
    }

    pub(crate) fn done(&self, _: u64) {
        match *self {}
    }

    pub(crate) fn left(&self, _: u64) {
        match *self {}
    }

    pub(crate) fn note(&self, _: Order) {
        match *self {}
    }

    pub(crate) fn joins(&self, _: u64) {
        match *self {}
    }

    pub(crate) fn task(&self, _: &Arc<str>, _: Command, _: bool, _: Rules) -> Task {
        match *self {}
    }

    pub(crate) async fn run(
        &self,
        _: Task,
        _: Rules,
        _: Origin,
        _: &Handle,
    ) -> Result<Value, Refusal> {
        match *self {}
    }
}

pub(crate) fn halt(
    _: &[Arc<Member>],
    _: &Halt,
    _: &Client,
    _: u64,
    _: &Handle,
) -> Option<Boxed<'static, Result<(), Refusal>>> {
    None
}
