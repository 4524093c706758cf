#![expect(clippy::print_stdout, reason = "an example: it prints its address")]
//! A gateway: clients of Chat Completions, Messages and Responses get the answers of any provider, streamed or whole.

use std::{convert::Infallible, error::Error, sync::Arc};

use async_stream::stream;
use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use forgeline::{
    llm::{
        anthropic::MessageWriter,
        demo::DemoProvider,
        gateway::{ClientProtocol, RequestProblem},
        openai::ChunkWriter,
        responses::ResponseWriter,
    },
    prelude::*,
};
use futures_util::StreamExt as _;

fn json(status: StatusCode, body: String) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

async fn answer<P: ClientProtocol>(State(llm): State<Arc<dyn Provider>>, body: Bytes) -> Response {
    let asked = match P::read_request(&body) {
        Ok(asked) => asked,
        Err(problem) => return json(StatusCode::BAD_REQUEST, P::refusal(&problem)),
    };
    if asked.model != llm.info().model {
        let problem = format!("the model {:?} is not served here", asked.model);
        return json(StatusCode::NOT_FOUND, P::refusal(&RequestProblem::new("model", problem)));
    }
    let mut writer = P::begin("answer-1".into(), asked.model);
    let chunks = match llm.stream_completion(asked.request).await {
        Ok(chunks) => chunks,
        Err(error) => return json(StatusCode::BAD_GATEWAY, P::failure(&error.to_agent_error())),
    };
    let mut events = EventStream::with_parts(chunks, &StreamOptions::default());
    if !asked.stream {
        while events.next().await.is_some() {}
        let answer = events.completion().cloned().unwrap_or_default();
        return match &answer.error {
            Some(error) => json(StatusCode::BAD_GATEWAY, P::failure(error)),
            None => json(StatusCode::OK, writer.complete(&answer)),
        };
    }
    let frames = stream! {
        while let Some(event) = events.next().await {
            writer.sign(events.signature());
            yield writer.frames(&event);
        }
        let Some(answer) = events.completion().filter(|it| it.error.is_none()) else { return };
        let reason = answer.finish_reason.as_ref().unwrap_or(&FinishReason::Stop);
        yield writer.last_frames(reason, answer.usage.as_ref().filter(|_| asked.include_usage));
    };
    let body = Body::from_stream(frames.map(Ok::<_, Infallible>));
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let provider: Arc<dyn Provider> = Arc::new(DemoProvider::new());
    let app = Router::new()
        .route("/v1/chat/completions", post(answer::<ChunkWriter>))
        .route("/v1/messages", post(answer::<MessageWriter>))
        .route("/v1/responses", post(answer::<ResponseWriter>))
        .with_state(provider);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("http://{}/v1", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}
