//! What an order overtakes.

use std::time::Instant;

use sinew_robot::{Order, OrderKind, Origin, Overtaking, Presence};

fn asked_by(client: u64, epoch: u64, presence: &Presence) -> Origin {
    let (by, robot) = (format!("client {client}").into(), "robot".into());
    let presence = presence.clone();
    Origin { by, client, robot, epoch, received: Instant::now(), presence }
}

fn order(kind: OrderKind, epoch: u64, client: u64) -> Order {
    Order { kind, epoch, by: format!("client {client}").into(), client: Some(client) }
}

#[test]
fn what_a_client_asked_that_has_gone_is_refused_however_many_have_gone_since() {
    let (here, gone) = (Presence::default(), Presence::default());
    let mut overtaking = Overtaking::default();
    gone.end();
    overtaking.note(order(OrderKind::Released, 1, 1));
    overtaking.note(order(OrderKind::Released, 2, 2));
    let refusal = overtaking.check(&asked_by(1, 0, &gone), |_| true).unwrap_err();
    assert_eq!(refusal.message, "client 1 had gone before it was sent");
    assert!(overtaking.check(&asked_by(3, 0, &here), |_| true).is_ok());
    // What may outlive its client does.
    let outlives = |by| by != OrderKind::Released;
    assert!(overtaking.check(&asked_by(1, 0, &gone), outlives).is_ok());
}

#[test]
fn a_stop_overtakes_what_was_asked_before_it_and_nothing_else() {
    let here = Presence::default();
    let mut overtaking = Overtaking::default();
    overtaking.note(order(OrderKind::Stop, 5, 1));
    // One that is told late does not take its place.
    overtaking.note(order(OrderKind::Stop, 4, 2));
    let refusal = overtaking.check(&asked_by(3, 4, &here), |_| true).unwrap_err();
    assert_eq!(refusal.message, "client 1 stopped robot before it was sent");
    assert!(overtaking.check(&asked_by(3, 5, &here), |_| true).is_ok());
    assert!(overtaking.check(&asked_by(3, 4, &here), |by| by == OrderKind::Taken).is_ok());
}

#[test]
fn controls_that_were_taken_overtake_all_but_the_new_holder() {
    let here = Presence::default();
    let mut overtaking = Overtaking::default();
    overtaking.note(order(OrderKind::Taken, 5, 1));
    assert!(overtaking.check(&asked_by(1, 4, &here), |_| true).is_ok());
    let refusal = overtaking.check(&asked_by(2, 4, &here), |_| true).unwrap_err();
    assert_eq!(refusal.message, "client 1 took the controls before it was sent");
}
