//! Anthropic Messages against llama.cpp's own server, whose blocks all end at the very end.

use std::path::Path;

use forgeline::{
    agent::core::{StreamOptions, process_stream},
    llm::{
        AnswerSchema, Provider as _, ProviderError, Request, StructuredExt as _, StructuredMethod,
        ToolChoice, ToolSpec, anthropic::Anthropic, parser::ToolDialect,
    },
    types::{
        CallOutcome, Completion, ErrorCode, FinishReason, Message, MessageRole, Part, ToolResult,
    },
};
use forgeline_testkit::llama::LlamaServer;
use serde_json::{Value, json};

fn start(name: &str, weights: &[&str]) -> Option<LlamaServer> {
    LlamaServer::start(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("llama").join(name), weights)
}

async fn answer(server: &LlamaServer, request: Request) -> Result<Completion, ProviderError> {
    let provider = Anthropic::builder().base_url(server.base_url.as_str()).build()?;
    let chunks = provider.stream_completion(request).await?;
    let options = StreamOptions::default().tools(ToolDialect::NONE);
    Ok(process_stream(chunks, &options, |_| {}).await)
}

#[tokio::test]
async fn llama_s_messages_stream_to_their_end_and_go_back() {
    let Some(server) = start("messages-noise", &["<|im_end|>=2"]) else { return };
    let (mut bytes, mut history) = (0, Vec::new());
    for seed in 1..=3 {
        history.push(Message::user("Hello"));
        let request = Request::new(history.clone().into()).system("Be brief.");
        let request = request.max_tokens(40).temperature(1.0).extra("seed", seed);
        let completion = answer(&server, request).await.unwrap();
        assert!(completion.complete, "seed {seed}: {:?}", completion.error);
        assert_eq!(completion.error, None, "seed {seed}");
        let reason = completion.finish_reason.clone().unwrap();
        assert!(matches!(reason, FinishReason::Stop | FinishReason::Length), "{reason:?}");
        let usage = completion.usage.unwrap();
        assert!(usage.output_tokens.is_some(), "{usage:?}");
        // This server leaves out `message_start` at times, and with it all that only it says.
        let has_start = completion.response_id.is_some();
        assert_eq!(completion.model.is_some(), has_start);
        assert_eq!(usage.input_tokens.is_some(), has_start, "{usage:?}");
        bytes += completion.text.len();
        history.push(Message::assistant(completion.text));
    }
    assert!(bytes > 0);
    forgeline_testkit::say(format!("read {bytes} bytes of noise from /v1/messages"));
}

#[tokio::test]
async fn llama_s_calls_obey_their_schema_and_take_their_results() {
    let weights = ["<tool_call>\n=30", "<|im_end|>=31"];
    let Some(server) = start("messages-calls", &weights) else { return };
    let schema = json!({
        "type": "object",
        "properties": { "city": { "enum": ["Paris", "Tokyo"] } },
        "required": ["city"],
    });
    let ask = |messages: Vec<Message>| {
        let tool = ToolSpec::new("weather.today", "Tells the weather.", schema.clone());
        let request = Request::new(messages.into()).tools([tool]).max_tokens(300);
        request.tool_choice(ToolChoice::Required).extra("seed", 3)
    };
    let question = Message::user("How is the weather in Paris?");
    let completion = answer(&server, ask(vec![question.clone()])).await.unwrap();
    assert!(completion.complete, "{:?}", completion.error);
    assert!(!completion.tool_calls.is_empty());
    let whole = |outcome: &CallOutcome| *outcome == CallOutcome::Complete;
    let cut = completion.finish_reason == Some(FinishReason::Length);
    for call in &completion.tool_calls {
        assert_eq!(call.name, "weather.today");
        assert!(cut || whole(&call.outcome), "{call:?}");
    }
    let results = completion
        .tool_calls
        .iter()
        .map(|call| Part::ToolResult(ToolResult::new(call.id.clone(), call.name.clone(), "sunny")));
    let results = Message::new(MessageRole::Tool, results.collect());
    let calls = completion.tool_calls.len();
    let messages = vec![question, completion.into_message(), results];
    let again = answer(&server, ask(messages)).await.unwrap();
    assert!(again.complete, "{:?}", again.error);
    forgeline_testkit::say(format!("{calls} calls obey their schema"));
}

#[tokio::test]
async fn llama_s_forced_tool_gives_json_that_obeys_its_schema() {
    let weights = ["<tool_call>\n=30", "<|im_end|>=31"];
    let Some(server) = start("messages-schema", &weights) else { return };
    let schema = json!({
        "type": "object",
        "properties": {
            "city": { "enum": ["Paris", "Tokyo"] },
            "mood": { "enum": ["sunny", "grey", "wet"] },
        },
        "required": ["city", "mood"],
        "additionalProperties": false,
    });
    let obeys = |value: &Value| {
        let is_one_of = |key: &str| {
            let allowed = schema["properties"][key]["enum"].as_array().unwrap();
            allowed.contains(&value[key])
        };
        value.as_object().is_some_and(|fields| fields.len() == 2)
            && is_one_of("city")
            && is_one_of("mood")
    };
    let provider = Anthropic::builder().base_url(server.base_url.as_str()).build().unwrap();
    for seed in 1..=3 {
        let asked = Request::prompt("How is the weather in Paris?").max_tokens(600);
        let answer = AnswerSchema::new(schema.clone()).method(StructuredMethod::ForcedTool);
        let answer = provider.complete_json(asked.extra("seed", seed), answer).await.unwrap();
        assert!(obeys(&answer.value), "seed {seed}: {}", answer.value);
        forgeline_testkit::say(format!("seed {seed}: {}", answer.value));
    }
}

#[tokio::test]
async fn llama_s_refusal_of_a_long_prompt_is_a_typed_error() {
    let Some(server) = start("messages-refusal", &["<|im_end|>=2"]) else { return };
    let long = Request::prompt("0123456789 ".repeat(1000));
    let error = answer(&server, long).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ContextExceeded, "{error}");
}
