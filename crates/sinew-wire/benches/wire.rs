//! How fast the codecs are, as ratios to memcpy in the same run.
//!
//! `cargo xtask bench` runs it beside numpy. An argument keeps only the cases whose name contains
//! it. Every case is timed in turns with memcpy, the best turn of each counts.
//!
//! Bytes/s of points are bytes written, and memcpy writes as many into the same buffer. Of a
//! million points the caches decide: a copy of packed points, half as long as what they become,
//! stayed in a cache that other programs pushed their decoding out of, so that the ratio was
//! anything from 0.2 to 0.7. Bytes/s of what writes nothing are bytes read.
//!
//! All buffers begin 32 bytes into a page, because memcpy's speed hangs on where they lie: 5436
//! bytes go at 80 GB/s there on a Zen 3, at 50 to 60 from and to most other places, and at 1.5
//! to a place 16 bytes further into its page than they come from.
//!
//! Each row of points names the vector instructions it was made with. Targets hold from AVX2 on.

#![allow(clippy::print_stdout, reason = "a bench prints")]

use std::{
    env, fs,
    hint::black_box,
    ops::{Deref, DerefMut, Range},
    process::Command,
    time::{Duration, Instant},
};

use sinew_wire::{
    Vectors, delta2d,
    gd32::{Deframer, FrameBuf, STATUS_LEN, Status, What},
    slam::{self, BoundingBox, Reading},
    voxel::VoxelMap,
};

/// Short, so that on a busy machine some pass without another program's turn in between.
const TURN: Duration = Duration::from_millis(2);
const TURNS: usize = 201;

/// Where the SLAM clouds' points may lie, which the choice of their reading asks.
const BOX: BoundingBox = BoundingBox { min: [-4.8, -1.9, -0.7], max: [60.0, 60.0, 60.0] };

/// Bytes of a voxel map's layer.
const LAYER_BYTES: usize = 128 * 128 / 8;

fn main() {
    let filter = env::args().skip(1).find(|arg| !arg.starts_with('-')).unwrap_or_default();
    let bench = Bench { filter };
    println!("{:<44} {:>12} {:>12} {:>7}  target", "case", "bytes/s", "memcpy", "ratio");
    bench.gd32("gd32 stream, clean", &stream(false), 0.25);
    bench.gd32("gd32 stream, noisy", &stream(true), 0.1);
    bench.delta2d("delta2d stream, clean", &turns(false), Some(0.15));
    bench.delta2d("delta2d stream, noisy", &turns(true), Some(0.1));
    bench.joined_turns(&turns(false));
    bench.choice(453);
    bench.slam(Reading::Documented, 453, Targets { memcpy: 0.2, numpy: 10.0 });
    bench.slam(Reading::Packed, 453, Targets { memcpy: 0.6, numpy: 10.0 });
    bench.choice(1_000_000);
    bench.slam(Reading::Documented, 1_000_000, Targets { memcpy: 0.5, numpy: 5.0 });
    bench.slam(Reading::Packed, 1_000_000, Targets { memcpy: 0.5, numpy: 5.0 });
    bench.voxel("voxel map, a room", &cells_of_a_room(), Some(0.05));
    // Such cells compress into thousands of short matches, so this is LZ4's time more than ours.
    bench.voxel("voxel map, scattered cells", &scattered_cells(), None);
}

struct Bench {
    filter: String,
}

/// What to reach, as multiples of others' bytes per second.
#[derive(Clone, Copy)]
struct Targets {
    memcpy: f64,
    numpy: f64,
}

impl Bench {
    fn gd32(&self, name: &str, stream: &[u8], target: f64) {
        let (stream, mut copied) = (Placed::new(stream), Placed::new(stream));
        self.case(name, &stream, &mut copied, Some(target), |_| {
            let mut deframer = Deframer::new();
            let mut ticks = 0u64;
            deframer.push(black_box(&stream), |piece| {
                if let What::Frame(frame) = piece.what
                    && let Ok(status) = Status::parse(frame.payload())
                {
                    ticks = ticks.wrapping_add(black_box(status).encoders[0]);
                }
            });
            black_box((ticks, deframer.counters()));
        });
    }

    /// From the stream to the samples, which are looked at.
    fn delta2d(&self, name: &str, stream: &[u8], target: Option<f64>) {
        let (stream, mut copied) = (Placed::new(stream), Placed::new(stream));
        self.case(name, &stream, &mut copied, target, |_| {
            let mut deframer = delta2d::Deframer::new();
            let mut starts = 0u64;
            deframer.push(black_box(&stream), |piece| {
                if let delta2d::What::Frame(frame) = piece.what
                    && let Ok(message) = delta2d::Message::parse(&frame)
                    && let delta2d::Body::Measurement(measurement) = black_box(message).body
                {
                    starts = starts.wrapping_add(measurement.start.into());
                }
            });
            black_box((starts, deframer.counters()));
        });
    }

    /// From the stream to turns, with an angle for every echo.
    fn joined_turns(&self, stream: &[u8]) {
        let (stream, mut copied) = (Placed::new(stream), Placed::new(stream));
        self.case("delta2d stream to turns", &stream, &mut copied, None, |_| {
            let (mut deframer, mut turns) = (delta2d::Deframer::new(), delta2d::Turns::default());
            deframer.push(black_box(&stream), |piece| {
                if let delta2d::What::Frame(frame) = piece.what
                    && let Ok(message) = delta2d::Message::parse(&frame)
                    && let delta2d::Body::Measurement(measurement) = message.body
                {
                    black_box(turns.push(&measurement, false));
                }
            });
        });
    }

    /// The look at all numbers that comes before the decoding; it writes nothing.
    fn choice(&self, points: usize) {
        let body = Placed::new(&body(Reading::Documented.point_len() * points));
        let mut copied = Placed::new(&body);
        let name = format!("slam choice of reading, {points} points");
        self.case(&name, &body, &mut copied, None, |_| {
            black_box(slam::choose(black_box(&body), Some(&BOX)).ok());
        });
    }

    fn slam(&self, reading: Reading, points: usize, targets: Targets) {
        let name = format!("slam {reading}, {points} points");
        let body = Placed::new(&body(reading.point_len() * points));
        let source = Placed::new(&vec![1.0; 3 * points]);
        let mut out = Placed::new(&source);
        let decode = |vectors, out: &mut [f32]| {
            let (out, _) = out.as_chunks_mut();
            let origin = [-4.8, -1.9, -0.7];
            let count = slam::decode_with(vectors, reading, black_box(&body), origin, out);
            black_box((count.ok(), out));
        };
        let mut rows = Vec::new();
        for vectors in Vectors::available() {
            let target = has_targets(vectors).then_some(targets.memcpy);
            let row = self.case(&format!("{name}, {vectors}"), &source, &mut out, target, |out| {
                decode(vectors, out);
            });
            rows.extend(row.map(|speed| (vectors, speed)));
        }
        self.compare(
            &format!("{name}, fresh buffer"),
            size_of_val(&source[..]),
            &mut (),
            None,
            [
                &mut |()| {
                    let mut fresh = vec![0.0; 3 * points];
                    decode(Vectors::best(), &mut fresh);
                    black_box(fresh);
                },
                &mut |()| {
                    black_box(black_box(&source[..]).to_vec());
                },
            ],
        );
        let Some(numpy) = (!rows.is_empty()).then(|| numpy(reading, &body)).flatten() else {
            return;
        };
        println!("{:<44} {numpy:>12.3e}", "  numpy");
        for (vectors, speed) in rows.into_iter().filter(|(vectors, _)| has_targets(*vectors)) {
            let ratio = speed / numpy;
            let verdict = verdict(ratio, Some(targets.numpy));
            println!("{:<44} {:>25} {ratio:>7.1}  {verdict}", format!("  {vectors} to numpy"), "");
        }
    }

    /// From the message to the points, both of which are fresh; memcpy's target is not.
    fn voxel(&self, name: &str, bits: &[u8], target: Option<f64>) {
        let message = voxel_message(bits);
        let Ok(message) = slam::Message::new_checked(&message) else { return };
        let Ok(map) = VoxelMap::new(&message) else { return };
        let source = Placed::new(map.points().as_flattened());
        let mut out = Placed::new(&source);
        self.case(name, &source, &mut out, target, |_| {
            black_box(VoxelMap::new(black_box(&message)).map(|map| map.points()).ok());
        });
    }

    /// Times what may write into `out` against a copy of `source` there; gives its bytes per
    /// second.
    fn case<T: Copy>(
        &self,
        name: &str,
        source: &[T],
        out: &mut [T],
        target: Option<f64>,
        mut run: impl FnMut(&mut [T]),
    ) -> Option<f64> {
        let mut memcpy = |out: &mut [T]| {
            out.copy_from_slice(black_box(source));
            black_box(out);
        };
        self.compare(name, size_of_val(source), out, target, [&mut run, &mut memcpy])
    }

    /// Times something and a copy of as many bytes in turns; prints and returns the first's bytes
    /// per second.
    fn compare<T: ?Sized>(
        &self,
        name: &str,
        bytes: usize,
        on: &mut T,
        target: Option<f64>,
        [run, copy]: [&mut dyn FnMut(&mut T); 2],
    ) -> Option<f64> {
        if !name.contains(&self.filter) {
            return None;
        }
        let (runs, copies) = (repeats(&mut || run(on)), repeats(&mut || copy(on)));
        let (mut best_run, mut best_copy) = (f64::MAX, f64::MAX);
        for _ in 0..TURNS {
            best_run = best_run.min(seconds(&mut || run(on), runs));
            best_copy = best_copy.min(seconds(&mut || copy(on), copies));
        }
        let (ours, theirs) = (bytes as f64 / best_run, bytes as f64 / best_copy);
        let ratio = ours / theirs;
        let verdict = verdict(ratio, target);
        println!("{name:<44} {ours:>12.3e} {theirs:>12.3e} {ratio:>7.3}  {verdict}");
        Some(ours)
    }
}

/// A copy of a slice that begins at the same place in a page as all others.
struct Placed<T> {
    buffer: Vec<T>,
    range: Range<usize>,
}

impl<T: Copy + Default> Placed<T> {
    fn new(slice: &[T]) -> Self {
        const PAGE: usize = 4096;
        const PLACE: usize = 32;
        let mut buffer = vec![T::default(); slice.len() + PAGE / size_of::<T>()];
        let place = buffer.as_ptr().addr() % PAGE;
        let start = (PAGE + PLACE - place) % PAGE / size_of::<T>();
        let range = start..start + slice.len();
        buffer[range.clone()].copy_from_slice(slice);
        Placed { buffer, range }
    }
}

impl<T> Deref for Placed<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.buffer[self.range.clone()]
    }
}

impl<T> DerefMut for Placed<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.buffer[self.range.clone()]
    }
}

/// Whether the targets are meant for these vectors: AVX2 and above.
fn has_targets(vectors: Vectors) -> bool {
    vectors.to_string().starts_with("AVX")
}

fn verdict(ratio: f64, target: Option<f64>) -> String {
    match target {
        Some(target) if ratio >= target => format!("{target}: reached"),
        Some(target) => format!("{target}: MISSED"),
        None => "-".into(),
    }
}

/// How often to repeat something for a turn to last.
fn repeats(run: &mut impl FnMut()) -> u32 {
    let mut repeats = 1;
    loop {
        let start = Instant::now();
        (0..repeats).for_each(|_| run());
        if start.elapsed() >= TURN || repeats >= 1 << 24 {
            return repeats;
        }
        repeats *= 2;
    }
}

fn seconds(run: &mut impl FnMut(), repeats: u32) -> f64 {
    let start = Instant::now();
    (0..repeats).for_each(|_| run());
    start.elapsed().as_secs_f64() / f64::from(repeats)
}

/// 1,000 status frames; noisy has 1 % rubbish, and a false start every 50 frames.
fn stream(noisy: bool) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut random = Random(7);
    for index in 0..1000u32 {
        let mut payload = [0; STATUS_LEN];
        payload.fill_with(|| random.next() as u8);
        let Ok(frame) = FrameBuf::new(0x15, &payload) else { continue };
        if noisy {
            if index % 50 == 0 {
                stream.extend([0xFA, 0xFB, 0x63, 0x15]);
            }
            stream.push(random.next() as u8);
        }
        stream.extend(frame.as_bytes());
    }
    stream
}

/// 1,000 frames of 24 samples each; noisy as the other stream is.
fn turns(noisy: bool) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut random = Random(19);
    for index in 0..1000u16 {
        let mut payload = [0; 5 + 3 * 24];
        payload.fill_with(|| random.next() as u8);
        let [high, low] = (index % 15 * 2400).to_be_bytes();
        payload[..5].copy_from_slice(&[100, 0, 0, high, low]);
        let Ok(frame) = delta2d::FrameBuf::new(0xAD, &payload) else { continue };
        if noisy {
            if index % 50 == 0 {
                stream.extend([0xAA, 0x00, 0x55, 0x01, 0x61, 0xAD, 0x00, 0x4D]);
            }
            stream.push(random.next() as u8);
        }
        stream.extend(frame.as_bytes());
    }
    stream
}

fn body(len: usize) -> Vec<u8> {
    let mut random = Random(11);
    (0..len).map(|_| random.next() as u8).collect()
}

/// 38 layers of which 2 % are occupied, each cell on its own.
fn scattered_cells() -> Vec<u8> {
    let mut random = Random(13);
    (0..38 * LAYER_BYTES)
        .map(|_| if random.next().is_multiple_of(6) { 1 << (random.next() % 8) } else { 0 })
        .collect()
}

/// 38 layers with a floor, four walls, and one cell in 500 of clutter.
fn cells_of_a_room() -> Vec<u8> {
    let mut random = Random(17);
    let mut occupied = |x: usize, y: usize, z: usize| {
        let inside = (20..108).contains(&x) && (15..113).contains(&y) && z >= 4;
        let edge = [20, 107].contains(&x) || [15, 112].contains(&y) || z == 4;
        inside && edge || random.next().is_multiple_of(500)
    };
    let mut bits = vec![0; 38 * LAYER_BYTES];
    for (cell, x, y, z) in
        (0..bits.len() * 8).map(|cell| (cell, cell % 128, cell / 128 % 128, cell >> 14))
    {
        bits[cell / 8] |= u8::from(occupied(x, y, z)) << (7 - cell % 8);
    }
    bits
}

fn voxel_message(bits: &[u8]) -> Vec<u8> {
    let json = format!(
        r#"{{"type":"msg","topic":"rt/utlidar/voxel_map_compressed","data":{{"resolution":0.05,"origin":[-3.2,-3.2,-0.5],"width":[128,128,38],"src_size":{}}}}}"#,
        bits.len()
    );
    let block = lz4_flex::block::compress(bits);
    let mut message = vec![];
    message.extend((json.len() as u32).to_le_bytes());
    message.extend((block.len() as u32).to_le_bytes());
    message.extend(json.as_bytes());
    message.extend(block);
    message
}

/// Bytes written per second by the same decoding in numpy, when there is one to ask.
fn numpy(reading: Reading, body: &[u8]) -> Option<f64> {
    let python = env::var_os("SINEW_BENCH_PYTHON")?;
    let file = env::temp_dir().join(format!("sinew-bench-{}.bin", std::process::id()));
    fs::write(&file, body).ok()?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/slam_numpy.py");
    let output = Command::new(python).arg(script).arg(reading.to_string()).arg(&file).output();
    let _ = fs::remove_file(&file);
    String::from_utf8(output.ok()?.stdout).ok()?.trim().parse().ok()
}

/// Xorshift: the same input every run.
struct Random(u32);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }
}
