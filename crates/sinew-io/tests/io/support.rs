//! Robots as one client sees them.

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
        let origin = Origin {
            by: by.into(),
            client: 1,
            robot,
            epoch,
            received,
            presence: Default::default(),
        };
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

#[cfg(feature = "g1")]
pub(crate) use g1::G1;

#[cfg(feature = "g1")]
mod g1 {
    use std::{
        net::SocketAddr,
        sync::{Mutex, mpsc},
        time::Instant,
    };

    use sinew_io::{Around, Listener, Wiring, g1, teaching::Taught};
    use sinew_robot::{
        Epoch, Order, OrderKind, Origin, Refusal,
        capability::Driver,
        teach::{Answer, Event, RobotRequest, Settings, State},
    };

    pub(crate) struct G1 {
        driver: g1::G1,
        epoch: Epoch,
        events: mpsc::Receiver<Event>,
    }

    struct Told(Mutex<mpsc::Sender<Event>>);

    impl Listener<Event> for Told {
        fn event(&self, event: Event) {
            let _ = self.0.lock().unwrap().send(event);
        }
    }

    impl G1 {
        pub(crate) fn spawn(address: SocketAddr, settings: Settings) -> Self {
            Self::spawn_with(address, settings, Vec::new())
        }

        pub(crate) fn spawn_with(
            address: SocketAddr,
            settings: Settings,
            around: Vec<Around>,
        ) -> Self {
            let (told, events) = mpsc::channel();
            let epoch = Epoch::default();
            let listener = std::sync::Arc::new(Told(Mutex::new(told)));
            let wiring = Wiring { around, epoch: epoch.clone(), listener };
            let host = address.ip().to_string();
            let driver = g1::G1::spawn(&host, address.port(), settings, wiring).unwrap();
            G1 { driver, epoch, events }
        }

        pub(crate) async fn teach(
            &self,
            request: RobotRequest,
            by: &str,
        ) -> Result<Answer, Refusal> {
            let is_stop = request == RobotRequest::Stop;
            let ticket = if is_stop { self.epoch.advance() } else { self.epoch.now() };
            self.teach_since(ticket, request, by).await
        }

        pub(crate) async fn teach_since(
            &self,
            epoch: u64,
            request: RobotRequest,
            by: &str,
        ) -> Result<Answer, Refusal> {
            let (by, robot, received) = (by.into(), "g1".into(), Instant::now());
            let origin =
                Origin { by, client: 1, robot, epoch, received, presence: Default::default() };
            self.driver.request(request, origin).await
        }

        pub(crate) fn ticket(&self) -> u64 {
            self.epoch.now()
        }

        fn order(&self, kind: OrderKind, by: &str) {
            let epoch = self.epoch.advance();
            self.driver.order(&Order { kind, epoch, by: by.into(), client: Some(2) });
        }

        pub(crate) fn stop(&self, by: &str) {
            self.order(OrderKind::Stop, by);
        }

        pub(crate) fn taken(&self, by: &str) {
            self.order(OrderKind::Taken, by);
        }

        pub(crate) fn state(&self) -> State {
            self.driver.state()
        }

        /// What happens from now on.
        pub(crate) fn events(&self) -> &mpsc::Receiver<Event> {
            while self.events.try_recv().is_ok() {}
            &self.events
        }

        pub(crate) fn shut_down(&self) {
            self.driver.shut_down();
        }
    }
}
