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

/// Whether a stream that begins like this is packed.
pub(super) fn is_packed(front: &[u8]) -> bool {
    front.starts_with(&GZIP) || front.starts_with(&ZSTD)
}

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
    /// What went wrong, to be told behind all that was unpacked before.
    failed: Option<io::Error>,
}

impl Zstd {
    fn new(source: Box<dyn Read>) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(ZSTD_WINDOW);
        let source = BufReader::with_capacity(64 << 10, source);
        Zstd { source, decoder, begun: false, failed: None }
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
                Err(error) => return Err(self.worded(&error)),
            }
        }
        Ok(false)
    }

    /// What is wrong, in words; the decoder's own are for those who know its code.
    fn worded(&mut self, error: &FrameDecoderError) -> io::Error {
        if matches!(error, FrameDecoderError::WindowSizeTooBig { .. }) {
            let most = ZSTD_WINDOW >> 20;
            return io::Error::other(format!("it is packed with a window of more than {most} MiB"));
        }
        let mut cause: Option<&dyn std::error::Error> = Some(error);
        while let Some(error) = cause {
            match error.downcast_ref::<io::Error>() {
                Some(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
                    return io::Error::new(error.kind(), error.to_string());
                }
                _ => cause = error.source(),
            }
        }
        match self.source.fill_buf() {
            Ok([]) => io::Error::new(io::ErrorKind::UnexpectedEof, "the packed data is cut off"),
            _ => io::Error::new(io::ErrorKind::InvalidData, "the packed data is damaged"),
        }
    }

    /// Has the decoder hand out what it keeps to look back at: to it, the frame ends here.
    fn give_up(&mut self, error: io::Error) {
        // A last block of no bytes, and a check sum, which the decoder leaves to its callers.
        const LAST: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];
        let _ = self.decoder.decode_blocks(&LAST[..], BlockDecodingStrategy::UptoBlocks(1));
        self.failed = Some(error);
    }
}

impl Read for Zstd {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !buffer.is_empty() {
            if self.begun && self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            if let Some(error) = self.failed.take() {
                self.begun = false;
                return Err(error);
            }
            if !self.begun {
                self.begun = self.begin()?;
                if !self.begun {
                    return Ok(0);
                }
            } else if self.decoder.is_finished() {
                self.begun = false;
            } else {
                let block = BlockDecodingStrategy::UptoBlocks(1);
                if let Err(error) = self.decoder.decode_blocks(&mut self.source, block) {
                    let error = self.worded(&error);
                    self.give_up(error);
                }
            }
        }
        Ok(0)
    }
}
