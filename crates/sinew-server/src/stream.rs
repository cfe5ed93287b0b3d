use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::OwnedSemaphorePermit,
    time::{Sleep, sleep},
};

use crate::{hub::Hub, metrics::Transport};

/// A client's socket. It gives up when the client takes no byte for too long, and gives its seat
/// back at its end.
#[derive(Debug)]
pub(crate) struct Stream {
    socket: TcpStream,
    timeout: Duration,
    /// Runs while a write waits.
    stuck: Option<Pin<Box<Sleep>>>,
    hub: Arc<Hub>,
    transport: Transport,
    _seat: OwnedSemaphorePermit,
}

impl Stream {
    pub(crate) fn new(
        socket: TcpStream,
        seat: OwnedSemaphorePermit,
        hub: Arc<Hub>,
        transport: Transport,
    ) -> Self {
        hub.metrics.client_came(transport);
        let timeout = hub.config.write_timeout;
        Stream { socket, timeout, stuck: None, hub, transport, _seat: seat }
    }

    pub(crate) fn socket(&self) -> &TcpStream {
        &self.socket
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.hub.metrics.client_left(self.transport);
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = Pin::new(&mut self.socket).poll_write(context, bytes) {
            self.stuck = None;
            return Poll::Ready(written);
        }
        let timeout = self.timeout;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(timeout)));
        ready!(stuck.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
