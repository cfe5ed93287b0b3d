//! A page for people, without scripts.

use std::{fmt::Write, sync::Arc};

use axum::{
    extract::State,
    response::{Html, IntoResponse, Response},
};

use super::{HttpClient, HttpState};
use crate::{Access, hub::Hub};

pub(super) async fn index(State(state): State<HttpState>, caller: HttpClient) -> Response {
    if let Err(refusal) = caller.permit(Access::Read) {
        return caller.turn_away(refusal).await;
    }
    let hub = Arc::clone(&state.hub);
    state.hand_on(async move { overview(&hub) }).await
}

fn overview(hub: &Hub) -> Response {
    let mut page = String::from(
        "<!doctype html><html lang=en><meta charset=utf-8>\
         <meta name=viewport content=\"width=device-width\"><title>Sinew</title>\
         <style>body{font:1rem/1.5 system-ui;margin:2rem auto;max-width:40rem;padding:0 1rem}\
         table{border-collapse:collapse}td,th{padding:.2rem 1rem .2rem 0;text-align:left}</style>\
         <h1>Sinew</h1><table><tr><th>robot<th>kind<th>link<th>controls</tr>",
    );
    for member in &hub.robots {
        let report = member.report();
        // Names of robots need no escape; writing to a String cannot fail.
        let _ = write!(
            page,
            "<tr><td><a href=\"/api/v1/robots/{name}\">{name}</a><td>{}<td>{}<td>{}</tr>",
            member.robot.kind,
            escaped(&report.link.state),
            report.holder.as_deref().map_or("free".into(), escaped),
            name = member.name,
        );
    }
    page.push_str("</table><p><a href=\"/metrics\">metrics</a></html>");
    Html(page).into_response()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
