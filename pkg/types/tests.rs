//! The wire form of the shared types is pinned by `testdata/golden/events.jsonl`.

use serde_json::json;

use super::{
    AgentError, AgentEvent, ApiCallEndEvent, ApiCallStartEvent, ApprovalRequest, CallOutcome,
    Citation, ClientToolCancelledEvent, ClientToolRequest, CustomEvent, Envelope, ErrorCode,
    ErrorEvent, FailoverEvent, ItemKind, Json, Message, MessageContentEvent, Preview, ProviderItem,
    QuestionEnd, Repair, RetryEvent, Text, ThinkingContentEvent, TokenUsageEvent,
    ToolApprovalEvent, ToolApprovalRejectedEvent, ToolCall, ToolCallContentEvent, ToolCallEndEvent,
    ToolCallEvent, ToolCallStartEvent, ToolOutputEvent, ToolQuestion, ToolQuestionEndEvent,
    ToolResultEvent, UpdateBusyEvent, UsageInfo,
};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/events.jsonl");

/// The index of a kind among the samples: a new variant does not compile without a sample.
fn place(event: &AgentEvent) -> usize {
    match event {
        AgentEvent::ThinkingStart => 0,
        AgentEvent::ThinkingContent(_) => 1,
        AgentEvent::ThinkingEnd => 2,
        AgentEvent::MessageStart => 3,
        AgentEvent::MessageContent(_) => 4,
        AgentEvent::MessageEnd => 5,
        AgentEvent::ToolCallStart(_) => 6,
        AgentEvent::ToolCallContent(_) => 7,
        AgentEvent::ToolCallEnd(_) => 8,
        AgentEvent::Error(_) => 9,
        AgentEvent::ApiCallStart(_) => 10,
        AgentEvent::ApiCallEnd(_) => 11,
        AgentEvent::TokenUsage(_) => 12,
        AgentEvent::ToolCall(_) => 13,
        AgentEvent::ToolOutput(_) => 14,
        AgentEvent::ToolResult(_) => 15,
        AgentEvent::ToolResultError(_) => 16,
        AgentEvent::ToolApprovalRequest(_) => 17,
        AgentEvent::ToolApprovalGranted(_) => 18,
        AgentEvent::ToolApprovalRejected(_) => 19,
        AgentEvent::ToolApprovalTimeout(_) => 20,
        AgentEvent::ToolApprovalCancelled(_) => 21,
        AgentEvent::ClientToolRequest(_) => 22,
        AgentEvent::ClientToolCancelled(_) => 23,
        AgentEvent::ToolQuestion(_) => 24,
        AgentEvent::ToolQuestionEnd(_) => 25,
        AgentEvent::NoToolCall => 26,
        AgentEvent::UpdateBusy(_) => 27,
        AgentEvent::TurnEnd => 28,
        AgentEvent::ProviderItem(_) => 29,
        AgentEvent::Retry(_) => 30,
        AgentEvent::Failover(_) => 31,
        AgentEvent::Custom(_) => 32,
        AgentEvent::Unknown(_) => 33,
    }
}

/// The events of requests for approval, of calls at the client, and of questions of tools.
fn approvals() -> Vec<AgentEvent> {
    let text = Text::from;
    vec![
        AgentEvent::ToolApprovalRequest(Box::new(
            ApprovalRequest::new("5f1c", "call_0", "f", Json::parse(r#"{"b":1.50}"#).unwrap())
                .preview(Preview::diff("-a\n+b\n")),
        )),
        AgentEvent::ToolApprovalRequest(Box::new(ApprovalRequest::new(
            "5f1d",
            "call_1",
            "g",
            Json::parse("{}").unwrap(),
        ))),
        AgentEvent::ToolApprovalGranted(ToolApprovalEvent::new(
            text("5f1c"),
            text("call_0"),
            text("f"),
        )),
        AgentEvent::ToolApprovalRejected(
            ToolApprovalRejectedEvent::new(text("5f1c"), text("call_0"), text("f"))
                .reason("not that"),
        ),
        AgentEvent::ToolApprovalTimeout(ToolApprovalEvent::new(
            text("5f1c"),
            text("call_0"),
            text("f"),
        )),
        AgentEvent::ToolApprovalCancelled(ToolApprovalEvent::new(
            text("5f1c"),
            text("call_0"),
            text("f"),
        )),
        AgentEvent::ClientToolRequest(Box::new(ClientToolRequest::new(
            "77aa",
            "call_0",
            "f",
            Json::parse(r#"{"b":1.50}"#).unwrap(),
        ))),
        AgentEvent::ClientToolCancelled(ClientToolCancelledEvent::new(
            text("77aa"),
            text("call_0"),
            text("f"),
        )),
        AgentEvent::ToolQuestion(Box::new(
            ToolQuestion::new("9c1e", "call_0", "f", "Who?").schema(
                Json::parse(
                    r#"{"type":"object","properties":{"n":{"type":"number","maximum":1.50}}}"#,
                )
                .unwrap(),
            ),
        )),
        AgentEvent::ToolQuestion(Box::new(
            ToolQuestion::new("9c1f", "call_0", "f", "Open it.").url("https://a/b"),
        )),
        AgentEvent::ToolQuestionEnd(ToolQuestionEndEvent::new(
            text("9c1e"),
            text("call_0"),
            text("f"),
            QuestionEnd::Declined,
        )),
    ]
}

fn samples() -> Vec<AgentEvent> {
    let text = Text::from;
    let call_end = |outcome, repairs| {
        AgentEvent::ToolCallEnd(
            ToolCallEndEvent::new(0, outcome).tool_name(text("f")).repairs(repairs),
        )
    };
    let usage = UsageInfo { input_tokens: Some(1), output_tokens: Some(2), ..UsageInfo::default() };
    let duration_ms = 3;
    let item = |kind| {
        let raw = Json::parse(r#"{"type":"block"}"#).unwrap();
        AgentEvent::ProviderItem(ProviderItem::new("anthropic", kind, raw))
    };
    let mut samples = vec![
        AgentEvent::ThinkingStart,
        AgentEvent::ThinkingContent(ThinkingContentEvent::new(text("a"))),
        AgentEvent::ThinkingEnd,
        AgentEvent::MessageStart,
        AgentEvent::MessageContent(MessageContentEvent::new(text("a\n\"日\""))),
        AgentEvent::MessageContent(MessageContentEvent::new(text("no")).refusal(true)),
        AgentEvent::MessageEnd,
        AgentEvent::ToolCallStart(ToolCallStartEvent::new(0, text("call_0")).tool_name(text("f"))),
        AgentEvent::ToolCallStart(ToolCallStartEvent::new(1, text("call_1"))),
        AgentEvent::ToolCallContent(ToolCallContentEvent::new(0, text("<a/>"), text("{}"))),
        call_end(CallOutcome::Complete, vec![]),
        call_end(CallOutcome::Incomplete, vec![Repair::Fence]),
        call_end(CallOutcome::Malformed { reason: text("why"), offset: 17 }, vec![]),
        AgentEvent::Error(
            ErrorEvent::new(AgentError::new(ErrorCode::EndedEarly, "the response ended early"))
                .partial(true),
        ),
        AgentEvent::ApiCallStart(ApiCallStartEvent::new(text("openai"), text("m"))),
        AgentEvent::ApiCallEnd(ApiCallEndEvent::new(duration_ms)),
        AgentEvent::TokenUsage(TokenUsageEvent::new(usage)),
        AgentEvent::ToolCall(ToolCallEvent::new(
            text("call_0"),
            text("f"),
            Json::parse(r#"{"b":1.5,"a":[]}"#).unwrap(),
        )),
        AgentEvent::ToolOutput(ToolOutputEvent::new(text("call_0"), text("f"), "1\n")),
        AgentEvent::ToolResult(
            ToolResultEvent::new(text("call_0"), text("f"), "4").duration_ms(duration_ms),
        ),
        AgentEvent::ToolResultError(
            ToolResultEvent::new(text("call_0"), text("f"), "no").duration_ms(duration_ms),
        ),
    ];
    samples.extend(approvals());
    samples.extend([
        AgentEvent::NoToolCall,
        AgentEvent::UpdateBusy(UpdateBusyEvent::new(true)),
        AgentEvent::TurnEnd,
        item(ItemKind::Citation(Citation {
            url: Some(text("https://a/b")),
            cited_text: Some("c".to_owned()),
            ..Citation::default()
        })),
        item(ItemKind::ServerToolCall {
            call_id: text("s1"),
            tool_name: text("web_search"),
            arguments: Json::parse(r#"{"query":"q"}"#).unwrap(),
        }),
        item(ItemKind::ServerToolResult {
            call_id: text("s1"),
            tool_name: text("web_search"),
            is_error: false,
        }),
        item(ItemKind::Reasoning),
        item(ItemKind::Media { media_type: text("image/png") }),
        item(ItemKind::Other { name: text("compaction") }),
        AgentEvent::Retry(
            RetryEvent::new(
                1,
                3,
                AgentError::new(ErrorCode::Overloaded, "at capacity").retryable(true),
            )
            .delay_ms(500),
        ),
        AgentEvent::Failover(
            FailoverEvent::new(text("anthropic"), text("openai"), text("m"))
                .position(1)
                .length(1)
                .reason("the server answered 503: down"),
        ),
        AgentEvent::Custom(CustomEvent::new(text("progress"), json!({"percent": 50}))),
        serde_json::from_value(json!({"type": "of_a_later_version", "n": 1})).unwrap(),
    ]);
    samples
}

#[test]
fn wire_names_are_those_of_the_golden_file() {
    let samples = samples();
    let mut places: Vec<_> = samples.iter().map(place).collect();
    places.dedup();
    assert!(places.into_iter().eq(0..=33), "each kind has a sample, in order");
    let mut lines: Vec<_> = samples.iter().map(|it| serde_json::to_string(it).unwrap()).collect();
    let envelope = Envelope::new("run".into(), 1, 2, 3, AgentEvent::TurnEnd);
    lines.push(serde_json::to_string(&envelope).unwrap());
    let wire = lines.join("\n") + "\n";
    if std::env::var_os("FORGELINE_WRITE_GOLDEN").is_some() {
        std::fs::write(GOLDEN, &wire).unwrap();
    }
    let golden = std::fs::read_to_string(GOLDEN).unwrap();
    assert_eq!(wire, golden, "a changed name breaks readers: argue it in the changelog");
    for (event, line) in samples.iter().zip(golden.lines()) {
        assert_eq!(&serde_json::from_str::<AgentEvent>(line).unwrap(), event);
        assert!(line.contains(&format!(r#""type":"{}""#, event.kind())), "{line}");
    }
}

#[test]
fn numbers_keep_their_spelling_through_tags_and_flattened_fields() {
    fn again<T: serde::Serialize + serde::de::DeserializeOwned>(json: &str) -> String {
        serde_json::to_string(&serde_json::from_str::<T>(json).unwrap()).unwrap()
    }
    let numbers = r#"{"a":[1.50,-0,1e400,12345678901234567890123],"b":{"c":1.0},"d":2}"#;
    let call = format!(
        r#""index":0,"id":"c","name":"f","server_name":null,"arguments_raw":"","arguments":{numbers},"outcome":"complete","reason":null,"offset":null,"repairs":[]"#
    );
    let item = format!(r#""protocol":"anthropic","kind":"reasoning","raw":{numbers}"#);
    let asked = format!(
        r#""protocol":"anthropic","kind":"server_tool_call","id":"s","tool_name":"w","arguments":{numbers},"raw":{numbers}"#
    );
    let event = format!(r#""type":"tool_call","id":"c","tool_name":"f","arguments":{numbers}"#);
    let cases = [
        ("an event", format!("{{{event}}}"), again::<AgentEvent> as fn(&str) -> String),
        (
            "an envelope",
            format!(r#"{{"run_id":"r","turn":1,"seq":2,"at":3,{event}}}"#),
            again::<Envelope>,
        ),
        ("an item's event", format!(r#"{{"type":"provider_item",{asked}}}"#), again::<AgentEvent>),
        ("an item", format!("{{{item}}}"), again::<ProviderItem>),
        ("an item's call", format!("{{{asked}}}"), again::<ProviderItem>),
        ("a call", format!("{{{call}}}"), again::<ToolCall>),
        (
            "a message",
            format!(
                r#"{{"role":"assistant","parts":[{{"type":"tool_call",{call}}},{{"type":"provider_item",{asked}}}]}}"#
            ),
            again::<Message>,
        ),
    ];
    for (name, json, again) in cases {
        assert_eq!(again(&json), json, "{name}");
    }
    // Values that are not kept as text have machine numbers.
    let custom = r#"{"type":"custom","name":"n","data":{"a":1.50,"b":[1]}}"#;
    let event: AgentEvent = serde_json::from_str(custom).unwrap();
    let AgentEvent::Custom(CustomEvent { data, .. }) = event else { panic!("{event:?}") };
    assert_eq!(data, json!({"a": 1.5, "b": [1]}));
}

/// The size before the payloads had types.
const EVENT_SIZE: usize = 160;

#[test]
fn an_event_is_not_larger_than_before_its_payloads_had_types() {
    assert!(size_of::<AgentEvent>() <= EVENT_SIZE, "{} bytes", size_of::<AgentEvent>());
}
