//! What a kind says of its robots is true of the robots that it starts.

use std::sync::Arc;

use serde_json::Value;
use sinew_io::{
    Address,
    kind::{Entry, KINDS, Services},
};
use sinew_robot::{
    Epoch,
    capability::{Audience, Reading},
};

struct Deaf;

impl Audience for Deaf {
    fn wants_sensors(&self) -> bool {
        false
    }

    fn sensors(&self, _: &Reading) {}

    fn frame(&self, _: &str, _: Vec<u8>) {}

    fn blocks_changed(&self, _: &str) {}

    fn wants_frames(&self, _: &str) -> bool {
        false
    }

    fn event(&self, _: Value) {}

    fn changed(&self) {}

    fn missed(&self, _: u64) {}
}

#[test]
fn every_kind_of_robot_is_simulated_with_the_capabilities_that_it_names() {
    #[cfg(feature = "g1")]
    let library = tempfile::tempdir().unwrap();
    // Robots of a fleet are simulated by the daemons that serve them.
    let simulated: Vec<_> = KINDS.iter().filter(|kind| kind.schemes().contains(&"sim")).collect();
    assert!(!simulated.is_empty());
    for kind in simulated {
        let entry = Entry::new(*kind, Address::Sim { seed: 1, rate: None }).unwrap();
        let services = Services {
            around: Vec::new(),
            epoch: Epoch::default(),
            audience: Arc::new(Deaf),
            #[cfg(feature = "g1")]
            library: Arc::new(sinew_io::library::Library::new(library.path().into())),
            #[cfg(feature = "g1")]
            maps: sinew_io::maps::Maps::new(library.path().into()),
        };
        let robot = entry.start(services).unwrap();
        assert_eq!(robot.capabilities(), kind.capabilities(), "{}", kind.name());
        robot.drivers.iter().for_each(|(_, driver)| driver.shut_down());
    }
}

#[cfg(feature = "g1")]
#[test]
fn a_rate_is_for_those_who_have_one() {
    let with_rate = |kind: &str| {
        let kind = sinew_io::kind::by_name(KINDS, kind).unwrap();
        Entry::new(kind, "sim:?rate=10".parse().unwrap())
    };
    assert_eq!(with_rate("crl200s").unwrap().link.to_string(), "sim:?seed=1&rate=10");
    let refused = with_rate("g1").unwrap_err().to_string();
    assert_eq!(refused, "g1: a simulated one has no rate of status packets: leave rate=10 out");
}
