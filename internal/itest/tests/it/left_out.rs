//! What a protocol cannot express is reported before the answer, once, and nothing else is.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use forgeline::{
    llm::{
        DEGRADED, PromptCache, Provider, Request, StreamChunk, Thinking, ToolSpec,
        anthropic::Messages,
        cohere::ChatV2,
        gemini::GenerateContent,
        http::{HttpProvider, WireFormat},
        ollama::OllamaChat,
        openai::ChatCompletions,
        responses::Responses,
        transport::{HttpRequest, HttpResponse, Transport, TransportError},
    },
    types::{AgentEvent, CustomEvent},
};
use forgeline_testkit::canned::Canned;
use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream};
use serde_json::{Value, json};

use super::wires::{WIRES, Wire};

/// Refuses the first request, so that there is a retry to tell of, and answers the others.
struct Answers {
    answer: String,
    asked: AtomicUsize,
}

impl Transport for Answers {
    fn send(&self, _: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
        let answer = if self.asked.fetch_add(1, Ordering::Relaxed) == 0 {
            Err(TransportError::connect("h", "refused"))
        } else {
            let body = stream::iter([Ok(Bytes::copy_from_slice(self.answer.as_bytes()))]);
            Ok(HttpResponse::new(200, Box::pin(body)))
        };
        async move { answer }.boxed()
    }
}

/// The chunks of two answers; only the first had a retry.
async fn answers(wire: &Wire, request: &Request) -> [Vec<StreamChunk>; 2] {
    let answer = format!("{}{}{}", wire.begin, wire.delta("fine"), wire.end);
    let transport: Arc<dyn Transport> = Arc::new(Answers { answer, asked: AtomicUsize::new(0) });
    let provider = wire.provider("http://h", &move |mut setup| {
        setup.transport = Some(Arc::clone(&transport));
        setup
    });
    let ask = async || {
        let chunks = provider.stream_completion(request.clone()).await.unwrap();
        chunks.map(Result::unwrap).collect().await
    };
    [ask().await, ask().await]
}

/// The parts reported as left out, which the first chunk does or none.
fn left_out(name: &str, chunks: &[StreamChunk]) -> Option<Value> {
    let reported = |chunk: &StreamChunk| {
        let events = chunk.details.iter().flat_map(|details| &details.events);
        let data = events.filter_map(|event| {
            let AgentEvent::Custom(CustomEvent { name, data, .. }) = event else { return None };
            (name == DEGRADED).then(|| data.clone())
        });
        data.collect::<Vec<_>>()
    };
    let (first, rest) = chunks.split_first().unwrap();
    assert!(rest.iter().all(|chunk| reported(chunk).is_empty()), "{name}: reported late or twice");
    let reported = reported(first);
    assert!(reported.len() <= 1, "{name}: reported twice");
    assert!(reported.is_empty() || !first.is_delivery(), "{name}: no part of the answer");
    reported.into_iter().next()
}

#[tokio::test(start_paused = true)]
async fn what_a_protocol_has_no_place_for_is_told() {
    let cache = "the settings of the prompt cache";
    #[rustfmt::skip]
    let want: [(&str, &[&str]); 6] = [
        ("openai",           &[cache]),
        ("gemini",           &[cache, "metadata", "strict tools"]),
        ("cohere",           &[cache, "metadata"]),
        ("ollama",           &[cache, "metadata", "strict tools"]),
        ("openai-responses", &[cache]),
        ("anthropic",        &["metadata other than user_id"]),
    ];
    let schema = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let tool = ToolSpec::new("look", "Looks.", schema).strict(true);
    let request = Request::prompt("x").tools(vec![tool]).cache(PromptCache::Marks);
    let request = request.metadata("user_id", "u1").metadata("team", "t1");
    assert_eq!(want.len(), WIRES.len());
    for (name, left) in want {
        let wire = WIRES.iter().find(|wire| wire.name == name).unwrap();
        // What takes no such setting says so by an error.
        let thinks = left.contains(&"thinking");
        let request = request.clone();
        let request = if thinks { request.thinking(Thinking::On) } else { request };
        let want = json!({ "provider": name, "left_out": left });
        for chunks in answers(wire, &request).await {
            assert_eq!(left_out(name, &chunks), Some(want.clone()), "{name}");
            assert_eq!(chunks.iter().map(|chunk| &*chunk.content).collect::<String>(), "fine");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_told_of_a_request_that_goes_out_whole() {
    for wire in WIRES {
        let request = Request::prompt("x").cache(PromptCache::Off);
        for chunks in answers(wire, &request).await {
            assert_eq!(left_out(wire.name, &chunks), None, "{}", wire.name);
        }
    }
}

async fn stream_field<W: WireFormat>(streaming: bool) -> Value {
    let server = Canned::new("");
    let mut able = W::defaults().capabilities;
    able.streaming = streaming;
    let builder = HttpProvider::<W>::builder().base_url("http://h").model("m").capabilities(able);
    let provider = builder.transport(Arc::clone(&server)).build().unwrap();
    drop(provider.stream_completion(Request::prompt("x")).await.unwrap());
    let body = server.json();
    assert!(streaming || body.get("stream_options").is_none(), "{body}");
    body["stream"].clone()
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_not_asked_to() {
    for streaming in [true, false] {
        let fields = [
            stream_field::<ChatCompletions>(streaming).await,
            stream_field::<Responses>(streaming).await,
            stream_field::<Messages>(streaming).await,
            stream_field::<ChatV2>(streaming).await,
            stream_field::<OllamaChat>(streaming).await,
        ];
        assert_eq!(fields, [const { Value::Null }; 5].map(|_| json!(streaming)));
        // Its method says that it streams, not its body.
        assert_eq!(stream_field::<GenerateContent>(streaming).await, Value::Null);
    }
}
