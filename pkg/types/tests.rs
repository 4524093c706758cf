//! The wire form of the shared types is pinned by `testdata/golden/events.jsonl`.

use serde_json::json;

use super::{
    AgentError, AgentEvent, ApprovalRequest, CallOutcome, Citation, ClientToolRequest, Envelope,
    ErrorCode, ItemKind, Json, Message, Preview, ProviderItem, QuestionEnd, Repair, Text, ToolCall,
    ToolQuestion, UsageInfo,
};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/events.jsonl");

/// The index of a kind among the samples: a new variant does not compile without a sample.
fn place(event: &AgentEvent) -> usize {
    match event {
        AgentEvent::ThinkingStart => 0,
        AgentEvent::ThinkingContent { .. } => 1,
        AgentEvent::ThinkingEnd => 2,
        AgentEvent::MessageStart => 3,
        AgentEvent::MessageContent { .. } => 4,
        AgentEvent::MessageEnd => 5,
        AgentEvent::ToolCallStart { .. } => 6,
        AgentEvent::ToolCallContent { .. } => 7,
        AgentEvent::ToolCallEnd { .. } => 8,
        AgentEvent::Error { .. } => 9,
        AgentEvent::ApiCallStart { .. } => 10,
        AgentEvent::ApiCallEnd { .. } => 11,
        AgentEvent::TokenUsage { .. } => 12,
        AgentEvent::ToolCall { .. } => 13,
        AgentEvent::ToolOutput { .. } => 14,
        AgentEvent::ToolResult { .. } => 15,
        AgentEvent::ToolResultError { .. } => 16,
        AgentEvent::ToolApprovalRequest(_) => 17,
        AgentEvent::ToolApprovalGranted { .. } => 18,
        AgentEvent::ToolApprovalRejected { .. } => 19,
        AgentEvent::ToolApprovalTimeout { .. } => 20,
        AgentEvent::ToolApprovalCancelled { .. } => 21,
        AgentEvent::ClientToolRequest(_) => 22,
        AgentEvent::ClientToolCancelled { .. } => 23,
        AgentEvent::ToolQuestion(_) => 24,
        AgentEvent::ToolQuestionEnd { .. } => 25,
        AgentEvent::NoToolCall => 26,
        AgentEvent::UpdateBusy { .. } => 27,
        AgentEvent::TurnEnd => 28,
        AgentEvent::ProviderItem(_) => 29,
        AgentEvent::Retry { .. } => 30,
        AgentEvent::Failover { .. } => 31,
        AgentEvent::Custom { .. } => 32,
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
        AgentEvent::ToolApprovalGranted {
            approval_id: text("5f1c"),
            id: text("call_0"),
            tool_name: text("f"),
        },
        AgentEvent::ToolApprovalRejected {
            approval_id: text("5f1c"),
            id: text("call_0"),
            tool_name: text("f"),
            reason: "not that".to_owned(),
        },
        AgentEvent::ToolApprovalTimeout {
            approval_id: text("5f1c"),
            id: text("call_0"),
            tool_name: text("f"),
        },
        AgentEvent::ToolApprovalCancelled {
            approval_id: text("5f1c"),
            id: text("call_0"),
            tool_name: text("f"),
        },
        AgentEvent::ClientToolRequest(Box::new(ClientToolRequest::new(
            "77aa",
            "call_0",
            "f",
            Json::parse(r#"{"b":1.50}"#).unwrap(),
        ))),
        AgentEvent::ClientToolCancelled {
            client_call_id: text("77aa"),
            id: text("call_0"),
            tool_name: text("f"),
        },
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
        AgentEvent::ToolQuestionEnd {
            question_id: text("9c1e"),
            id: text("call_0"),
            tool_name: text("f"),
            end: QuestionEnd::Declined,
        },
    ]
}

fn samples() -> Vec<AgentEvent> {
    let text = Text::from;
    let call_end = |outcome, repairs| AgentEvent::ToolCallEnd {
        index: 0,
        tool_name: Some(text("f")),
        outcome,
        repairs,
    };
    let usage = UsageInfo { input_tokens: Some(1), output_tokens: Some(2), ..UsageInfo::default() };
    let duration_ms = 3;
    let item = |kind| {
        let raw = Json::parse(r#"{"type":"block"}"#).unwrap();
        AgentEvent::ProviderItem(ProviderItem::new("anthropic", kind, raw))
    };
    let mut samples = vec![
        AgentEvent::ThinkingStart,
        AgentEvent::ThinkingContent { content: text("a") },
        AgentEvent::ThinkingEnd,
        AgentEvent::MessageStart,
        AgentEvent::MessageContent { content: text("a\n\"日\""), refusal: false },
        AgentEvent::MessageContent { content: text("no"), refusal: true },
        AgentEvent::MessageEnd,
        AgentEvent::ToolCallStart { index: 0, id: text("call_0"), tool_name: Some(text("f")) },
        AgentEvent::ToolCallStart { index: 1, id: text("call_1"), tool_name: None },
        AgentEvent::ToolCallContent { index: 0, content: text("<a/>"), arguments: text("{}") },
        call_end(CallOutcome::Complete, vec![]),
        call_end(CallOutcome::Incomplete, vec![Repair::Fence]),
        call_end(CallOutcome::Malformed { reason: text("why"), offset: 17 }, vec![]),
        AgentEvent::Error {
            error: AgentError::new(ErrorCode::EndedEarly, "the response ended early"),
            partial: true,
        },
        AgentEvent::ApiCallStart { provider: text("openai"), model: text("m") },
        AgentEvent::ApiCallEnd { duration_ms, first_token_ms: None },
        AgentEvent::TokenUsage { usage },
        AgentEvent::ToolCall {
            id: text("call_0"),
            tool_name: text("f"),
            arguments: Json::parse(r#"{"b":1.5,"a":[]}"#).unwrap(),
            repairs: Vec::new(),
        },
        AgentEvent::ToolOutput {
            id: text("call_0"),
            tool_name: text("f"),
            content: "1\n".to_owned(),
        },
        AgentEvent::ToolResult {
            id: text("call_0"),
            tool_name: text("f"),
            content: "4".to_owned(),
            duration_ms,
        },
        AgentEvent::ToolResultError {
            id: text("call_0"),
            tool_name: text("f"),
            content: "no".to_owned(),
            duration_ms,
        },
    ];
    samples.extend(approvals());
    samples.extend([
        AgentEvent::NoToolCall,
        AgentEvent::UpdateBusy { busy: true },
        AgentEvent::TurnEnd,
        item(ItemKind::Citation(Citation {
            url: Some(text("https://a/b")),
            cited_text: Some("c".to_owned()),
            ..Citation::default()
        })),
        item(ItemKind::ServerToolCall {
            id: text("s1"),
            tool_name: text("web_search"),
            arguments: Json::parse(r#"{"query":"q"}"#).unwrap(),
        }),
        item(ItemKind::ServerToolResult {
            id: text("s1"),
            tool_name: text("web_search"),
            is_error: false,
        }),
        item(ItemKind::Reasoning),
        item(ItemKind::Media { media_type: text("image/png") }),
        item(ItemKind::Other { name: text("compaction") }),
        AgentEvent::Retry {
            attempt: 1,
            max_attempts: 3,
            delay_ms: 500,
            error: AgentError::new(ErrorCode::Overloaded, "at capacity").retryable(true),
        },
        AgentEvent::Failover {
            from_provider: text("anthropic"),
            to_provider: text("openai"),
            to_model: text("m"),
            position: 1,
            length: 1,
            reason: "the server answered 503: down".to_owned(),
        },
        AgentEvent::Custom { name: text("progress"), data: json!({"percent": 50}) },
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
    let AgentEvent::Custom { data, .. } = event else { panic!("{event:?}") };
    assert_eq!(data, json!({"a": 1.5, "b": [1]}));
}
