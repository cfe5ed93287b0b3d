//! Teaching datagrams and the DTLS records that look like them.

use sinew_wire::{
    dtls::Record,
    teach::{Command, Datagram, Layout, Message, Sender, Sequence},
};

use crate::{take_byte, take_bytes, vectors};

/// Every datagram of the vectors in both layouts, and what the documents print.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = vectors::hex_members("teach.json", &["documented", "compact"]);
    seeds.extend(vectors::hex_members("teach_documents.json", &["hex"]));
    seeds
}

/// The input as it is, with its check put right, and as the parts of a datagram.
pub fn exercise(data: &[u8]) {
    records(data);
    whole(data);
    whole(&with_right_check(data));
    parts(data);
}

/// Records follow one another to the end, and say all that their bytes do.
fn records(mut data: &[u8]) {
    while let Ok((record, rest)) = Record::split(data) {
        assert_eq!(record.len() + rest.len(), data.len());
        let mut written = vec![record.content as u8];
        written.extend(record.version.to_be_bytes());
        written.extend(record.epoch.to_be_bytes());
        written.extend(&record.sequence.to_be_bytes()[2..]);
        written.extend((record.fragment.len() as u16).to_be_bytes());
        written.extend(record.fragment);
        assert!(data.starts_with(&written));
        data = rest;
    }
}

fn whole(data: &[u8]) {
    match Datagram::new_checked(data) {
        Ok(datagram) => {
            let layout = datagram.layout;
            assert_eq!(
                layout.overhead() + datagram.payload.len(),
                data.len(),
                "header, payload and check overlap: {datagram:?}"
            );
            assert_eq!(layout.declared_len(data), Some(data.len()));
            if datagram.reserved_as_documented() {
                assert_eq!(emit(&datagram), data);
            }
            messages(&datagram);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Random bytes never pass a CRC; without this the payloads would not be reached.
fn with_right_check(data: &[u8]) -> Vec<u8> {
    let covered = &data[..data.len().saturating_sub(4)];
    [covered, &crc32(covered).to_be_bytes()].concat()
}

/// CRC-32 (IEEE) by its definition.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            crc >> 1 ^ if crc & 1 == 1 { 0xEDB8_8320 } else { 0 }
        })
    })
}

/// Any layout, number, command and payload make a datagram that reads as it was written.
fn parts(mut data: &[u8]) {
    let choice = take_byte(&mut data);
    let layout = if choice & 1 == 0 { Layout::Documented } else { Layout::Compact };
    let command = match Command::TABLE.get(usize::from(choice >> 1) % 12) {
        Some((_, code, _)) => *code,
        None => take_byte(&mut data),
    };
    let sequence = Sequence(u16::from_be_bytes([take_byte(&mut data), take_byte(&mut data)]));
    let payload = take_bytes(&mut data, usize::from(u16::MAX) - 4);
    let wanted = Datagram {
        layout,
        sequence,
        command,
        payload,
        reserved: match layout {
            Layout::Documented => &[0, 0, 0, 1],
            Layout::Compact => &[0, 1],
        },
    };
    let bytes = emit(&wanted);
    assert_eq!(Datagram::new_checked(&bytes), Ok(wanted));
    messages(&wanted);
}

fn emit(datagram: &Datagram<'_>) -> Vec<u8> {
    let Datagram { layout, sequence, command, payload, .. } = *datagram;
    let mut out = vec![0; layout.overhead() + payload.len()];
    let len = Datagram::emit(layout, sequence, command, payload, &mut out);
    assert_eq!(len, Ok(out.len()));
    out
}

/// What a payload says survives being written: nothing is lost, only zeros are added, and only once.
///
/// Compared as bytes: a position may be NaN, which equals nothing.
fn messages(datagram: &Datagram<'_>) {
    for sender in [None, Some(Sender::Host), Some(Sender::Robot)] {
        let message = match Message::parse(datagram, sender) {
            Ok(message) => message,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                continue;
            }
        };
        message.problems(|problem| assert!(!problem.to_string().is_empty()));
        let written = write(&message, datagram);
        if changes_when_padded(&message) {
            continue;
        }
        let read = Datagram::new_checked(&written).expect("what was written is read");
        assert_eq!(
            (read.layout, read.sequence, read.command),
            (datagram.layout, datagram.sequence, datagram.command)
        );
        let padding = read.payload.strip_prefix(datagram.payload);
        assert!(
            padding.is_some_and(|padding| padding.iter().all(|&byte| byte == 0)),
            "payload was lost: {:02x?} became {:02x?}",
            datagram.payload,
            read.payload
        );
        let again = Message::parse(&read, sender).expect("what was written is understood");
        assert_eq!(std::mem::discriminant(&again), std::mem::discriminant(&message));
        assert_eq!(write(&again, datagram), written);
    }
}

/// The one payload that says something else once it has its command's full size: a short refusal to
/// list whose status reads as a count of one.
fn changes_when_padded(message: &Message<'_>) -> bool {
    matches!(message, Message::Answer { command: Command::List, status, .. } if status >> 16 == 1)
}

fn write(message: &Message<'_>, datagram: &Datagram<'_>) -> Vec<u8> {
    let written =
        message.to_vec(datagram.layout, datagram.sequence).expect("what was read can be written");
    let mut exact = vec![0; written.len()];
    let len = message.emit(datagram.layout, datagram.sequence, &mut exact);
    assert_eq!(len, Ok(written.len()));
    assert_eq!(exact, written);
    written
}
