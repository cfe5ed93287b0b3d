//! Points of an MCAP recording: of a G1's messages if it has them, of clouds if not, or of the last map.

use std::time::Duration;

use anyhow::bail;
use sinew_record::{
    read::Reader,
    stored::{self, LinkMessages, LinkTopic, Part},
};
use sinew_robot::map::file::{
    self, Content, Format, MAX_BYTES, Points,
    messages::{self, Recorded},
};
use sinew_wire::unitree::Form;

/// Reads a recording.
pub(super) fn read(bytes: &[u8]) -> anyhow::Result<Content> {
    let mut link = LinkMessages::new(bytes, LinkTopic::Messages)?;
    let mut recording = messages::begin().to_vec();
    let mut first = None;
    while let Some(message) = link.message()? {
        let first = *first.get_or_insert(message.at_us);
        let form = if message.part == Part::Text { Form::Text } else { Form::Binary };
        let at = Duration::from_micros(message.at_us.saturating_sub(first));
        messages::append(Recorded { at, form, bytes: &message.bytes }, &mut recording);
        check(recording.len())?;
    }
    if first.is_some() {
        return Ok(file::read(&recording)?);
    }
    let mut reader = Reader::new(bytes)?;
    let (mut clouds, mut map) = (Vec::new(), None);
    while let Some(message) = reader.message()? {
        let topic = &message.channel.topic;
        if topic.ends_with("/cloud")
            && let Some(points) = stored::points(&message)
        {
            clouds.extend(points);
            check(clouds.len() * 12)?;
        } else if topic.ends_with("/map") {
            map = stored::points(&message).or(map);
        }
    }
    let points = match (clouds.is_empty(), map) {
        (false, _) => clouds,
        (true, Some(map)) => map,
        (true, None) => {
            bail!("wanted clouds, a map in space or messages of a G1: {}", link.none_here())
        }
    };
    Ok(Content {
        format: Format::Messages,
        encoding: "mcap",
        points: Points::from_xyz(&points)?,
        messages: None,
    })
}

fn check(bytes: usize) -> anyhow::Result<()> {
    anyhow::ensure!(bytes <= MAX_BYTES, "its points take more than {} MiB", MAX_BYTES >> 20);
    Ok(())
}
