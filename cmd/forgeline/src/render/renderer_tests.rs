use forgeline::types::{
    AgentError, ApiCallStartEvent, Citation, CustomEvent, ErrorCode, ErrorEvent, ItemKind, Json,
    MessageContentEvent, RetryEvent, ThinkingContentEvent, ToolCallContentEvent, ToolCallEndEvent,
    ToolCallStartEvent, ToolOutputEvent, ToolResultEvent,
};

use serde_json::{Value, json};

use super::*;

/// Returns the text without styles, as a pipe gets it.
fn plain(events: &[AgentEvent]) -> String {
    let mut renderer = EventRenderer::default();
    let shown: String = events.iter().map(|event| renderer.event(event)).collect();
    anstream::adapter::strip_str(&shown).to_string()
}

fn thinking(text: &str) -> AgentEvent {
    AgentEvent::ThinkingContent(ThinkingContentEvent::new(text))
}

fn message(text: &str) -> AgentEvent {
    AgentEvent::MessageContent(MessageContentEvent::new(text))
}

fn start(index: u32, name: &str) -> AgentEvent {
    let id = format!("call_{index}");
    AgentEvent::ToolCallStart(ToolCallStartEvent::new(index, id).tool_name(Text::from(name)))
}

fn arguments(index: u32, text: &str) -> AgentEvent {
    AgentEvent::ToolCallContent(ToolCallContentEvent::new(index, text, text))
}

fn end(index: u32, outcome: CallOutcome, repairs: &[Repair]) -> AgentEvent {
    AgentEvent::ToolCallEnd(ToolCallEndEvent::new(index, outcome).repairs(repairs.to_vec()))
}

fn output(text: &str) -> AgentEvent {
    AgentEvent::ToolOutput(ToolOutputEvent::new("call_0", "f", text))
}

fn result(index: u32, name: &str, content: &str) -> AgentEvent {
    let id = format!("call_{index}");
    AgentEvent::ToolResult(ToolResultEvent::new(id, name, content).duration_ms(1))
}

fn custom(name: &str, data: Value) -> AgentEvent {
    AgentEvent::Custom(CustomEvent::new(name, data))
}

#[test]
fn sections_stand_apart_and_read_well_without_colour() {
    let malformed = CallOutcome::malformed("no name", 3);
    let error = AgentError::new(ErrorCode::EndedEarly, "cut");
    #[rustfmt::skip]
    let cases = [
        ("message in pieces", vec![AgentEvent::MessageStart, message("Hel"), message("lo"), AgentEvent::MessageEnd],
            "Hello\n"),
        ("thinking, answer", vec![thinking("a\nb"), AgentEvent::ThinkingEnd, message("c"), AgentEvent::MessageEnd],
            "Thinking\n  a\n  b\n\nc\n"),
        ("call and result", vec![start(0, "sum"), arguments(0, "{\"a\""), arguments(0, ":1}"), end(0, CallOutcome::Complete, &[]), result(0, "sum", "1\n2")],
            "● sum {\"a\":1}\n  └ 1\n    2\n"),
        ("folded result", vec![start(0, "sum"), end(0, CallOutcome::Complete, &[]), result(0, "sum", "1\n2\n3\n4\n5\n6")],
            "● sum \n  └ 1\n    2\n    3\n    4\n    … (+2 lines)\n"),
        ("two results", vec![start(0, "f"), end(0, CallOutcome::Complete, &[]), start(1, "g"), end(1, CallOutcome::Complete, &[]), result(0, "f", "x"), result(1, "g", "")],
            "● f \n\n● g \n● f\n  └ x\n● g\n  └ (empty)\n"),
        ("interleaved calls", vec![start(0, "f"), arguments(0, "{"), start(1, "g"), arguments(1, "{}"), arguments(0, "}")],
            "● f {\n\n● g {}\n\n● f (continued) }"),
        ("message beside a call", vec![start(0, "f"), arguments(0, "{"), message("hm"), arguments(0, "}")],
            "● f {\n\nhm\n\n● f (continued) }"),
        ("cut and malformed", vec![start(0, "f"), end(0, CallOutcome::Incomplete, &[]), start(1, "g"), end(1, malformed, &[Repair::Comment])],
            "● f \n  ✗ cut off, so it was not run\n\n● g \n  ✗ cannot be parsed at byte 3 of the call: no name\n  repaired: comment\n"),
        ("error ends the line", vec![message("half"), AgentEvent::Error(ErrorEvent::new(error).partial(true))],
            "half\n"),
        ("output as it comes", vec![start(0, "f"), end(0, CallOutcome::Complete, &[]), output("a"), output("b\nc\n"), result(0, "f", "x")],
            "● f \n\n    ab\n    c\n  └ x\n"),
        ("what was said", vec![message("half"), custom("steered", json!({ "kind": "steer", "text": "a\nb" })), message("c")],
            "half\n  › a\n  b\n\nc"),
        ("what was not heard", vec![message("half"), custom("undelivered", json!({ "texts": ["a", "b"] }))],
            "half\n  the answer ended before this was delivered:\n  › a\n  › b\n"),
        ("escape codes", vec![message("\u{1b}[2J"), start(0, "\u{7}")],
            "\\x1b[2J\n\n● \\x07 "),
    ];
    for (name, events, want) in cases {
        assert_eq!(plain(&events), want, "{name}");
    }
}

/// F16: deltas of a few bytes had a pair of codes each, more than their text.
// Found: F16
#[test]
fn f16_pieces_of_one_text_share_one_pair_of_colour_codes() {
    let mut renderer = EventRenderer::default();
    let pieces = ["Six", " times", " seven.\n", "\nSo ", "42."].map(thinking);
    let ends = [AgentEvent::ThinkingEnd, message("4"), message("2")];
    let shown: String = pieces.iter().chain(&ends).map(|event| renderer.event(event)).collect();
    let want =
        "\u{1b}[2;3mThinking\n\u{1b}[0m\u{1b}[2m  Six times seven.\n\n  So 42.\u{1b}[0m\n\n42";
    assert_eq!(shown, want);
}

// Found: F16
#[test]
fn style_is_reset_before_a_possible_last_line() {
    for is_whole in [false, true] {
        let mut renderer = EventRenderer::new(is_whole);
        let asked = AgentEvent::ApiCallStart(ApiCallStartEvent::new("p", "m"));
        for event in [asked, result(0, "f", "x"), AgentEvent::NoToolCall] {
            renderer.event(&event);
            assert!(renderer.is_at_line_start(), "{event:?}");
        }
        assert!(renderer.footer("1 turn").ends_with("1 turn\n\u{1b}[0m"));
        renderer.event(&message("half"));
        assert_eq!(renderer.footer(""), "\n");
    }
}

#[test]
fn verbose_folds_nothing() {
    let (long, lines) = ("é".repeat(MAX_ARGUMENT_BYTES), "x\n".repeat(9));
    let mut renderer = EventRenderer::new(true);
    let events = [start(0, "f"), arguments(0, &long), end(0, CallOutcome::Complete, &[])];
    let shown: String = events.iter().map(|event| renderer.event(event)).collect();
    assert!(shown.contains(&long), "{shown}");
    assert_eq!(renderer.event(&result(0, "f", &lines)).matches('x').count(), 9);
}

#[test]
fn long_arguments_are_cut_once_and_counted() {
    let long = "é".repeat(MAX_ARGUMENT_BYTES);
    let events =
        [start(0, "f"), arguments(0, &long), arguments(0, "x"), end(0, CallOutcome::Complete, &[])];
    let want = format!(
        "● f {}\n  … (+{} bytes)\n",
        "é".repeat(MAX_ARGUMENT_BYTES / 2),
        MAX_ARGUMENT_BYTES + 1
    );
    assert_eq!(plain(&events), want);
}

#[test]
fn thinking_is_dimmed_and_a_message_is_not() {
    let mut renderer = EventRenderer::default();
    assert!(renderer.is_at_line_start());
    assert!(renderer.event(&thinking("x")).contains("\u{1b}[2m"));
    assert!(!renderer.is_at_line_start());
    assert_eq!(renderer.event(&AgentEvent::ThinkingEnd), "\u{1b}[0m\n");
    assert_eq!(renderer.event(&message("y")), "\ny");
}

fn item(kind: ItemKind) -> AgentEvent {
    AgentEvent::ProviderItem(ProviderItem::new("p", kind, Json::default()))
}

#[test]
fn notices_are_dim_lines_and_split_no_sentence() {
    let mut citation = Citation::default();
    citation.title = Some("T\nU".into());
    let source = item(ItemKind::Citation(citation));
    let answered = item(ItemKind::server_tool_result("1", "search", false));
    let retry = AgentEvent::Retry(
        RetryEvent::new(1, 3, AgentError::new(ErrorCode::Overloaded, "busy\u{1b}")).delay_ms(500),
    );
    #[rustfmt::skip]
    let cases = [
        ("sources",         vec![message("It is"), source.clone(), message(" so"), source.clone(), message("."), AgentEvent::MessageEnd],
            "It is so.\n  source: T U\n"),
        ("then a call",     vec![message("a"), source.clone(), start(0, "f")],
            "a\n  source: T U\n\n● f "),
        ("without message", vec![source.clone()],
            "  source: T U\n"),
        ("server tools",    vec![thinking("a"), AgentEvent::ThinkingEnd, answered, message("b")],
            "Thinking\n  a\n  search answered\n\nb"),
        ("hidden",          vec![message("a"), item(ItemKind::Reasoning), message("b")],
            "ab"),
        ("retry",           vec![retry, message("b")],
            "  attempt 2 of 3 in 0.5 s, the last failed: busy\\x1b\n\nb"),
    ];
    for (name, events, want) in cases {
        assert_eq!(plain(&events), want, "{name}");
    }
    let mut renderer = EventRenderer::default();
    let shown = renderer.event(&message("a")) + &renderer.event(&source) + &renderer.footer("end");
    assert_eq!(anstream::adapter::strip_str(&shown).to_string(), "a\n  source: T U\n\nend\n");
    assert!(shown.contains("\u{1b}[2m  source"));
}
