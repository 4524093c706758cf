#![expect(clippy::print_stdout, reason = "an example: it prints its address")]
//! A gateway: clients of Chat Completions get the answers of any provider, streamed or whole.

use std::{convert::Infallible, error::Error, sync::Arc};

use async_stream::stream;
use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response, Sse, sse::Event},
    routing::post,
};
use forgeline::{
    llm::{
        demo::DemoProvider,
        openai::{ChunkWriter, RequestProblem, read_request},
    },
    prelude::*,
};
use futures_util::StreamExt as _;

fn json(status: StatusCode, body: String) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

async fn chat(State(provider): State<Arc<dyn Provider>>, body: Bytes) -> Response {
    let asked = match read_request(&body) {
        Ok(asked) => asked,
        Err(problem) => return json(StatusCode::BAD_REQUEST, problem.to_body()),
    };
    if asked.model != provider.info().model {
        let problem = format!("the model {:?} is not served here", asked.model);
        return json(StatusCode::NOT_FOUND, RequestProblem::new("model", problem).to_body());
    }
    let wants_usage = asked.include_usage;
    let mut writer = ChunkWriter::new("chatcmpl-1", asked.model);
    let chunks = match provider.stream_completion(asked.request).await {
        Ok(chunks) => chunks,
        Err(error) => {
            return json(StatusCode::BAD_GATEWAY, ChunkWriter::failure(&error.to_agent_error()));
        }
    };
    let mut events = EventStream::new(chunks, &StreamOptions::default());
    if !asked.stream {
        while events.next().await.is_some() {}
        let answer = events.completion().cloned().unwrap_or_default();
        return match &answer.error {
            Some(error) => json(StatusCode::BAD_GATEWAY, ChunkWriter::failure(error)),
            None => json(StatusCode::OK, writer.complete(&answer)),
        };
    }
    let chunks = stream! {
        while let Some(event) = events.next().await {
            // The token counts come last, and only if they were asked for.
            if event.kind() != "token_usage" && let Some(chunk) = writer.event(&event) {
                yield chunk;
            }
        }
        let Some(answer) = events.completion().filter(|answer| answer.error.is_none()) else { return };
        yield writer.finish(answer.finish_reason.as_ref().unwrap_or(&FinishReason::Stop));
        if let Some(usage) = answer.usage.as_ref().filter(|_| wants_usage) {
            yield writer.usage(usage);
        }
        yield ChunkWriter::DONE.to_owned();
    };
    Sse::new(chunks.map(|chunk| Ok::<_, Infallible>(Event::default().data(chunk)))).into_response()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let provider: Arc<dyn Provider> = Arc::new(DemoProvider::new());
    let app = Router::new().route("/v1/chat/completions", post(chat)).with_state(provider);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("http://{}/v1", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}
