//! A client's socket, as both halves of a connection see it.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use socket2::{SockRef, TcpKeepalive};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::oneshot,
    time::{Sleep, sleep},
};

use crate::{
    hub::Hub,
    metrics::Transport,
    seats::{PATIENCE, Seat},
};

/// How long a client that set something moving by itself may be out of reach.
const WATCHED: Duration = Duration::from_secs(2);
/// What a read of a stranger takes at most.
const CHUNK: usize = 4 << 10;

/// A client's socket.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) reader: Reader,
    pub(crate) writer: Writer,
}

/// What a client sends. A stranger's ends after its time, or when it has sent too much.
#[derive(Debug)]
pub(crate) struct Reader {
    half: OwnedReadHalf,
    seat: Arc<Seat>,
    probation: Option<Probation>,
    _presence: Presence,
}

/// What limits a stranger.
#[derive(Debug)]
struct Probation {
    /// Tells that another needs the place; none once it is known that none will.
    left: Option<oneshot::Receiver<()>>,
    patience: Pin<Box<Sleep>>,
    /// Bytes that it may still send.
    room: usize,
    /// Why it must leave, once it must.
    over: Option<io::ErrorKind>,
}

/// What a client is sent. Gives up when the client takes no byte for too long.
#[derive(Debug)]
pub(crate) struct Writer {
    half: OwnedWriteHalf,
    timeout: Duration,
    /// Runs while a write waits.
    stuck: Option<Pin<Box<Sleep>>>,
    /// Bytes that the socket took.
    written: u64,
}

/// Counts a client for as long as it is there.
#[derive(Debug)]
struct Presence {
    hub: Arc<Hub>,
    transport: Transport,
}

impl Stream {
    /// A client that has just connected; `room` is what it may send as a stranger.
    pub(crate) fn new(
        socket: TcpStream,
        address: IpAddr,
        hub: &Arc<Hub>,
        transport: Transport,
        room: usize,
    ) -> Self {
        let (seat, left) = hub.seats.enter(address);
        hub.metrics.client_came(transport);
        let (read, write) = socket.into_split();
        let probation =
            Probation { left: Some(left), patience: Box::pin(sleep(PATIENCE)), room, over: None };
        Stream {
            reader: Reader {
                half: read,
                seat,
                probation: Some(probation),
                _presence: Presence { hub: Arc::clone(hub), transport },
            },
            writer: Writer {
                half: write,
                timeout: hub.config.write_timeout,
                stuck: None,
                written: 0,
            },
        }
    }

    /// Its standing with the server.
    pub(crate) fn seat(&self) -> &Arc<Seat> {
        &self.reader.seat
    }
}

impl Probation {
    /// Ready when the stranger must leave, and from then on.
    fn poll(&mut self, context: &mut Context<'_>, is_stranger: bool) -> Poll<io::Error> {
        if self.over.is_none() && self.must_make_room(context) {
            self.over = Some(io::ErrorKind::ConnectionAborted);
        }
        if self.over.is_none() && is_stranger && self.patience.as_mut().poll(context).is_ready() {
            self.over = Some(io::ErrorKind::TimedOut);
        }
        match self.over {
            Some(kind) => Poll::Ready(kind.into()),
            None if self.room == 0 => Poll::Ready(io::ErrorKind::FileTooLarge.into()),
            None => Poll::Pending,
        }
    }

    fn must_make_room(&mut self, context: &mut Context<'_>) -> bool {
        let told = self.left.as_mut().map(|left| Pin::new(left).poll(context));
        match told {
            Some(Poll::Ready(told)) => {
                self.left = None;
                told.is_ok()
            }
            Some(Poll::Pending) | None => false,
        }
    }
}

impl AsyncRead for Reader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.seat.is_known() {
            this.probation = None;
        }
        let Some(probation) = &mut this.probation else {
            return Pin::new(&mut this.half).poll_read(context, buffer);
        };
        if let Poll::Ready(error) = probation.poll(context, this.seat.is_stranger()) {
            return Poll::Ready(Err(error));
        }
        let mut space = [0; CHUNK];
        let most = CHUNK.min(probation.room).min(buffer.remaining());
        let mut part = ReadBuf::new(&mut space[..most]);
        ready!(Pin::new(&mut this.half).poll_read(context, &mut part))?;
        probation.room -= part.filled().len();
        buffer.put_slice(part.filled());
        Poll::Ready(Ok(()))
    }
}

impl Writer {
    /// Has the kernel notice within two seconds that the client cannot be reached.
    pub(crate) fn watch(&self) -> io::Result<()> {
        let second = Duration::from_secs(1);
        let probes = TcpKeepalive::new().with_time(second).with_interval(second).with_retries(2);
        let socket = SockRef::from(self.half.as_ref());
        socket.set_tcp_keepalive(&probes)?;
        #[cfg(target_os = "linux")]
        socket.set_tcp_user_timeout(Some(WATCHED))?;
        Ok(())
    }

    /// This end of the connection, and the client's.
    pub(crate) fn addresses(&self) -> io::Result<(SocketAddr, SocketAddr)> {
        let socket: &TcpStream = self.half.as_ref();
        Ok((socket.local_addr()?, socket.peer_addr()?))
    }

    /// Bytes that were written to the client so far.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// How many of them the client's system has not acknowledged.
    pub(crate) fn unacknowledged(&self) -> io::Result<u32> {
        let (local, peer) = self.addresses()?;
        sinew_io::unacknowledged(local, peer)
    }

    /// Ends the connection such that a client notices which reads no farewell: what it has not taken
    /// is dropped. Takes effect when the reader has gone, too.
    pub(crate) fn reset(self) {
        let _ = SockRef::from(self.half.as_ref()).set_linger(Some(Duration::ZERO));
        self.half.forget();
    }
}

impl AsyncWrite for Writer {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = Pin::new(&mut self.half).poll_write(context, bytes) {
            self.stuck = None;
            self.written += *written.as_ref().unwrap_or(&0) as u64;
            return Poll::Ready(written);
        }
        let timeout = self.timeout;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(timeout)));
        ready!(stuck.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.half).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.half).poll_shutdown(context)
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.reader).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.writer).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(context)
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.hub.metrics.client_left(self.transport);
    }
}
