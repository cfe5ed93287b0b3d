//! A vacuum as one client sees it.

use std::{path::Path, sync::Arc, time::Instant};

use sinew_io::{Around, Wiring, sim::Simulator, vacuum};
use sinew_robot::{
    Epoch, Order, OrderKind, Origin, Refusal,
    capability::Driver,
    vacuum::{Command, Event, Settings, State},
};

pub(crate) struct Vacuum {
    driver: vacuum::Vacuum,
    epoch: Epoch,
    _simulator: Option<Simulator>,
}

impl Vacuum {
    pub(crate) fn spawn(path: &Path, settings: Settings, wiring: Wiring<Event>) -> Self {
        let epoch = wiring.epoch.clone();
        let driver = vacuum::Vacuum::spawn(path, settings, wiring).unwrap();
        Vacuum { driver, epoch, _simulator: None }
    }

    pub(crate) fn simulated(seed: u64, around: Vec<Around>) -> Self {
        let options = sinew_sim::vacuum::Options { seed, ..Default::default() };
        let simulator = Simulator::spawn(options, None).unwrap();
        let wiring = Wiring { around, ..Wiring::default() };
        let vacuum = Self::spawn(simulator.path(), Settings::default(), wiring);
        Vacuum { _simulator: Some(simulator), ..vacuum }
    }

    pub(crate) fn execute(
        &self,
        command: Command,
        by: &str,
    ) -> impl Future<Output = Result<(), Refusal>> + use<> {
        self.execute_since(Instant::now(), command, by)
    }

    pub(crate) fn execute_since(
        &self,
        received: Instant,
        command: Command,
        by: &str,
    ) -> impl Future<Output = Result<(), Refusal>> + use<> {
        let epoch = self.epoch.now();
        let robot = "vacuum".into();
        let origin = Origin { by: by.into(), client: 1, robot, epoch, received };
        let driver = self.driver.clone();
        async move { driver.execute(command, origin).await }
    }

    fn order(&self, kind: OrderKind, by: &str, client: u64) {
        let by: Arc<str> = by.into();
        self.driver.order(&Order { kind, epoch: self.epoch.advance(), by, client: Some(client) });
    }

    pub(crate) fn stop(&self, by: &str) {
        self.order(OrderKind::Stop, by, 2);
    }

    pub(crate) fn disable(&self, by: &str) {
        self.order(OrderKind::Disable, by, 2);
    }

    pub(crate) fn taken(&self, by: &str) {
        self.order(OrderKind::Taken, by, 2);
    }

    /// The client that executes has gone.
    pub(crate) fn release(&self, by: &str) {
        self.order(OrderKind::Released, by, 1);
    }

    pub(crate) fn state(&self) -> State {
        self.driver.state()
    }

    pub(crate) fn shut_down(&self) {
        self.driver.shut_down();
    }
}
