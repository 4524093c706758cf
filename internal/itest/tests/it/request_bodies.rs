//! Requests byte for byte: where they go and what they say, for every vendor, as kept in
//! `testdata/requests`; and that a provider which knows the conversation sends the same.

use std::{fmt::Write as _, fs, path::Path, sync::Arc};

use bytes::Bytes;
use forgeline::{
    llm::{
        PromptCache, Provider, Request, ResponseFormat, RetryPolicy, Thinking, ToolChoice,
        ToolSpec,
        anthropic::{self, Messages},
        cohere::ChatV2,
        gateway::{ClientRequest, RequestProblem},
        gemini::GenerateContent,
        http::{HttpProvider, WireFormat},
        ollama::OllamaChat,
        openai::{self, ChatCompletions},
        responses::{self, Responses},
    },
    types::{
        ItemKind, Json, Message, MessageRole, Part, ProviderItem, Signature, ToolCall, ToolResult,
        Transcript,
    },
};
use forgeline_testkit::canned::Canned;
use serde_json::{Value, json};

/// The folder of the expected bodies.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/requests");

/// Builds a provider at an address, over a transport.
pub(crate) type Build = fn(&str, &Arc<Canned>) -> Arc<dyn Provider>;

fn build<W: WireFormat>(url: &str, server: &Arc<Canned>) -> Arc<dyn Provider> {
    let builder = HttpProvider::<W>::builder().base_url(url).model("m").api_key("k");
    let builder = builder.retry(RetryPolicy::NONE).transport(Arc::clone(server));
    Arc::new(builder.build().unwrap())
}

/// The vendors, and the servers whose requests differ.
#[rustfmt::skip]
pub(crate) const SERVERS: [(&str, Build, &[&str]); 6] = [
    ("openai",    build::<ChatCompletions>, &["http://h", "https://api.openai.com/v1", "https://openrouter.ai/api/v1", "https://api.deepseek.com", "https://api.mistral.ai/v1", "https://api.perplexity.ai"]),
    ("responses", build::<Responses>,       &["http://h", "https://api.openai.com/v1"]),
    ("anthropic", build::<Messages>,        &["https://api.anthropic.com"]),
    ("gemini",    build::<GenerateContent>, &["https://generativelanguage.googleapis.com", "https://r-aiplatform.googleapis.com/v1/projects/p/locations/r/publishers/google"]),
    ("ollama",    build::<OllamaChat>,      &["http://127.0.0.1:11434"]),
    ("cohere",    build::<ChatV2>,          &["https://api.cohere.com"]),
];

fn text(text: &str) -> Part {
    Part::text(text)
}

fn image(data: &str) -> Part {
    Part::image("image/png", data)
}

fn document(media_type: &str, data: &str, name: Option<&str>) -> Part {
    let name = name.map(Into::into);
    Part::document(media_type, data, name)
}

fn thinking(text: &str, protocol: &str, proof: &str) -> Part {
    Part::thinking(text, Signature::new(protocol, proof))
}

fn item(protocol: &str, kind: ItemKind, raw: Value) -> Part {
    Part::ProviderItem(ProviderItem::new(protocol, kind, Json::from(raw)))
}

fn tools() -> Vec<ToolSpec> {
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    vec![ToolSpec::new("files.read", "Reads a file.", schema), ToolSpec::new("now", "", json!({}))]
}

/// A conversation with everything that a message may hold.
fn conversation() -> Vec<Message> {
    let mut call = ToolCall::new("call 1", "files.read", json!({ "path": "é\n" }));
    "{ \"path\": \"é\\n\" }".clone_into(&mut call.arguments_raw);
    call.signature = Some(Signature::new("gemini", "proof of a call"));
    let mut cut = ToolCall::new("call_1", "now", json!({}));
    (cut.arguments, cut.arguments_raw, cut.index) = (None, "{\"pa".to_owned(), 1);
    let other = |name: &str| ItemKind::other(name);
    let server_call =
        ItemKind::server_tool_call("s1", "web_search", Json::from(json!({ "query": "x" })));
    vec![
        Message::new(MessageRole::User, vec![text("Hello"), text(" \u{1F600}\"")]),
        Message::new(
            MessageRole::Assistant,
            vec![
                Part::thinking("hm", None),
                thinking("of A", "anthropic", "proof of A"),
                thinking("of G", "gemini", "proof of G"),
                thinking("of O", "openai-chat", "reasoning_content"),
                text("Let me see."),
                item(
                    "anthropic",
                    server_call,
                    json!({ "type": "server_tool_use", "id": "s1", "name": "web_search", "input": {} }),
                ),
                item(
                    "anthropic",
                    other("compaction"),
                    json!({ "type": "compaction", "content": "c" }),
                ),
                item(
                    "gemini",
                    other("executableCode"),
                    json!({ "executableCode": { "code": "1" } }),
                ),
                item(
                    "gemini",
                    ItemKind::Reasoning,
                    json!({ "thoughtSignature": "proof of a text" }),
                ),
                item(
                    "openai-responses",
                    ItemKind::Reasoning,
                    json!({ "type": "reasoning", "id": "r1", "encrypted_content": "e" }),
                ),
                item(
                    "openai-responses",
                    ItemKind::Reasoning,
                    json!({ "type": "reasoning", "id": "r2" }),
                ),
                item("openai-responses", other("phase"), json!("commentary")),
                Part::ToolCall(call),
                Part::ToolCall(cut),
            ],
        ),
        Message::new(
            MessageRole::Tool,
            vec![Part::ToolResult(ToolResult::new("call 1", "files.read", "one"))],
        ),
        Message::new(
            MessageRole::Tool,
            vec![
                Part::ToolResult(ToolResult::new("call_1", "now", " ").error(true)),
                text("And then?"),
            ],
        ),
        Message::new(MessageRole::Assistant, vec![text("")]),
        Message::new(
            MessageRole::Assistant,
            vec![
                text("It is "),
                item(
                    "openai-chat",
                    ItemKind::Reasoning,
                    json!({ "reasoning_details": [{ "type": "reasoning.text", "text": "d" }] }),
                ),
                text("one."),
            ],
        ),
        Message::user("Go on."),
    ]
}

/// Requests by name; what a vendor refuses is an error there.
fn requests() -> Vec<(&'static str, Request)> {
    let ask = || Request::prompt("x");
    let with = |parts: Vec<Part>| Request::new(vec![Message::new(MessageRole::User, parts)].into());
    let schema = json!({
        "type": "object",
        "properties": { "a": { "type": "string" } },
        "required": ["a"],
        "additionalProperties": false,
    });
    let format = |strict| ResponseFormat::json_schema("n", schema.clone(), strict);
    let strict = vec![ToolSpec::new("a", "A tool.", schema.clone()).strict(true)];
    let system = |words: &str| Message::new(MessageRole::System, vec![text(words)]);
    let led = vec![system("a"), system(" "), system("b"), Message::user("x")];
    #[rustfmt::skip]
    let requests = vec![
        ("nothing",        Request::default()),
        ("a prompt",       ask()),
        ("sampling",       ask().max_tokens(5).temperature(0.7).top_p(0.5)),
        ("top_k",          ask().top_k(40)),
        ("seed",           ask().seed(7)),
        ("stop",           ask().stop(vec!["END".into(), "\n".into()])),
        ("system",         ask().system("Be brief.\n")),
        ("no system",      ask().system("")),
        ("led by system",  Request::new(led.into()).system("r")),
        ("metadata",       ask().metadata("user_id", "u").metadata("b", "c")),
        ("one tool",       ask().tools(strict).tool_choice(ToolChoice::Tool("a".into()))),
        ("tools",          ask().tools(tools())),
        ("tools, auto",    ask().tools(tools()).tool_choice(ToolChoice::Auto).parallel_tool_calls(true)),
        ("tools, none",    ask().tools(tools()).tool_choice(ToolChoice::None)),
        ("tools, forced",  ask().tools(tools()).tool_choice(ToolChoice::Required)),
        ("tools, one",     ask().tools(tools()).tool_choice(ToolChoice::Tool("files.read".into()))),
        ("tools, single",  ask().tools(tools()).parallel_tool_calls(false)),
        ("thinking off",   ask().thinking(Thinking::Off)),
        ("thinking on",    ask().thinking(Thinking::On)),
        ("thinking, low",  ask().thinking(Thinking::On).reasoning_effort("low")),
        ("a budget",       ask().thinking(Thinking::Budget(2000)).max_tokens(9000)),
        ("an effort",      ask().reasoning_effort("low")),
        ("JSON",           ask().response_format(ResponseFormat::JsonObject)),
        ("a schema",       ask().response_format(format(true))),
        ("a loose schema", ask().response_format(format(false))),
        ("marks",          Request::new(conversation().into()).system("s").tools(tools()).cache(PromptCache::Marks)),
        ("automatic",      ask().cache(PromptCache::Automatic)),
        ("images",         with(vec![text("x"), image("AAAA"), image("https://x/y.png"), text("")])),
        ("image bytes",    with(vec![text("x"), image("AAAA"), text("y")])),
        ("a PDF",          with(vec![document("application/pdf", "AAAA", Some("a.pdf")), text("x")])),
        ("a PDF by URL",   with(vec![document("application/pdf", "https://x/y.pdf", None)])),
        ("a text",         with(vec![document("text/plain", "w6k=", None)])),
        ("a conversation", Request::new(conversation().into()).system("s").tools(tools()).max_tokens(9)),
        ("extra",          ask().extra("x", json!({ "y": 1.50 })).extra("temperature", 9).temperature(0.1)),
        ("own model",      ask().extra("model", "other").extra("max_tokens", 3).extra("seed", 1).seed(2)),
        ("own tools",      ask().tools(tools()).extra("tools", json!([{ "a": 1 }]))),
        ("own messages",   ask().system("s").tools(tools()).extra("messages", json!([])).extra("input", "x").extra("contents", json!([]))),
        ("own settings",   ask().top_k(1).top_p(0.5).extra("options", json!({ "num_ctx": 9, "top_k": 2 })).extra("generationConfig", json!({ "topK": 2, "a": null }))),
    ];
    requests
}

async fn sent(provider: &dyn Provider, server: &Canned, request: Request) -> Option<String> {
    match provider.stream_completion(request).await {
        Ok(chunks) => drop(chunks),
        Err(error) => {
            assert!(!error.is_retryable(), "{error}");
            return None;
        }
    }
    let request = server.last();
    let mut headers: Vec<_> = request.headers.iter().map(|(name, _)| name.as_str()).collect();
    headers.sort_unstable();
    let body = String::from_utf8(request.body.concat()).unwrap();
    Some(format!("{} {} [{}]\n{body}", request.method, request.url, headers.join(" ")))
}

#[tokio::test]
async fn every_request_is_written_as_it_was() {
    let is_writing = std::env::var_os("FORGELINE_WRITE_REQUESTS").is_some();
    for (vendor, build, urls) in SERVERS {
        let (mut written, mut count) = (String::new(), 0);
        for url in urls {
            for (name, request) in requests() {
                let server = Canned::new("");
                let provider = build(url, &server);
                let sent = sent(&*provider, &server, request).await;
                count += usize::from(sent.is_some());
                let sent = sent.unwrap_or_else(|| "refused".to_owned());
                writeln!(written, "# {name} at {url}\n{sent}\n").unwrap();
            }
        }
        let path = Path::new(FOLDER).join(format!("{vendor}.txt"));
        if is_writing {
            fs::create_dir_all(FOLDER).unwrap();
            fs::write(path, written).unwrap();
            continue;
        }
        let want = fs::read_to_string(path).unwrap();
        for (line, (one, other)) in written.lines().zip(want.lines()).enumerate() {
            assert_eq!(one, other, "{vendor}, line {}", line + 1);
        }
        assert_eq!(written.len(), want.len(), "{vendor}");
        assert!(count >= 25, "{vendor}: {count}");
    }
}

/// Returns the value with each number as a fraction: temperatures are written as such.
fn with_fractions(mut value: Value) -> Value {
    match &mut value {
        Value::Number(number) => return json!(number.as_f64()),
        Value::Array(items) => items.iter_mut().for_each(|it| *it = with_fractions(it.take())),
        Value::Object(fields) => {
            fields.values_mut().for_each(|it| *it = with_fractions(it.take()));
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
    value
}

/// Reads the kept requests of a vendor to `host` as a gateway does, sends them on to the same vendor, and compares what is sent. Returns the
/// number of those that are the same, the refused ones, and those that differ.
async fn read_and_sent_on<W: WireFormat>(
    vendor: &str,
    host: &str,
    read: fn(&[u8]) -> Result<ClientRequest, RequestProblem>,
) -> (usize, Vec<String>, Vec<String>) {
    let kept = fs::read_to_string(Path::new(FOLDER).join(format!("{vendor}.txt"))).unwrap();
    let (mut same, mut refused, mut others) = (0, Vec::new(), Vec::new());
    for entry in kept.split("\n\n# ").filter(|entry| entry.contains(&format!("\nPOST {host}/"))) {
        let (name, body) = (entry.lines().next().unwrap(), entry.lines().nth(2).unwrap());
        let (name, _) = name.trim_start_matches("# ").split_once(" at ").unwrap();
        let Ok(received) = read(body.as_bytes()) else {
            refused.push(name.to_owned());
            continue;
        };
        assert!(received.stream && received.include_usage, "{name}");
        assert!(received.left_out.is_empty(), "{name}: {:?}", received.left_out);
        let server = Canned::new("");
        let builder = HttpProvider::<W>::builder().base_url(host);
        let builder = builder.model(received.model).retry(RetryPolicy::NONE);
        let provider = builder.api_key("k").transport(Arc::clone(&server)).build().unwrap();
        sent(&provider, &server, received.request).await.unwrap();
        let again: Value = serde_json::from_slice(&server.last().body.concat()).unwrap();
        let came: Value = serde_json::from_str(body).unwrap();
        if with_fractions(again.clone()) == with_fractions(came) {
            same += 1;
        } else {
            println!("{vendor}, {name}:\n{body}\n{again}");
            others.push(name.to_owned());
        }
    }
    (same, refused, others)
}

// Rows: N-84
#[tokio::test]
async fn a_request_that_a_gateway_reads_is_sent_on_as_it_came() {
    let chat = read_and_sent_on::<ChatCompletions>("openai", "http://h", openai::read_request);
    let (same, refused, others) = chat.await;
    assert_eq!((refused, others), (vec!["own tools".to_owned()], vec![]));
    assert!(same >= 25, "{same}");
    let host = "https://api.anthropic.com";
    let messages = read_and_sent_on::<Messages>("anthropic", host, anthropic::read_request);
    let (same, refused, others) = messages.await;
    assert_eq!((refused, others), (vec!["own tools".to_owned()], vec![]));
    assert!(same >= 25, "{same}");
    let responses = read_and_sent_on::<Responses>("responses", "http://h", responses::read_request);
    let (same, refused, others) = responses.await;
    // An input that is a text is sent on as a message.
    assert_eq!((refused, others), (vec!["own tools".to_owned()], vec!["own messages".to_owned()]));
    assert!(same >= 25, "{same}");
}

/// The segments that hold `messages` again, recognized by their place in memory.
fn shared(before: &[Bytes], after: &[Bytes]) -> usize {
    let is_there = |one: &&Bytes| after.iter().any(|other| other.as_ptr() == one.as_ptr());
    before.iter().filter(|segment| segment.len() > 1).filter(is_there).map(Bytes::len).sum()
}

/// Gives the calls of a message ids of their turn.
fn number_ids(message: &mut Message, turn: usize) {
    for part in &mut message.parts {
        if let Part::ToolCall(call) = part {
            call.id = format!("{} of {turn}", call.id).into();
        } else if let Part::ToolResult(result) = part {
            result.call_id = format!("{} of {turn}", result.call_id).into();
        }
    }
}

/// The ids of calls in a body: the values of these members, in all places.
fn ids_of(value: &Value, members: &[&str], ids: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let is_call = fields.contains_key("function") || fields.contains_key("arguments");
            let is_call = is_call || fields.contains_key("input") || fields.contains_key("args");
            let id = members.iter().find_map(|member| fields.get(*member)?.as_str());
            ids.extend(id.filter(|_| is_call).map(str::to_owned));
            fields.values().for_each(|value| ids_of(value, members, ids));
        }
        Value::Array(items) => items.iter().for_each(|item| ids_of(item, members, ids)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

// Rows: N-21, N-22
#[tokio::test]
async fn ids_that_come_again_and_messages_in_a_row_are_put_right_for_every_vendor() {
    let call = |name: &str| {
        Message::new(
            MessageRole::Assistant,
            vec![Part::ToolCall(ToolCall::new("call_0", name, json!({})))],
        )
    };
    let result = |name: &str| {
        let result = ToolResult::new("call_0", name, name);
        Message::new(MessageRole::Tool, vec![Part::ToolResult(result)])
    };
    let messages = [
        Message::user("One."),
        Message::new(MessageRole::Assistant, Vec::new()),
        Message::user("Two."),
        call("now"),
        result("now"),
        call("later"),
        result("later"),
        call("never"),
        result("never"),
        Message::new(MessageRole::Assistant, vec![text("Done.")]),
        Message::user("Three."),
        Message::user("Four."),
    ];
    let mut history = Transcript::default();
    for message in messages {
        history.push(message);
    }
    for (vendor, build, urls) in SERVERS {
        for url in urls {
            let server = Canned::new("");
            let provider = build(url, &server);
            sent(&*provider, &server, Request::new(history.clone())).await.unwrap();
            let body: Value = serde_json::from_slice(&server.last().body.concat()).unwrap();
            let list =
                ["messages", "input", "contents"].iter().find_map(|key| body[key].as_array());
            let list = list.unwrap();
            let roles: Vec<_> =
                list.iter().filter_map(|message| message["role"].as_str()).collect();
            // A message of the user that carries results is not one of the person's.
            let is_said = |message: &Value| {
                message["role"] == "user"
                    && !message.to_string().contains("call_0")
                    && !message.to_string().contains("functionResponse")
            };
            let in_a_row = list.windows(2).filter(|pair| pair.iter().all(is_said)).count();
            let alternates =
                matches!(vendor, "openai" | "ollama") && !url.contains("api.openai.com");
            assert_eq!(in_a_row, if alternates { 0 } else { 2 }, "{vendor} {url}: {roles:?}");
            let whole = body.to_string();
            for said in ["One.", "Two.", "Three.", "Four.", "Done."] {
                assert_eq!(whole.matches(said).count(), 1, "{vendor} {url}: {said}");
            }
            let mut ids = Vec::new();
            ids_of(&json!(list), &["call_id", "id"], &mut ids);
            let all = ids.len();
            ids.sort_unstable();
            ids.dedup();
            // Gemini's calls need no ids.
            assert!(
                ids.len() == all && (all == 3 || vendor == "gemini"),
                "{vendor} {url}: {ids:?}"
            );
            for id in ids {
                assert_eq!(whole.matches(&format!("\"{id}\"")).count(), 2, "{vendor} {url}: {id}");
            }
        }
    }
}

#[tokio::test]
async fn a_provider_that_knows_a_conversation_sends_what_any_other_sends() {
    for (vendor, build, urls) in SERVERS {
        for cache in [PromptCache::Off, PromptCache::Marks] {
            let (server, tools): (_, Arc<[ToolSpec]>) = (Canned::new(""), tools().into());
            let provider = build(urls[0], &server);
            let request = |history: &Transcript| {
                let request = Request::new(history.clone()).tools(Arc::clone(&tools));
                request.system("Be brief.").cache(cache)
            };
            // Two conversations in turn that begin alike, so that neither may take the other's past.
            let mut histories = [Transcript::default(), Transcript::default()];
            let mut before: [Vec<Bytes>; 2] = Default::default();
            for turn in 0..30 {
                for (which, history) in histories.iter_mut().enumerate() {
                    let mut messages = conversation();
                    let said = format!("turn {turn} of {}", which * turn);
                    messages.push(Message::new(MessageRole::Assistant, vec![text(&said)]));
                    for mut message in messages {
                        number_ids(&mut message, turn);
                        history.push(message);
                    }
                    let known = sent(&*provider, &server, request(history)).await.unwrap();
                    let fresh = Canned::new("");
                    let other = build(urls[0], &fresh);
                    let want = sent(&*other, &fresh, request(history)).await.unwrap();
                    assert_eq!(known, want, "{vendor}, turn {turn} of conversation {which}");
                    let now = server.segments();
                    if turn == 29 {
                        let (again, all) = (shared(&before[which], &now), known.len());
                        assert!(again > all / 4, "{vendor}: {again} bytes of {all} are the same");
                    }
                    before[which] = now;
                }
            }
        }
    }
}
