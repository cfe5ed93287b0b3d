//! SLAM clouds: the envelope, the choice of a reading, and every point against a plain decoder.

use sinew_wire::slam::{
    BoundingBox, Cloud, CloudFrame, Message, Reading, Reason, TOLERANCE, TYPE_WORD, choose,
};

use crate::{close, take_byte, vectors};

/// Every message of the vectors, and their bodies behind each choice of an envelope.
pub fn seeds() -> Vec<Vec<u8>> {
    let messages = vectors::hex_members("slam.json", &["message"]);
    let bodies = messages.iter().zip(0..).map(|(message, choice)| {
        let (message, _) = Message::split(message).expect("a vector is a message");
        [&[choice], message.body].concat()
    });
    let bodies: Vec<_> = bodies.collect();
    [messages, bodies].concat()
}

/// The input as messages, and as a body in an envelope that is right.
pub fn exercise(data: &[u8]) {
    let mut rest = data;
    while let Ok((message, behind)) = Message::split(rest) {
        let taken = message.header_len() + message.json.len() + message.body.len();
        assert_eq!(taken + behind.len(), rest.len(), "bytes were lost");
        assert_eq!(Message::new_checked(&rest[..taken]), Ok(message));
        assert!(rest.starts_with(&TYPE_WORD) || !message.type_word);
        clouds(&message);
        rest = behind;
    }
    let enveloped = enveloped(data);
    let message = Message::new_checked(&enveloped).expect("a well-formed envelope");
    assert!(Message::looks_like(&enveloped));
    let cloud = Cloud::new(&message, None);
    assert_eq!(cloud.is_ok(), message.body.len().is_multiple_of(6), "{cloud:?}");
    clouds(&message);
}

/// The same message by the data's own choice and by either reading.
fn clouds(message: &Message<'_>) {
    for wanted in [None, Some(Reading::Documented), Some(Reading::Packed)] {
        match Cloud::new(message, wanted) {
            Ok(cloud) => {
                if wanted.is_none() {
                    let choice = choose(message.body, cloud.metadata.bounds.as_ref());
                    assert_eq!(choice, Ok(cloud.choice));
                }
                for frame in [CloudFrame::Map, CloudFrame::Raw] {
                    points(&cloud, frame);
                }
                chosen_reading_fits(&cloud);
                cloud.problems(|problem| assert!(!problem.to_string().is_empty()));
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

fn points(cloud: &Cloud<'_>, frame: CloudFrame) {
    let points = cloud.points(frame).expect("a cloud decodes");
    assert_eq!(points.len(), cloud.len());
    assert_eq!(cloud.is_empty(), points.is_empty());
    let exact = plain_decode(cloud, frame);
    assert_eq!(points.len(), exact.len());
    for (point, exact) in points.iter().zip(&exact) {
        let same = point.iter().zip(exact).all(|(p, e)| close(*p, *e));
        assert!(same, "{point:?} decoded, {exact:?} sent");
    }
    let bounds = cloud.bounds(frame);
    assert_eq!(bounds.is_some(), !points.is_empty());
    if let Some(bounds) = bounds {
        for axis in 0..3 {
            let values = exact.iter().map(|point| point[axis]);
            let low = values.clone().fold(f64::INFINITY, f64::min);
            let high = values.fold(f64::NEG_INFINITY, f64::max);
            assert_eq!(
                (bounds.min[axis], bounds.max[axis]),
                (low, high),
                "the box is not tight on axis {axis}"
            );
        }
    }
    if let Some(short) = points.len().checked_sub(1) {
        let mut out = vec![[0.0; 3]; short];
        assert!(cloud.decode_into(frame, &mut out).is_err());
    }
}

/// Both readings as the protocol's table has them, one number at a time.
fn plain_decode(cloud: &Cloud<'_>, frame: CloudFrame) -> Vec<[f64; 3]> {
    let stated = cloud.metadata.bounds;
    let word = |record: &[u8], axis: usize| [record[2 * axis], record[2 * axis + 1]];
    match cloud.choice.reading {
        Reading::Documented => cloud
            .body()
            .chunks_exact(12)
            .map(|record| {
                std::array::from_fn(|axis| {
                    f64::from(i16::from_le_bytes(word(record, axis))) / 1000.0
                })
            })
            .collect(),
        Reading::Packed => {
            let origin = match (frame, stated) {
                (CloudFrame::Map, Some(bounds)) => bounds.min,
                _ => [0.0; 3],
            };
            cloud
                .body()
                .chunks_exact(6)
                .map(|record| {
                    std::array::from_fn(|axis| {
                        origin[axis] + f64::from(u16::from_le_bytes(word(record, axis))) / 1000.0
                    })
                })
                .collect()
        }
    }
}

/// A reading that was chosen because its points lie in the box has its points in the box.
fn chosen_reading_fits(cloud: &Cloud<'_>) {
    let chosen_by_box =
        matches!(cloud.choice.reason, Reason::DocumentedFitsBox | Reason::BothHalvesFitBox);
    let (Some(stated), Some(real)) = (cloud.metadata.bounds, cloud.bounds(CloudFrame::Map)) else {
        return;
    };
    if chosen_by_box {
        let BoundingBox { min, max } = stated;
        for axis in 0..3 {
            let slack = TOLERANCE + 1e-9 + (min[axis].abs() + max[axis].abs()) * 1e-12;
            assert!(real.min[axis] >= min[axis] - slack, "{real:?} outside {stated:?}");
            assert!(real.max[axis] <= max[axis] + slack, "{real:?} outside {stated:?}");
        }
    }
}

/// The input behind valid JSON: no box, a box of its own points, a fixed or a far one; with or
/// without the type word and a stated length.
fn enveloped(mut data: &[u8]) -> Vec<u8> {
    let choice = take_byte(&mut data);
    let body = data;
    let bounds = match choice % 4 {
        0 => String::new(),
        1 => json_box([-4.5, -2.25, -0.5], [1.9, 1.75, 0.5]),
        2 => json_box([-40.0; 3], [40.0; 3]),
        _ => {
            let values = body.as_chunks::<2>().0.iter().map(|b| i16::from_le_bytes(*b));
            let low = f64::from(values.clone().min().unwrap_or(0)) / 1000.0;
            let high = f64::from(values.max().unwrap_or(0)) / 1000.0;
            json_box([low; 3], [high; 3])
        }
    };
    let json = format!(
        r#"{{"topic":"rt/unitree/slam_mapping/points","data":{{"is_dense":true{bounds}}}}}"#
    );
    let mut message = Vec::new();
    if choice & 4 != 0 {
        message.extend(TYPE_WORD);
    }
    let stated = if choice & 8 != 0 { 0 } else { body.len() as u32 };
    message.extend((json.len() as u32).to_le_bytes());
    message.extend(stated.to_le_bytes());
    message.extend(json.as_bytes());
    message.extend(body);
    message
}

fn json_box(min: [f64; 3], max: [f64; 3]) -> String {
    let axes = ["x", "y", "z"].iter().zip(min.iter().zip(max));
    axes.map(|(axis, (min, max))| format!(r#","{axis}min":{min},"{axis}max":{max}"#)).collect()
}
