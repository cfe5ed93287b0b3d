//! HTTP: looking at robots, single commands, figures for Prometheus, and the way to a WebSocket.

mod gate;
mod page;
mod upgrade;

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::{Path, Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::from_fn_with_state,
    response::{IntoResponse, Response},
    routing::{get, post},
    serve::Listener,
};
use serde_json::{Value, json};
use sinew_robot::{Code, Refusal, teach::Verb, vacuum::Command};
use tokio::net::TcpListener;

use crate::{
    Access, Capability,
    frame::MAX_MESSAGE,
    hub::{Hub, Lease, Member, Order},
    listen, message,
    message::Asked,
    metrics::{self, Transport},
    stream::Stream,
};
use gate::Visitor;

/// What every handler knows.
#[derive(Debug, Clone)]
struct Desk {
    hub: Arc<Hub>,
    /// Whether visitors need no token.
    open: bool,
}

pub(crate) async fn serve(listener: TcpListener, hub: Arc<Hub>, open: bool) {
    let desk = Desk { hub: Arc::clone(&hub), open };
    let router = Router::new()
        .route("/", get(page::index))
        .route("/api/v1/robots", get(robots))
        .route("/api/v1/robots/{name}", get(robot))
        .route("/api/v1/robots/{name}/commands", post(command))
        .route("/metrics", get(figures))
        .route("/ws", get(upgrade::websocket))
        .fallback(async || failure(&Refusal::new(Code::NotFound, "there is no such page")))
        .method_not_allowed_fallback(async || {
            let refusal = Refusal::new(Code::Unsupported, "this page does not know the method");
            (StatusCode::METHOD_NOT_ALLOWED, failure(&refusal)).into_response()
        })
        .layer(from_fn_with_state(desk.clone(), gate::check))
        .with_state(desk);
    let service = router.into_make_service_with_connect_info::<gate::Peer>();
    // Ends only with its task.
    let _ = axum::serve(Door { listener, hub }, service).await;
}

/// Lets clients in as the other ports do.
struct Door {
    listener: TcpListener,
    hub: Arc<Hub>,
}

impl Listener for Door {
    type Io = Stream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Stream, SocketAddr) {
        let transport = Transport::Http;
        let (socket, peer, seat) = listen::accept(&self.listener, &self.hub, transport).await;
        (Stream::new(socket, seat, Arc::clone(&self.hub), transport), peer)
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

async fn robots(State(desk): State<Desk>, visitor: Visitor) -> Response {
    match visitor.permit(Access::Read) {
        Ok(()) => document(&desk.hub.to_json()),
        Err(refusal) => visitor.turn_away(&refusal),
    }
}

async fn robot(State(desk): State<Desk>, visitor: Visitor, Path(name): Path<String>) -> Response {
    if let Err(refusal) = visitor.permit(Access::Read) {
        return visitor.turn_away(&refusal);
    }
    match desk.hub.robot(Some(&name), None) {
        Ok(member) => document(&member.to_json()),
        Err(refusal) => failure(&refusal),
    }
}

async fn figures(State(desk): State<Desk>, visitor: Visitor) -> Response {
    match visitor.permit(Access::Read) {
        Ok(()) => {
            let kind = HeaderValue::from_static("text/plain; version=0.0.4");
            ([(header::CONTENT_TYPE, kind)], metrics::page(&desk.hub)).into_response()
        }
        Err(refusal) => visitor.turn_away(&refusal),
    }
}

async fn command(
    State(desk): State<Desk>,
    visitor: Visitor,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let (req, result) = match axum::body::to_bytes(request.into_body(), MAX_MESSAGE).await {
        Ok(body) => {
            let message::Request { req, asked } = message::Request::parse(&body);
            let result = match asked {
                Ok((robot, asked)) => ask(&desk.hub, &visitor, &name, robot, asked).await,
                Err(refusal) => Err(refusal),
            };
            (req, result)
        }
        Err(_) => {
            let message = format!("a message has at most {MAX_MESSAGE} bytes");
            (None, Err(Refusal::new(Code::TooLarge, message)))
        }
    };
    desk.hub.metrics.count_command(&result);
    let answer = document(&message::reply(req.as_ref(), &result));
    match result {
        Ok(_) => answer,
        Err(refusal) => (visitor.status(&refusal), answer).into_response(),
    }
}

/// Carries out a command that comes without a connection: the controls are held for no longer
/// than it takes.
async fn ask(
    hub: &Hub,
    visitor: &Visitor,
    name: &str,
    robot: Option<String>,
    asked: Asked,
) -> Result<Value, Refusal> {
    visitor.permit(asked.access())?;
    if let Some(other) = robot.filter(|robot| robot != name) {
        return Err(message::invalid(format!(
            "robot: wanted {name}, as in the address, got {other:?}"
        )));
    }
    let unsupported = |message| Err(Refusal::new(Code::Unsupported, message));
    let member = hub.robot(Some(name), None)?;
    match asked {
        Asked::Robot(Command::Velocity { .. } | Command::Tank { .. }, _) => {
            unsupported("driving by POST: there is no connection whose loss would stop the robot")
        }
        Asked::Robot(command, capability) => {
            hub.robot(Some(name), Some(capability))?;
            run(member, visitor, Order::Vacuum(command)).await
        }
        Asked::Teach(Verb::Play { looped: true, .. }) => {
            unsupported("loop by POST: there is no connection whose loss would end it")
        }
        Asked::Teach(verb) => {
            hub.robot(Some(name), Some(Capability::Teach))?;
            run(member, visitor, Order::Teach(verb)).await
        }
        Asked::Incapable(capability) => {
            hub.robot(Some(name), Some(capability))?;
            unsupported("not by POST")
        }
        Asked::Stop => {
            member.stop(&visitor.client.name);
            Ok(Value::Null)
        }
        Asked::Robots => Ok(hub.to_json()),
        Asked::Subscribe { .. } | Asked::TakeControl { .. } | Asked::Auth { .. } => {
            unsupported("this needs a connection that lasts: use /ws")
        }
    }
}

/// Carries out an order with the controls held for as long as it takes.
async fn run(member: &Arc<Member>, visitor: &Visitor, order: Order) -> Result<Value, Refusal> {
    let job = member.accept(&visitor.client, order)?;
    let lease = Lease::new(member, &visitor.client);
    let result = job.run().await;
    lease.end();
    result
}

fn document(value: &Value) -> Response {
    let kind = HeaderValue::from_static("application/json");
    // What is true now is old in a moment.
    let fresh = HeaderValue::from_static("no-store");
    let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, fresh)];
    (headers, Body::from(value.to_string())).into_response()
}

fn failure(refusal: &Refusal) -> Response {
    let document = document(&json!({ "type": "Error", "error": refusal }));
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
