//! A motion of an MCAP recording: how the joints stood, from its first reading of them to its last.

use std::{
    collections::BTreeMap,
    io::{BufReader, Read},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{bail, ensure};
use sinew_record::{read::Reader, stored};
use sinew_robot::trajectory::{Document, G1_ARMS, Recording};

/// Reads a recording's joints, of the first robot that has some.
pub(super) fn read(file: impl Read) -> anyhow::Result<Document> {
    let mut reader = Reader::new(BufReader::new(file))?;
    let mut recording = Recording::new();
    let (mut topic, mut begin, mut last) = (None, None, None);
    while let Some(message) = reader.message()? {
        let Some((at_us, joints)) = stored::joints(&message) else { continue };
        let topic = topic.get_or_insert_with(|| message.channel.topic.clone());
        if *topic != message.channel.topic {
            continue;
        }
        let begin = *begin.get_or_insert(at_us);
        let time_ms = u32::try_from(at_us.saturating_sub(begin) / 1000).unwrap_or(u32::MAX);
        // Two within a millisecond say the same.
        if last.is_some_and(|last| time_ms <= last) {
            continue;
        }
        last = Some(time_ms);
        let joints: BTreeMap<_, _> = joints.into_iter().collect();
        let mut pose = [0.0; 12];
        for (place, joint) in pose.iter_mut().zip(&G1_ARMS.joints) {
            let Some(position) = joints.get(joint.name) else {
                bail!("{topic}: wanted the joints of a G1's arms, got none called {}", joint.name);
            };
            *place = *position as _;
        }
        recording.push(time_ms, pose)?;
    }
    ensure!(
        !recording.is_empty(),
        "wanted how joints stood (topic sensors/joints of a G1), got a recording without"
    );
    let created = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    Ok(Document { recording, created, ..Document::default() })
}
