//! What reaches a vacuum's thread however much waits for it.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use sinew_io::Address;
use sinew_robot::{
    Code, Refusal,
    vacuum::{Command, State},
};

use crate::{
    support::Vacuum,
    vacuum::{is_ready, runtime, spawn, until},
};

const ENABLE: Command = Command::DriveEnable { mode: 2 };
const FORWARD: Command = Command::Velocity { linear: 0.1, angular: 0.0 };

/// Commands that are asked at most.
const MOST: usize = 20_000;

type Asked<'a> = Pin<Box<dyn Future<Output = Result<(), Refusal>> + 'a>>;

/// Enabled and driving, with more commands asked than there is room for, unless the thread is so
/// fast that it has room for any number.
fn swamped(vacuum: &Vacuum) -> Vec<Asked<'_>> {
    let runtime = runtime();
    until(vacuum, "boot", is_ready);
    runtime.block_on(vacuum.execute(ENABLE, "driver")).unwrap();
    runtime.block_on(vacuum.execute(FORWARD, "driver")).unwrap();
    let mut context = Context::from_waker(Waker::noop());
    let mut waiting = Vec::new();
    let mut full = false;
    while !full && waiting.len() < MOST {
        let mut asked: Asked<'_> = Box::pin(vacuum.execute(FORWARD, "driver"));
        match asked.as_mut().poll(&mut context) {
            Poll::Pending => waiting.push(asked),
            Poll::Ready(done) => full = done.is_err_and(|refusal| refusal.code == Code::Busy),
        }
    }
    waiting
}

fn stopped_by(wanted: &str) -> impl Fn(&State) -> bool + '_ {
    move |state| state.stopped_by.as_deref() == Some(wanted)
}

#[test]
fn every_order_gets_through_a_full_mailbox() {
    type Order = (fn(&Vacuum, &str), &'static str);
    let orders: [Order; 4] = [
        (Vacuum::stop, "another"),
        (Vacuum::disable, "another"),
        (Vacuum::taken, "another took the controls"),
        (Vacuum::release, "another left"),
    ];
    for (order, by) in orders {
        let vacuum = spawn(8);
        let waiting = swamped(&vacuum);
        order(&vacuum, "another");
        until(&vacuum, by, stopped_by(by));
        // Whatever waited is over by the time that this is answered.
        let refusal = runtime().block_on(vacuum.execute(FORWARD, "driver")).unwrap_err();
        assert!(refusal.message.contains(by), "{refusal}");
        assert_eq!(vacuum.state().velocity.linear, 0.0);
        drop(waiting);
        vacuum.shut_down();
    }
}

#[test]
fn a_stop_that_is_asked_like_a_command_is_never_refused_and_seen_when_it_is_answered() {
    for stop in [Command::DriveReset, Command::DriveDisable] {
        let vacuum = spawn(9);
        let waiting = swamped(&vacuum);
        runtime().block_on(vacuum.execute(stop.clone(), "another")).unwrap();
        until(&vacuum, "stop", stopped_by("another"));
        drop(waiting);
        runtime().block_on(vacuum.execute(stop, "a third")).unwrap();
        assert_eq!(vacuum.state().stopped_by.as_deref(), Some("a third"));
        vacuum.shut_down();
    }
}

#[test]
fn a_velocity_that_came_too_long_ago_is_refused() {
    let (vacuum, runtime) = (spawn(10), runtime());
    until(&vacuum, "boot", is_ready);
    runtime.block_on(vacuum.execute(ENABLE, "driver")).unwrap();
    let long_ago = Instant::now().checked_sub(Duration::from_secs(2)).unwrap();
    let refusal = runtime.block_on(vacuum.execute_since(long_ago, FORWARD, "driver")).unwrap_err();
    assert_eq!(refusal.code, Code::NotReady);
    assert!(refusal.message.contains("ms ago"), "{refusal}");
    assert_eq!(vacuum.state().velocity.linear, 0.0);
    vacuum.shut_down();
}

#[test]
fn the_line_is_as_fast_as_its_address_says() {
    for (address, wanted) in [("serial:/nowhere?baud=57600", 57_600), ("serial:/nowhere", 115_200)]
    {
        let Ok(Address::Serial { baud, .. }) = address.parse() else { panic!("{address}") };
        assert_eq!(baud, wanted);
    }
}
