//! The floor: an axum server with the addresses of the service, which sends a prepared frame for each chunk that it receives.

use std::{
    collections::HashMap,
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Json, Router,
    body::Body,
    extract::{Path, Query, State},
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::{get, post},
    serve::ListenerExt as _,
};
use bytes::Bytes;
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{io::AsyncBufReadExt as _, net::TcpListener, sync::broadcast, time};

use super::{
    READERS, Result,
    model::{Ask, now, sent, stamp},
};
use crate::gate::{complain, say};

/// Frames that wait for a slow reader.
const QUEUE: usize = 256;

/// The runs, by their number.
type Runs = Arc<Mutex<HashMap<usize, Run>>>;

#[derive(Debug, Clone)]
struct Served {
    model: SocketAddr,
    runs: Runs,
}

#[derive(Debug, Clone)]
enum Run {
    /// It tells a frame for each chunk of the model.
    Live(broadcast::WeakSender<Bytes>),
    /// Its frames are there.
    Ended(Arc<[Bytes]>),
}

/// Serves until the process ends.
pub(crate) async fn serve(model: SocketAddr) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    say(&format!("http://{}/", listener.local_addr()?));
    let app = Router::new()
        .route("/v1/runs", post(begin))
        .route("/v1/runs/{id}/events", get(read))
        .with_state(Served { model, runs: Runs::default() });
    // Frames are small and are to be there at once, as those of the service.
    let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
    Ok(axum::serve(listener, app).await?)
}

async fn begin(State(Served { model, runs }): State<Served>, body: String) -> Response {
    let Ok(ask) = Ask::read(&body) else { return StatusCode::BAD_REQUEST.into_response() };
    let run = if ask.pace.is_zero() && !ask.waits {
        Run::Ended((0..=ask.count).map(|at| frame(at, (at < ask.count).then(now))).collect())
    } else {
        let sender = broadcast::Sender::new(QUEUE);
        let run = Run::Live(sender.downgrade());
        tokio::spawn(async move {
            if let Err(error) = tell(ask, model, sender).await {
                complain(&format!("the floor: {error}"));
            }
        });
        run
    };
    let mut runs = runs.lock().unwrap_or_else(PoisonError::into_inner);
    let id = runs.len();
    runs.insert(id, run);
    Json(json!({ "run_id": id.to_string() })).into_response()
}

/// Sends the frames of a run, once its readers are there.
async fn tell(ask: Ask, model: SocketAddr, sender: broadcast::Sender<Bytes>) -> Result<()> {
    if ask.waits {
        std::future::pending::<()>().await;
    }
    let mut beat = time::interval(Duration::from_millis(1));
    while sender.receiver_count() < READERS {
        beat.tick().await;
    }
    let (mut lines, mut at) = (ask.send(model).await?.lines(), 0);
    while let Some(line) = lines.next_line().await? {
        if let Some(sent) = sent(&line) {
            // A reader that left has failed already.
            drop(sender.send(frame(at, Some(sent))));
            at += 1;
        }
    }
    drop(sender.send(frame(at, None)));
    Ok(())
}

/// Returns a frame whose chunk was sent at this time; `None` for that of the end.
fn frame(at: usize, sent: Option<u64>) -> Bytes {
    let kind = sent.map_or("run_end", |_| "message_content");
    let data: Value = json!({
        "run_id": "run_0123456789abcdef", "turn_id": 1, "seq": at, "ts_ms": now() / 1_000, "type": kind,
        "content": sent.map_or_else(String::new, stamp),
    });
    format!("id: {at}\nevent: {kind}\ndata: {data}\n\n").into()
}

#[derive(Debug, Deserialize)]
struct After {
    after: Option<usize>,
}

async fn read(
    State(Served { runs, .. }): State<Served>,
    Path(id): Path<usize>,
    Query(After { after }): Query<After>,
) -> Response {
    let run = runs.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
    let body = match run {
        None => return StatusCode::NOT_FOUND.into_response(),
        Some(Run::Ended(frames)) => {
            let from = after.map_or(0, |after| after + 1);
            let frames = (from..frames.len()).filter_map(move |at| frames.get(at).cloned());
            Body::from_stream(stream::iter(frames.map(Ok::<_, Infallible>)))
        }
        Some(Run::Live(sender)) => {
            let frames = sender.upgrade().map(|sender| sender.subscribe());
            Body::from_stream(stream::unfold(frames, async |frames| {
                let mut frames = frames?;
                let frame = frames.recv().await.ok()?;
                Some((Ok::<_, Infallible>(frame), Some(frames)))
            }))
        }
    };
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}
