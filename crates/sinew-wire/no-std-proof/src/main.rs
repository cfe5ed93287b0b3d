//! Proves that `sinew-wire` and what it depends on do without the standard library.
//!
//! `std` has a panic handler of its own, so this program, which brings one,
//! does not compile if anything it depends on uses `std`. Run, it exits with 0
//! when the codecs did what they should.

#![no_std]
#![no_main]

use core::{ffi::c_int, panic::PanicInfo};

use sinew_wire::{
    gd32::{self, Deframer, FrameBuf, What},
    slam::{self, Reading},
    teach::{Datagram, Layout, Message, Sequence},
};

/// Called by the C runtime. The number of the check that failed, or 0.
#[unsafe(no_mangle)]
extern "C" fn main() -> c_int {
    let checks = [checksum(), stream(), datagram(), cloud(), map(), call()];
    let failed = checks.iter().position(|good| !good);
    failed.map_or(0, |at| at as c_int + 1)
}

/// The frame that proves how odd bytes count (document 003, boot step 6).
fn checksum() -> bool {
    gd32::checksum(&[0x17, 0x01, 0xF0, 0xDF, 0xFA]) == 0x071A
}

fn stream() -> bool {
    let Ok(frame) = FrameBuf::new(0x66, &[0xC8, 0, 0, 0, 0, 0, 0, 0]) else {
        return false;
    };
    let (mut frames, mut dropped) = (0, 0);
    let mut deframer = Deframer::new();
    for part in [&[0x00, 0xFA][..], frame.as_bytes(), frame.as_bytes()] {
        deframer.push(part, |piece| match piece.what {
            What::Frame(found) => {
                frames += i32::from(gd32::Message::parse(&found, None).is_ok());
            }
            What::Dropped { bytes, .. } => dropped += bytes.len(),
        });
    }
    (frames, dropped) == (2, 2)
}

fn datagram() -> bool {
    let message = Message::Record { flag: 1, rest: &[] };
    let mut out = [0; 64];
    let read = message
        .emit(Layout::Compact, Sequence(7), &mut out)
        .and_then(|len| Datagram::new_checked(out.get(..len).unwrap_or_default()))
        .and_then(|datagram| Message::parse(&datagram, None));
    matches!(read, Ok(Message::Record { flag: 1, .. }))
}

fn cloud() -> bool {
    let bytes = [2, 0, 0, 0, 6, 0, 0, 0, b'{', b'}', 0xE8, 0x03, 0xD0, 0x07, 0, 0];
    let mut points = [[0.0; 3]; 1];
    let decoded = slam::Message::split(&bytes).and_then(|(message, _)| {
        slam::decode(Reading::Packed, message.body, [1.0, 0.0, -1.0], &mut points)
    });
    let [[x, y, z]] = points;
    decoded == Ok(1) && (x, y, z) == (2.0, 2.0, -1.0)
}

#[cfg(feature = "alloc")]
fn map() -> bool {
    // Two layers, empty: one zero, then 4,090 times the byte before, then five literals.
    let mut body = [0xFF; 26];
    body[..4].copy_from_slice(&[0x1F, 0x00, 0x01, 0x00]);
    body[19..].copy_from_slice(&[0xF6, 0x50, 0x00, 0x00, 0x00, 0x00, 0x80]);
    let message = slam::Message {
        type_word: false,
        json: br#"{"data":{"resolution":0.05,"origin":[0,0,0],"src_size":4096}}"#,
        body: &body,
    };
    sinew_wire::voxel::VoxelMap::new(&message).is_ok_and(|map| map.len() == 1)
}

#[cfg(not(feature = "alloc"))]
fn map() -> bool {
    true
}

#[cfg(feature = "alloc")]
fn call() -> bool {
    use sinew_wire::unitree::{FileSlice, Message, Request};
    let text = br#"{"type":"req","topic":"rt/api/arm/request","data":{"header":{"identity":{"id":1,"api_id":7107}},"parameter":""}}"#;
    let request = Message::parse(text).and_then(|message| Request::parse(&message));
    request.is_ok_and(|request| request.emit().as_bytes() == text)
        && FileSlice::cut("u", b"abc", 3).len() == 2
}

#[cfg(not(feature = "alloc"))]
fn call() -> bool {
    true
}

/// Memory from the C library.
#[cfg(feature = "alloc")]
mod memory {
    use core::{
        alloc::{GlobalAlloc, Layout},
        ffi::c_void,
        ptr,
    };

    struct Malloc;

    #[global_allocator]
    static ALLOCATOR: Malloc = Malloc;

    unsafe extern "C" {
        fn malloc(size: usize) -> *mut c_void;
        fn free(memory: *mut c_void);
    }

    // SAFETY: `malloc` aligns for every C type, and what needs more is refused.
    unsafe impl GlobalAlloc for Malloc {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            if layout.align() > align_of::<u64>() {
                return ptr::null_mut();
            }
            unsafe { malloc(layout.size()) }.cast()
        }

        unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
            unsafe { free(memory.cast()) }
        }
    }
}

// The compiler links no C library by itself, and `core` needs its `memcpy`.
#[link(name = "c")]
unsafe extern "C" {
    safe fn abort() -> !;
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    abort()
}

/// Named by the unwind tables of the prebuilt `core`; a program that aborts never calls it.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

/// Named by the landing pads of the prebuilt `alloc`, which a program that aborts never enters.
#[unsafe(no_mangle)]
extern "C" fn _Unwind_Resume() -> ! {
    abort()
}
