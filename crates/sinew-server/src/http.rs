//! HTTP: the dashboard, looking at robots, single commands, figures for Prometheus, and the way to a
//! WebSocket.
//!
//! Requests are taken on the thread that hears clients. What stops a robot is carried out there;
//! everything else is handed to the workers.

#[cfg(feature = "maps")]
mod export;
mod gate;
#[cfg(feature = "inspect")]
pub(crate) mod inspect;
#[cfg(feature = "maps")]
mod maps;
mod page;
mod upgrade;

use std::{
    net::SocketAddr,
    pin::pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Extension, Router,
    body::{Body, Bytes, HttpBody},
    extract::{Path, Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::from_fn_with_state,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use serde::Serialize;
use serde_json::Value;
use sinew_api::{Access, DaemonMessage, Dialect, Message, may_be_urgent};
use sinew_robot::{Code, Refusal};
use tokio::{sync::OwnedSemaphorePermit, task::JoinHandle, time::timeout};

#[cfg(all(feature = "local", feature = "maps"))]
pub(crate) use self::export::make as make_map;
use crate::{
    dispatch::{Outcome, Via},
    frame::{MAX_MESSAGE, SMALL_MESSAGE},
    hub::{Hub, Stamp, ending},
    listen::Acceptor,
    lock, metrics,
    refusals::Refusals,
    seats::Seat,
    stream::Stream,
};
use gate::HttpClient;

/// How long a client may take from one request to the end of the next one's head, and for a body.
const PATIENCE: Duration = Duration::from_secs(30);
/// What a head may take.
const MAX_HEAD: usize = 32 << 10;

/// What every handler knows.
#[derive(Debug, Clone)]
struct HttpState {
    hub: Arc<Hub>,
    /// Whether clients need no token.
    open: bool,
    refusals: Arc<Mutex<Refusals>>,
    /// A place for each capture that is looked at.
    #[cfg(feature = "inspect")]
    captures: Arc<tokio::sync::Semaphore>,
}

/// The other end of a connection.
#[derive(Debug, Clone)]
struct Peer {
    address: SocketAddr,
    seat: Arc<Seat>,
}

pub(crate) async fn serve(mut acceptor: Acceptor, hub: Arc<Hub>) {
    let state = HttpState {
        hub: Arc::clone(&hub),
        open: acceptor.open,
        refusals: Arc::default(),
        #[cfg(feature = "inspect")]
        captures: inspect::places(),
    };
    let router = Router::new();
    #[cfg(feature = "inspect")]
    let router = router.route("/api/v1/inspect", post(inspect::inspect));
    #[cfg(feature = "maps")]
    let router = router
        .route("/api/v1/robots/{name}/map", get(export::map))
        .route("/api/v1/robots/{name}/maps/{map}", get(maps::map));
    let router = router
        .route("/", get(page::index))
        .route("/api/v1/robots", get(robots))
        .route("/api/v1/robots/{name}", get(robot))
        .route("/api/v1/robots/{name}/commands", post(command))
        .route("/metrics", get(figures))
        .route("/ws", get(upgrade::websocket))
        .fallback(page::part)
        .method_not_allowed_fallback(async || {
            let refusal = Refusal::new(Code::Unsupported, "this page does not know the method");
            (StatusCode::METHOD_NOT_ALLOWED, failure(&refusal)).into_response()
        })
        .layer(from_fn_with_state(state.clone(), gate::check))
        .with_state(state);
    loop {
        let (stream, address) = acceptor.accept(&hub).await;
        let peer = Peer { address, seat: Arc::clone(stream.seat()) };
        let service = router.clone().layer(Extension(peer));
        tokio::spawn(converse(Arc::clone(&hub), stream, service));
    }
}

/// Serves one connection.
async fn converse(hub: Arc<Hub>, stream: Stream, router: Router) {
    let mut closing = hub.closing.subscribe();
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .with_upgrades();
    let mut connection = pin!(connection);
    // However it ends, there is nothing left to do for it.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = ending(&mut closing) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Has the workers do something; dropped, it is not done any further.
struct Handed<T>(JoinHandle<T>);

impl<T> Drop for Handed<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl HttpState {
    /// Logs what a client was refused, as often as may be for all that have no connection together.
    fn log(&self, client: &str, refusal: &Refusal) {
        lock(&self.refusals).log(client, refusal);
    }

    /// Has the workers make an answer.
    async fn hand_on(&self, answer: impl Future<Output = Response> + Send + 'static) -> Response {
        let mut handed = Handed(self.hub.workers.spawn(answer));
        (&mut handed.0).await.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
    }
}

async fn robots(State(state): State<HttpState>, caller: HttpClient) -> Response {
    if let Err(refusal) = caller.permit(Access::Read) {
        return caller.turn_away(refusal).await;
    }
    let hub = Arc::clone(&state.hub);
    state.hand_on(async move { document(&hub.report()) }).await
}

async fn robot(
    State(state): State<HttpState>,
    caller: HttpClient,
    Path(name): Path<String>,
) -> Response {
    if let Err(refusal) = caller.permit(Access::Read) {
        return caller.turn_away(refusal).await;
    }
    let hub = Arc::clone(&state.hub);
    state
        .hand_on(async move {
            match hub.robot(Some(&name), None) {
                Ok(member) => document(&member.report()),
                Err(refusal) => failure(&refusal),
            }
        })
        .await
}

async fn figures(State(state): State<HttpState>, caller: HttpClient) -> Response {
    if let Err(refusal) = caller.permit(Access::Read) {
        return caller.turn_away(refusal).await;
    }
    let hub = Arc::clone(&state.hub);
    state
        .hand_on(async move {
            let kind = HeaderValue::from_static("text/plain; version=0.0.4");
            ([(header::CONTENT_TYPE, kind)], metrics::page(&hub)).into_response()
        })
        .await
}

async fn command(
    State(state): State<HttpState>,
    caller: HttpClient,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    if let Err(refusal) = caller.check_token() {
        return caller.turn_away(refusal).await;
    }
    let (text, room) = match read(&state, &caller, request.into_body()).await {
        Ok(read) => read,
        Err(refusal) => return answer(&state.hub, &caller, None, &Err(refusal)),
    };
    let stamp = state.hub.stamp();
    let may_stop = caller.may(Access::Read) && may_be_urgent(&text, Dialect::Own);
    let urgent = may_stop.then(|| sinew_api::Request::parse_urgent(&text, Dialect::Own)).flatten();
    // A stop is carried out here and now, and without a seat.
    if let Some(sinew_api::Request { req, asked: Ok(message) }) = urgent
        && message.rules().connection.is_none()
    {
        caller.introduce();
        let result = ask(&state.hub, &caller, &name, message, stamp).await;
        return answer(&state.hub, &caller, req.as_ref(), &result);
    }
    let hub = Arc::clone(&state.hub);
    state
        .hand_on(async move {
            let sinew_api::Request { req, asked } = {
                let _turn = hub.turn_to_read(text.len()).await;
                sinew_api::Request::parse(&text)
            };
            drop((text, room));
            let result = match asked {
                Ok(message) => ask(&hub, &caller, &name, message, stamp).await,
                Err(refusal) => Err(refusal),
            };
            answer(&hub, &caller, req.as_ref(), &result)
        })
        .await
}

/// Reads a message. One over 64 KiB takes its turn, as on the other ports.
async fn read(
    state: &HttpState,
    caller: &HttpClient,
    body: Body,
) -> Result<(Bytes, Option<OwnedSemaphorePermit>), Refusal> {
    let too_large = |most: usize| {
        Refusal::new(Code::TooLarge, format!("a message has at most {most} bytes here"))
    };
    let size = body.size_hint();
    if size.lower() > MAX_MESSAGE as u64 {
        return Err(too_large(MAX_MESSAGE));
    }
    let may_be_large = size.upper().is_none_or(|size| size > SMALL_MESSAGE as u64);
    let room = match may_be_large && caller.may(Access::Control) {
        true => Arc::clone(&state.hub.large).try_acquire_owned().ok(),
        false => None,
    };
    let most = if room.is_some() { MAX_MESSAGE } else { SMALL_MESSAGE };
    if size.lower() > most as u64 && caller.may(Access::Control) {
        let message = "other long messages are being read: send it again";
        return Err(Refusal::new(Code::Busy, message));
    }
    match timeout(PATIENCE, axum::body::to_bytes(body, most)).await {
        Ok(Ok(text)) => Ok((text, room)),
        Ok(Err(_)) => Err(too_large(most)),
        Err(_) => Err(Refusal::invalid("the message took too long to come")),
    }
}

/// Carries out a command that comes without a connection: the controls are held for no longer
/// than it takes.
async fn ask(
    hub: &Hub,
    caller: &HttpClient,
    name: &str,
    mut message: Message,
    stamp: Stamp,
) -> Result<Value, Refusal> {
    let rules = message.rules();
    caller.permit_command(rules.access, rules.urgent)?;
    if let Some(other) = message.robot.filter(|robot| robot != name) {
        let message = format!("robot: wanted {name}, as in the address, got {other:?}");
        return Err(Refusal::invalid(message));
    }
    hub.robot(Some(name), None)?;
    message.robot = Some(name.into());
    match hub.dispatch(&caller.client, message, stamp, Via::Post)? {
        Outcome::Data(data) => Ok(data),
        Outcome::Halting(confirmed) => confirmed.await,
        Outcome::Job(job) => {
            let lease = job.lease();
            let result = job.run().await;
            lease.end();
            result
        }
        // The table says of all of these that they need a connection.
        Outcome::Own(_) => Err(Refusal::new(Code::Unsupported, "this is about a connection")),
    }
}

fn answer(
    hub: &Hub,
    caller: &HttpClient,
    req: Option<&Value>,
    result: &Result<Value, Refusal>,
) -> Response {
    hub.metrics.count_command(result);
    if let Err(refusal) = result {
        caller.log(refusal);
    }
    let answer = document(&DaemonMessage::reply(req, result));
    match result {
        Ok(_) => answer,
        Err(refusal) => (caller.status(refusal), answer).into_response(),
    }
}

fn document(value: &impl Serialize) -> Response {
    let kind = HeaderValue::from_static("application/json");
    // What is true now is old in a moment.
    let fresh = HeaderValue::from_static("no-store");
    let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, fresh)];
    // Only a map whose keys are not text could fail.
    (headers, Body::from(serde_json::to_vec(value).unwrap_or_default())).into_response()
}

fn failure(refusal: &Refusal) -> Response {
    let document = document(&DaemonMessage::error(refusal.clone()));
    (status(refusal.code), document).into_response()
}

fn status(code: Code) -> StatusCode {
    match code {
        Code::InvalidJson | Code::InvalidArgument => StatusCode::BAD_REQUEST,
        Code::Unsupported => StatusCode::NOT_IMPLEMENTED,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::NotReady | Code::Busy | Code::Refused => StatusCode::CONFLICT,
        Code::NotConfirmed => StatusCode::PRECONDITION_REQUIRED,
        Code::Unauthorized => StatusCode::UNAUTHORIZED,
        Code::LinkLost => StatusCode::SERVICE_UNAVAILABLE,
        Code::Unconfirmed => StatusCode::GATEWAY_TIMEOUT,
        Code::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
