//! The record header that teaching datagrams are mistaken for.

use proptest::{collection::vec, prelude::*};
use sinew_wire::{
    dtls::{Content, HEADER_LEN, Record},
    teach::{Datagram, Layout},
};

use crate::support::{refused, truncations};

fn record(content: u8, version: u16, epoch: u16, sequence: u64, fragment: &[u8]) -> Vec<u8> {
    let length = u16::try_from(fragment.len()).unwrap();
    [
        &[content][..],
        &version.to_be_bytes(),
        &epoch.to_be_bytes(),
        &sequence.to_be_bytes()[2..],
        &length.to_be_bytes(),
        fragment,
    ]
    .concat()
}

#[test]
fn what_looks_compact_but_fails_the_check_is_a_well_formed_record() {
    for sequence in [0, 265, 5268] {
        let wire = record(23, 0xFEFD, 1, sequence, &[0x5A; 44]);
        assert_eq!(Datagram::layout_of(&wire), Ok(Layout::Compact));
        assert_eq!(refused(Datagram::new_checked(&wire)), "check");
        let (read, rest) = Record::split(&wire).unwrap();
        assert!(rest.is_empty());
        assert_eq!((read.content, read.version), (Content::ApplicationData, 0xFEFD));
        assert_eq!((read.epoch, read.sequence), (1, sequence));
        assert_eq!(read.fragment, [0x5A; 44]);
        assert_eq!(read.len(), 57);
        // The "command" of the documents is the low byte of the record's number.
        assert_eq!(u64::from(wire[10]), sequence & 0xFF);
    }
}

#[test]
fn a_chain_of_records_is_split_record_by_record() {
    let fragments: [&[u8]; 3] = [&[1; 20], &[], &[3; 300]];
    let contents = [22, 20, 22];
    let chain: Vec<u8> =
        (0..3).flat_map(|i| record(contents[i], 0xFEFF, 0, i as u64, fragments[i])).collect();
    let mut rest = &chain[..];
    for (index, fragment) in fragments.iter().enumerate() {
        let (read, behind) = Record::split(rest).unwrap();
        assert_eq!(read.fragment, *fragment);
        assert_eq!(read.is_empty(), fragment.is_empty());
        assert_eq!(read.sequence, index as u64);
        assert_eq!(read.len(), rest.len() - behind.len());
        rest = behind;
    }
    assert!(rest.is_empty());
}

#[test]
fn what_is_no_record_is_refused_by_its_field() {
    for content in (0..20).chain(24..=255) {
        let wire = record(content, 0xFEFD, 0, 0, &[]);
        assert_eq!(refused(Record::split(&wire)), "content type");
    }
    for version in [0x0303, 0xFEFC, 0xFEFE, 0] {
        let wire = record(23, version, 0, 0, &[]);
        assert_eq!(refused(Record::split(&wire)), "version");
    }
    let wire = record(23, 0xFEFD, 1, 2, &[9; 5]);
    let fields = [
        (0..1, "content type"),
        (1..3, "version"),
        (3..5, "epoch"),
        (5..11, "sequence"),
        (11..HEADER_LEN, "length"),
        (HEADER_LEN..wire.len(), "fragment"),
    ];
    for cut in truncations(&wire) {
        let (_, field) = fields.iter().find(|(range, _)| range.contains(&cut.len())).unwrap();
        assert_eq!(refused(Record::split(cut)), *field);
    }
}

proptest! {
    #[test]
    fn any_record_is_read_as_written(
        content in 20u8..=23,
        version in prop_oneof![Just(0xFEFDu16), Just(0xFEFF)],
        epoch in any::<u16>(),
        sequence in 0u64..1 << 48,
        fragment in vec(any::<u8>(), 0..200),
        behind in vec(any::<u8>(), 0..20),
    ) {
        let wire = [record(content, version, epoch, sequence, &fragment), behind.clone()].concat();
        let (read, rest) = Record::split(&wire).unwrap();
        prop_assert_eq!(read.content as u8, content);
        prop_assert_eq!((read.version, read.epoch, read.sequence), (version, epoch, sequence));
        prop_assert_eq!((read.fragment, rest), (&fragment[..], &behind[..]));
    }
}
