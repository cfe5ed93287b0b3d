//! Who is let in: tokens, certificates, and what is refused at start.

use std::process::Command;

use super::{
    VACUUM,
    field::{Daemon, enable, run_on, to, velocity},
};
use crate::{
    clients::{led, stop},
    net::Net,
    support::{CONTROL_TOKEN, Dir, Process, READ_TOKEN, run, until},
};

const OFF: [&str; 7] = ["serve", "--tcp", "off", "--lines", "off", "--http", "off"];

#[test]
fn a_fleet_beyond_the_machine_needs_tls_and_tokens_or_does_not_start() {
    let dir = Dir::new();
    let start = |more: &[&str]| run(&dir, &[&OFF[..], &["--link", VACUUM], more].concat());
    for way in ["--fleet", "--fleet-listen"] {
        for end in ["tcp/0.0.0.0:7447", "tcp/10.77.9.9:7447", "tcp/[::]:7447"] {
            let ended = start(&[way, end]);
            assert_eq!(ended.code, Some(1), "{ended:?}");
            assert!(ended.stderr.contains("--fleet-insecure"), "{ended:?}");
        }
        for more in [&["--fleet-insecure"][..], &[]] {
            let end = if more.is_empty() { "tls/10.77.9.9:7447" } else { "tcp/10.77.9.9:7447" };
            let ended = start(&[&[way, end], more].concat());
            assert_eq!(ended.code, Some(1), "{ended:?}");
            assert!(ended.stderr.contains("--token-file"), "{ended:?}");
        }
    }
    // Zenoh's own file is no way around it.
    dir.file("zenoh.json5", "{ connect: { endpoints: [\"tcp/10.77.9.9:7447\"] } }");
    dir.file("sinew.toml", "[fleet]\nconfig = \"zenoh.json5\"\n");
    let ended = start(&[]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("--fleet-insecure"), "{ended:?}");
}

#[test]
fn a_token_decides_what_a_client_of_the_fleet_may_do() {
    let Some(net) = Net::new() else { return };
    let (there, here) = (net.host("lab"), net.host("desk"));
    let addresses = net.lan(&[&there, &here]);
    let end = format!("tcp/{}:7447", addresses[0]);
    let dir = Dir::new();
    let tokens = dir.tokens();
    let files = ["--token-file", &tokens, "--fleet-listen", &end, "--fleet-insecure"];
    let lab = Daemon::within(
        dir,
        &there,
        &[&["--link", VACUUM, "--fleet-name", "lab"][..], &files].concat(),
    );
    lab.until_ready(&["vacuum"]);
    // A hub with this secret, and what a client of it is answered.
    let hub = |secret: Option<&str>| {
        let dir = Dir::new();
        let file = secret.map(|secret| dir.secret("secret", secret));
        let mut arguments = vec!["--hub", "--fleet", &end, "--fleet-insecure"];
        arguments.extend(file.iter().flat_map(|file| ["--fleet-secret-file", file]));
        let hub = Daemon::within(dir, &here, &arguments);
        // To look needs none: topics are for all that Zenoh lets in.
        hub.until_ready(&["lab.vacuum"]);
        hub
    };
    for wrong in [None, Some("control-0123456789abcdeX")] {
        let hub = hub(wrong);
        for message in [led(5), stop(), enable()] {
            hub.lines().fails(to("lab.vacuum", message), "unauthorized");
        }
    }
    let reading = hub(Some(READ_TOKEN));
    reading.lines().ok(to("lab.vacuum", stop()));
    for message in [led(5), enable(), velocity(0)] {
        reading.lines().fails(to("lab.vacuum", message), "unauthorized");
    }
    assert_ne!(light_of(&lab), 5);
    let controlling = hub(Some(CONTROL_TOKEN));
    controlling.lines().ok(to("lab.vacuum", led(5)));
    lab.until("vacuum", "lit", |robot| robot["state"]["led"] == 5);
    let mut client = controlling.lines();
    until("the controls", || (client.ask(to("lab.vacuum", enable()))["ok"] == true).then_some(()));
    client.ok(to("lab.vacuum", velocity(0)));
    for daemon in [&lab, &reading, &controlling] {
        assert!(!daemon.process.errors().contains("0123456789abcde"), "secrets are not logged");
    }
}

fn light_of(daemon: &Daemon) -> u64 {
    daemon.until("vacuum", "there", |_| true)["state"]["led"].as_u64().unwrap()
}

/// An authority, and certificates of it, in this directory; none where there is no `openssl`.
fn certificates(dir: &Dir, address: &str) -> Option<()> {
    if Command::new("openssl").arg("version").output().is_err() {
        eprintln!("skipped: openssl is not installed");
        return None;
    }
    let execute = |words: &str| {
        let mut command = Command::new("openssl");
        command.args(words.split(' ')).current_dir(dir.join("."));
        Process::spawn(&mut command).wait().ok();
    };
    for (name, subject) in [("ca", "authority"), ("stranger", "stranger")] {
        execute(&format!(
            "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={subject} -keyout {name}.key -out {name}.pem"
        ));
    }
    for name in ["hub", "robot"] {
        execute(&format!(
            "req -newkey rsa:2048 -nodes -subj /CN={name} -keyout {name}.key -out {name}.csr"
        ));
        dir.file(&format!("{name}.ext"), &format!("subjectAltName=IP:{address}\n"));
        execute(&format!(
            "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile {name}.ext -out {name}.pem"
        ));
    }
    Some(())
}

#[test]
fn with_certificates_only_those_are_let_in_that_have_them() {
    let Some(net) = Net::new() else { return };
    let (there, here) = (net.host("hub"), net.host("lab"));
    let addresses = net.lan(&[&there, &here]);
    let end = format!("tls/{}:7447", addresses[0]);
    let dir = Dir::new();
    let Some(()) = certificates(&dir, &addresses[0]) else { return };
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let config = |name: &str, members: &[(&str, &str)]| {
        let tls = members.iter().map(|(key, file)| format!("{key}: {:?}", path(file)));
        let tls = tls.collect::<Vec<_>>().join(", ");
        let text =
            format!("{{ transport: {{ link: {{ tls: {{ {tls}, enable_mtls: true }} }} }} }}");
        dir.file(name, &text)
    };
    let ca = ("root_ca_certificate", "ca.pem");
    let of_hub = config(
        "hub.json5",
        &[ca, ("listen_private_key", "hub.key"), ("listen_certificate", "hub.pem")],
    );
    let own = [("connect_private_key", "robot.key"), ("connect_certificate", "robot.pem")];
    let of_robot = config("robot.json5", &[&[ca], &own[..]].concat());
    let secret = dir.secret("secret", CONTROL_TOKEN);
    let configured = |file: &str| {
        let own = Dir::new();
        own.file("sinew.toml", &format!("[fleet]\nconfig = {file:?}\n"));
        own
    };
    let listen = ["--hub", "--fleet-listen", &end, "--fleet-secret-file", &secret];
    let hub = Daemon::within(configured(&of_hub), &there, &listen);
    let tokens = dir.tokens();
    let connect = ["--fleet", &end, "--fleet-config", &of_robot];
    let robot = ["--link", VACUUM, "--fleet-name", "lab", "--token-file", &tokens, "--fleet", &end];
    let lab = Daemon::within(configured(&of_robot), &here, &robot);
    hub.until_ready(&["lab.vacuum"]);
    let mut client = hub.lines();
    until("the light", || (client.ask(to("lab.vacuum", led(4)))["ok"] == true).then_some(()));
    lab.until("vacuum", "lit", |robot| robot["state"]["led"] == 4);
    let other = Dir::new();
    let look = ["robots", "--json"];
    let seen = run_on(&here, &other, &[&connect[..], &look].concat()).ok();
    assert!(seen.stdout.contains("lab.vacuum"), "{seen:?}");
    // Without the authority, with another one, and without a certificate of one's own.
    let foreign = ("root_ca_certificate", "stranger.pem");
    let strange =
        [("connect_private_key", "stranger.key"), ("connect_certificate", "stranger.pem")];
    for (what, file) in [
        ("nothing", None),
        ("another authority", Some(config("a.json5", &[&[foreign], &own[..]].concat()))),
        ("no certificate", Some(config("b.json5", &[ca]))),
        ("a foreign certificate", Some(config("c.json5", &[&[ca], &strange[..]].concat()))),
    ] {
        let file = file.map(|file| vec!["--fleet-config".to_owned(), file]).unwrap_or_default();
        let file: Vec<_> = file.iter().map(String::as_str).collect();
        let ended = run_on(&here, &other, &[&["--fleet", &end], &file[..], &look].concat());
        assert_eq!(ended.code, Some(1), "{what}: {ended:?}");
        assert!(!ended.stdout.contains("lab.vacuum"), "{what}: {ended:?}");
        assert!(ended.stderr.contains("no fleet at"), "{what}: {ended:?}");
    }
}
