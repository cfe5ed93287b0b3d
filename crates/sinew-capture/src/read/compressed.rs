//! Streams that are compressed, by their first bytes.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::{
    BlockDecodingStrategy, FrameDecoder,
    errors::{FrameDecoderError, ReadFrameHeaderError},
};

const GZIP: [u8; 2] = [0x1F, 0x8B];
const ZSTD: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
/// Largest window of a zstd frame that is taken: what every decoder should take (RFC 8878), and all
/// that its tools write unless told to look further back.
const ZSTD_WINDOW: u64 = 8 << 20;

/// The stream, unpacked where it is packed.
pub(super) fn unpacked(mut source: Box<dyn Read>) -> io::Result<Box<dyn Read>> {
    let mut front = Vec::with_capacity(ZSTD.len());
    source.by_ref().take(ZSTD.len() as u64).read_to_end(&mut front)?;
    let packed = (front.starts_with(&GZIP), front == ZSTD);
    let whole: Box<dyn Read> = Box::new(Cursor::new(front).chain(source));
    Ok(match packed {
        (true, _) => Box::new(MultiGzDecoder::new(whole)),
        (_, true) => Box::new(Zstd::new(whole)),
        _ => whole,
    })
}

/// The frames of a zstd stream, one after the other.
struct Zstd {
    source: BufReader<Box<dyn Read>>,
    decoder: FrameDecoder,
    /// Whether the decoder is inside a frame.
    begun: bool,
}

impl Zstd {
    fn new(source: Box<dyn Read>) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(ZSTD_WINDOW);
        Zstd { source: BufReader::with_capacity(64 << 10, source), decoder, begun: false }
    }

    /// Begins the next frame; says whether there is one.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = self.source.by_ref().take(length.into());
                    io::copy(&mut skipped, &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }
}

impl Read for Zstd {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !buffer.is_empty() {
            if !self.begun {
                self.begun = self.begin()?;
                if !self.begun {
                    return Ok(0);
                }
            }
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            if self.decoder.is_finished() {
                self.begun = false;
            } else {
                let block = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.source, block).map_err(io::Error::other)?;
            }
        }
        Ok(0)
    }
}
