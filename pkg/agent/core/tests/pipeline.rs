//! The pipeline of one object: bytes cut anywhere give the same events.

use serde_json::json;

use super::families::families;
use crate::TextPipeline;
use forgeline_parser::{Dialect, ThinkingDialect, ToolDialect};
use forgeline_types::{
    AgentEvent, CallOutcome, Completion, ErrorCode, FinishReason, MessageContentEvent, Text,
    ThinkingContentEvent, ToolCallContentEvent,
};

/// The events with adjacent deltas of one kind joined, and the completion.
type Run = (Vec<String>, Completion);

fn run<'a>(mut pipeline: TextPipeline, pieces: impl IntoIterator<Item = &'a [u8]>) -> Run {
    let (mut lines, mut last) = (Vec::<String>::new(), String::new());
    let mut emit = |event: AgentEvent| {
        let (kind, delta) = match &event {
            AgentEvent::MessageContent(MessageContentEvent { content, .. }) => {
                ("M", content.as_str())
            }
            AgentEvent::ThinkingContent(ThinkingContentEvent { content, .. }) => {
                ("T", content.as_str())
            }
            AgentEvent::ToolCallContent(ToolCallContentEvent {
                index, content, arguments, ..
            }) => {
                // Both strings grow on their own: one line for the call, joined by the completion.
                let _ = (index, content);
                ("C", arguments.as_str())
            }
            _ => ("", ""),
        };
        if kind.is_empty() {
            lines.push(serde_json::to_string(&event).unwrap());
        } else if last == kind {
            lines.last_mut().unwrap().push_str(delta);
        } else {
            lines.push(format!("{kind}:{delta}"));
        }
        kind.clone_into(&mut last);
    };
    for piece in pieces {
        pipeline.push_bytes(piece, &mut emit);
    }
    let completion = pipeline.finish(emit);
    (lines, completion)
}

fn at_every_cut(name: &str, bytes: &[u8], pipeline: impl Fn() -> TextPipeline) -> Run {
    let whole = run(pipeline(), [bytes]);
    for at in 0..=bytes.len() {
        let (head, tail) = bytes.split_at(at);
        assert_eq!(run(pipeline(), [head, tail]), whole, "{name}: cut at byte {at}");
    }
    assert_eq!(run(pipeline(), bytes.chunks(1)), whole, "{name}: byte by byte");
    whole
}

#[test]
fn every_dialect_reads_the_same_at_every_cut() {
    for family in families() {
        let dialect = {
            let mut it = Dialect::default();
            it.tools = family.dialect();
            it
        };
        let text = format!("<think>é日🦀</think>{}", family.example());
        let name = family.name;
        let (_, completion) =
            at_every_cut(name, text.as_bytes(), || TextPipeline::new(dialect.clone()));
        assert_eq!(completion.thinking, "é日🦀", "{name}");
        let [call] = completion.tool_calls.as_slice() else { panic!("{name}: {completion:?}") };
        assert_eq!((call.name.as_str(), call.is_complete()), ("calculator", true), "{name}");
        assert!(completion.complete && completion.error.is_none(), "{name}");
    }
}

#[test]
fn bytes_that_are_not_utf8_are_replaced_at_every_cut() {
    #[rustfmt::skip]
    let cases: [(&str, &[u8]); 6] = [
        ("stray continuation",  b"a\x80b <think>c\x80</think>"),
        ("overlong",            b"<tool>{\"tool_name\":\"f\",\"arguments\":{\"a\":\"\xc0\xaf\"}}</tool>"),
        ("surrogate",           b"\xed\xa0\x80<think>\xed\xa0\x80"),
        ("cut in a marker",     b"<thi\xe6\x97nk>x</think>"),
        ("cut at the end",      b"x\xf0\x9f\xa6"),
        ("lead after lead",     b"\xe6\xe6\x97\xa5<tool>"),
    ];
    for (name, bytes) in cases {
        let got = at_every_cut(name, bytes, || TextPipeline::new(Dialect::default()));
        let text = String::from_utf8_lossy(bytes);
        assert_eq!(got, run(TextPipeline::new(Dialect::default()), [text.as_bytes()]), "{name}");
        assert_ne!(text.as_bytes(), bytes, "{name}");
    }
}

#[test]
fn settings_decide_about_types_starts_and_ends() {
    let schema = json!({"properties": {"n": {"type": "string"}, "m": {"type": "integer"}}});
    let call = b"<tool_call>\n<function=f>\n<parameter=n>\n07\n</parameter>\n<parameter=m>\n7\n\
        </parameter>\n</function>\n</tool_call>";
    let coder = || TextPipeline::for_model("Qwen/Qwen3-Coder-30B");
    let typed = || coder().schemas([(Text::from("f"), schema.clone())]);
    let (_, completion) = at_every_cut("schema", call, typed);
    let arguments = completion.tool_calls[0].arguments.as_ref().unwrap();
    assert_eq!(arguments.as_str(), r#"{"n":"07","m":7}"#);

    let r1 = || TextPipeline::for_model("DeepSeek-R1");
    let (_, completion) = at_every_cut("inside", b"a</think>b", r1);
    assert_eq!((completion.thinking.as_str(), completion.text.as_str()), ("a", "b"));
    let (_, completion) = run(r1(), [&b"a"[..]]);
    assert!(!completion.complete, "reasoning is open");

    let (thinking, tools) = (ThinkingDialect::THINK, ToolDialect::FORGE);
    let dialect = {
        let mut it = Dialect::default();
        it.thinking = thinking;
        it.tools = tools;
        it.starts_inside = false;
        it
    };
    let tail = || TextPipeline::new(dialect.clone()).prompt_tail("<|assistant|><think>\n");
    let (_, completion) = at_every_cut("prompt", b"a</think>b", tail);
    assert_eq!((completion.thinking.as_str(), completion.text.as_str()), ("a", "b"));

    let open = b"<tool>{\"tool_name\":\"f\",\"arguments\":{}}";
    let forge = || TextPipeline::new(dialect.clone());
    let (_, completion) = at_every_cut("closed implicitly", open, forge);
    assert_eq!(completion.tool_calls[0].outcome, CallOutcome::Complete);
    let cut = || forge().finish_reason(FinishReason::Length);
    let (_, completion) = at_every_cut("cut", open, cut);
    assert_eq!(completion.tool_calls[0].outcome, CallOutcome::Incomplete);
    assert!(!completion.complete);

    let (_, completion) = run(forge().max_call_bytes(8), [&open[..], b"</tool>after"]);
    assert_eq!(completion.error.map(|error| error.code), Some(ErrorCode::Decode));
    assert_eq!(completion.text, "");
    assert_eq!(run(forge(), []).1.text, "");
}
