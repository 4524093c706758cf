//! The pipeline against llama.cpp's own server; see [`LlamaServer`] for what it needs.

use std::path::Path;

use forgeline::{
    agent::core::{StreamOptions, process_stream},
    llm::{
        Provider as _, ProviderError, Request, ToolChoice, ToolSpec,
        openai::OpenAi,
        parser::{ThinkingDialect, ToolDialect},
    },
    types::{CallOutcome, Completion, CompletionBuilder, ErrorCode, FinishReason},
};
use forgeline_testkit::llama::LlamaServer;
use serde_json::{Value, json};

fn start(name: &str, weights: &[&str]) -> Option<LlamaServer> {
    LlamaServer::start(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("llama").join(name), weights)
}

/// All chunks of one answer.
async fn answer(provider: &OpenAi, request: Request) -> Result<Completion, ProviderError> {
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
