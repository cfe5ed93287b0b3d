//! What our clients read of robots of other daemons is subscribed to there, and nothing else.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::mpsc::{Receiver, Sender, channel},
    time::{MissedTickBehavior, interval, sleep},
};
use zenoh::{pubsub::Subscriber, sample::Sample};

use super::{Offered, robot::Remote};

/// How often it is looked what is read.
const LOOK: Duration = Duration::from_millis(100);
/// How long the frames of a map may take until the whole of it is asked for.
const FIRST: Duration = Duration::from_secs(1);
/// Frames that may wait: the newest of clouds, all of a map.
const QUEUE: usize = 64;

/// A topic that is subscribed to.
struct Followed {
    _subscriber: Subscriber<()>,
}

/// Keeps subscriptions as they are wanted.
pub(super) async fn follow(offered: Arc<Offered>) {
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut followed: HashMap<(String, String), Followed> = HashMap::new();
    loop {
        look.tick().await;
        for remote in offered.robots() {
            remote.look();
            let Some(audience) = remote.audience() else { continue };
            for group in remote.groups() {
                let wanted = audience.wants_readings(&group);
                let topic = Topic::Group(group);
                keep(&offered, &mut followed, &remote, topic, wanted).await;
            }
            for name in remote.frame_topics() {
                let wanted = audience.wants_frames(name);
                keep(&offered, &mut followed, &remote, Topic::Frames(name), wanted).await;
            }
        }
    }
}

#[derive(Clone)]
enum Topic {
    Group(String),
    Frames(&'static str),
}

impl Topic {
    fn name(&self) -> String {
        match self {
            Topic::Group(group) => format!("sensors/{group}"),
            Topic::Frames(name) => (*name).into(),
        }
    }
}

/// Begins or ends a subscription, if that is to be done.
async fn keep(
    offered: &Offered,
    followed: &mut HashMap<(String, String), Followed>,
    remote: &Arc<Remote>,
    topic: Topic,
    wanted: bool,
) {
    let place = (remote.name().to_owned(), topic.name());
    match (wanted, followed.contains_key(&place)) {
        (true, false) => match begin(offered, remote, topic).await {
            Ok(begun) => drop(followed.insert(place, begun)),
            Err(error) => tracing::warn!("fleet: {}: {error}", remote.name()),
        },
        (false, true) => drop(followed.remove(&place)),
        _ => {}
    }
}

async fn begin(offered: &Offered, remote: &Arc<Remote>, topic: Topic) -> zenoh::Result<Followed> {
    let key = remote.key(&topic.name());
    let session = &offered.session;
    match topic {
        Topic::Group(group) => {
            let (heard, told) = (Arc::clone(remote), group.clone());
            let subscriber = session
                .declare_subscriber(key.clone())
                .callback(move |sample: Sample| heard.read(&told, &sample.payload().to_bytes()))
                .await?;
            // What is told once was told before.
            let (session, remote) = (session.clone(), Arc::clone(remote));
            offered.runtime.spawn(async move {
                let Ok(replies) = session.get(key).timeout(FIRST).await else { return };
                if let Ok(reply) = replies.recv_async().await
                    && let Ok(sample) = reply.result()
                {
                    remote.retain(&group, &sample.payload().to_bytes());
                }
            });
            Ok(Followed { _subscriber: subscriber })
        }
        Topic::Frames(name) => {
            let (frames, taken) = channel(QUEUE);
            offered.runtime.spawn(take(Arc::clone(remote), name, taken));
            let has_come = Arc::new(AtomicBool::new(false));
            let came = Arc::clone(&has_come);
            let subscriber = session
                .declare_subscriber(key.clone())
                .callback(move |sample: Sample| {
                    came.store(true, Ordering::Relaxed);
                    put(&frames, name, sample);
                })
                .await?;
            if name == "map" {
                let session = session.clone();
                offered.runtime.spawn(async move {
                    sleep(FIRST).await;
                    // Another hub has had the whole map already: it is told once more.
                    if !has_come.load(Ordering::Relaxed) {
                        drop(session.get(key).timeout(FIRST).await);
                    }
                });
            }
            Ok(Followed { _subscriber: subscriber })
        }
    }
}

/// Hands a frame over. Of a map none is left out: the network waits until there is room.
fn put(frames: &Sender<Vec<u8>>, name: &str, sample: Sample) {
    let frame = sample.payload().to_bytes().into_owned();
    if name != "map" {
        // A newer cloud comes soon.
        let _ = frames.try_send(frame);
        return;
    }
    let mut frame = frame;
    // As long as it takes: the task at the other end only copies.
    while let Err(tokio::sync::mpsc::error::TrySendError::Full(back)) = frames.try_send(frame) {
        frame = back;
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Takes frames away from the network's threads, which have more to do.
async fn take(remote: Arc<Remote>, name: &'static str, mut frames: Receiver<Vec<u8>>) {
    while let Some(frame) = frames.recv().await {
        remote.frame(name, &frame);
    }
}
