//! A robot that another daemon of the fleet serves: what it is and can do is known when it is met.

use sinew_robot::capability::{Capability, Robot};

use super::{Error, Kind, Services, Settings, read, table};
use crate::Address;

pub(super) struct Served;

/// Its settings are those of its own daemon.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
struct Set {}

impl Kind for Served {
    fn name(&self) -> &'static str {
        "fleet"
    }

    fn default_name(&self) -> &'static str {
        "remote"
    }

    /// Any, for all that is known beforehand.
    fn capabilities(&self) -> &'static [Capability] {
        use Capability::{Components, Drive, Mapping, Sensors, Teach};
        &[Drive, Components, Sensors, Teach, Mapping]
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["zenoh"]
    }

    fn settings(&self, given: &Settings) -> Result<Settings, Error> {
        read::<Set>(given).map(|set| table(&set))
    }

    fn start(&self, link: &Address, _: &Settings, _: Services) -> Result<Robot, Error> {
        Err(Error::Link(format!("{link}: there is no fleet: say where it is (--fleet ENDPOINT)")))
    }
}
