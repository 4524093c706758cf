//! Providers that say they take native tools, and refuse them.

use serde_json::json;

use super::*;
use crate::Conversation;
use crate::{
    OutcomeKind, RunError, RunOutcome, config::CallMode, memory::ConversationMemory,
    notice::CALL_MODE_FALLBACK,
};
use forgeline_llm::{ProviderError, Request, RetryPolicy, Retrying, StatusError, TimeoutKind};
use forgeline_types::{
    ErrorCode, Message, MessageRole, Part, Text, ToolCall, ToolResult, Transcript,
};

type Make = Box<dyn Fn() -> ProviderError + Send>;
type Row = (&'static str, fn() -> ScriptedTurn);

fn status(status: u16, kind: ErrorCode) -> ProviderError {
    ProviderError::Status(Box::new(StatusError::new(status, kind, format!("no: {status}"))))
}

/// The error of a server whose chat template has no place for tools.
fn grammar() -> ProviderError {
    worded(500, ErrorCode::Status, "the template takes no tools")
}

fn worded(status: u16, kind: ErrorCode, message: &str) -> ProviderError {
    ProviderError::Status(Box::new(StatusError::new(status, kind, message)))
}

/// Refuses every request with native tools by `error`; text is answered by `text`, turn by turn.
fn refusing(
    error: impl Fn() -> ProviderError + Send + 'static,
    text: impl IntoIterator<Item = ScriptedTurn>,
) -> ScriptedProvider {
    let mut turns: Vec<_> = text.into_iter().collect();
    turns.reverse();
    ScriptedProvider::from_fn(move |request: &Request| {
        if request.tools.is_empty() {
            turns.pop().unwrap_or_default()
        } else {
            ScriptedTurn::new().fail(error())
        }
    })
}

async fn run_stream_of(
    agent: &Conversation,
    input: &str,
) -> (Vec<Envelope>, Result<RunOutcome, Box<RunError>>) {
    let mut stream = agent.run_stream(input);
    let mut events = Vec::new();
    while let Some(envelope) = stream.next().await {
        events.push(envelope);
    }
    assert_whole(&events);
    (events, stream.outcome().await.map_err(Box::new))
}

/// Whether each request so far carried native tools.
fn native(provider: &ScriptedProvider) -> Vec<bool> {
    provider.requests().iter().map(|request| !request.tools.is_empty()).collect()
}

#[tokio::test(start_paused = true)]
async fn refused_tools_are_told_of_in_text_for_the_rest_of_the_agents_life() {
    let call = "<tool>\n{\"tool_name\": \"echo\", \"arguments\": {\"text\": \"x\"}}\n</tool>";
    let turns = [call, "Done.", "Again.", "And again."].map(|text| ScriptedTurn::new().text(text));
    let provider = refusing(grammar, turns);
    let template = Request::default().system("Template.");
    let agent =
        builder(&provider).system("Be brief.").request(template).build().unwrap().conversation();
    let (events, outcome) = run_stream_of(&agent, "Go.").await;
    let reason = "the server answered 500: the template takes no tools";
    let fallback = format!(
        "{CALL_MODE_FALLBACK} {}",
        json!({ "from": "native", "to": "text", "reason": reason })
    );
    #[rustfmt::skip]
    let want = [
        "busy true",
        "api_call_start", "api_call_end",
        &fallback,
        "api_call_start", "tool_call_start", "tool_call_content", "tool_call_end", "api_call_end",
        "call echo {\"text\":\"x\"}", "progress \"x\"", "result x",
        "api_call_start", "message_start", "message Done.", "message_end", "api_call_end",
        "turn_end",
        "busy false",
    ];
    assert_eq!(kinds(&events), want);
    let outcome = outcome.unwrap();
    assert_eq!((outcome.text.as_str(), outcome.turns), ("Done.", 2), "a refusal is no turn");
    let requests = provider.requests();
    assert_eq!(requests[0].system.as_deref(), Some("Be brief.\n\nTemplate."));
    let system = requests[1].system.as_deref().unwrap();
    assert!(system.starts_with("Be brief.\n\nTemplate.\n\n# Tools\n"), "{system}");
    assert_eq!(requests[0].messages.len(), requests[1].messages.len(), "the same turn");
    assert_eq!(requests[2].messages.messages()[2].role, MessageRole::User, "results are text too");

    let (events, outcome) = run_stream_of(&agent, "Go on.").await;
    assert_eq!(outcome.unwrap().text, "Again.");
    assert!(!kinds(&events).iter().any(|kind| kind.starts_with(CALL_MODE_FALLBACK)), "one report");
    assert_eq!(agent.run("And on.").await.unwrap().text, "And again.");
    assert_eq!(native(&provider), [true, false, false, false, false], "asked natively once");
}

// Found: A8
#[tokio::test(start_paused = true)]
async fn only_what_may_be_about_the_tools_is_tried_again() {
    use ErrorCode::{
        Auth, ContentFiltered, ContextExceeded, InStream, InvalidRequest, Overloaded,
        QuotaExhausted, RateLimited, Status, Unsupported,
    };
    let text = || Text::from("x");
    let in_stream = move |kind| ProviderError::in_stream(kind, text(), None);
    let told_in_stream = |kind, message: &str| ProviderError::in_stream(kind, message, None);
    let by_words = |number, kind, message: &'static str| {
        Box::new(move || worded(number, kind, message)) as Make
    };
    let by_status = |number, kind| Box::new(move || status(number, kind)) as Make;
    let after = SOON;
    #[rustfmt::skip]
    let cases: Vec<(&str, Make, bool)> = vec![
        ("400",            by_words(400, InvalidRequest, "m does not support tools"), true),
        ("400, no words",  by_status(400, InvalidRequest), false),
        ("400, option",    by_words(400, InvalidRequest, "temperature must be at most 1"), false),
        ("500, memory",    by_words(500, Status, "CUDA error: out of memory in function alloc"), false),
        ("422, body",      by_words(422, InvalidRequest, "messages.0.content: field required"), false),
        ("404, tools",     Box::new(|| ProviderError::Status(Box::new(StatusError::new(404, InvalidRequest, "No endpoints found that support Tool use")))), true),
        ("404, functions", Box::new(|| ProviderError::Status(Box::new(StatusError::new(404, Status, "function calling is not available")))), true),
        ("404, path",      by_status(404, InvalidRequest), false),
        ("404, no words",  by_status(404, Status), false),
        ("422",            by_words(422, InvalidRequest, "extra field: tool_choice"), true),
        ("500",            by_words(500, Status, "tools param requires --jinja"), true),
        ("501",            by_words(501, Status, "function calling is not implemented"), true),
        ("unsupported",    Box::new(move || ProviderError::unsupported(text(), "tools")), true),
        ("not audio",      Box::new(move || ProviderError::unsupported(text(), "audio")), false),
        ("stream, 400",    Box::new(move || told_in_stream(InvalidRequest, "no tools here")), true),
        ("stream, unable", Box::new(move || told_in_stream(Unsupported, "`functions` is unknown")), true),
        ("stream, words",  Box::new(move || in_stream(InvalidRequest)), false),
        ("401",            by_status(401, Auth), false),
        ("400, key",       by_status(400, Auth), false),
        ("403",            by_status(403, Auth), false),
        ("402",            by_status(402, QuotaExhausted), false),
        ("429",            by_status(429, RateLimited), false),
        ("503",            by_status(503, Overloaded), false),
        ("500, busy",      by_status(500, Overloaded), false),
        ("400, length",    by_status(400, ContextExceeded), false),
        ("400, filter",    by_status(400, ContentFiltered), false),
        ("502",            by_status(502, Status), false),
        ("stream, other",  Box::new(move || in_stream(InStream)), false),
        ("connect",        Box::new(move || ProviderError::connect(text(), "x")), false),
        ("timeout",        Box::new(move || ProviderError::timeout(TimeoutKind::FirstByte, after)), false),
        ("ended early",    Box::new(|| ProviderError::ended_early(0)), false),
        ("set up wrong",   Box::new(move || ProviderError::config(text())), false),
    ];
    for (name, error, falls_back) in cases {
        let want = error().code();
        let provider = refusing(error, [ScriptedTurn::new().text("ok")]);
        let result = agent(&provider).run("Go.").await;
        assert_eq!(provider.requests().len(), if falls_back { 2 } else { 1 }, "{name}");
        match result {
            Ok(outcome) => assert_eq!((outcome.text.as_str(), falls_back), ("ok", true), "{name}"),
            Err(error) => assert_eq!((error.error.code, falls_back), (want, false), "{name}"),
        }
    }
}

/// An agent with one tool that retries as `policy` says.
fn retrying(scripted: &ScriptedProvider, policy: RetryPolicy) -> Conversation {
    let echo = tool_fn("echo", "", |_: ToolContext, echo: Echo| async move { echo.text });
    let provider = Retrying::new(scripted.clone(), policy);
    Agent::builder(provider).tool(echo).build().unwrap().conversation()
}

// Found: R12
#[tokio::test(start_paused = true)]
async fn a_server_that_always_fails_is_asked_once_more_than_the_policy_says() {
    for (number, attempts, want) in [(500, 3, 4), (500, 1, 2), (500, 5, 6), (400, 3, 2)] {
        let scripted = ScriptedProvider::from_fn(move |_| {
            ScriptedTurn::new().fail(worded(
                number,
                ErrorCode::Status,
                &format!("no tools: {number}"),
            ))
        });
        let agent = retrying(&scripted, RetryPolicy::default().max_attempts(attempts));
        let error = agent.run("Go.").await.unwrap_err();
        assert!(error.error.message.contains(&number.to_string()), "{}", error.error);
        assert_eq!(scripted.requests().len(), want, "{number}, {attempts}");
    }
    // What native tools did not use up is left for the text.
    let text = || ScriptedTurn::new().fail(status(503, ErrorCode::Overloaded));
    let scripted =
        refusing(|| worded(400, ErrorCode::InvalidRequest, "no tools"), [text(), text()]);
    assert!(retrying(&scripted, RetryPolicy::default()).run("Go.").await.is_err());
    assert_eq!(scripted.requests().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn when_text_fails_too_the_first_error_is_told_and_nothing_is_settled() {
    #[rustfmt::skip]
    let seconds: [Row; 3] = [
        ("refused",   || ScriptedTurn::new().fail(status(400, ErrorCode::InvalidRequest))),
        ("key",       || ScriptedTurn::new().fail(status(401, ErrorCode::Auth))),
        ("no answer", || ScriptedTurn::new().cut()),
    ];
    for (name, second) in seconds {
        let provider = refusing(grammar, [second(), ScriptedTurn::new().text("ok")]);
        let agent = agent(&provider);
        let (events, result) = run_stream_of(&agent, "Go.").await;
        let error = result.unwrap_err().error;
        assert_eq!(error.message, "the server answered 500: the template takes no tools", "{name}");
        let errors = kinds(&events).into_iter().filter(|kind| kind.starts_with("error"));
        assert_eq!(errors.collect::<Vec<_>>(), ["error Status"], "{name}: one error event");
        assert_eq!(agent.transcript().len(), 1, "{name}: no empty message");
        // The next run tries both again.
        assert_eq!(agent.run("Go.").await.unwrap().text, "ok", "{name}");
        assert_eq!(native(&provider), [true, false, true, false], "{name}");
    }
    let half = ScriptedTurn::new().text("Half").fail(ProviderError::ended_early(4));
    let error = agent(&refusing(grammar, [half])).run("Go.").await.unwrap_err();
    assert_eq!(error.error.code, ErrorCode::EndedEarly, "text was taken, so this is another error");
    assert_eq!(error.outcome.text, "Half");
}

#[tokio::test(start_paused = true)]
async fn an_explicit_mode_and_an_agent_without_tools_never_fall_back() {
    let provider = refusing(grammar, []);
    let agent = builder(&provider).call_mode(CallMode::Native).build().unwrap().conversation();
    assert_eq!(agent.run("Go.").await.unwrap_err().error.code, ErrorCode::Status);
    assert_eq!(native(&provider), [true]);
    for mode in [CallMode::Text, CallMode::Auto] {
        let provider = ScriptedProvider::from_fn(|_| ScriptedTurn::new().fail(grammar()));
        let builder = Agent::builder(provider.clone());
        let agent = builder.call_mode(mode).build().unwrap().conversation();
        assert_eq!(agent.run("Go.").await.unwrap_err().error.code, ErrorCode::Status);
        assert_eq!(native(&provider), [false], "{mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_took_tools_once_is_not_asked_in_text_later() {
    let turns = || [ScriptedTurn::new().text("Hello."), ScriptedTurn::new().fail(grammar())];
    let provider = ScriptedProvider::new(turns());
    let agent = agent(&provider);
    assert_eq!(agent.run("Hi").await.unwrap().reason, OutcomeKind::Answer);
    assert_eq!(agent.run("Go.").await.unwrap_err().error.code, ErrorCode::Status);
    assert_eq!(native(&provider), [true, true]);
}

#[tokio::test(start_paused = true)]
async fn a_conversation_with_native_calls_stays_native() {
    let provider = refusing(grammar, [ScriptedTurn::new().text("ok")]);
    let call = Part::ToolCall(ToolCall::new("c1", "echo", json!({ "text": "x" })));
    let result = Part::ToolResult(ToolResult::new("c1", "echo", "x"));
    let history = Transcript::from(vec![
        Message::user("Before."),
        Message::new(MessageRole::Assistant, vec![call]),
        Message::new(MessageRole::Tool, vec![result]),
    ]);
    let agent = builder(&provider)
        .memory(ConversationMemory::from(history))
        .build()
        .unwrap()
        .conversation();
    assert_eq!(agent.run("Go.").await.unwrap_err().error.code, ErrorCode::Status);
    assert_eq!(native(&provider), [true]);
    agent.clear().await.unwrap();
    assert_eq!(agent.run("Go.").await.unwrap().text, "ok", "cleared, it may");
}

#[tokio::test(start_paused = true)]
async fn cancelling_at_every_event_of_a_fallback_ends_the_run_properly() {
    let turns = || [ScriptedTurn::new().text("Hel").text("lo.")];
    let length = run_stream_of(&agent(&refusing(grammar, turns())), "Go.").await.0.len();
    for capacity in [1, 64] {
        for at in 0..length {
            let provider = refusing(grammar, turns());
            let agent = builder(&provider).event_capacity(capacity).build().unwrap().conversation();
            let mut stream = agent.run_stream("Go.");
            let mut events = Vec::new();
            if at == 0 {
                stream.cancel();
            }
            while let Some(envelope) = stream.next().await {
                events.push(envelope);
                if events.len() == at {
                    stream.cancel();
                }
            }
            assert_whole(&events);
            if let Err(error) = stream.outcome().await {
                assert_eq!(error.error.code, ErrorCode::Cancelled, "at {at}");
            }
            assert_eq!(provider.open_streams(), 0, "at {at}");
            assert_no_task_left().await;
        }
    }
}
