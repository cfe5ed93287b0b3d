use std::{
    io,
    net::{SocketAddr, TcpListener as StdListener},
    sync::Arc,
    time::Duration,
};

use serde_json::json;
use sinew_robot::{Code, Refusal};
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::OwnedSemaphorePermit,
    time::{sleep, timeout},
};

use crate::{connection::Connection, frame::Framing, hub::Hub, metrics::Transport, stream::Stream};

/// What the kernel may hold back for a client. Telemetry that waits there is old news, and a
/// thousand clients must not fill a small robot's memory.
const SEND_BUFFER: usize = 64 << 10;
/// How long a client of 5555 may think about its first byte.
const SNIFF: Duration = Duration::from_millis(100);
/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;

/// Opens a port.
pub(crate) fn bind(address: SocketAddr) -> io::Result<StdListener> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{address}: {error}"));
    let open = || {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.set_send_buffer_size(SEND_BUFFER)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        Ok(socket.into())
    };
    open().map_err(named)
}

/// The next client for whom there is a seat.
pub(crate) async fn accept(
    listener: &TcpListener,
    hub: &Arc<Hub>,
    transport: Transport,
) -> (TcpStream, SocketAddr, OwnedSemaphorePermit) {
    loop {
        let (socket, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(_) => {
                // Out of file descriptors, mostly: others may end meanwhile.
                sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        // A client that went away between is noticed when it is read.
        let _ = prepare(&socket, hub.config.write_timeout);
        match Arc::clone(&hub.seats).try_acquire_owned() {
            Ok(seat) => return (socket, peer, seat),
            Err(_) => turn_away(&socket, hub, transport),
        }
    }
}

/// Makes the kernel notice a client that is gone without a word: by probes when nothing is sent,
/// by the missing acknowledgement when something is.
fn prepare(socket: &TcpStream, write_timeout: Duration) -> io::Result<()> {
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

fn turn_away(socket: &TcpStream, hub: &Hub, transport: Transport) {
    hub.metrics.count_turned_away();
    let message =
        format!("{} clients are connected, the most there may be", hub.config.max_clients);
    let error = json!({ "type": "Error", "error": Refusal::new(Code::Busy, message) }).to_string();
    let text = match transport {
        Transport::Http | Transport::WebSocket => format!(
            "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{error}",
            error.len()
        ),
        Transport::Lines => format!("{error}\n"),
        // Its clients expect nothing but sensors.
        Transport::Tcp => return,
    };
    // A fresh socket has room for this; if not, closing it says enough.
    let _ = socket.try_write(text.as_bytes());
}

/// Serves the clients of 5555 or 5556. `open` says whether they need no token.
pub(crate) async fn serve(listener: TcpListener, hub: Arc<Hub>, transport: Transport, open: bool) {
    loop {
        let (socket, peer, seat) = accept(&listener, &hub, transport).await;
        let stream = Stream::new(socket, seat, Arc::clone(&hub), transport);
        let client = hub.client(format!("{} {peer}", transport.name()), open);
        let hub = Arc::clone(&hub);
        tokio::spawn(async move {
            let framing = match transport {
                Transport::Tcp => sniff(stream.socket()).await,
                _ => Framing::Lines(0),
            };
            Connection::new(hub, client, framing).serve(stream).await;
        });
    }
}

/// The first byte decides: `{` begins a line, anything else a length; silence is a client that
/// only listens. No length that begins with `{` is within the limit.
async fn sniff(socket: &TcpStream) -> Framing {
    let mut first = [0];
    match timeout(SNIFF, socket.peek(&mut first)).await {
        Ok(Ok(1)) if first == *b"{" => Framing::Lines(0),
        _ => Framing::Prefixed,
    }
}
