//! The map that is made here, as a file.

use std::{io, sync::Arc, time::Duration};

use axum::{
    body::Bytes,
    extract::{Path, RawQuery, State},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use sinew_robot::{Code, Refusal, capability::Capability, mapping::Format};
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc::Sender},
    time::timeout,
};

use super::{
    HttpClient, HttpState, failure,
    maps::{CHUNK, Chunks},
};
use crate::{Access, hub::Hub};

/// How long a client waits for its turn before it is told to come again.
const TURN: Duration = Duration::from_secs(10);
/// How long a robot may take to give its map.
const MAKING: Duration = Duration::from_secs(60);
/// How long a client may take to read it: those that wait must get their turn.
const SENDING: Duration = Duration::from_secs(300);

pub(super) async fn map(
    State(state): State<HttpState>,
    caller: HttpClient,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    if let Err(refusal) = caller.permit(Access::Read) {
        return caller.turn_away(refusal).await;
    }
    let hub = Arc::clone(&state.hub);
    let answer = async move {
        match export(&hub, &name, query.as_deref()).await {
            Ok(response) => response,
            Err(refusal) => {
                caller.log(&refusal);
                failure(&refusal)
            }
        }
    };
    state.hand_on(answer).await
}

/// Makes the map of a robot into a file, when it is its turn; the room that it takes is kept with it.
pub(crate) async fn make(
    hub: &Hub,
    robot: &str,
    format: Format,
) -> Result<(Vec<u8>, OwnedSemaphorePermit), Refusal> {
    let member = hub.robot(Some(robot), Some(Capability::Mapping))?;
    let room = timeout(TURN, Arc::clone(&hub.exports).acquire_owned()).await;
    let Ok(Ok(room)) = room else {
        let message = "other maps are being given out: ask again";
        return Err(Refusal::new(Code::Busy, message));
    };
    let workers = hub.workers.clone();
    // On a thread that may take its time: a large map takes seconds.
    let making = hub.workers.spawn_blocking(move || {
        let making = match (&member.relayed, &member.robot.mapping) {
            (Some(relayed), _) => relayed.export(format),
            (None, Some(mapping)) => mapping.export(format),
            (None, None) => return Err(Capability::Mapping.missing(&member.name)),
        };
        let file = workers.block_on(async { timeout(MAKING, making).await });
        // With the room: it is taken until the thread has ended, whether or not its client waits.
        Ok((file.unwrap_or_else(|_| Err(late()))?, room))
    });
    making.await.unwrap_or_else(|_| Err(late()))
}

async fn export(hub: &Hub, robot: &str, query: Option<&str>) -> Result<Response, Refusal> {
    let format = wanted(query)?;
    let (file, room) = make(hub, robot, format).await?;
    let (sender, body) = Chunks::body(file.len() as u64);
    hub.workers.spawn(async { timeout(SENDING, send(file, sender, room)).await });
    let kind = HeaderValue::from_static(match format {
        Format::Png => "image/png",
        Format::Pgm => "image/x-portable-graymap",
        Format::Pcd | Format::PcdAscii | Format::PcdCompressed | Format::Ply => {
            "application/octet-stream"
        }
    });
    let name = format!("attachment; filename=\"{robot}-map.{}\"", ending(format));
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        // A robot's name is letters, digits, and little else.
        (header::CONTENT_DISPOSITION, name.try_into().map_err(|_| late())?),
    ];
    Ok((headers, body).into_response())
}

/// The format that an address asks for.
fn wanted(query: Option<&str>) -> Result<Format, Refusal> {
    let mut members = query.unwrap_or_default().split('&');
    let given = members.find_map(|member| member.strip_prefix("format="));
    given.and_then(Format::named).ok_or_else(|| {
        let got = given.map_or("nothing".into(), |given| {
            format!("{:?}", given.chars().take(60).collect::<String>())
        });
        let all = Format::ALL.map(Format::name).join(", ");
        Refusal::invalid(format!("format: wanted one of {all}, got {got}"))
    })
}

const fn ending(format: Format) -> &'static str {
    match format {
        Format::Pcd | Format::PcdAscii | Format::PcdCompressed => "pcd",
        Format::Ply | Format::Pgm | Format::Png => format.name(),
    }
}

fn late() -> Refusal {
    Refusal::new(Code::Unconfirmed, "the map could not be given out in time")
}

/// Gives a file to its client. Pieces are copies: one that is still on its way would keep all of the
/// file in memory.
async fn send(file: Vec<u8>, chunks: Sender<io::Result<Bytes>>, _room: OwnedSemaphorePermit) {
    for chunk in file.chunks(CHUNK) {
        if chunks.send(Ok(Bytes::copy_from_slice(chunk))).await.is_err() {
            return;
        }
    }
}
