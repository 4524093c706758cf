//! What goes over the wire, and what is reported.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use forgeline::{
    agent::notice::Notice,
    llm::{
        Provider, ProviderError, Request, ToolChoice, ToolSpec,
        transport::{HttpRequest, HttpResponse, Transport, TransportError},
    },
};
use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream};
use serde_json::{Value, json};

use super::super::wires::{WIRES, Wire};

/// Keeps the bodies that are sent, and answers them.
struct Kept {
    answer: String,
    bodies: Mutex<Vec<String>>,
}

impl Transport for Kept {
    fn send(
        &self,
        request: HttpRequest,
    ) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
        let body = request.body.concat();
        self.bodies.lock().unwrap().push(String::from_utf8(body).unwrap());
        let body = stream::iter([Ok(Bytes::copy_from_slice(self.answer.as_bytes()))]);
        async move { Ok(HttpResponse::new(200, Box::pin(body))) }.boxed()
    }
}

fn provider(wire: &Wire) -> (Arc<dyn Provider>, Arc<Kept>) {
    provider_of(wire, &wire.delta("fine"))
}

fn provider_of(wire: &Wire, answer: &str) -> (Arc<dyn Provider>, Arc<Kept>) {
    let answer = format!("{}{answer}{}", wire.begin, wire.end);
    let kept = Arc::new(Kept { answer, bodies: Mutex::default() });
    let transport: Arc<dyn Transport> = Arc::clone(&kept) as _;
    let provider = wire.provider("http://h", &move |mut setup| {
        setup.transport = Some(Arc::clone(&transport));
        setup
    });
    (provider, kept)
}

async fn reported(provider: &dyn Provider, request: Request) -> Result<Vec<String>, ProviderError> {
    let chunks: Vec<_> = provider.stream_completion(request).await?.collect().await;
    let mut reported = Vec::new();
    for chunk in chunks {
        for event in chunk?.details.iter().flat_map(|details| &details.events) {
            if let Some(Notice::Degraded(notice)) = Notice::read(event) {
                reported.extend(notice.left_out.iter().map(ToString::to_string));
            }
        }
    }
    Ok(reported)
}

fn tool(name: &str, schema: &Value) -> ToolSpec {
    ToolSpec::new(name.to_owned(), "Does something.", schema.clone())
}

#[tokio::test(start_paused = true)]
async fn one_odd_schema_does_not_stop_the_others() {
    let plain = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let tools = vec![
        tool("first", &plain),
        tool("odd", &json!({ "type": "string" })),
        tool("union", &json!({ "anyOf": [plain, { "type": "null" }] })),
    ];
    for wire in WIRES {
        let (provider, kept) = provider(wire);
        let request = Request::prompt("x").tools(tools.clone());
        for _ in 0..2 {
            let reported = reported(&*provider, request.clone()).await.unwrap();
            assert_eq!(
                reported,
                [
                    "the tool `odd`: its schema does not describe an object; arguments must be an object"
                ],
                "{}",
                wire.name
            );
        }
        let bodies = kept.bodies.lock().unwrap();
        assert_eq!(bodies[0], bodies[1], "{}: the same bytes each time", wire.name);
        assert!(bodies[0].contains("first") && bodies[0].contains("union"), "{}", bodies[0]);
        assert!(!bodies[0].contains("odd") && !bodies[0].contains("anyOf"), "{}", bodies[0]);
    }
}

#[tokio::test(start_paused = true)]
async fn all_two_hundred_go_in_one_request_but_those_that_are_named() {
    let tools: Vec<_> = super::schemas().iter().map(|(name, schema)| tool(name, schema)).collect();
    for wire in WIRES {
        let (provider, kept) = provider(wire);
        let reported =
            reported(&*provider, Request::prompt("x").tools(tools.clone())).await.unwrap();
        assert!(reported.len() >= 5 && reported.len() <= 10, "{}: {reported:?}", wire.name);
        let body = kept.bodies.lock().unwrap()[0].clone();
        for tool in &tools {
            let is_told = reported
                .iter()
                .any(|reported| reported.starts_with(&format!("the tool `{}`", tool.name)));
            let is_sent = body.contains(&format!("\"name\":\"{}\"", tool.name));
            assert!(is_sent != is_told, "{}: {}", wire.name, tool.name);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_tool_that_is_set_aside_cannot_be_forced() {
    let (provider, kept) = provider(&WIRES[0]);
    let tools =
        vec![tool("odd", &json!({ "type": "string" })), tool("fine", &json!({ "type": "object" }))];
    let request = Request::prompt("x").tools(tools).tool_choice(ToolChoice::Tool("odd".into()));
    let error = reported(&*provider, request).await.unwrap_err();
    assert!(error.to_string().contains("`odd`"), "{error}");
    assert!(kept.bodies.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_strict_tool_that_cannot_be_enforced_goes_without() {
    let open = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    for wire in WIRES.iter().filter(|wire| wire.name == "gemini") {
        let (provider, _) = provider(wire);
        let odd = json!({ "type": "object", "properties": {}, "not": { "required": ["a"] } });
        let tools = vec![tool("odd", &odd).strict(true), tool("open", &open).strict(true)];
        let reported = reported(&*provider, Request::prompt("x").tools(tools)).await.unwrap();
        assert!(
            reported.iter().any(|reported| reported.starts_with("strict mode of `odd`: ")),
            "{reported:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn names_go_as_a_person_writes_them_and_come_back() {
    let schema = json!({ "type": "object", "properties": {} });
    for wire in WIRES {
        let (provider, kept) = provider_of(wire, &wire.call("0", "c1", "files_read", "{}"));
        let names = ["files.read", "plain_name", "a.b", "a_b", "odd name"];
        let tools: Vec<_> = names.iter().map(|name| tool(name, &schema)).collect();
        let request = Request::prompt("x").tools(tools);
        let chunks: Vec<_> = provider.stream_completion(request).await.unwrap().collect().await;
        let chunks = chunks.into_iter().map(Result::unwrap);
        let called: Vec<_> = chunks
            .flat_map(|chunk| {
                chunk.tool_calls.iter().filter_map(|call| call.name.clone()).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(called, ["files.read"], "{}", wire.name);
        let body = kept.bodies.lock().unwrap()[0].clone();
        for name in ["files_read", "plain_name", "a_b", "odd_x20_name"] {
            assert_eq!(body.matches(&format!("\"{name}\"")).count(), 1, "{}: {name}", wire.name);
        }
    }
}
