//! Telemetry for any number of readers.
//!
//! A topic is one ring of messages, turned into text once. Each reader keeps its place in the ring
//! and copies what is new when its turn to write comes, so publishing costs the same for one
//! reader as for a thousand, and a reader that is too slow for the ring loses its oldest messages
//! without other readers noticing.

mod blocks;

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use sinew_api::frame;
use sinew_robot::{capability::Frames, map};
use tokio::sync::Notify;

use self::blocks::Source;
use crate::{frame::Framing, lock};

/// Bytes a reader may fall behind by: a second of status at 500 Hz, raw bytes and all.
const CAPACITY: usize = 1 << 20;
/// What a message takes beside its own bytes.
const OVERHEAD: usize = 128;

/// Frames that a reader may have without acknowledging one: while it works on one, the next comes.
const WINDOW: usize = 2;

/// The ways in which a message is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `{"type":"Event",…}`.
    Event,
    /// `{"topic":…,"payload":…}`, and sensors with their raw bytes.
    Legacy,
    /// Bytes.
    Frame,
    /// Protobuf, as SangamIO's later interface has it; sensors only.
    Sangam,
}

impl Form {
    const ALL: [Form; 4] = [Form::Event, Form::Legacy, Form::Frame, Form::Sangam];
}

/// What readers of a topic get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Keeps {
    /// Every message, as far as the ring holds them.
    #[default]
    Stream,
    /// The newest; those before it are no loss.
    Newest,
    /// What has changed, by blocks: nothing is kept here.
    Blocks,
}

#[derive(Debug, Default)]
pub(crate) struct Ring {
    keeps: Keeps,
    /// What readers of blocks look at.
    blocks: Option<Source>,
    inner: Mutex<Inner>,
    readers: [AtomicUsize; 4],
    /// Nothing is published here any more.
    #[cfg(feature = "relay")]
    ended: std::sync::atomic::AtomicBool,
}

#[derive(Debug, Default)]
struct Inner {
    messages: VecDeque<Message>,
    /// What they take.
    bytes: usize,
    /// The number of the message that comes next.
    next: u64,
    waiting: Vec<Arc<Notify>>,
}

/// A form that had no reader when it was published is empty.
#[derive(Debug)]
struct Message {
    at: Instant,
    forms: [Bytes; 4],
}

impl Message {
    fn size(&self) -> usize {
        OVERHEAD + self.forms.iter().map(Bytes::len).sum::<usize>()
    }
}

impl Ring {
    pub(crate) fn has_readers(&self) -> bool {
        self.readers.iter().any(|readers| readers.load(Ordering::Relaxed) > 0)
    }

    /// Nothing is published here any more: its robot was replaced.
    #[cfg(feature = "relay")]
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }

    /// A topic of frames, of the robot at this place.
    pub(crate) fn frames(frames: &Frames, robot: u16) -> Self {
        match frames {
            Frames::Newest => Ring { keeps: Keeps::Newest, ..Ring::default() },
            Frames::All => Ring::default(),
            Frames::Blocks(blocks) => {
                let blocks = Some(Source::new(Arc::clone(blocks), robot));
                // A reader that has seen nothing has something to read.
                let inner = Mutex::new(Inner { next: 1, ..Inner::default() });
                Ring { keeps: Keeps::Blocks, blocks, inner, ..Ring::default() }
            }
        }
    }

    /// There is something new in the blocks.
    pub(crate) fn blocks_changed(&self) {
        let waiting = {
            let mut inner = lock(&self.inner);
            inner.next += 1;
            std::mem::take(&mut inner.waiting)
        };
        waiting.iter().for_each(|reader| reader.notify_one());
    }

    /// Publishes what `write` makes, in the forms that are read.
    pub(crate) fn publish(&self, write: impl Fn(Form) -> Vec<u8>) {
        let is_read = |form: Form| self.readers[form as usize].load(Ordering::Relaxed) > 0;
        let make = |form: Form| match is_read(form) {
            false => Bytes::new(),
            true => Bytes::from(write(form)),
        };
        let mut forms = Form::ALL.map(make);
        let waiting = {
            let mut inner = lock(&self.inner);
            // A reader that came while the text was made must not find a form missing.
            for form in Form::ALL {
                if is_read(form) && forms[form as usize].is_empty() {
                    forms[form as usize] = Bytes::from(write(form));
                }
            }
            if forms.iter().all(Bytes::is_empty) {
                return;
            }
            let message = Message { at: Instant::now(), forms };
            inner.make_room(self.keeps, message.size());
            inner.bytes += message.size();
            inner.messages.push_back(message);
            inner.next += 1;
            std::mem::take(&mut inner.waiting)
        };
        for reader in waiting {
            reader.notify_one();
        }
    }
}

impl Inner {
    /// Drops what a message of this size leaves no room for.
    fn make_room(&mut self, keeps: Keeps, size: usize) {
        let is_over = |inner: &Inner| match keeps {
            Keeps::Stream => inner.bytes + size > CAPACITY,
            Keeps::Newest | Keeps::Blocks => true,
        };
        while is_over(self)
            && let Some(oldest) = self.messages.pop_front()
        {
            self.bytes -= oldest.size();
        }
    }
}

/// A reader's place in a ring.
#[derive(Debug)]
pub(crate) struct Cursor {
    ring: Arc<Ring>,
    form: Form,
    notify: Arc<Notify>,
    next: u64,
    /// The place in a map.
    place: map::Cursor,
    /// Where the ring was when this reader put itself among the waiting ones.
    waits_at: Option<u64>,
    thinning: Option<Thinning>,
    /// Numbers of the frames that the client has not acknowledged.
    unacknowledged: VecDeque<u64>,
}

#[derive(Debug)]
struct Thinning {
    period: Duration,
    due: Instant,
}

/// What reading a ring gave.
#[derive(Debug, Default)]
pub(crate) struct Drained {
    pub(crate) lost: u64,
    /// There is more than the output had room for.
    pub(crate) more: bool,
    /// When the newest message may be sent, if it is too early for it.
    pub(crate) held_until: Option<Instant>,
}

impl Cursor {
    /// Begins to read with the next message. `notify` is told when there is one to be read.
    pub(crate) fn new(
        ring: &Arc<Ring>,
        form: Form,
        max_hz: Option<f64>,
        notify: &Arc<Notify>,
    ) -> Self {
        let inner = lock(&ring.inner);
        ring.readers[form as usize].fetch_add(1, Ordering::Relaxed);
        let next = if ring.blocks.is_some() { 0 } else { inner.next };
        drop(inner);
        let (ring, notify) = (Arc::clone(ring), Arc::clone(notify));
        let mut cursor = Cursor {
            ring,
            form,
            notify,
            next,
            place: map::Cursor::default(),
            waits_at: None,
            thinning: None,
            unacknowledged: VecDeque::new(),
        };
        cursor.set_max_hz(max_hz);
        cursor
    }

    pub(crate) fn reads(&self, ring: &Arc<Ring>) -> bool {
        Arc::ptr_eq(&self.ring, ring)
    }

    /// Whether nothing more comes.
    #[cfg(feature = "relay")]
    pub(crate) fn is_over(&self) -> bool {
        self.ring.ended.load(Ordering::Acquire)
    }

    pub(crate) fn set_max_hz(&mut self, max_hz: Option<f64>) {
        self.thinning = max_hz.map(|hz| {
            // A day between messages is as good as any longer time.
            let period = Duration::from_secs_f64((1.0 / hz).clamp(0.0, 86_400.0));
            Thinning { period, due: Instant::now() }
        });
    }

    /// The client has taken this frame, and those before it.
    pub(crate) fn acknowledge(&mut self, sequence: u64) {
        if let Some(index) = self.unacknowledged.iter().position(|sent| *sent == sequence) {
            self.unacknowledged.drain(..=index);
        }
    }

    /// Whether it gets nothing before it has acknowledged something. What it was sent may be in
    /// buffers on the way, where more would grow old.
    fn is_blocked(&self) -> bool {
        self.unacknowledged.len() >= WINDOW
    }

    /// Writes what is new until `room` is used up. `tell_lost` writes how much was lost.
    pub(crate) fn drain(
        &mut self,
        now: Instant,
        framing: Framing,
        out: &mut Vec<u8>,
        room: usize,
        tell_lost: impl Fn(u64, &mut Vec<u8>),
    ) -> Drained {
        if self.ring.blocks.is_some() {
            return self.drain_blocks(now, framing, out, room);
        }
        let mut drained = Drained::default();
        let inner = lock(&self.ring.inner);
        let first = inner.next - inner.messages.len() as u64;
        if self.next < first {
            let oldest = inner.messages.front().map_or(now, |message| message.at);
            drained.lost = match &self.thinning {
                _ if self.ring.keeps == Keeps::Newest => 0,
                None => first - self.next,
                Some(thinning) => thinning.wanted_before(oldest).min(first - self.next),
            };
            self.next = first;
            if drained.lost > 0 {
                tell_lost(drained.lost, out);
            }
        }
        let skipped = (self.next - first) as usize;
        for message in inner.messages.iter().skip(skipped) {
            // An acknowledgement leads here again.
            if self.is_blocked() {
                break;
            }
            if out.len() >= room {
                drained.more = true;
                break;
            }
            let newest = self.next + 1 == inner.next;
            if let Some(thinning) = &mut self.thinning {
                if message.at < thinning.due && !(newest && thinning.due <= now) {
                    if newest {
                        // It is the last word on its topic unless another comes: keep it.
                        drained.held_until = Some(thinning.due);
                        break;
                    }
                    self.next += 1;
                    continue;
                }
                thinning.sent(message.at);
            }
            self.next += 1;
            let bytes = &message.forms[self.form as usize];
            match self.form {
                Form::Frame => {
                    self.unacknowledged.extend(frame::sequence(bytes));
                    framing.put_frame(bytes, out);
                }
                Form::Event | Form::Legacy | Form::Sangam => framing.put(&[bytes], out),
            }
        }
        drained
    }

    /// Asks to be told of the next message; false if there is one already.
    pub(crate) fn wait(&mut self, held: bool) -> bool {
        if self.is_blocked() {
            return true;
        }
        let mut inner = lock(&self.ring.inner);
        if inner.next > self.next && !held {
            return false;
        }
        if self.waits_at != Some(inner.next) {
            self.waits_at = Some(inner.next);
            inner.waiting.push(Arc::clone(&self.notify));
        }
        true
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        let mut inner = lock(&self.ring.inner);
        self.ring.readers[self.form as usize].fetch_sub(1, Ordering::Relaxed);
        inner.waiting.retain(|waiting| !Arc::ptr_eq(waiting, &self.notify));
        if !self.ring.has_readers() {
            inner.messages = VecDeque::new();
            inner.bytes = 0;
        }
    }
}

impl Thinning {
    fn sent(&mut self, at: Instant) {
        // Steps of the period keep the rate exact; after a silence it begins anew.
        self.due += self.period;
        if self.due < at {
            self.due = at + self.period;
        }
    }

    /// How many messages would have been sent from when one was due until `end`.
    fn wanted_before(&self, end: Instant) -> u64 {
        match end.checked_duration_since(self.due) {
            None => 0,
            Some(time) => (time.as_secs_f64() / self.period.as_secs_f64().max(1e-6)) as u64 + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cursor: &mut Cursor, now: Instant) -> (Vec<String>, Drained) {
        let mut out = Vec::new();
        let framing = Framing::Lines;
        let drained = cursor.drain(now, framing, &mut out, usize::MAX, |lost, out| {
            framing.put(&[format!("lost {lost}").as_bytes()], out);
        });
        let text = String::from_utf8(out).expect("is text");
        (text.lines().map(str::to_owned).collect(), drained)
    }

    #[test]
    fn a_reader_that_falls_behind_loses_the_oldest_and_is_told() {
        let ring = Arc::new(Ring::default());
        let mut cursor = Cursor::new(&ring, Form::Event, None, &Arc::default());
        // All of the same size.
        let text = |number: usize| format!("{number:0width$}", width = 1024 - OVERHEAD);
        let most = CAPACITY / 1024;
        for number in 0..most + 7 {
            ring.publish(|_| text(number).into());
        }
        let (lines, drained) = read(&mut cursor, Instant::now());
        assert_eq!(drained.lost, 7);
        assert_eq!(lines.len(), 1 + most);
        assert_eq!(&lines[..2], ["lost 7", &text(7)]);
    }

    #[test]
    fn long_messages_are_fewer_and_none_is_too_long() {
        let ring = Arc::new(Ring::default());
        let mut cursor = Cursor::new(&ring, Form::Event, None, &Arc::default());
        for number in 0..5 {
            ring.publish(|_| vec![b'0' + number; CAPACITY / 2]);
        }
        assert_eq!(lock(&ring.inner).messages.len(), 1);
        ring.publish(|_| vec![b'x'; 3 * CAPACITY]);
        let (lines, drained) = read(&mut cursor, Instant::now());
        assert_eq!((lines.len(), drained.lost), (2, 5));
        assert!(lock(&ring.inner).bytes >= 3 * CAPACITY);
        ring.publish(|_| "short".into());
        assert!(lock(&ring.inner).bytes < CAPACITY);
    }

    #[test]
    fn of_a_topic_that_keeps_the_newest_a_reader_gets_that_and_has_lost_nothing() {
        let ring = Arc::new(Ring::frames(&Frames::Newest, 0));
        let mut cursor = Cursor::new(&ring, Form::Event, None, &Arc::default());
        for number in 0..5 {
            ring.publish(|_| number.to_string().into());
        }
        let (lines, drained) = read(&mut cursor, Instant::now());
        assert_eq!((lines, drained.lost), (vec!["4".to_owned()], 0));
    }

    #[test]
    fn a_thinned_reader_gets_its_rate_and_the_last_word() {
        let ring = Arc::new(Ring::default());
        let mut cursor = Cursor::new(&ring, Form::Event, Some(10.0), &Arc::default());
        let begin = Instant::now();
        for number in 0..50 {
            ring.publish(|_| number.to_string().into());
        }
        let (lines, drained) = read(&mut cursor, Instant::now());
        assert_eq!(lines, ["0"]);
        let due = drained.held_until.expect("the last one waits");
        assert!(due >= begin + Duration::from_millis(99));
        assert!(cursor.wait(true));
        assert_eq!(read(&mut cursor, due).0, ["49"]);
        assert_eq!(read(&mut cursor, due + Duration::from_secs(1)).0, [""; 0]);
    }

    #[test]
    fn a_waiting_reader_is_told_once_and_waits_in_one_place() {
        let ring = Arc::new(Ring::default());
        let mut cursor = Cursor::new(&ring, Form::Event, None, &Arc::default());
        assert!(cursor.wait(false));
        assert!(cursor.wait(false));
        assert_eq!(lock(&ring.inner).waiting.len(), 1);
        ring.publish(|_| "x".into());
        assert!(lock(&ring.inner).waiting.is_empty());
        assert!(!cursor.wait(false));
        drop(cursor);
        assert!(!ring.has_readers());
    }

    #[test]
    fn nothing_is_written_for_nobody() {
        let ring = Ring::default();
        ring.publish(|_| panic!("there is no reader"));
        let ring = Arc::new(ring);
        let _reader = Cursor::new(&ring, Form::Legacy, None, &Arc::default());
        ring.publish(|form| {
            assert_eq!(form, Form::Legacy);
            "x".into()
        });
    }
}
