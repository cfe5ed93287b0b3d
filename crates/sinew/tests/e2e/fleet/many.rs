//! The gate's fleet: many robots, and nothing that was acknowledged is lost.

use std::{collections::BTreeMap, time::Instant};

use serde_json::{Value, json};

use super::{
    field::{Daemon, HERE, to},
    station,
};
use crate::{
    clients::{Lines, led},
    net::Net,
    support::until,
};

const DAEMONS: usize = 4;
const EACH: usize = 5;

/// Daemons with vacuums, by a router of their own, and a hub.
struct Fleet {
    router: Daemon,
    hub: Daemon,
    daemons: Vec<Daemon>,
    _net: Net,
}

impl Fleet {
    fn start() -> Option<Self> {
        let net = Net::new()?;
        let host = net.host("all");
        let router = Daemon::start(&host, &["--fleet-listen", HERE]);
        let daemons = (0..DAEMONS).map(|place| {
            let seeds = (0..EACH).map(|each| place * EACH + each);
            let links: Vec<_> =
                seeds.map(|seed| format!("crl200s=sim:?rate=10&seed={seed}")).collect();
            let arguments: Vec<_> = links.iter().flat_map(|link| ["--link", link]).collect();
            station(&host, &format!("d{place}"), &arguments)
        });
        let daemons = daemons.collect();
        let hub = Daemon::start(&host, &["--hub", "--fleet", HERE, "--fleet-name", "hub"]);
        let fleet = Fleet { router, hub, daemons, _net: net };
        let begin = Instant::now();
        fleet.await_all();
        println!("all robots were ready on the hub after {:?}", begin.elapsed());
        Some(fleet)
    }

    fn await_all(&self) {
        let mut client = self.hub.lines();
        until("all robots", || {
            let robots = client.ok(json!({ "type": "Robots" }))["robots"].clone();
            let robots = robots.as_array().unwrap();
            let ready = robots.iter().filter(|robot| robot["link"]["state"] == "ready").count();
            (ready == DAEMONS * EACH).then_some(())
        });
    }

    /// Each robot's name on the hub, its daemon and its name there.
    fn robots(&self) -> impl Iterator<Item = (String, usize, String)> {
        (0..DAEMONS * EACH).map(|place| {
            let (daemon, number) = (place / EACH, place % EACH + 1);
            let own = if number == 1 { "vacuum".to_owned() } else { format!("vacuum{number}") };
            (format!("d{daemon}.{own}"), daemon, own)
        })
    }

    /// Asserts that each robot's light is what was acknowledged last.
    fn assert_lit(&self, lights: &BTreeMap<String, u8>) {
        let mut clients: Vec<Lines> = self.daemons.iter().map(Daemon::lines).collect();
        for (name, daemon, own) in self.robots() {
            let mut found = Value::Null;
            until(&format!("{name} to have light {}: {found}", lights[&name]), || {
                let robots = clients[daemon].ok(json!({ "type": "Robots" }))["robots"].clone();
                let robots = robots.as_array().unwrap();
                let robot = robots.iter().find(|robot| robot["name"] == own).unwrap();
                found = robot["state"]["led"].clone();
                (found == lights[&name]).then_some(())
            });
        }
    }

    /// Stops everything, which has to be confirmed by all.
    fn stop_all(&self) {
        let stopped = self.hub.cli(&["stop", "--all", "--json"]).ok().json();
        println!("{} robots were stopped in {} ms", DAEMONS * EACH, stopped["ms"]);
        assert_eq!(stopped["stopped"].as_array().unwrap().len(), DAEMONS * EACH, "{stopped}");
        assert_eq!(stopped["not_reached"], json!([]), "{stopped}");
    }
}

#[test]
fn twenty_robots_are_seen_stopped_and_do_all_that_they_acknowledged() {
    let Some(mut fleet) = Fleet::start() else { return };
    fleet.stop_all();
    let mut client = fleet.hub.lines();
    let mut lights = BTreeMap::new();
    let begin = Instant::now();
    for (place, (name, ..)) in fleet.robots().enumerate() {
        let light = u8::try_from(place % 17 + 2).unwrap();
        client.ok(to(&name, led(light)));
        lights.insert(name, light);
    }
    println!("{} commands were acknowledged in {:?}", lights.len(), begin.elapsed());
    fleet.assert_lit(&lights);

    // Again and again while the router goes and comes.
    let (mut sent, mut refused, mut light) = (0, 0, 0);
    let mut round = |lights: &mut BTreeMap<String, u8>| {
        light = light % 18 + 1;
        let names: Vec<_> = lights.keys().cloned().collect();
        let mut acknowledged = 0;
        for name in names {
            sent += 1;
            if client.ask(to(&name, led(light)))["ok"] == true {
                lights.insert(name, light);
                acknowledged += 1;
            } else {
                refused += 1;
            }
        }
        acknowledged
    };
    assert_eq!(round(&mut lights), DAEMONS * EACH);
    fleet.router.process.kill();
    let killed = Instant::now();
    assert_eq!(round(&mut lights), 0, "there is no way to any");
    fleet.router.restart();
    until("all robots to be back", || (round(&mut lights) == DAEMONS * EACH).then_some(()));
    println!("all were back {:?} after the router was killed", killed.elapsed());
    println!("of {sent} commands {refused} were not acknowledged");
    // What was not acknowledged may not act later, either: each robot has the last of them.
    fleet.assert_lit(&lights);
    fleet.stop_all();
}
