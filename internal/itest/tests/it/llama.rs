//! The pipeline against llama.cpp's own server; see [`LlamaServer`] for what it needs.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use forgeline::{
    agent::{
        Agent,
        approval::{ApprovalContext, ApprovalPolicy, Decision},
        config::{AtLimit, CallMode},
        core::{StreamOptions, process_stream},
        tools::{Tool, ToolContext, ToolFuture},
    },
    llm::{
        Provider, ProviderError, Request, ResponseFormat, ToolChoice, ToolSpec,
        openai::OpenAi,
        parser::{ThinkingDialect, ToolDialect},
        responses::OpenAiResponses,
    },
    types::{
        CallOutcome, Completion, CompletionBuilder, ErrorCode, FinishReason, Json, Message,
        MessageRole, Part, ToolResult,
    },
};
use forgeline_testkit::llama::LlamaServer;
use serde_json::{Value, json};

fn start(name: &str, weights: &[&str]) -> Option<LlamaServer> {
    LlamaServer::start(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("llama").join(name), weights)
}

/// All chunks of one answer.
async fn answer(provider: &impl Provider, request: Request) -> Result<Completion, ProviderError> {
    let chunks = provider.stream_completion(request).await?;
    let options = StreamOptions::default().tools(ToolDialect::NONE);
    let mut events = Vec::new();
    let completion = process_stream(chunks, &options, |event| events.push(event)).await;
    let text = CompletionBuilder::from_events(&events).text;
    assert_eq!(text, completion.text, "the events say what the completion says");
    Ok(completion)
}

fn provider(server: &LlamaServer) -> OpenAi {
    let builder = OpenAi::builder().base_url(server.base_url.as_str());
    builder.thinking(ThinkingDialect::NONE).build().unwrap()
}

/// The same server at its other endpoint.
fn responses(server: &LlamaServer) -> OpenAiResponses {
    let builder = OpenAiResponses::builder().base_url(server.base_url.as_str());
    builder.thinking(ThinkingDialect::NONE).build().unwrap()
}

#[tokio::test]
async fn noise_streams_to_its_end() {
    let Some(server) = start("noise", &["<|im_end|>=2"]) else { return };
    let provider = provider(&server);
    let (mut replaced, mut bytes) = (0, 0);
    for seed in 1..=8 {
        let request = Request::prompt("Hello").max_tokens(400).temperature(1.0).seed(seed);
        let completion = answer(&provider, request).await.unwrap();
        assert!(completion.complete, "seed {seed}: {:?}", completion.error);
        assert_eq!(completion.error, None, "seed {seed}");
        let reason = completion.finish_reason.unwrap();
        assert!(matches!(reason, FinishReason::Stop | FinishReason::Length), "{reason:?}");
        bytes += completion.text.len();
        replaced += completion.text.matches('\u{FFFD}').count();
    }
    assert!(replaced > 0, "random bytes are not all UTF-8");
    forgeline_testkit::say(format!(
        "read {bytes} bytes of noise, {replaced} replacement characters among them"
    ));
}

#[tokio::test]
async fn native_calls_stream_and_obey_their_schema() {
    let weights = ["<tool_call>\n=30", "<|im_end|>=31"];
    let Some(server) = start("calls", &weights) else { return };
    let schema = json!({
        "type": "object",
        "properties": {
            "city": {"enum": ["Paris", "Tokyo"]},
            "days": {"type": "integer", "minimum": 1, "maximum": 9},
        },
        "required": ["city", "days"],
    });
    let tool = ToolSpec::new("get_weather", "Tells the weather.", schema);
    let request = Request::prompt("How is the weather in Paris?")
        .tools([tool])
        .tool_choice(ToolChoice::Required)
        .max_tokens(300)
        .seed(3);
    let completion = answer(&provider(&server), request).await.unwrap();
    assert!(completion.complete, "{:?}", completion.error);
    assert_eq!(completion.finish_reason, Some(FinishReason::ToolCalls));
    assert!(!completion.tool_calls.is_empty());
    for call in &completion.tool_calls {
        assert_eq!((call.name.as_str(), &call.outcome), ("get_weather", &CallOutcome::Complete));
        let arguments: Value = serde_json::from_str(&call.arguments_raw).unwrap();
        assert!(["Paris", "Tokyo"].contains(&arguments["city"].as_str().unwrap()), "{arguments}");
        assert!((1..=9).contains(&arguments["days"].as_i64().unwrap()), "{arguments}");
    }
    forgeline_testkit::say(format!("{} calls obey their schema", completion.tool_calls.len()));
}

/// A tool that keeps the arguments with which it ran.
#[derive(Clone, Default)]
struct Forecast(Arc<Mutex<Vec<Value>>>);

impl Tool for Forecast {
    fn name(&self) -> &'static str {
        "get_weather"
    }

    fn description(&self) -> &'static str {
        "Tells the weather."
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "city": {"enum": ["Paris", "Tokyo"]},
                "days": {"type": "integer", "minimum": 1, "maximum": 9},
            },
            "required": ["city", "days"],
        })
    }

    fn execute(&self, _: ToolContext, arguments: Json) -> ToolFuture {
        self.0.lock().unwrap().push(arguments.to_value());
        Box::pin(std::future::ready(Ok("sunny".into())))
    }
}

/// The model is made to call, the call obeys its schema, a person sees it, and what was seen is what runs.
#[tokio::test]
async fn native_calls_run_as_they_were_approved() {
    let weights = ["<tool_call>\n=30", "<|im_end|>=31"];
    let Some(server) = start("approved", &weights) else { return };
    for grants in [true, false] {
        let (asked, tool) = (Arc::new(Mutex::new(Vec::new())), Forecast::default());
        let seen = Arc::clone(&asked);
        let options = Request::default().tool_choice(ToolChoice::Required).max_tokens(300).seed(3);
        let agent = Agent::builder(provider(&server))
            .tool(tool.clone())
            .call_mode(CallMode::Native)
            .request(options)
            .approval(ApprovalPolicy::Always)
            .approver(move |it: ApprovalContext| {
                seen.lock().unwrap().push(it.request.arguments.to_value());
                std::future::ready(if grants { Decision::Grant } else { Decision::reject("no") })
            })
            .max_turns(1)
            .at_limit(AtLimit::Fail)
            .build()
            .unwrap();
        let error = agent.run("How is the weather in Paris?").await.unwrap_err();
        assert_eq!(error.error.code, ErrorCode::MaxTurns, "{error}");
        let (asked, ran) = (asked.lock().unwrap(), tool.0.lock().unwrap());
        assert!(!asked.is_empty());
        for arguments in &*asked {
            assert!(["Paris", "Tokyo"].contains(&arguments["city"].as_str().unwrap()));
            assert!((1..=9).contains(&arguments["days"].as_i64().unwrap()), "{arguments}");
        }
        assert_eq!(*ran, if grants { asked.as_slice() } else { &[] });
        let results = error.outcome.messages.iter().flat_map(|message| message.tool_results());
        assert_eq!(results.filter(|result| !result.is_error).count(), ran.len());
        forgeline_testkit::say(format!(
            "{} calls were asked about, {} ran",
            asked.len(),
            ran.len()
        ));
    }
}

#[tokio::test]
async fn a_refused_request_is_a_typed_error_with_the_servers_words() {
    let Some(server) = start("refusal", &["<|im_end|>=2"]) else { return };
    let provider = provider(&server);
    let wrong = Request::prompt("Hello").extra("messages", 3);
    let error = answer(&provider, wrong).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidRequest, "{error}");
    assert!(error.to_string().contains("400") && error.to_string().contains("messages"), "{error}");
    assert!(!error.is_retryable());
    // The server has room for 2,048 tokens; a byte of this prompt is at least half of one.
    let long = Request::prompt("0123456789 ".repeat(1000));
    let error = answer(&provider, long).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ContextExceeded, "{error}");
}

#[tokio::test]
async fn responses_noise_streams_to_its_end_and_goes_back() {
    let Some(server) = start("responses-noise", &["<|im_end|>=2"]) else { return };
    let provider = responses(&server);
    let (mut bytes, mut history) = (0, Vec::new());
    for seed in 1..=4 {
        history.push(Message::user("Hello"));
        let request = Request::new(history.clone().into()).max_tokens(40).temperature(1.0);
        let completion = answer(&provider, request.extra("seed", seed)).await.unwrap();
        assert!(completion.complete, "seed {seed}: {:?}", completion.error);
        assert_eq!(completion.error, None, "seed {seed}");
        let reason = completion.finish_reason.clone().unwrap();
        assert!(matches!(reason, FinishReason::Stop | FinishReason::Length), "{reason:?}");
        assert!(completion.usage.is_some_and(|usage| usage.output_tokens > Some(0)));
        assert!(completion.model.is_some() && completion.response_id.is_some());
        bytes += completion.text.len();
        history.push(Message::assistant(completion.text));
    }
    assert!(bytes > 0);
    forgeline_testkit::say(format!("read {bytes} bytes of noise from /v1/responses"));
}

#[tokio::test]
async fn responses_json_obeys_its_schema() {
    let Some(server) = start("responses-json", &["<|im_end|>=2"]) else { return };
    let schema = json!({
        "type": "object",
        "properties": {
            "ok": {"type": "boolean"},
            "n": {"type": "integer", "minimum": 0, "maximum": 99},
            "color": {"enum": ["red", "green"]},
        },
        "required": ["ok", "n", "color"],
        "additionalProperties": false,
    });
    let format = ResponseFormat::json_schema("a", schema, true);
    let request = Request::prompt("Hello").response_format(format).max_tokens(200);
    let completion = answer(&responses(&server), request.extra("seed", 1)).await.unwrap();
    let value: Value = serde_json::from_str(&completion.text).unwrap();
    assert!(value["ok"].is_boolean(), "{value}");
    assert!((0..=99).contains(&value["n"].as_i64().unwrap()), "{value}");
    assert!(["red", "green"].contains(&value["color"].as_str().unwrap()), "{value}");
    assert_eq!(completion.finish_reason, Some(FinishReason::Stop));
}

#[tokio::test]
async fn responses_calls_obey_their_schema_and_take_their_results() {
    let weights = ["<tool_call>\n=30", "<|im_end|>=31"];
    let Some(server) = start("responses-calls", &weights) else { return };
    let provider = responses(&server);
    let schema = json!({
        "type": "object",
        "properties": {
            "city": {"enum": ["Paris", "Tokyo"]},
            "days": {"type": "integer", "minimum": 1, "maximum": 9},
        },
        "required": ["city", "days"],
    });
    let tools = [ToolSpec::new("get_weather", "Tells the weather.", schema)];
    let question = Message::user("How is the weather in Paris?");
    let request = Request::new(vec![question.clone()].into())
        .tools(tools.clone())
        .tool_choice(ToolChoice::Required)
        .max_tokens(300)
        .extra("seed", 3);
    let completion = answer(&provider, request).await.unwrap();
    assert!(completion.complete, "{:?}", completion.error);
    assert!(!completion.tool_calls.is_empty());
    let mut results = Vec::new();
    for call in &completion.tool_calls {
        assert_eq!((call.name.as_str(), &call.outcome), ("get_weather", &CallOutcome::Complete));
        let arguments: Value = serde_json::from_str(&call.arguments_raw).unwrap();
        assert!(["Paris", "Tokyo"].contains(&arguments["city"].as_str().unwrap()), "{arguments}");
        assert!((1..=9).contains(&arguments["days"].as_i64().unwrap()), "{arguments}");
        let result = ToolResult::new(call.id.clone(), call.name.clone(), "sunny");
        results.push(Part::ToolResult(result));
    }
    forgeline_testkit::say(format!("{} calls obey their schema", results.len()));
    let history =
        vec![question, completion.into_message(), Message::new(MessageRole::Tool, results)];
    let request = Request::new(history.into())
        .tools(tools)
        .tool_choice(ToolChoice::Required)
        .max_tokens(300)
        .extra("seed", 3);
    let completion = answer(&provider, request).await.unwrap();
    assert!(completion.complete, "{:?}", completion.error);
    assert!(!completion.tool_calls.is_empty());
}

#[tokio::test]
async fn a_request_refused_by_responses_is_a_typed_error_with_the_servers_words() {
    let Some(server) = start("responses-refusal", &["<|im_end|>=2"]) else { return };
    let provider = responses(&server);
    let wrong = Request::prompt("Hello").extra("input", 3);
    let error = answer(&provider, wrong).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidRequest, "{error}");
    assert!(error.to_string().contains("400") && error.to_string().contains("input"), "{error}");
    assert!(!error.is_retryable());
    let long = Request::prompt("0123456789 ".repeat(1000));
    let error = answer(&provider, long).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ContextExceeded, "{error}");
}
