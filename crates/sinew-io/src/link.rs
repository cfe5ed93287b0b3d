//! What carries bytes between a session and its peers.

mod around;
#[cfg(all(feature = "g1", feature = "sim"))]
mod both;
#[cfg(feature = "sim")]
mod inside;
mod log;
#[cfg(feature = "capture")]
mod logged;
#[cfg(any(feature = "webrtc", all(feature = "g1", feature = "sim")))]
mod poller;
mod port;
#[cfg(feature = "webrtc")]
mod replay;
mod serial;
mod udp;
#[cfg(feature = "webrtc")]
mod webrtc;

use std::{io, net::SocketAddr, os::fd::BorrowedFd, time::Instant};

use sinew_faults::DatagramFaults;

pub use around::{Around, Side};
#[cfg(all(feature = "g1", feature = "sim"))]
pub use both::Both;
#[cfg(feature = "sim")]
pub(crate) use inside::Inside;
#[cfg(feature = "capture")]
pub(crate) use logged::LoggedLink;
#[cfg(feature = "capture")]
pub(crate) use port::Port;
pub use port::is_pseudo_terminal;
#[cfg(feature = "webrtc")]
pub(crate) use replay::ReplayLink;
#[cfg(feature = "sim")]
pub use serial::PtyLink;
pub use serial::SerialLink;
pub use udp::{UdpClient, UdpServer};
#[cfg(all(feature = "sim", feature = "webrtc"))]
pub use webrtc::{Habits, Signalling, WebRtcServer, WebRtcServerOptions};
#[cfg(feature = "webrtc")]
pub use webrtc::{KeyFile, OpenSsl, WebRtcLink, WebRtcOptions};

/// A link moves bytes or datagrams, never blocks, and says why it is down.
///
/// While it is closed it is only asked to [`open`](Self::open). An error of any other method means
/// that the link is down if it [is not open](Self::is_open) any more; otherwise it is trouble that may pass.
pub trait Link: Send {
    /// The other ends: `()` where there is only one.
    type Peer: Copy;

    /// Opens it, or says why that cannot be; `WouldBlock` when that is not known yet.
    fn open(&mut self, now: Instant) -> io::Result<()>;

    /// Whether it is open.
    fn is_open(&self) -> bool;

    /// Readable when there is something for [`take_events`](Self::take_events); none where only time brings something.
    fn events(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Looks at what is new since the last time.
    fn take_events(&mut self, _now: Instant) -> io::Result<()> {
        Ok(())
    }

    /// Reads bytes, or one datagram, and tells their sender; none when nothing is there now.
    fn receive(
        &mut self,
        now: Instant,
        buffer: &mut [u8],
    ) -> io::Result<Option<(usize, Self::Peer)>>;

    /// Sends bytes, or one datagram.
    fn send(&mut self, now: Instant, to: Self::Peer, bytes: &[u8]) -> io::Result<()>;

    /// Sends what waits, as far as that is possible at `now`.
    fn flush(&mut self, now: Instant) -> io::Result<()>;

    /// Gives it up, so that it can be opened again. What has no connection has nothing to give up.
    fn close(&mut self) {}

    /// The longest that [`receive`](Self::receive) can give at once.
    fn longest(&self) -> usize {
        1 << 16
    }

    /// Forgets what waits, but for a frame that has begun.
    fn discard(&mut self) {}

    /// Whether what is sent would go at once.
    fn has_room(&self) -> bool {
        true
    }

    /// When to call [`flush`](Self::flush) or [`receive`](Self::receive), or
    /// [`open`](Self::open) while it takes its time to open, though nothing is new.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// A peer's address, for people.
    fn address_of(&self, _peer: Self::Peer) -> Option<SocketAddr> {
        None
    }

    /// Whether it keeps no borders between what is sent.
    fn is_stream(&self) -> bool;

    /// Whether all that is sent to a peer comes, and in order, since the link repeats what is lost.
    fn is_reliable(&self, _peer: Self::Peer) -> bool {
        false
    }

    /// Damages the datagrams that carry what is [reliable](Self::is_reliable): the messages
    /// themselves cannot be.
    fn damage(&mut self, _faults: DatagramFaults, _seed: u64) {}

    /// Whether bytes are of no one's business, so that they are neither traced nor recorded.
    fn is_secret(&self, _peer: Self::Peer, _bytes: &[u8]) -> bool {
        false
    }
}
