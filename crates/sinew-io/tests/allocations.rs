//! The thread that runs a session allocates nothing while nothing but numbers changes.
//!
//! The allocator counts what each thread asks it for. A link around the real one is called by the
//! session's thread in every turn of its loop, and so can read what that thread asked for in between.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    alloc::System,
    cell::RefCell,
    io,
    net::SocketAddr,
    os::fd::BorrowedFd,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use alloc_tracker::{Allocator, Operation, ThreadSpan};
use sinew_io::{
    Link, Listener,
    driver::{Handle, Policy, SerialLink, Work},
    sim::Simulator,
};
use sinew_robot::{
    Origin, Session,
    vacuum::{self, Command},
};
use tokio::runtime::{Builder, Runtime};

#[global_allocator]
static ALLOCATOR: Allocator<System> = Allocator::system();

/// Longer than anything here takes, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// What is looked at: some seconds, so that all that is done again and again is done.
const TURNS: u64 = 800;
/// What a link asks for that allocates.
const WASTE: usize = 7;

thread_local! {
    /// Ends, and is counted, when it is dropped.
    static SPAN: RefCell<Option<ThreadSpan>> = const { RefCell::new(None) };
}

/// Measures turns of a session's thread.
struct Meter {
    allocated: Operation,
    open: AtomicBool,
    turns: AtomicU64,
    /// A turn is being measured.
    measuring: AtomicBool,
}

impl Meter {
    fn new() -> Arc<Self> {
        Arc::new(Meter {
            allocated: alloc_tracker::Session::new().operation("turns"),
            open: AtomicBool::new(false),
            turns: AtomicU64::new(0),
            measuring: AtomicBool::new(false),
        })
    }

    /// A turn of the calling thread's loop ends, and the next begins.
    fn turn(&self) {
        SPAN.with_borrow_mut(|span| {
            drop(span.take());
            self.turns.fetch_add(1, Ordering::SeqCst);
            let open = self.open.load(Ordering::SeqCst);
            *span = open.then(|| self.allocated.measure_thread());
            self.measuring.store(open, Ordering::SeqCst);
        });
    }

    /// The bytes that the thread asks for in so many turns, while this is done again and again.
    fn measure(&self, turns: u64, mut meanwhile: impl FnMut()) -> u64 {
        let before = self.allocated.total_bytes_allocated();
        self.open.store(true, Ordering::SeqCst);
        let end = self.turns.load(Ordering::SeqCst) + turns;
        while self.turns.load(Ordering::SeqCst) < end {
            meanwhile();
            let next = self.turns.load(Ordering::SeqCst) + 4;
            until("turns", || self.turns.load(Ordering::SeqCst) >= next);
        }
        self.open.store(false, Ordering::SeqCst);
        until("the last turn's end", || !self.measuring.load(Ordering::SeqCst));
        self.allocated.total_bytes_allocated() - before
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENCE, "waited too long for {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// A link that tells a meter of its thread's turns.
struct Metered<L> {
    link: L,
    meter: Arc<Meter>,
    /// Allocates with every read, to see that it is noticed.
    wasteful: bool,
}

impl<L: Link> Link for Metered<L> {
    type Peer = L::Peer;

    fn open(&mut self, now: Instant) -> io::Result<()> {
        self.link.open(now)
    }

    fn is_open(&self) -> bool {
        self.link.is_open()
    }

    /// Asked for once in a turn, before the thread waits.
    fn events(&self) -> Option<BorrowedFd<'_>> {
        self.meter.turn();
        self.link.events()
    }

    fn take_events(&mut self, now: Instant) -> io::Result<()> {
        self.link.take_events(now)
    }

    fn receive(&mut self, now: Instant, buffer: &mut [u8]) -> io::Result<Option<(usize, L::Peer)>> {
        if self.wasteful {
            drop(std::hint::black_box(vec![0u8; WASTE]));
        }
        self.link.receive(now, buffer)
    }

    fn send(&mut self, now: Instant, to: L::Peer, bytes: &[u8]) -> io::Result<()> {
        self.link.send(now, to, bytes)
    }

    fn flush(&mut self, now: Instant) -> io::Result<()> {
        self.link.flush(now)
    }

    fn discard(&mut self) {
        self.link.discard();
    }

    fn has_room(&self) -> bool {
        self.link.has_room()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.link.poll_timeout()
    }

    fn address_of(&self, peer: L::Peer) -> Option<SocketAddr> {
        self.link.address_of(peer)
    }

    fn is_stream(&self) -> bool {
        self.link.is_stream()
    }
}

/// Hears of status when it wants to, and of everything else always.
#[derive(Default)]
struct Heard {
    wants_status: AtomicBool,
    status: AtomicU64,
    /// Whatever is not status: in the steady state there is none.
    others: Mutex<Vec<String>>,
}

impl Heard {
    fn wants_if(&self, is_status: bool) -> bool {
        !is_status || self.wants_status.load(Ordering::SeqCst)
    }

    fn note(&self, is_status: bool, event: &dyn std::fmt::Debug) {
        match is_status {
            true => drop(self.status.fetch_add(1, Ordering::SeqCst)),
            false => self.others.lock().unwrap().push(format!("{event:?}")),
        }
    }

    /// What happened since this was asked before.
    fn take_others(&self) -> Vec<String> {
        std::mem::take(&mut *self.others.lock().unwrap())
    }
}

impl Listener<vacuum::Event> for Heard {
    fn wants(&self, event: &vacuum::Event) -> bool {
        self.wants_if(matches!(event, vacuum::Event::Status { .. }))
    }

    fn event(&self, event: vacuum::Event) {
        self.note(matches!(event, vacuum::Event::Status { .. }), &event);
    }
}

/// A robot's host, and how it is measured.
struct Rig<S: Session> {
    handle: Handle<S>,
    meter: Arc<Meter>,
    heard: Arc<Heard>,
    runtime: Runtime,
}

impl<S: Session> Rig<S>
where
    Heard: Listener<S::Event>,
{
    fn start(
        session: S,
        link: impl Link<Peer = S::Peer> + 'static,
        policy: Policy,
        work: Option<Work<S>>,
        wasteful: bool,
    ) -> Self
    where
        S::Peer: 'static,
    {
        let (meter, heard) = (Meter::new(), Arc::new(Heard::default()));
        let link = Metered { link, meter: Arc::clone(&meter), wasteful };
        let listener: Arc<dyn Listener<S::Event>> = heard.clone();
        let handle = Handle::spawn(session, Box::new(link), policy, listener, work).unwrap();
        Rig { handle, meter, heard, runtime: Builder::new_current_thread().build().unwrap() }
    }

    fn ask(&self, request: S::Request) -> bool {
        let (by, robot) = ("test".into(), "robot".into());
        let origin = Origin {
            by,
            client: 1,
            robot,
            epoch: 0,
            received: Instant::now(),
            presence: Default::default(),
        };
        self.runtime.block_on(self.handle.request(request, origin)).is_ok()
    }

    /// What the thread allocates in a while in which nothing happens but status, and all that is
    /// asked is done. `prepare` brings the robot to where it can be.
    fn measure(&self, turns: u64, prepare: impl Fn(), mut ask: impl FnMut() -> bool) -> u64 {
        let begin = Instant::now();
        loop {
            prepare();
            self.heard.take_others();
            let mut accepted = true;
            let bytes = self.meter.measure(turns, || accepted &= ask());
            let others = self.heard.take_others();
            if accepted && others.is_empty() {
                return bytes;
            }
            // A machine so busy that the link was lost shows no steady state.
            eprintln!("accepted: {accepted}; beside status there was {others:?}");
            assert!(begin.elapsed() < PATIENCE, "it is not left in peace");
        }
    }

    /// Measures while status is heard by none, then by a listener.
    fn measure_both(&self, turns: u64, prepare: impl Fn(), mut ask: impl FnMut() -> bool) {
        for wants_status in [false, true] {
            self.heard.wants_status.store(wants_status, Ordering::SeqCst);
            let before = self.heard.status.load(Ordering::SeqCst);
            let bytes = self.measure(turns, &prepare, &mut ask);
            assert_eq!(bytes, 0, "bytes in {turns} turns, status heard: {wants_status}");
            let heard = self.heard.status.load(Ordering::SeqCst) > before;
            assert_eq!(heard, wants_status);
        }
    }
}

impl<S: Session> Drop for Rig<S> {
    fn drop(&mut self) {
        self.handle.shut_down();
    }
}

const ENABLE: Command = Command::DriveEnable { mode: 2 };
/// What a client sends that drives by velocity: to and fro, and it lets go in between.
const DRIVING: [Command; 3] = [
    Command::Velocity { linear: 0.0, angular: 0.5 },
    Command::Velocity { linear: 0.0, angular: 0.0 },
    Command::Velocity { linear: 0.0, angular: -0.5 },
];

/// A simulated vacuum and its host.
fn vacuum(wasteful: bool) -> (Rig<vacuum::Session>, Simulator) {
    // As the driver's.
    let policy = Policy {
        name: "vacuum",
        priority: Some(20),
        relayed: true,
        farewell: Duration::from_millis(200),
    };
    let simulator = Simulator::spawn(sinew_sim::vacuum::Options::default(), None).unwrap();
    // A machine that is busy is not to be taken for a client that is silent.
    let deadman = Duration::from_secs(2);
    let settings = vacuum::Settings { deadman, ..vacuum::Settings::default() };
    let link = SerialLink::new(simulator.path().to_owned(), settings.baud);
    let session = vacuum::Session::new(settings, Instant::now());
    (Rig::start(session, link, policy, None, wasteful), simulator)
}

/// Waits until the vacuum can be driven.
fn make_ready(rig: &Rig<vacuum::Session>) {
    until("boot", || rig.handle.state().link == vacuum::LinkState::Ready);
    until("the wheels", || rig.ask(ENABLE) && DRIVING.iter().all(|drive| rig.ask(drive.clone())));
    until("the brushes", || rig.ask(Command::MainBrush { percent: 30 }));
    until("the brush", || rig.handle.state().main_brush == 30);
}

#[test]
fn a_vacuums_thread_allocates_nothing_while_it_is_driven() {
    let (rig, _simulator) = vacuum(false);
    let mut asked = 0;
    rig.measure_both(
        TURNS,
        || make_ready(&rig),
        || {
            asked += 1;
            rig.ask(DRIVING[asked % DRIVING.len()].clone())
        },
    );
    assert!(asked > 2 * DRIVING.len());
}

#[test]
fn a_link_that_allocates_is_noticed() {
    let (rig, _simulator) = vacuum(true);
    let bytes = rig.measure(50, || make_ready(&rig), || true);
    assert!(bytes >= 50 * WASTE as u64, "{bytes}");
}

#[cfg(feature = "g1")]
mod g1 {
    use sinew_io::{
        driver::UdpClient,
        sim::{G1Options, G1Simulator},
    };
    use sinew_robot::teach::{Event, LinkState, Reduction, RobotRequest, Session, Settings};

    use super::*;

    impl Listener<Event> for Heard {
        fn wants(&self, event: &Event) -> bool {
            self.wants_if(matches!(event, Event::Status { .. }))
        }

        fn event(&self, event: Event) {
            self.note(matches!(event, Event::Status { .. }), &event);
        }
    }

    /// The listener is told on the session's own thread. This one only counts; the daemon's makes
    /// text there for the clients that read joints.
    #[test]
    fn a_g1s_thread_allocates_nothing_for_status_and_while_teaching_is_kept_up() {
        let simulator = G1Simulator::spawn(G1Options::default()).unwrap();
        let policy =
            Policy { name: "g1", priority: None, relayed: false, farewell: Duration::from_secs(2) };
        // So short that all that is repeated is repeated many times.
        let settings = Settings {
            cycle: Duration::from_millis(300),
            maintain: Duration::from_millis(100),
            ..Settings::default()
        };
        let session = Session::new(settings, Instant::now());
        let address = simulator.address();
        let link = UdpClient::new(address.ip().to_string(), address.port());
        let work: Work<Session> = Box::new(|job: Reduction| job.run());
        let rig = Rig::start(session, link, policy, Some(work), false);
        let enter = || {
            until("the link", || rig.handle.state().link == LinkState::Ready);
            until("teaching", || rig.ask(RobotRequest::Enter));
        };
        let before = rig.handle.state().counters;
        rig.measure_both(TURNS / 2, enter, || true);
        let after = rig.handle.state().counters;
        // Maintenance is two datagrams a turn of it, the cycle eight.
        assert!(after.status > before.status && after.sent > before.sent + 20, "{after:?}");
    }
}
