//! Maps: each reader asks for the blocks that changed since it looked last. Nothing is kept for it
//! but its place, so that a reader that is late costs no more than one that is not.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use sinew_api::frame::{self, Frame};
use sinew_robot::{capability::Blocks, map};

use super::{Cursor, Drained};
use crate::{frame::Framing, lock};

/// A map, and what the server writes into its frames.
pub(super) struct Source {
    blocks: Arc<dyn Blocks>,
    /// The robot's place among all.
    robot: u16,
    /// The number of the last frame. All readers' are counted together: an acknowledgement that
    /// comes late, after its client has subscribed anew, fits no frame of the new subscription.
    sequence: AtomicU64,
}

impl Source {
    pub(super) fn new(blocks: Arc<dyn Blocks>, robot: u16) -> Self {
        Source { blocks, robot, sequence: AtomicU64::new(0) }
    }

    /// The next frame for a reader, and its number.
    fn next(&self, place: &mut map::Cursor) -> Option<(u64, Vec<u8>)> {
        let mut frame = self.blocks.next(place)?;
        let sequence = self.sequence.fetch_add(1, Ordering::Relaxed) + 1;
        frame::set_robot(&mut frame, self.robot);
        frame::set_sequence(&mut frame, sequence);
        match Frame::read(&frame) {
            Ok(_) => Some((sequence, frame)),
            // A client could make nothing of it, and would not acknowledge it.
            Err(error) => {
                tracing::warn!("blocks of a map are left out: {error}");
                None
            }
        }
    }
}

impl Cursor {
    /// Writes blocks that changed until `room` is used up, or the client has to acknowledge some.
    pub(super) fn drain_blocks(
        &mut self,
        now: Instant,
        framing: Framing,
        out: &mut Vec<u8>,
        room: usize,
    ) -> Drained {
        let mut drained = Drained::default();
        let ring = Arc::clone(&self.ring);
        let Some(source) = &ring.blocks else { return drained };
        // What changes from here on is told again. The lock is not held while the map is looked at:
        // those that change it tell the ring, and may hold what the look waits for.
        let next = lock(&ring.inner).next;
        while self.next < next && !self.is_blocked() {
            if let Some(thinning) = self.thinning.as_ref().filter(|thinning| thinning.due > now) {
                drained.held_until = Some(thinning.due);
                break;
            }
            if out.len() >= room {
                drained.more = true;
                break;
            }
            let Some((sequence, frame)) = source.next(&mut self.place) else {
                self.next = next;
                break;
            };
            if let Some(thinning) = &mut self.thinning {
                thinning.sent(now);
            }
            self.unacknowledged.push_back(sequence);
            framing.put_frame(&frame, out);
        }
        drained
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("robot", &self.robot).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::VecDeque,
        sync::{Mutex, Weak},
        time::Duration,
    };

    use sinew_api::frame::Header;
    use sinew_robot::capability::Frames;
    use tokio::sync::Notify;

    use super::*;
    use crate::ring::{Form, Ring};

    /// Frames for one reader. Looks, when it is asked, whether the ring could be told of a change.
    #[derive(Default)]
    struct Fake {
        frames: Mutex<VecDeque<Vec<u8>>>,
        /// Comes just behind what a reader sees.
        late: Mutex<Option<Vec<u8>>>,
        ring: Mutex<Weak<Ring>>,
    }

    impl Blocks for Fake {
        fn next(&self, _: &mut map::Cursor) -> Option<Vec<u8>> {
            let ring = lock(&self.ring).upgrade().expect("is read");
            assert!(ring.inner.try_lock().is_ok(), "the ring is locked");
            let next = lock(&self.frames).pop_front();
            if let Some(late) = lock(&self.late).take() {
                lock(&self.frames).push_back(late);
                ring.blocks_changed();
            }
            next
        }
    }

    fn frame(points: u16) -> Vec<u8> {
        let header = Header { sequence: 7, unit: 0.05, ..Header::default() };
        frame::map(&header, &vec![[1, 2, 3, 4]; points.into()])
    }

    struct Bench {
        fake: Arc<Fake>,
        ring: Arc<Ring>,
        notify: Arc<Notify>,
    }

    impl Bench {
        fn new() -> Self {
            let fake = Arc::new(Fake::default());
            let blocks = Arc::clone(&fake) as Arc<dyn Blocks>;
            let ring = Arc::new(Ring::frames(&Frames::Blocks(blocks), 3));
            *lock(&fake.ring) = Arc::downgrade(&ring);
            Bench { fake, ring, notify: Arc::default() }
        }

        fn reader(&self, max_hz: Option<f64>) -> Cursor {
            Cursor::new(&self.ring, Form::Frame, max_hz, &self.notify)
        }

        /// There is one frame more, of so many points.
        fn change(&self, points: u16) {
            lock(&self.fake.frames).push_back(frame(points));
            self.ring.blocks_changed();
        }

        fn waiting(&self) -> usize {
            lock(&self.ring.inner).waiting.len()
        }
    }

    /// What a reader gets: the numbers of the frames, and how many points each has.
    fn read(cursor: &mut Cursor, now: Instant, room: usize) -> (Vec<(u64, usize)>, Drained) {
        let mut out = Vec::new();
        let drained = cursor.drain(now, Framing::WebSocket, &mut out, room, |_, _| {
            panic!("nothing is lost");
        });
        let (mut rest, mut frames) = (&out[..], Vec::new());
        while !rest.is_empty() {
            assert_eq!(rest[0], 0x82, "a binary message");
            let (head, length) = match rest[1] {
                126 => (4, usize::from(u16::from_be_bytes([rest[2], rest[3]]))),
                127 => (10, u64::from_be_bytes(rest[2..10].try_into().expect("eight")) as usize),
                length => (2, length.into()),
            };
            let frame = Frame::read(&rest[head..head + length]).expect("is a frame");
            assert_eq!(frame.header.robot, 3);
            frames.push((frame.header.sequence, frame.points().len()));
            rest = &rest[head + length..];
        }
        (frames, drained)
    }

    fn all(cursor: &mut Cursor) -> Vec<(u64, usize)> {
        read(cursor, Instant::now(), usize::MAX).0
    }

    #[test]
    fn a_reader_begins_at_once_and_gets_two_frames_before_it_acknowledges_one() {
        let bench = Bench::new();
        (1..=5).for_each(|points| lock(&bench.fake.frames).push_back(frame(points)));
        let mut reader = bench.reader(None);
        assert!(!reader.wait(false), "there is something, though nothing changed since");
        assert_eq!(all(&mut reader), [(1, 1), (2, 2)]);
        assert_eq!(all(&mut reader), []);
        // Neither a number that was not sent nor one twice brings more than one frame.
        reader.acknowledge(9);
        assert_eq!(all(&mut reader), []);
        reader.acknowledge(1);
        reader.acknowledge(1);
        assert_eq!(all(&mut reader), [(3, 3)]);
        // The last, and those before it.
        reader.acknowledge(3);
        assert_eq!(all(&mut reader), [(4, 4), (5, 5)]);
        reader.acknowledge(5);
        assert_eq!(all(&mut reader), []);
        assert!(reader.wait(false));
    }

    #[test]
    fn a_reader_that_is_late_waits_for_its_client_and_not_in_the_ring() {
        let bench = Bench::new();
        let mut reader = bench.reader(None);
        assert_eq!(all(&mut reader), []);
        assert!(reader.wait(false) && reader.wait(false));
        assert_eq!(bench.waiting(), 1);
        (1..=50).for_each(|points| bench.change(points));
        assert_eq!(bench.waiting(), 0, "it was told");
        assert_eq!(all(&mut reader).len(), 2);
        assert!(reader.wait(false));
        (51..=60).for_each(|points| bench.change(points));
        assert!(reader.wait(false));
        assert_eq!((all(&mut reader).len(), bench.waiting()), (0, 0));
        assert_eq!(reader.unacknowledged.len(), 2);
        reader.acknowledge(2);
        assert!(!reader.wait(false), "there is more for it");
        assert_eq!(all(&mut reader), [(3, 3), (4, 4)]);
    }

    #[test]
    fn what_changes_behind_a_readers_look_is_not_missed() {
        let bench = Bench::new();
        let mut reader = bench.reader(None);
        *lock(&bench.fake.late) = Some(frame(9));
        assert_eq!(all(&mut reader), [], "it was not there yet");
        assert!(!reader.wait(false), "it is there now");
        assert_eq!(all(&mut reader), [(1, 9)]);
        assert!(reader.wait(false));
        // One that was told, and seen already, is asked for in vain, once.
        bench.ring.blocks_changed();
        assert!(!reader.wait(false));
        assert_eq!(all(&mut reader), []);
        assert!(reader.wait(false));
    }

    #[test]
    fn a_frame_is_begun_only_where_there_is_room() {
        let bench = Bench::new();
        (1..=2).for_each(|_| bench.change(1000));
        let mut reader = bench.reader(None);
        let (frames, drained) = read(&mut reader, Instant::now(), 100);
        assert_eq!((frames.len(), drained.more), (1, true));
        let (frames, drained) = read(&mut reader, Instant::now(), 100);
        // Of a client that has to acknowledge something there is not more to be had.
        assert_eq!((frames.len(), drained.more), (1, false));
    }

    #[test]
    fn a_thinned_reader_gets_its_rate_and_all_there_is() {
        let bench = Bench::new();
        let mut reader = bench.reader(Some(10.0));
        (1..=3).for_each(|points| bench.change(points));
        let mut now = Instant::now();
        for points in 1..=3 {
            let (frames, drained) = read(&mut reader, now, usize::MAX);
            assert_eq!(frames, [(points as u64, points)]);
            reader.acknowledge(points as u64);
            let due = drained.held_until.expect("it is too early for the next");
            assert!(due > now && due <= now + Duration::from_millis(100));
            assert!(!drained.more);
            // It waits for the time and for changes, and a change does not bring it forward.
            assert!(reader.wait(true));
            assert_eq!(bench.waiting(), 1);
            bench.ring.blocks_changed();
            assert_eq!(read(&mut reader, now, usize::MAX).0, []);
            now = due;
        }
        let (frames, drained) = read(&mut reader, now, usize::MAX);
        assert!(frames.is_empty() && drained.held_until.is_none());
    }

    #[test]
    fn an_acknowledgement_of_an_earlier_subscription_counts_for_nothing() {
        let bench = Bench::new();
        (1..=6).for_each(|points| bench.change(points));
        let mut reader = bench.reader(None);
        assert_eq!(all(&mut reader), [(1, 1), (2, 2)]);
        drop(reader);
        let mut reader = bench.reader(None);
        assert_eq!(all(&mut reader), [(3, 3), (4, 4)]);
        reader.acknowledge(2);
        assert_eq!(all(&mut reader), []);
        assert_eq!(reader.place, map::Cursor::default(), "it began with all of the map");
    }

    #[test]
    fn what_is_no_frame_is_left_out_and_holds_nothing_up() {
        let bench = Bench::new();
        let mut reader = bench.reader(None);
        for bad in [vec![], vec![1, 2, 3], frame(5)[..100].to_vec()] {
            lock(&bench.fake.frames).push_back(bad);
            bench.ring.blocks_changed();
            assert_eq!(all(&mut reader), []);
            assert!(reader.wait(false));
        }
        bench.change(6);
        assert_eq!(all(&mut reader), [(4, 6)]);
    }

    #[test]
    fn it_is_known_whether_there_is_a_reader() {
        let bench = Bench::new();
        assert!(!bench.ring.has_readers());
        let reader = bench.reader(None);
        assert!(bench.ring.has_readers());
        drop(reader);
        assert!(!bench.ring.has_readers());
    }
}
