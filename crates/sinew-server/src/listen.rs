//! The ports, and the clients that come in through them.

use std::{
    io,
    net::{SocketAddr, TcpListener as StdListener},
    sync::Arc,
    time::Duration,
};

use bytes::BytesMut;
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use tokio::{
    net::{TcpListener, TcpStream},
    task::yield_now,
    time::{sleep, timeout},
};

use crate::{
    connection::{self, FrontHalf},
    frame::{Framing, SMALL_MESSAGE},
    hub::Hub,
    metrics::Transport,
    stream::Stream,
};

/// What the kernel may hold back for a client. Telemetry that waits there is old news, and a
/// thousand clients must not fill a small robot's memory.
const SEND_BUFFER: usize = 64 << 10;
/// How long a client of 5555 may think about its first byte.
const SNIFF: Duration = Duration::from_millis(100);
/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;
/// Clients that are accepted before others get their turn; fewer than the strangers that there may be
/// of one address, so that each is looked at before it has to leave.
const TURN: u32 = 16;
/// What a stranger may send where a token is needed, and where none is.
const ROOM: (usize, usize) = (4 << 10, SMALL_MESSAGE);

/// Opens a port.
pub(crate) fn bind(address: SocketAddr) -> io::Result<StdListener> {
    let open = || {
        let socket = bound(address)?;
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        Ok(socket.into())
    };
    named(address, open())
}

/// Says why a port could not be opened. No client is heard there meanwhile, and no other program is
/// kept from it.
pub fn try_bind(address: SocketAddr) -> io::Result<()> {
    named(address, bound(address).map(drop))
}

fn bound(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

fn named<T>(address: SocketAddr, result: io::Result<T>) -> io::Result<T> {
    result.map_err(|error| io::Error::new(error.kind(), format!("{address}: {error}")))
}

/// Takes the clients of one port.
pub(crate) struct Acceptor {
    listener: TcpListener,
    transport: Transport,
    /// Its clients need no token.
    pub(crate) open: bool,
    accepted: u32,
}

impl Acceptor {
    pub(crate) fn new(listener: TcpListener, transport: Transport, open: bool) -> Self {
        Acceptor { listener, transport, open, accepted: 0 }
    }

    /// The next client.
    pub(crate) async fn accept(&mut self, hub: &Arc<Hub>) -> (Stream, SocketAddr) {
        self.accepted = self.accepted.wrapping_add(1);
        if self.accepted.is_multiple_of(TURN) {
            // Those before are looked at first: newcomers may make them leave.
            yield_now().await;
        }
        loop {
            match self.listener.accept().await {
                Ok((socket, peer)) => {
                    // A client that went away between is noticed when it is read.
                    let _ = prepare(&socket, hub.config.write_timeout);
                    let room = if self.open { ROOM.1 } else { ROOM.0 };
                    return (Stream::new(socket, peer.ip(), hub, self.transport, room), peer);
                }
                // Out of file descriptors, mostly: others may end meanwhile.
                Err(_) => sleep(Duration::from_millis(50)).await,
            }
        }
    }
}

/// Makes the kernel notice a client that is gone without a word: by probes when nothing is sent,
/// by the missing acknowledgement when something is.
pub(crate) fn prepare(socket: &TcpStream, write_timeout: Duration) -> io::Result<()> {
    let probes = TcpKeepalive::new()
        .with_time(Duration::from_secs(5))
        .with_interval(Duration::from_secs(2))
        .with_retries(3);
    let socket = SockRef::from(socket);
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_keepalive(&probes)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(write_timeout))?;
    Ok(())
}

/// Serves the clients of 5555, 5556 or SangamIO's later interface.
pub(crate) async fn serve(mut acceptor: Acceptor, hub: Arc<Hub>) {
    let Acceptor { transport, open, .. } = acceptor;
    loop {
        let (mut stream, peer) = acceptor.accept(&hub).await;
        let client = hub.client(format!("{} {peer}", transport.name()), peer.ip(), open);
        let hub = Arc::clone(&hub);
        tokio::spawn(async move {
            let mut inbox = BytesMut::new();
            let framing = match transport {
                Transport::Tcp => sniff(&mut stream, &mut inbox, open).await,
                Transport::Sangam => {
                    // Its clients may say nothing for ever.
                    stream.seat().keep_silent();
                    Some(Framing::Sangam)
                }
                _ => Some(Framing::Lines),
            };
            if let Some(framing) = framing {
                FrontHalf::new(hub, client, framing, stream).listen(inbox).await;
            }
        });
    }
}

/// The first byte decides: `{` begins a line, anything else a length; silence is a client that
/// only listens. No length that begins with `{` is within the limit. None when there is no client
/// any more.
async fn sniff(stream: &mut Stream, inbox: &mut BytesMut, open: bool) -> Option<Framing> {
    match timeout(SNIFF, connection::read(&mut stream.reader, inbox)).await {
        Ok(Ok(1..)) if inbox.starts_with(b"{") => Some(Framing::Lines),
        Ok(Ok(1..)) => Some(Framing::Prefixed),
        Ok(Ok(0) | Err(_)) => None,
        Err(_) => {
            if open {
                stream.seat().keep_silent();
            }
            Some(Framing::Prefixed)
        }
    }
}
