//! From HTTP to a WebSocket.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::BytesMut;
use hyper_util::rt::TokioIo;
use sinew_robot::Refusal;

use super::{HttpClient, HttpState, failure};
use crate::{
    connection::FrontHalf,
    frame::{Framing, accept_key},
    metrics::Transport,
    stream::Stream,
};

pub(super) async fn websocket(
    State(state): State<HttpState>,
    mut caller: HttpClient,
    mut request: Request,
) -> Response {
    let Some(answer) = key(request.headers()).map(accept_key) else {
        let message = "wanted a WebSocket handshake, version 13";
        let refusal = Refusal::invalid(message);
        return (StatusCode::UPGRADE_REQUIRED, failure(&refusal)).into_response();
    };
    // A page cannot set headers of a WebSocket, so the token may stand in the address.
    if let Some(token) = request.uri().query().and_then(token) {
        caller.show(&token);
    }
    if let Err(refusal) = caller.permit(crate::Access::Nothing) {
        return caller.turn_away(refusal).await;
    }
    let mut client = caller.client;
    client.name = format!("{} {}", Transport::WebSocket.name(), caller.peer).into();
    let upgraded = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        // The socket itself: its two halves are used on two threads.
        let Ok(upgraded) = upgraded.await else { return };
        let Ok(parts) = upgraded.downcast::<TokioIo<Stream>>() else { return };
        let hub = Arc::clone(&state.hub);
        hub.metrics.client_came(Transport::WebSocket);
        let front =
            FrontHalf::new(Arc::clone(&hub), client, Framing::WebSocket, parts.io.into_inner());
        front.listen(BytesMut::from(&parts.read_buf[..])).await;
        hub.metrics.client_left(Transport::WebSocket);
    });
    let headers = [
        (header::CONNECTION, "Upgrade".to_owned()),
        (header::UPGRADE, "websocket".to_owned()),
        (header::SEC_WEBSOCKET_ACCEPT, answer),
    ];
    (StatusCode::SWITCHING_PROTOCOLS, headers, Body::empty()).into_response()
}

/// The handshake's key, if it is a handshake.
fn key(headers: &HeaderMap) -> Option<&str> {
    let has = |name: HeaderName, wanted: &str| {
        headers.get_all(name).iter().any(|value| {
            let value = value.to_str().unwrap_or_default();
            value.split(',').any(|word| word.trim().eq_ignore_ascii_case(wanted))
        })
    };
    let is_handshake = has(header::UPGRADE, "websocket")
        && has(header::CONNECTION, "upgrade")
        && has(header::SEC_WEBSOCKET_VERSION, "13");
    headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| is_handshake)?.to_str().ok()
}

fn token(query: &str) -> Option<String> {
    let value = query.split('&').find_map(|pair| pair.strip_prefix("token="))?;
    let mut token = Vec::new();
    let mut bytes = value.bytes();
    while let Some(byte) = bytes.next() {
        token.push(match byte {
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            b'+' => b' ',
            other => other,
        });
    }
    String::from_utf8(token).ok()
}
