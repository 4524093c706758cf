//! The project's own recordings of llama.cpp's server, below the real provider.
//!
//! `make record` makes them and what they come to anew; read the difference before it is committed.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use forgeline::{
    agent::core::{StreamOptions, process_stream},
    llm::{
        Provider as _, ProviderError, Request, ResponseFormat, RetryPolicy, ToolChoice, ToolSpec,
        openai::OpenAi,
        parser::{ThinkingDialect, ToolDialect},
        transport::{ReqwestTransport, Transport},
    },
    testing::{
        record::{Recording, RecordingTransport},
        replay::{ChunkSizes, ReplayTransport},
    },
    types::{Completion, Message, MessageRole, Part, ToolResult, Transcript},
};
use forgeline_testkit::llama::LlamaServer;
use serde_json::{Value, json};

use super::source::root;

/// A session: its name, the tokens that its model prefers, and what is asked.
struct Session {
    name: &'static str,
    weights: &'static [&'static str],
    requests: fn(&[Completion]) -> Option<Request>,
}

const SESSIONS: [Session; 4] = [
    Session { name: "llamacpp-chat-text", weights: &["<|im_end|>=2"], requests: text },
    Session {
        name: "llamacpp-chat-tools",
        weights: &["<tool_call>\n=30", "<|im_end|>=31"],
        requests: tools,
    },
    Session { name: "llamacpp-chat-schema", weights: &["<|im_end|>=2"], requests: schema },
    Session { name: "llamacpp-error", weights: &["<|im_end|>=2"], requests: error },
];

fn small(request: Request, seed: u64) -> Request {
    request.max_tokens(60).temperature(1.0).seed(seed)
}

/// Noise, and then a second turn that says the first one's answer again.
fn text(answers: &[Completion]) -> Option<Request> {
    let mut messages = vec![Message::user("Hello")];
    match answers {
        [] => {}
        [answer] => messages.extend([answer.clone().into_message(), Message::user("And now?")]),
        _ => return None,
    }
    Some(small(Request::new(Transcript::from(messages)).system("Be brief."), 1))
}

/// A call that its schema binds, and then its result.
fn tools(answers: &[Completion]) -> Option<Request> {
    let parameters = json!({
        "type": "object",
        "properties": { "city": { "enum": ["Paris", "Tokyo"] }, "days": { "type": "integer", "minimum": 1, "maximum": 9 } },
        "required": ["city", "days"],
    });
    let mut messages = vec![Message::user("How is the weather in Paris?")];
    let mut choice = ToolChoice::Required;
    match answers {
        [] => {}
        [answer] => {
            let results = answer.tool_calls.iter().map(|call| {
                Part::ToolResult(ToolResult::new(call.id.clone(), call.name.clone(), "Rain, 9 °C."))
            });
            let results = Message::new(MessageRole::Tool, results.collect());
            messages.extend([answer.clone().into_message(), results]);
            choice = ToolChoice::None;
        }
        _ => return None,
    }
    let request = Request::new(Transcript::from(messages)).tool_choice(choice);
    let tool = ToolSpec::new("get_weather", "Tells the weather.", parameters);
    // The model fills what the schema leaves open with blanks before it goes on.
    Some(small(request.tools(vec![tool]), 3).max_tokens(300))
}

/// An answer that a schema binds.
fn schema(answers: &[Completion]) -> Option<Request> {
    let schema = json!({
        "type": "object",
        "properties": { "ok": { "type": "boolean" }, "level": { "enum": ["low", "high"] } },
        "required": ["ok", "level"],
        "additionalProperties": false,
    });
    let format = ResponseFormat::json_schema("report", schema, true);
    answers
        .is_empty()
        .then(|| small(Request::prompt("Report.").response_format(format), 5).max_tokens(300))
}

/// A request that the server refuses.
fn error(answers: &[Completion]) -> Option<Request> {
    answers.is_empty().then(|| Request::prompt("Hello").extra("messages", 3))
}

/// Everything that a session comes to: a completion a turn, or its error.
async fn talk(
    session: &Session,
    base_url: &str,
    transport: impl Transport + 'static,
) -> Vec<Value> {
    let builder = OpenAi::builder().base_url(base_url).transport(transport);
    let provider =
        builder.thinking(ThinkingDialect::NONE).retry(RetryPolicy::NONE).build().unwrap();
    let options = StreamOptions::default().tools(ToolDialect::NONE);
    let (mut answers, mut said) = (Vec::new(), Vec::new());
    while let Some(request) = (session.requests)(&answers) {
        let completion = match provider.stream_completion(request).await {
            Ok(chunks) => process_stream(chunks, &options, |_| {}).await,
            Err(error) => failed(&error),
        };
        said.push(serde_json::to_value(&completion).unwrap());
        answers.push(completion);
    }
    said
}

fn failed(error: &ProviderError) -> Completion {
    let mut completion = Completion::default();
    completion.error = Some(error.to_agent_error());
    completion
}

fn file(session: &Session, ending: &str) -> PathBuf {
    root().join(format!("testdata/recordings/{}.{ending}", session.name))
}

async fn record(session: &Session) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("llama").join(session.name);
    let server = LlamaServer::start(&folder, session.weights).expect("the server is installed");
    let inner = ReqwestTransport::new().unwrap();
    let recorder = RecordingTransport::overwrite(file(session, "jsonl"), inner).unwrap();
    let said = talk(session, &server.base_url, recorder.clone()).await;
    let count = recorder.flush().unwrap();
    forgeline_testkit::say(format!("{}: {count} exchanges recorded", session.name));
    let text = serde_json::to_string_pretty(&said).unwrap();
    fs::write(file(session, "completion.json"), text + "\n").unwrap();
}

#[tokio::test]
async fn own_recordings_play_at_every_size_as_they_were() {
    if env::var_os("FORGELINE_RECORD").is_some() {
        fs::create_dir_all(root().join("testdata/recordings")).unwrap();
        for session in &SESSIONS {
            record(session).await;
        }
    }
    let mut plays = 0;
    for session in &SESSIONS {
        let recording = Recording::load(file(session, "jsonl")).unwrap();
        let want = fs::read_to_string(file(session, "completion.json")).unwrap();
        let want: Vec<Value> = serde_json::from_str(&want).unwrap();
        assert_eq!(want.len(), recording.exchanges().len(), "{}", session.name);
        let sizes = [1, 7, 64, 0].map(ChunkSizes::Bytes).map(Some);
        for sizes in [None].into_iter().chain(sizes) {
            let replay = ReplayTransport::new(recording.clone());
            let replay = match &sizes {
                Some(sizes) => replay.chunks(sizes.clone()),
                None => replay,
            };
            let got = talk(session, "http://replayed", Arc::new(replay)).await;
            assert_eq!(got, want, "{} at {sizes:?}", session.name);
            plays += 1;
        }
    }
    forgeline_testkit::say(format!(
        "{} recordings of our own, played {plays} times",
        SESSIONS.len()
    ));
}

#[tokio::test]
async fn a_recording_of_another_request_is_refused() {
    let recording = Recording::load(file(&SESSIONS[0], "jsonl")).unwrap();
    let transport = ReplayTransport::new(recording);
    let provider =
        OpenAi::builder().base_url("http://replayed").transport(transport).build().unwrap();
    let mut request = text(&[]).unwrap();
    request.seed = Some(2);
    let error = provider.complete(request).await.unwrap_err();
    let want = "the recording is stale: in turn 1, /seed is 2, not 1; record it anew";
    assert!(
        matches!(&error, ProviderError::Config { message, .. } if message == want),
        "{error:?}"
    );
}
