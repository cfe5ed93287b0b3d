//! Programs in the daemon's own process that are its clients by all rules.
//!
//! A bridge to another system (a recorder, a broker, a fleet) asks and listens as any other program does:
//! it gets the end of a connection on which a WebSocket is open already, so that controls, dead-man,
//! back-pressure and stops are those of every client, and its end frees what it held. It needs no token,
//! being the daemon, and no port that other programs could find.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::Arc,
};

use bytes::BytesMut;
#[cfg(feature = "maps")]
use sinew_robot::{Code, Refusal, mapping::Format};
use tokio::sync::{
    mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    oneshot,
};

#[cfg(feature = "maps")]
use crate::http;
use crate::{
    Access,
    connection::FrontHalf,
    frame::{Framing, SMALL_MESSAGE},
    hub::{Client, Hub},
    listen,
    metrics::Transport,
    stream::Stream,
};

/// Lets programs of this process in, for as long as the server runs.
#[derive(Debug, Clone)]
pub struct Locals(UnboundedSender<Wish>);

/// What such a program wants.
#[derive(Debug)]
pub(crate) enum Wish {
    /// To be a client.
    Connect { socket: TcpStream, name: Arc<str>, access: Access },
    /// To know what frames a robot gives.
    Frames { robot: String, reply: oneshot::Sender<Vec<&'static str>> },
    /// The map that is made of a robot's surroundings.
    #[cfg(feature = "maps")]
    Map { robot: String, format: Format, reply: oneshot::Sender<Result<Vec<u8>, Refusal>> },
}

impl Locals {
    pub(crate) fn new() -> (Self, UnboundedReceiver<Wish>) {
        let (sender, wishes) = unbounded_channel();
        (Locals(sender), wishes)
    }

    /// A new client of this name. What is returned is the client's end of a WebSocket after its
    /// handshake; closing it is the client's end.
    pub fn connect(&self, name: &str) -> io::Result<TcpStream> {
        self.connect_as(name, Access::Control)
    }

    /// The same for a client that may do no more than this.
    pub fn connect_as(&self, name: &str, access: Access) -> io::Result<TcpStream> {
        let (socket, ours) = pair()?;
        let wish = Wish::Connect { socket, name: name.into(), access };
        let ended = |_| io::Error::new(io::ErrorKind::NotConnected, "the server has ended");
        self.0.send(wish).map_err(ended)?;
        Ok(ours)
    }

    /// The topics of frames that a robot has; none where there is no such robot.
    pub async fn frames(&self, robot: &str) -> Vec<&'static str> {
        let (reply, topics) = oneshot::channel();
        // Where the server has ended the reply is dropped with the wish.
        let _ = self.0.send(Wish::Frames { robot: robot.into(), reply });
        topics.await.unwrap_or_default()
    }

    /// The map that is made of a robot's surroundings, as HTTP gives it out.
    #[cfg(feature = "maps")]
    pub async fn map(&self, robot: &str, format: Format) -> Result<Vec<u8>, Refusal> {
        let (reply, file) = oneshot::channel();
        // Where the server has ended the reply is dropped with the wish.
        let _ = self.0.send(Wish::Map { robot: robot.into(), format, reply });
        let ended = || Refusal::new(Code::LinkLost, "the server has ended");
        file.await.unwrap_or_else(|_| Err(ended()))
    }
}

/// Two ends of a connection of which no other program has one. It is TCP, as are those of all clients,
/// so that whatever looks at a client's socket finds what it knows.
fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    let ours = TcpStream::connect(listener.local_addr()?)?;
    let address = ours.local_addr()?;
    loop {
        let (socket, peer) = listener.accept()?;
        // Another program may have found the port in the moment that it is open: it is closed again.
        if peer == address {
            return Ok((socket, ours));
        }
    }
}

/// Does what they want.
pub(crate) async fn serve(mut wishes: UnboundedReceiver<Wish>, hub: Arc<Hub>) {
    while let Some(wish) = wishes.recv().await {
        match wish {
            Wish::Connect { socket, name, access } => connect(socket, name, access, &hub),
            Wish::Frames { robot, reply } => {
                let member = hub.robot(Some(&robot), None);
                let _ = reply.send(member.map_or(Vec::new(), |member| member.feed.frame_topics()));
            }
            #[cfg(feature = "maps")]
            Wish::Map { robot, format, reply } => {
                let making = Arc::clone(&hub);
                hub.workers.spawn(async move {
                    let file = http::make_map(&making, &robot, format).await;
                    let _ = reply.send(file.map(|(file, _)| file));
                });
            }
        }
    }
}

fn connect(socket: TcpStream, name: Arc<str>, access: Access, hub: &Arc<Hub>) {
    let client = Client { access, ..hub.client(name, Ipv4Addr::LOCALHOST.into(), true) };
    match stream(socket, hub) {
        Ok(stream) => {
            let front = FrontHalf::new(Arc::clone(hub), client, Framing::WebSocket, stream);
            tokio::spawn(front.listen(BytesMut::new()));
        }
        Err(error) => tracing::warn!(client = &*client.name, "it is no client: {error}"),
    }
}

fn stream(socket: TcpStream, hub: &Arc<Hub>) -> io::Result<Stream> {
    socket.set_nonblocking(true)?;
    let socket = tokio::net::TcpStream::from_std(socket)?;
    listen::prepare(&socket, hub.config.write_timeout)?;
    let address = Ipv4Addr::LOCALHOST.into();
    let stream = Stream::new(socket, address, hub, Transport::Local, SMALL_MESSAGE);
    // It may listen for long before it says anything, and no stranger takes its place.
    stream.seat().introduce();
    Ok(stream)
}
