//! What is in a capture that a client sends, told by a function that the program gives: this crate
//! knows nothing of what robots say.

use std::{
    fmt,
    future::poll_fn,
    io::{self, Read},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    thread,
    time::Duration,
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use hyper::body::Frame;
use sinew_robot::{Code, Refusal};
use tokio::{
    sync::{
        OwnedSemaphorePermit, Semaphore,
        mpsc::{self, Receiver, Sender},
        oneshot,
    },
    time::{Instant, sleep_until, timeout},
};

use super::{HttpClient, HttpState, failure};
use crate::Access;

/// Captures that are looked at at once.
const MOST: usize = 2;
/// How long the next piece of one may take, and all of it.
const PATIENCE: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(600);
/// Bytes a second that are taken of one: the thread that reads them hears all other clients, too.
const PACE: u64 = 100_000_000;
/// Pieces that wait on either side.
const WAITING: usize = 2;
/// What of a report is sent at once.
const CHUNK: usize = 64 << 10;

/// Reads a capture to its end and then gives out a report as JSON, in parts; or says why there is none.
#[derive(Clone)]
pub struct Inspector(Arc<dyn Inspect>);

trait Inspect: Send + Sync {
    fn inspect(&self, source: Source, out: &mut dyn FnMut(&str)) -> Result<(), String>;
}

impl<F> Inspect for F
where
    F: Fn(Source, &mut dyn FnMut(&str)) -> Result<(), String> + Send + Sync,
{
    fn inspect(&self, source: Source, out: &mut dyn FnMut(&str)) -> Result<(), String> {
        self(source, out)
    }
}

impl Inspector {
    /// One that does it by this function, on a thread of its own that gives way to all others.
    pub fn new(
        inspect: impl Fn(Source, &mut dyn FnMut(&str)) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Inspector(Arc::new(inspect))
    }
}

impl fmt::Debug for Inspector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inspector")
    }
}

pub(super) async fn inspect(
    State(state): State<HttpState>,
    caller: HttpClient,
    request: Request,
) -> Response {
    if let Err(refusal) = caller.permit(Access::Read) {
        return caller.turn_away(refusal).await;
    }
    let Some(inspector) = state.hub.config.inspector.clone() else {
        let message = "this program was built without what looks into captures";
        return refuse(request.into_body(), Refusal::new(Code::Unsupported, message)).await;
    };
    let Ok(place) = Arc::clone(&state.captures).try_acquire_owned() else {
        let message = "other captures are being looked at: send it again";
        return refuse(request.into_body(), Refusal::new(Code::Busy, message)).await;
    };
    state.hand_on(run(inspector, request.into_body(), place)).await
}

/// Says no, once all of a capture has come and gone.
async fn refuse(body: Body, refusal: Refusal) -> Response {
    let (chunks, _) = mpsc::channel(1);
    let _ = timeout(LONGEST, feed(body, chunks)).await;
    failure(&refusal)
}

/// Feeds a capture to the thread that looks into it, and passes on what that says.
async fn run(inspector: Inspector, body: Body, place: OwnedSemaphorePermit) -> Response {
    let (chunks, source) = mpsc::channel(WAITING);
    let (parts, report) = mpsc::channel(WAITING);
    let (begin, begun) = oneshot::channel();
    let source = Source { chunks: source, chunk: Bytes::new() };
    let spawned = thread::Builder::new().name("inspect".into()).spawn(move || {
        // What robots and clients need comes first.
        sinew_io::give_way();
        look(&inspector, source, parts, begin);
        drop(place);
    });
    if spawned.is_err() {
        return failure(&Refusal::new(Code::Busy, "there is no thread for it: send it again"));
    }
    let fed = timeout(LONGEST, feed(body, chunks)).await;
    if !matches!(fed, Ok(Ok(()))) {
        return failure(&Refusal::invalid("the capture did not come whole, or took too long"));
    }
    match begun.await {
        Ok(Ok(())) => {
            let kind = HeaderValue::from_static("application/json");
            let fresh = HeaderValue::from_static("no-store");
            let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, fresh)];
            (headers, Body::new(Parts(report))).into_response()
        }
        Ok(Err(why)) => failure(&Refusal::invalid(why)),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Looks into a capture; says whether there is a report, and gives it out.
fn look(
    inspector: &Inspector,
    source: Source,
    parts: Sender<Bytes>,
    begin: oneshot::Sender<Result<(), String>>,
) {
    let mut begin = Some(begin);
    let mut chunk = Vec::with_capacity(CHUNK);
    let mut is_wanted = true;
    let mut out = |part: &str| {
        if let Some(begin) = begin.take() {
            is_wanted = begin.send(Ok(())).is_ok();
        }
        chunk.extend_from_slice(part.as_bytes());
        if chunk.len() >= CHUNK && is_wanted {
            is_wanted = parts.blocking_send(std::mem::take(&mut chunk).into()).is_ok();
        }
        if !is_wanted {
            chunk.clear();
        }
    };
    let result = inspector.0.inspect(source, &mut out);
    if let Some(begin) = begin {
        // The client may be gone.
        let _ = begin.send(result);
    } else if !chunk.is_empty() {
        let _ = parts.blocking_send(chunk.into());
    }
}

/// Reads a body to its end, also when no more of it is wanted: a browser that is answered while it
/// sends does not show the answer.
async fn feed(mut body: Body, chunks: Sender<io::Result<Bytes>>) -> Result<(), ()> {
    let (begin, mut taken) = (Instant::now(), 0);
    loop {
        let frame = poll_fn(|context| Pin::new(&mut body).poll_frame(context));
        match timeout(PATIENCE, frame).await {
            Ok(None) => return Ok(()),
            Ok(Some(Ok(frame))) => {
                if let Ok(chunk) = frame.into_data() {
                    taken += chunk.len() as u64;
                    let _ = chunks.send(Ok(chunk)).await;
                    let due = begin + Duration::from_micros(taken / (PACE / 1_000_000));
                    if due > Instant::now() {
                        sleep_until(due).await;
                    }
                }
            }
            Ok(Some(Err(_))) | Err(_) => {
                let _ = chunks.send(Err(io::ErrorKind::UnexpectedEof.into())).await;
                return Err(());
            }
        }
    }
}

/// A capture as it comes from a client.
#[derive(Debug)]
pub struct Source {
    chunks: Receiver<io::Result<Bytes>>,
    chunk: Bytes,
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.chunk.is_empty() {
            match self.chunks.blocking_recv() {
                None => return Ok(0),
                Some(chunk) => self.chunk = chunk?,
            }
        }
        let count = self.chunk.len().min(buffer.len());
        let front = self.chunk.split_to(count);
        if let Some(room) = buffer.get_mut(..count) {
            room.copy_from_slice(&front);
        }
        Ok(count)
    }
}

/// A report on its way.
struct Parts(Receiver<Bytes>);

impl HttpBody for Parts {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.0.poll_recv(context).map(|chunk| chunk.map(|chunk| Ok(Frame::data(chunk))))
    }
}

pub(super) fn places() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(MOST))
}
