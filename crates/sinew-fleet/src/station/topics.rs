//! What a daemon's robots tell: as much of it as there are subscribers for.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

use serde::Deserialize;
use serde_json::{Value, json};
use sinew_api::{Access, frame};
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinSet,
    time::{MissedTickBehavior, interval},
};
use zenoh::{
    bytes::Encoding,
    pubsub::Publisher,
    qos::{CongestionControl, Priority},
};

use super::{NAME, Newest, Station};
use crate::{
    keys,
    local::{Connection, Heard},
    lock,
};

/// After how long a state is told again that has not changed: longer than what the daemon takes to tell what counts.
const AGAIN: Duration = Duration::from_millis(1100);
/// How often it is looked for states that are due.
const LOOK: Duration = Duration::from_millis(100);
/// How often a whole map may be asked for.
const WHOLE: Duration = Duration::from_millis(500);

/// A robot, by its place, and a topic, and whether it has subscribers.
type Wanted = (usize, String, bool);

/// Publishes all topics, by tasks that end with the daemon.
pub(super) async fn publish(station: &Arc<Station>, tasks: &mut JoinSet<()>) -> zenoh::Result<()> {
    let (wishes, wanted) = unbounded_channel();
    let mut publishers = HashMap::new();
    for (index, robot) in station.robots.iter().enumerate() {
        for topic in ["state", "events"] {
            let publisher = publisher(station, index, topic, CongestionControl::Block).await?;
            publishers.insert((robot.name.clone(), topic.to_owned()), publisher);
        }
        for group in &robot.groups {
            let topic = format!("sensors/{group}");
            let publisher = publisher(station, index, &topic, CongestionControl::Drop).await?;
            let matching = publisher.matching_listener().await?;
            if publisher.matching_status().await?.matching() {
                // Its other end is held below.
                let _ = wishes.send((index, topic.clone(), true));
            }
            publishers.insert((robot.name.clone(), topic.clone()), publisher);
            tasks.spawn(watch(matching, index, topic, wishes.clone()));
        }
        for topic in &robot.frames {
            // Blocks of a map that are left out would never come again.
            let control =
                if *topic == "map" { CongestionControl::Block } else { CongestionControl::Drop };
            let publisher = publisher(station, index, topic, control).await?;
            tasks.spawn(frames(Arc::clone(station), index, topic, publisher));
        }
    }
    tasks.spawn(texts(Arc::clone(station), publishers, wanted));
    Ok(())
}

async fn publisher(
    station: &Station,
    index: usize,
    topic: &str,
    control: CongestionControl,
) -> zenoh::Result<Publisher<'static>> {
    let name = station.robots.get(index).map(|robot| robot.name.as_str()).unwrap_or_default();
    let key = keys::of_robot(&station.host, name, topic);
    let declared = station.session.declare_publisher(key);
    declared.congestion_control(control).priority(Priority::Data).await
}

type Matching = zenoh::matching::MatchingListener<
    zenoh::handlers::FifoChannelHandler<zenoh::matching::MatchingStatus>,
>;

/// Tells whether a topic has subscribers, whenever that changes.
async fn watch(matching: Matching, index: usize, topic: String, wishes: UnboundedSender<Wanted>) {
    while let Ok(status) = matching.recv_async().await {
        if wishes.send((index, topic.clone(), status.matching())).is_err() {
            return;
        }
    }
}

/// What a message is about.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    topic: Option<Cow<'a, str>>,
    #[serde(borrow)]
    robot: Option<Cow<'a, str>>,
}

/// Publishes texts: states and events always, readings while there are subscribers.
async fn texts(
    station: Arc<Station>,
    publishers: HashMap<(String, String), Publisher<'static>>,
    mut wanted: UnboundedReceiver<Wanted>,
) {
    let Ok(mut connection) = Connection::open(&station.locals, NAME, Access::Read).await else {
        return;
    };
    let mut groups = BTreeSet::new();
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    if subscribe(&mut connection, &station, &groups).await.is_err() {
        return;
    }
    loop {
        tokio::select! {
            heard = connection.next() => {
                let Some(Heard::Text(text)) = heard else {
                    if heard.is_none() {
                        return;
                    }
                    continue;
                };
                let Ok(Head { topic: Some(topic), robot: Some(robot) }) = serde_json::from_str(&text) else {
                    continue;
                };
                let place = (robot.into_owned(), topic.into_owned());
                let Some(publisher) = publishers.get(&place) else { continue };
                let (robot, topic) = place;
                let served = station.robots.iter().find(|served| served.name == robot);
                match served.filter(|_| topic == "state") {
                    Some(served) => {
                        *lock(&served.state) = Newest::new(text.clone());
                        put(publisher, text, Some(station.about(served))).await;
                    }
                    None => put(publisher, text, None).await,
                }
            }
            wish = wanted.recv() => {
                let Some((index, topic, has)) = wish else { return };
                let changed = match has {
                    true => groups.insert((index, topic)),
                    false => groups.remove(&(index, topic)),
                };
                // The others that have come meanwhile, too: one new subscription is enough for all.
                while let Ok((index, topic, has)) = wanted.try_recv() {
                    if has { groups.insert((index, topic)) } else { groups.remove(&(index, topic)) };
                }
                if changed && subscribe(&mut connection, &station, &groups).await.is_err() {
                    return;
                }
            }
            _ = look.tick() => {
                for robot in &station.robots {
                    let again = {
                        let mut state = lock(&robot.state);
                        let is_due = state.at.elapsed() >= AGAIN;
                        is_due.then(|| {
                            state.at = Instant::now();
                            state.now()
                        })
                    };
                    let Some(text) = again else { continue };
                    if let Some(publisher) = publishers.get(&(robot.name.clone(), "state".to_owned())) {
                        put(publisher, text, Some(station.about(robot))).await;
                    }
                }
            }
        }
    }
}

/// Subscribes to what is wanted, and to nothing else.
async fn subscribe(
    connection: &mut Connection,
    station: &Station,
    groups: &BTreeSet<(usize, String)>,
) -> std::io::Result<()> {
    connection.send(&json!({ "type": "Subscribe", "topics": [] })).await?;
    for (index, robot) in station.robots.iter().enumerate() {
        let mut topics = vec![Value::from("state"), "events".into()];
        let wanted = groups.iter().filter(|(of, _)| *of == index);
        topics.extend(wanted.map(|(_, topic)| Value::from(topic.as_str())));
        connection
            .send(&json!({ "type": "Subscribe", "robot": robot.name, "topics": topics }))
            .await?;
    }
    Ok(())
}

async fn put(publisher: &Publisher<'static>, text: String, attachment: Option<String>) {
    let put = publisher.put(text).encoding(Encoding::APPLICATION_JSON).attachment(attachment);
    if let Err(error) = put.await {
        tracing::debug!("fleet: {}: {error}", publisher.key_expr());
    }
}

/// Publishes frames while there are subscribers.
async fn frames(
    station: Arc<Station>,
    index: usize,
    topic: &'static str,
    publisher: Publisher<'static>,
) {
    let Ok(matching) = publisher.matching_listener().await else { return };
    let mut is_wanted = publisher.matching_status().await.is_ok_and(|status| status.matching());
    loop {
        while !is_wanted {
            match matching.recv_async().await {
                Ok(status) => is_wanted = status.matching(),
                Err(_) => return,
            }
        }
        tokio::select! {
            ended = forward(&station, index, topic, &publisher) => if ended.is_none() {
                return;
            },
            status = matching.recv_async() => match status {
                Ok(status) => is_wanted = status.matching(),
                Err(_) => return,
            },
        }
    }
}

/// Publishes a topic's frames until all of them are wanted once more; none at the daemon's end.
async fn forward(
    station: &Station,
    index: usize,
    topic: &'static str,
    publisher: &Publisher<'static>,
) -> Option<()> {
    let robot = station.robots.get(index)?;
    let began = Instant::now();
    let mut connection = Connection::open(&station.locals, NAME, Access::Read).await.ok()?;
    let subscribe = json!({ "type": "Subscribe", "robot": robot.name, "topics": [topic] });
    connection.send(&subscribe).await.ok()?;
    loop {
        let heard = tokio::select! {
            heard = connection.next() => heard?,
            () = robot.again.notified(), if topic == "map" && began.elapsed() > WHOLE => return Some(()),
        };
        let Heard::Frame(frame) = heard else { continue };
        let sequence = frame::sequence(&frame);
        if let Err(error) = publisher.put(frame.to_vec()).await {
            tracing::debug!("fleet: {}: {error}", publisher.key_expr());
        }
        if let Some(seq) = sequence {
            let ack = json!({ "type": "Ack", "robot": robot.name, "topic": topic, "seq": seq });
            connection.send(&ack).await.ok()?;
        }
    }
}
