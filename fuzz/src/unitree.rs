//! Messages of Unitree robots: what is read can be written and is read again, and no answer in
//! pieces outgrows its limits.

use serde_json::Value;
use sinew_wire::unitree::{
    Assembly, Binary, Chunk, Download, FileSlice, Limits, Message, Request, Response,
    arm::{ActionList, ArmRequest, ArmState},
    mapping::{Odometry, SlamInfo, SlamReply, SlamRequest},
    signal::{Answer, ConIng, Notify, Offer},
    state::{Faults, LowState, MotionMode, Service},
};

use crate::{take_byte, take_bytes, vectors};

const LIMITS: Limits = Limits { bytes: 64, chunks: 8 };

/// Every text and every binary message of the vectors.
pub fn seeds() -> Vec<Vec<u8>> {
    let texts = vectors::text_members("unitree.json", &["text"]);
    [texts, vectors::hex_members("unitree.json", &["message"])].concat()
}

/// The input as each thing that travels, and as a schedule of pieces.
pub fn exercise(data: &[u8]) {
    if let Ok(message) = Message::parse(data) {
        text(&message);
    }
    if let Ok(binary) = Binary::new_checked(data) {
        if let Ok(message) = binary.message() {
            text(&message);
        }
        let again = binary.emit().expect("what was read can be written");
        let again = Binary::new_checked(&again).expect("what was written can be read");
        assert_eq!(again, binary);
    }
    signalling(data);
    pieces(data);
}

fn text(message: &Message) {
    let again = Message::parse(message.emit().as_bytes()).expect("what was written can be read");
    assert_eq!((&again.kind, &again.topic), (&message.kind, &message.topic));
    assert_eq!(again.key(), message.key());
    assert!(again.rest.keys().eq(message.rest.keys()), "a member was lost");
    assert!(!format!("{message:?}").is_empty());
    if let Ok(request) = Request::parse(message) {
        let again = Message::parse(request.emit().as_bytes()).and_then(|it| Request::parse(&it));
        assert_eq!(again.as_ref(), Ok(&request));
        calls(&request);
    }
    if let Ok(response) = Response::parse(message) {
        let again = Message::parse(response.emit().as_bytes()).and_then(|it| Response::parse(&it));
        assert_eq!(again.map(|it| (it.id, it.code)), Ok((response.id, response.code)));
        answers(&response.data);
    }
    let _ = (ArmState::parse(message), SlamInfo::parse(message), Odometry::parse(message));
    let _ = (LowState::parse(message), Service::parse(message));
    if let Ok(Some(faults)) = Faults::parse(message) {
        assert_eq!(Faults::parse(&faults.message()), Ok(Some(faults)));
    }
    if let Ok(Some(slice)) = FileSlice::parse(message) {
        let _ = Download::new(LIMITS).push(&slice);
    }
}

fn calls(request: &Request) {
    if let Ok(arm) = ArmRequest::parse(request.api_id, &request.parameter) {
        assert_eq!(arm.api_id(), request.api_id);
        let again = ArmRequest::parse(arm.api_id(), &arm.parameter());
        assert_eq!(again.map(|it| it.to_string()), Ok(arm.to_string()));
    }
    if let Ok(slam) = SlamRequest::parse(request.api_id, &request.parameter) {
        assert_eq!(slam.api_id(), request.api_id);
        assert!(SlamRequest::parse(slam.api_id(), &slam.parameter()).is_ok());
    }
}

fn answers(data: &Value) {
    if let Ok(list) = ActionList::parse(data) {
        let again = ActionList::parse(&list.emit().into()).expect("what was written can be read");
        assert_eq!(again.presets, list.presets);
        assert_eq!(again.taught.len(), list.taught.len());
    }
    if let Ok(reply) = SlamReply::parse(data) {
        assert!(SlamReply::parse(&reply.emit().into()).is_ok());
    }
    if let Ok(mode) = MotionMode::parse(data) {
        assert_eq!(MotionMode::parse(&mode.emit().into()), Ok(mode));
    }
}

fn signalling(data: &[u8]) {
    if let Ok(notify) = Notify::parse(data) {
        assert_eq!(Notify::parse(notify.emit().as_bytes()), Ok(notify));
    }
    if let Ok(body) = ConIng::parse(data) {
        assert_eq!(ConIng::parse(body.emit().as_bytes()), Ok(body));
    }
    if let Ok(offer) = Offer::parse(data) {
        assert_eq!(Offer::parse(offer.emit().as_bytes()), Ok(offer));
    }
    if let Ok(answer) = Answer::parse(data) {
        assert_eq!(Answer::parse(answer.emit().as_bytes()), Ok(answer));
    }
}

/// Pieces as the input says: either they come out as one, or the first that does not fit is
/// refused and all are forgotten.
fn pieces(mut data: &[u8]) {
    let mut assembly = Assembly::new(LIMITS);
    let (mut so_far, mut next) = (Vec::new(), 1);
    while !data.is_empty() {
        let (index, total) =
            (u32::from(take_byte(&mut data) % 12), u32::from(take_byte(&mut data)));
        let length = usize::from(take_byte(&mut data) % 40);
        let bytes = take_bytes(&mut data, length);
        match assembly.push(Chunk { index, total }, bytes) {
            Ok(whole) => {
                assert_eq!(index, next, "a piece out of order was taken");
                so_far.extend_from_slice(bytes);
                assert!(so_far.len() <= LIMITS.bytes && index <= LIMITS.chunks);
                next += 1;
                if let Some(whole) = whole {
                    assert_eq!(whole, std::mem::take(&mut so_far));
                    next = 1;
                }
            }
            Err(_) => {
                so_far.clear();
                next = 1;
            }
        }
        assert_eq!(assembly.len(), so_far.len());
    }
}
