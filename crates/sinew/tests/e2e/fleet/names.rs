//! Daemons, and hubs, of one name.

use serde_json::json;

use super::{
    HERE, VACUUM,
    field::{Daemon, Driver, run_on},
    hub, station,
};
use crate::{
    clients::{control, post, stop},
    net::Net,
    support::{Dir, until},
};

#[test]
fn a_hub_without_robots_offers_those_of_a_daemon_of_its_name() {
    let Some(net) = Net::new() else { return };
    let host = net.host("flat");
    let hub = Daemon::start(&host, &["--hub", "--fleet-listen", HERE, "--fleet-name", "flat"]);
    let flat = station(&host, "flat", &["--link", VACUUM]);
    hub.until_ready(&["flat.vacuum"]);
    let mut client = hub.lines();
    client.ok(stop());
    let name = client.name();
    flat.until("vacuum", "stopped", |robot| {
        robot["stopped_by"].as_str().is_some_and(|by| by.contains(&name))
    });
}

#[test]
fn a_command_line_sees_the_daemon_of_its_machine() {
    let Some(net) = Net::new() else { return };
    let host = net.host("flat");
    let hub = hub(&host);
    let own = Daemon::start(&host, &["--fleet", HERE, "--link", VACUUM]);
    let offered = until("a robot", || {
        let robots = hub.cli(&["robots", "--json"]).ok().json();
        robots[0]["name"].as_str().map(str::to_owned)
    });
    hub.until_ready(&[&offered]);
    let told =
        run_on(&host, &Dir::new(), &["--fleet", HERE, "stop", "--all", "--json"]).ok().json();
    assert_eq!(told["stopped"], json!([offered]));
    own.until("vacuum", "stopped", |robot| !robot["stopped_by"].is_null());
}

#[test]
fn of_two_daemons_of_a_name_one_is_seen_and_both_are_stopped() {
    let Some(net) = Net::new() else { return };
    let host = net.host("flat");
    let hub = hub(&host);
    let mut first = station(&host, "lab", &["--link", VACUUM]);
    hub.until_ready(&["lab.vacuum"]);
    let second = station(&host, "lab", &["--link", VACUUM]);
    second.until_ready(&["vacuum"]);
    until("both to say so", || {
        let said = first.process.errors().contains("another daemon is called lab, too");
        (said && second.process.errors().contains("another daemon is called lab")).then_some(())
    });
    let turns = |robot: &serde_json::Value| robot["state"]["velocity"]["angular"] != 0.0;
    // The one that is not seen turns, by a client of its own.
    let unseen = Driver::start(&second, "vacuum");
    second.until("vacuum", "turning", turns);
    hub.lines().ok(stop());
    second.until("vacuum", "stopped", |robot| !robot["stopped_by"].is_null() && !turns(robot));
    drop(unseen);

    // A client's velocities do not go on to the other one when the first is killed.
    let ann = Driver::start(&hub, "lab.vacuum");
    first.until("vacuum", "turning", turns);
    // By a client that leaves no stop behind.
    let http = second.address("http").to_owned();
    until("the other to be enabled", || {
        let json = "Content-Type: application/json\r\n";
        let enable = control("drive", "Enable");
        let (status, _) = host.inside(|| post(&http, json, &enable));
        (status == 200).then_some(())
    });
    let enabled = second.until("vacuum", "free", |robot| robot["holder"].is_null());
    assert!(enabled["stopped_by"].is_null(), "{enabled}");
    first.process.kill();
    let is_refused = |(_, message): &&(String, String)| message.contains("enable the robot first");
    until("ann to be refused", || {
        (ann.log().refused.iter().filter(is_refused).count() > 10).then_some(())
    });
    let robot = second.until("vacuum", "at rest", |robot| !turns(robot));
    assert!(robot["holder"].is_null() && robot["stopped_by"].is_null(), "{robot}");
}
