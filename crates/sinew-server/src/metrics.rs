use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use sinew_robot::Refusal;

use crate::{hub::Hub, lock};

/// Counts for `/metrics`.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    clients: [AtomicU64; Transport::ALL.len()],
    subscribers: AtomicU64,
    lost: AtomicU64,
    turned_away: AtomicU64,
    commands: Mutex<BTreeMap<&'static str, u64>>,
}

/// How a client is connected.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Transport {
    Tcp,
    Lines,
    Http,
    WebSocket,
    Sangam,
    /// A program of this process.
    #[cfg(feature = "local")]
    Local,
}

impl Transport {
    const ALL: &[Transport] = &[
        Transport::Tcp,
        Transport::Lines,
        Transport::Http,
        Transport::WebSocket,
        Transport::Sangam,
        #[cfg(feature = "local")]
        Transport::Local,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::Lines => "lines",
            Transport::Http => "http",
            Transport::WebSocket => "ws",
            Transport::Sangam => "sangam",
            #[cfg(feature = "local")]
            Transport::Local => "local",
        }
    }
}

impl Metrics {
    pub(crate) fn client_came(&self, transport: Transport) {
        self.clients[transport as usize].fetch_add(1, Relaxed);
    }

    pub(crate) fn client_left(&self, transport: Transport) {
        self.clients[transport as usize].fetch_sub(1, Relaxed);
    }

    pub(crate) fn subscriber_came(&self) {
        self.subscribers.fetch_add(1, Relaxed);
    }

    pub(crate) fn subscriber_left(&self) {
        self.subscribers.fetch_sub(1, Relaxed);
    }

    pub(crate) fn subscribers(&self) -> u64 {
        self.subscribers.load(Relaxed)
    }

    pub(crate) fn count_lost(&self, messages: u64) {
        self.lost.fetch_add(messages, Relaxed);
    }

    pub(crate) fn count_turned_away(&self) {
        self.turned_away.fetch_add(1, Relaxed);
    }

    pub(crate) fn count_command<T>(&self, result: &Result<T, Refusal>) {
        let name = result.as_ref().map_or_else(|refusal| refusal.code.as_str(), |_| "ok");
        *lock(&self.commands).entry(name).or_default() += 1;
    }
}

/// The page of `/metrics`, in the text format of Prometheus.
pub(crate) fn page(hub: &Hub) -> String {
    let metrics = &hub.metrics;
    let mut page = String::new();
    let clients: Vec<_> = Transport::ALL
        .iter()
        .map(|transport| {
            let count = metrics.clients[*transport as usize].load(Relaxed);
            (label("transport", transport.name()), count as f64)
        })
        .collect();
    family(&mut page, "clients", "Connected clients; http counts WebSockets too.", false, &clients);
    let subscribers = metrics.subscribers() as f64;
    family(&mut page, "subscribers", "Clients that get telemetry.", false, &plain(subscribers));
    let lost = metrics.lost.load(Relaxed) as f64;
    let help = "Telemetry messages that slow clients did not get.";
    family(&mut page, "messages_lost_total", help, true, &plain(lost));
    let missed = hub.members().iter().map(|member| member.feed.missed()).sum::<u64>() as f64;
    let help = "Events of robots that the server was too slow for.";
    family(&mut page, "events_missed_total", help, true, &plain(missed));
    let away = metrics.turned_away.load(Relaxed) as f64;
    let help = "Connections over the limit.";
    family(&mut page, "connections_turned_away_total", help, true, &plain(away));
    let commands: Vec<_> = lock(&metrics.commands)
        .iter()
        .map(|(result, count)| (label("result", result), *count as f64))
        .collect();
    family(&mut page, "commands_total", "Commands by their result.", true, &commands);
    robots(&mut page, hub);
    page
}

fn robots(page: &mut String, hub: &Hub) {
    // All lines of a family must stand together.
    let mut families: Vec<(String, &str, bool, Lines)> = Vec::new();
    let mut add = |name: &str, help, counter, labels: String, value: f64| {
        let name = format!("robot_{name}");
        match families.iter_mut().find(|family| family.0 == name) {
            Some(family) => family.3.push((labels, value)),
            None => families.push((name, help, counter, vec![(labels, value)])),
        }
    };
    for member in hub.members().iter() {
        let report = member.report();
        let robot = label("robot", &member.name);
        let link = format!("{robot},{}", label("state", &report.link.state));
        add("link", "The state of the robot's link, as a label.", false, link, 1.0);
        let fresh = f64::from(u8::from(report.fresh));
        add("fresh", "1 while values are fresh.", false, robot.clone(), fresh);
        let held = f64::from(u8::from(report.holder.is_some()));
        add("held", "1 while a client holds the controls.", false, robot.clone(), held);
        if let Some(ms) = report.last_seen_ms {
            let help = "Seconds since the robot was heard.";
            add("last_seen_seconds", help, false, robot.clone(), ms as f64 / 1000.0);
        }
        for figure in member.figures() {
            add(figure.name, figure.help, figure.counter, robot.clone(), figure.value);
        }
    }
    for (name, help, counter, lines) in families {
        family(page, &name, help, counter, &lines);
    }
}

type Lines = Vec<(String, f64)>;

fn plain(value: f64) -> Lines {
    vec![(String::new(), value)]
}

fn label(name: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{name}=\"{value}\"")
}

fn family(page: &mut String, name: &str, help: &str, counter: bool, lines: &[(String, f64)]) {
    let kind = if counter { "counter" } else { "gauge" };
    // Writing to a String cannot fail.
    let _ = writeln!(page, "# HELP sinew_{name} {help}\n# TYPE sinew_{name} {kind}");
    for (labels, value) in lines {
        let _ = match labels.as_str() {
            "" => writeln!(page, "sinew_{name} {value}"),
            labels => writeln!(page, "sinew_{name}{{{labels}}} {value}"),
        };
    }
}
