//! A page: a WebSocket that takes frames.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use sinew_api::frame::{self, Frame, Header};
use tokio::{
    net::{TcpSocket, TcpStream},
    time::timeout,
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, client_async, connect_async, tungstenite::Message,
};

use crate::support::{DEADLINE, Double, Running};

/// A page.
pub(crate) struct Page(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Page {
    pub(crate) async fn open(server: &Running) -> Self {
        let (socket, _) =
            connect_async(format!("ws://{}/ws", server.http())).await.expect("connects");
        Page(socket)
    }

    /// One whose system takes little of what it does not read.
    pub(crate) async fn open_narrow(server: &Running) -> Self {
        let socket = TcpSocket::new_v4().expect("is made");
        socket.set_recv_buffer_size(4096).expect("is set");
        let socket = socket.connect(server.http()).await.expect("connects");
        let address = format!("ws://{}/ws", server.http());
        let socket = MaybeTlsStream::Plain(socket);
        Page(client_async(address, socket).await.expect("connects").0)
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.0.send(Message::text(message.to_string())).await.expect("is connected");
    }

    pub(crate) async fn next(&mut self) -> Message {
        let next = timeout(DEADLINE, self.0.next()).await;
        next.expect("comes").expect("is connected").expect("is valid")
    }

    /// The reply, which must be what comes next: no frame is on its way.
    pub(crate) async fn asks(&mut self, mut message: Value) -> Value {
        message["req"] = 1.into();
        self.send(message).await;
        let Message::Text(text) = self.next().await else { panic!("wanted a reply") };
        serde_json::from_str(&text).expect("is JSON")
    }

    pub(crate) async fn ok(&mut self, message: Value) {
        let reply = self.asks(message).await;
        assert_eq!(reply["ok"], true, "{reply}");
    }

    /// Which robot's frame comes next, and its number.
    pub(crate) async fn frame(&mut self) -> (u16, u64) {
        let Message::Binary(bytes) = self.next().await else { panic!("wanted a frame") };
        let header = Frame::read(&bytes).expect("is a frame").header;
        (header.robot, header.sequence)
    }

    /// Has been sent all that it is to be sent: an event, which comes behind the frames of the same
    /// turn, is what comes next.
    pub(crate) async fn is_silent(&mut self, robot: &Double) {
        robot.publish_event(json!({ "event": "mark" }));
        let Message::Text(text) = self.next().await else { panic!("wanted no frame") };
        assert!(text.contains("mark"), "{text}");
    }
}

/// A cloud's frame.
pub(crate) fn cloud(sequence: u64) -> Vec<u8> {
    cloud_of(sequence, 100)
}

pub(crate) fn cloud_of(sequence: u64, points: usize) -> Vec<u8> {
    let header = Header { sequence, unit: 0.05, name: "map", ..Header::default() };
    frame::cloud(&header, &vec![[1, 2, 3]; points])
}

/// An acknowledgement of a cloud.
pub(crate) fn ack(seq: u64) -> Value {
    json!({ "type": "Ack", "topic": "cloud", "seq": seq })
}
