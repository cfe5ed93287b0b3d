//! Maps that robots made, as files.

use std::{
    fs::File,
    io::{self, Read},
    path::PathBuf,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::{Path, State},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use hyper::body::{Frame, SizeHint};
use sinew_robot::{Code, Refusal, capability::Capability, mapping::map_name};
use tokio::{
    runtime::Handle,
    sync::mpsc::{self, Receiver, Sender},
};

use super::{HttpClient, HttpState, failure};
use crate::{Access, hub::Hub};

/// What is read at a time, and one more of it waits: a long map takes no more memory than a short
/// one.
pub(super) const CHUNK: usize = 64 << 10;

pub(super) async fn map(
    State(state): State<HttpState>,
    caller: HttpClient,
    Path((name, map)): Path<(String, String)>,
) -> Response {
    if let Err(refusal) = caller.permit(Access::Read) {
        return caller.turn_away(refusal).await;
    }
    let hub = Arc::clone(&state.hub);
    let answer = async move {
        match find(&hub, &name, &map) {
            Err(refusal) => failure(&refusal),
            Ok(path) => send(&hub.workers, path, &map).await,
        }
    };
    state.hand_on(answer).await
}

/// Where a robot's map is.
fn find(hub: &Hub, robot: &str, map: &str) -> Result<PathBuf, Refusal> {
    let member = hub.robot(Some(robot), Some(Capability::Mapping))?;
    if member.relayed.is_some() {
        let message = format!("maps that {robot} made are kept by its own daemon: ask that one");
        return Err(Refusal::new(Code::Unsupported, message));
    }
    let mapping = member.robot.mapping.as_ref().filter(|_| map_name(map));
    mapping.and_then(|mapping| mapping.downloaded(map)).ok_or_else(|| missing(map))
}

fn missing(map: &str) -> Refusal {
    let message = format!("map {map:?} is not here: `download` fetches it from the robot");
    Refusal::new(Code::NotFound, message)
}

async fn send(workers: &Handle, path: PathBuf, map: &str) -> Response {
    let opened = workers.spawn_blocking(move || {
        let file = File::open(path)?;
        let about = file.metadata()?;
        // A directory can be opened, too.
        if about.is_file() { Ok((about.len(), file)) } else { Err(io::ErrorKind::NotFound.into()) }
    });
    let opened = opened.await.unwrap_or_else(|_| Err(io::Error::other("not read")));
    let (length, file) = match opened {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return failure(&missing(map)),
        Err(error) => {
            let message = format!("map {map:?} cannot be read: {error}");
            return failure(&Refusal::new(Code::NotFound, message));
        }
    };
    let (sender, body) = Chunks::body(length);
    workers.spawn(read(workers.clone(), file.take(length), sender));
    let kind = HeaderValue::from_static("application/octet-stream");
    let fresh = HeaderValue::from_static("no-store");
    let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, fresh)];
    (headers, body).into_response()
}

/// Reads a file for as long as its client takes it.
async fn read(workers: Handle, mut file: io::Take<File>, chunks: Sender<io::Result<Bytes>>) {
    loop {
        let reading = workers.spawn_blocking(move || {
            let mut chunk = Vec::with_capacity(CHUNK);
            let read = file.by_ref().take(CHUNK as u64).read_to_end(&mut chunk);
            (read.map(|_| Bytes::from(chunk)), file)
        });
        let Ok((chunk, rest)) = reading.await else { return };
        file = rest;
        let goes_on = chunk.as_ref().is_ok_and(|chunk| !chunk.is_empty());
        if chunks.send(chunk).await.is_err() || !goes_on {
            return;
        }
    }
}

/// A file on its way.
pub(super) struct Chunks {
    chunks: Receiver<io::Result<Bytes>>,
    left: u64,
}

impl Chunks {
    /// A body of this length, and where to put what it consists of.
    pub(super) fn body(length: u64) -> (Sender<io::Result<Bytes>>, Body) {
        let (sender, chunks) = mpsc::channel(1);
        (sender, Body::new(Chunks { chunks, left: length }))
    }
}

impl HttpBody for Chunks {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let chunk = match ready!(self.chunks.poll_recv(context)) {
            // It has become shorter: what was promised does not come.
            None if self.left > 0 => Some(Err(io::ErrorKind::UnexpectedEof.into())),
            chunk => chunk,
        };
        if let Some(Ok(chunk)) = &chunk {
            self.left = self.left.saturating_sub(chunk.len() as u64);
        }
        Poll::Ready(chunk.map(|chunk| chunk.map(Frame::data)))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
