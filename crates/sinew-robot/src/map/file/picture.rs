//! A map as a picture for people: PNG with a palette, the robot's way and its dock in colour.

use super::{Ground, Raster};

/// Pixels of a square, where there is room.
const SCALE: usize = 4;
/// Longest side of a picture, pixels.
const MAX_SIDE: usize = 8192;

/// Colours of the palette, in the order of [`Ink`].
const PALETTE: [[u8; 3]; 6] = [
    [0xd0, 0xd4, 0xd8],
    [0xff, 0xff, 0xff],
    [0x20, 0x28, 0x30],
    [0x2b, 0x7f, 0xd4],
    [0x1f, 0x9d, 0x55],
    [0xd6, 0x3b, 0x2f],
];

#[derive(Debug, Clone, Copy)]
#[repr(u8)]
enum Ink {
    Unknown,
    Free,
    Occupied,
    Path,
    Dock,
    Robot,
}

/// What is drawn on a map: places in metres, in its frame.
#[derive(Debug, Clone, Default)]
pub struct Drawing {
    /// Where the robot went.
    pub path: Vec<[f64; 2]>,
    /// Where its dock is.
    pub dock: Option<[f64; 2]>,
    /// Where it is.
    pub robot: Option<[f64; 2]>,
}

/// The picture as a PNG file. A map that is too large for a picture loses squares evenly.
pub fn write(raster: &Raster, drawing: &Drawing) -> Vec<u8> {
    let mut canvas = Canvas::new(raster);
    for pair in drawing.path.windows(2) {
        canvas.line(pair[0], pair[1], Ink::Path);
    }
    // Radii in metres: a dock is some 15 cm wide, a robot 34.
    if let Some(dock) = drawing.dock {
        canvas.disc(dock, 0.08, Ink::Dock);
    }
    if let Some(robot) = drawing.robot {
        canvas.disc(robot, 0.17, Ink::Robot);
    }
    canvas.png()
}

struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
    origin: [f64; 2],
    pixels_per_metre: f64,
}

impl Canvas {
    fn new(raster: &Raster) -> Self {
        let side = raster.width.max(raster.height).max(1);
        let scale = (MAX_SIDE / side).clamp(1, SCALE);
        let step = side.div_ceil(MAX_SIDE);
        let pixels_of = |squares: usize| (squares / step * scale).max(1);
        let (width, height) = (pixels_of(raster.width), pixels_of(raster.height));
        let mut pixels = Vec::with_capacity(width * height);
        for row in (0..height).rev() {
            pixels.extend((0..width).map(|column| {
                let ink = match raster.at(column / scale * step, row / scale * step) {
                    Ground::Unknown => Ink::Unknown,
                    Ground::Free => Ink::Free,
                    Ground::Occupied => Ink::Occupied,
                };
                ink as u8
            }));
        }
        let pixels_per_metre = scale as f64 / (step as f64 * raster.resolution);
        Canvas { width, height, pixels, origin: raster.origin, pixels_per_metre }
    }

    /// Pixels from the left and from the top.
    fn place(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let left = (x - self.origin[0]) * self.pixels_per_metre;
        let up = (y - self.origin[1]) * self.pixels_per_metre;
        [left, self.height as f64 - 1.0 - up]
    }

    fn dot(&mut self, left: f64, top: f64, ink: Ink) {
        let inside = (0.0..self.width as f64).contains(&left) && top < self.height as f64;
        if inside && top >= 0.0 {
            self.pixels[top as usize * self.width + left as usize] = ink as u8;
        }
    }

    fn line(&mut self, from: [f64; 2], to: [f64; 2], ink: Ink) {
        let ([a, b], [c, d]) = (self.place(from), self.place(to));
        let longest = (c - a).abs().max((d - b).abs());
        // What is further than a picture's side apart is no way of a robot; nor is what is no number.
        let steps = if longest < MAX_SIDE as f64 { longest.ceil() as usize } else { 0 };
        for step in 0..=steps {
            let share = step as f64 / steps.max(1) as f64;
            self.dot(a + (c - a) * share, b + (d - b) * share, ink);
        }
    }

    fn disc(&mut self, at: [f64; 2], radius: f64, ink: Ink) {
        let [left, top] = self.place(at);
        let radius = (radius * self.pixels_per_metre).max(2.0);
        let reach = radius.ceil() as i32;
        for (dx, dy) in (-reach..=reach).flat_map(|dx| (-reach..=reach).map(move |dy| (dx, dy))) {
            let (dx, dy) = (f64::from(dx), f64::from(dy));
            if dx.hypot(dy) <= radius {
                self.dot(left + dx, top + dy, ink);
            }
        }
    }

    fn png(&self) -> Vec<u8> {
        let mut rows = Vec::with_capacity(self.pixels.len() + self.height);
        for row in self.pixels.chunks_exact(self.width) {
            // No filter: neighbours are alike already.
            rows.push(0);
            rows.extend_from_slice(row);
        }
        let mut head = Vec::new();
        head.extend((self.width as u32).to_be_bytes());
        head.extend((self.height as u32).to_be_bytes());
        // Eight bits of a palette, deflate, no interlacing.
        head.extend([8, 3, 0, 0, 0]);
        let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
        chunk(*b"IHDR", &head, &mut out);
        chunk(*b"PLTE", PALETTE.as_flattened(), &mut out);
        chunk(*b"IDAT", &miniz_oxide::deflate::compress_to_vec_zlib(&rows, 6), &mut out);
        chunk(*b"IEND", &[], &mut out);
        out
    }
}

fn chunk(kind: [u8; 4], data: &[u8], out: &mut Vec<u8>) {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&kind);
    crc.update(data);
    out.extend((data.len() as u32).to_be_bytes());
    out.extend(kind);
    out.extend_from_slice(data);
    out.extend(crc.finalize().to_be_bytes());
}
