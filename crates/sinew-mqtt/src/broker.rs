//! The connection to the broker. Each has a client of its own: nothing that waited for one that was lost is
//! sent to the next, and nothing waits at the broker for a daemon that is away.

use std::time::Duration;

use rumqttc::{
    AsyncClient, ConnectReturnCode, Event, Incoming, LastWill, MqttOptions, QoS, TlsConfiguration,
    Transport,
};
use tokio::{sync::mpsc::Sender, time::sleep};

use crate::{
    bridge::{Bridge, Publish},
    settings::Broker,
};

/// How often a silent broker is asked whether it is there.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// Seconds that a connection may take.
const CONNECT: u64 = 5;
/// Messages that may wait to be written.
const QUEUE: usize = 512;
/// Longest packets that are read and written. Commands are short, but one that is too long for us ends the connection, and
/// a broker gives out again what it retains.
const PACKETS: (usize, usize) = (1 << 20, 2 << 20);
/// How long it takes until a broker is tried again: at first, and at most.
const AGAIN: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));

/// What the broker does.
pub(crate) enum FromBroker {
    /// It is there, and this is how it is talked to.
    Up(AsyncClient),
    /// It is gone.
    Down(String),
    /// It has what it should acknowledge.
    Acknowledged,
    Message {
        topic: String,
        payload: Vec<u8>,
        retained: bool,
    },
}

/// Keeps a connection until `bridge` wants none any more.
pub(crate) async fn run(broker: Broker, bridge: Sender<FromBroker>) {
    let mut pause = AGAIN.0;
    loop {
        let was_up = converse(&broker, &bridge).await;
        if bridge.is_closed() {
            return;
        }
        pause = if was_up { AGAIN.0 } else { (pause * 2).min(AGAIN.1) };
        sleep(pause).await;
    }
}

/// One connection; whether there was one.
async fn converse(broker: &Broker, bridge: &Sender<FromBroker>) -> bool {
    let mut was_up = false;
    let (client, mut events) = AsyncClient::new(options(broker), QUEUE);
    events.network_options.set_connection_timeout(CONNECT);
    loop {
        let event = tokio::select! {
            event = events.poll() => event,
            () = bridge.closed() => return was_up,
        };
        let told = match event {
            Ok(Event::Incoming(Incoming::ConnAck(answer))) => {
                was_up = answer.code == ConnectReturnCode::Success;
                FromBroker::Up(client.clone())
            }
            Ok(Event::Incoming(Incoming::PubAck(_))) => FromBroker::Acknowledged,
            Ok(Event::Incoming(Incoming::Publish(publish))) => FromBroker::Message {
                payload: publish.payload.to_vec(),
                retained: publish.retain,
                topic: publish.topic,
            },
            Ok(Event::Incoming(Incoming::Disconnect)) => {
                let _ = bridge.send(FromBroker::Down("it closed the connection".into())).await;
                return was_up;
            }
            Ok(_) => continue,
            Err(error) => {
                let _ = bridge.send(FromBroker::Down(error.to_string())).await;
                return was_up;
            }
        };
        if bridge.send(told).await.is_err() {
            return was_up;
        }
    }
}

fn options(broker: &Broker) -> MqttOptions {
    let Broker { host, port, names, .. } = broker;
    // One daemon of a name at a time: the broker ends the other's connection.
    let mut options = MqttOptions::new(format!("sinew-{}", names.node), host, *port);
    let Publish { topic, payload, retain, .. } = Bridge::will(names);
    options
        .set_keep_alive(KEEP_ALIVE)
        .set_clean_session(true)
        .set_max_packet_size(PACKETS.0, PACKETS.1)
        .set_last_will(LastWill::new(topic, payload, QoS::AtLeastOnce, retain));
    if let Some(user) = &broker.user {
        options.set_credentials(user, &broker.password);
    }
    if broker.tls {
        let tls = match &broker.ca {
            Some(ca) => TlsConfiguration::SimpleNative { ca: ca.clone(), client_auth: None },
            None => TlsConfiguration::Native,
        };
        options.set_transport(Transport::tls_with_config(tls));
    }
    options
}

/// Gives a message out, if there is room.
pub(crate) fn publish(client: &AsyncClient, message: Publish) -> Result<(), Publish> {
    let qos = if message.acknowledge { QoS::AtLeastOnce } else { QoS::AtMostOnce };
    let Publish { topic, payload, retain, .. } = message.clone();
    client.try_publish(topic, qos, retain, payload).map_err(|_| message)
}

/// Subscribes to a topic, if there is room. Without acknowledgement: what could not be handed over is old.
pub(crate) fn subscribe(client: &AsyncClient, topic: &str) -> bool {
    client.try_subscribe(topic, QoS::AtMostOnce).is_ok()
}
