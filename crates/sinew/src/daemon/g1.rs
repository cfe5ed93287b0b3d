//! G1s of a daemon, with the library they share.

use std::{net::SocketAddr, path::Path, sync::Arc};

use sinew_io::{
    Address,
    g1::G1,
    library::Library,
    sim::{G1Options, G1Simulator},
    tap::Tap,
};
use sinew_robot::teach::Settings;
use sinew_server::{Server, Teacher};

pub(super) struct G1s {
    library: Arc<Library>,
    robots: Vec<G1>,
    /// The robots themselves, where they are simulated.
    simulators: Vec<G1Simulator>,
}

impl G1s {
    pub(super) fn new(library: &Path) -> Self {
        let library = Arc::new(Library::new(library.into()));
        G1s { library, robots: Vec::new(), simulators: Vec::new() }
    }

    /// Starts a G1's session, and the robot too where it is simulated.
    pub(super) fn start(
        &mut self,
        name: &str,
        address: Address,
        tap: Tap,
        server: &mut Server,
    ) -> anyhow::Result<()> {
        let settings = Settings::default();
        let g1 = match address {
            Address::Udp { address, layout } => {
                G1::spawn_with(address, Settings { layout, ..settings }, tap)?
            }
            Address::Sim { seed } => {
                let simulator = G1Simulator::spawn(G1Options {
                    robot: sinew_sim::g1::Options { seed, ..Default::default() },
                    listen: SocketAddr::from(([127, 0, 0, 1], 0)),
                    store: None,
                    discovery: None,
                })?;
                let g1 = G1::spawn_with(simulator.address(), settings, tap)?;
                self.simulators.push(simulator);
                g1
            }
            other => anyhow::bail!("a G1 is taught over UDP: wanted udp:HOST or sim:, got {other}"),
        };
        server.add(name, Teacher::new(g1.clone(), Arc::clone(&self.library)))?;
        self.robots.push(g1);
        Ok(())
    }

    /// Ends teaching and playback of all.
    pub(super) fn shut_down(&self) {
        self.robots.iter().for_each(G1::shut_down);
    }
}
