//! Explanations: every byte belongs to one element, and every row to its element.

use std::ops::ControlFlow;

use sinew_wire::{
    explain::{Element, Options, Proto, explain},
    gd32::Profile,
    slam::{CloudFrame, Reading},
};

use crate::{delta2d, gd32, slam, take_byte, teach, unitree, voxel};

/// The seeds of all codecs, to be recognised and behind a choice of options.
pub fn seeds() -> Vec<Vec<u8>> {
    let seeds = [
        gd32::seeds(),
        delta2d::seeds(),
        teach::seeds(),
        slam::seeds(),
        voxel::seeds(),
        unitree::seeds(),
    ]
    .concat();
    let chosen: Vec<_> =
        seeds.iter().zip((0..=255).cycle()).map(|(seed, n)| [&[n], &seed[..]].concat()).collect();
    [seeds, chosen].concat()
}

/// The input as it is, and its tail with options that its first byte chooses.
pub fn exercise(data: &[u8]) {
    accounts_for(data, &Options::default());
    let mut tail = data;
    let choice = take_byte(&mut tail);
    let protos = [
        Proto::Gd32,
        Proto::Teach,
        Proto::Dtls,
        Proto::Slam,
        Proto::Voxel,
        Proto::Unitree,
        Proto::Delta2d,
    ];
    let bit = |bit: u8| choice >> bit & 1 == 1;
    let options = Options {
        proto: protos.get(usize::from(choice % 8)).copied(),
        from_robot: bit(3).then_some(bit(4)),
        profile: if bit(4) { Profile::LATER } else { Profile::DOCUMENT },
        reading: bit(5).then_some(if bit(6) { Reading::Packed } else { Reading::Documented }),
        frame: if bit(7) { CloudFrame::Raw } else { CloudFrame::Map },
        points: bit(6),
    };
    accounts_for(tail, &options);
}

fn accounts_for(data: &[u8], options: &Options) {
    let mut next = 0;
    let finished = explain(data, options, &mut |element| {
        assert_eq!(element.offset, next, "a gap or an overlap before {element:?}");
        assert!(element.length > 0, "an element of no bytes: {element:?}");
        next += element.length;
        consistent(&element);
        ControlFlow::Continue(())
    });
    assert_eq!(finished, ControlFlow::Continue(()));
    assert_eq!(next, data.len(), "bytes were not accounted for");
    let mut calls = 0;
    let _ = explain(data, options, &mut |_| {
        calls += 1;
        ControlFlow::Break(())
    });
    assert!(calls <= 1, "an element came after the break");
}

fn consistent(element: &Element) {
    let end = element.offset + element.length;
    for row in &element.rows {
        assert!(
            row.offset >= element.offset && row.offset + row.length <= end,
            "{row:?} lies outside its element"
        );
    }
    assert!(element.valid || !element.problems.is_empty() || element.proto == Proto::Unknown);
    let json = element.to_json();
    assert_eq!(json.get("valid").and_then(|valid| valid.as_bool()), Some(element.valid));
    assert!(!serde_json::Value::Object(json).to_string().is_empty());
    for problem in &element.problems {
        assert!(!problem.to_string().is_empty());
    }
}
