#![expect(clippy::wildcard_enum_match_arm, reason = "an example names only what it shows")]
#![expect(clippy::print_stdout, reason = "an example: it prints what it reads")]
//! A dialect that no model has yet: described, read while it streams, and tested at every cut.
use forgeline::{
    agent::core::StreamEnd,
    llm::parser::{CallForm, DialectError, PayloadGrammar, ToolDialect},
    prelude::*,
    types::{PartialCalls, ToolCallContentEvent, ToolCallEndEvent},
};

/// What the model wrote; in its second call it tells how a call ends.
const ANSWER: &str = "I note both. \
    §§do note <- {\"text\": \"caf\\u00e9 at nine\", \"tags\": [\"date\"]}§§done \
    §§do note <- {\"text\": \"a call ends with §§done\"}§§done Noted.";

const NAME_ARROW_JSON: PayloadGrammar = PayloadGrammar::name_then_json("<-");

fn dialect() -> Result<ToolDialect, DialectError> {
    ToolDialect::builder("sections")
        .example("§§do NAME <- {\"KEY\": \"VALUE\"}§§done")
        .calls(&[CallForm::new("§§do ", "§§done", NAME_ARROW_JSON)])
        .build()
}

/// Reads an answer in pieces. An agent does the same with what its provider streams, once it is built
/// with `.call_mode(CallMode::Text).tool_dialect(dialect()?)`; it shows the model the example.
fn read<'a>(
    dialect: ToolDialect,
    pieces: impl IntoIterator<Item = &'a str>,
    mut on_event: impl FnMut(AgentEvent),
) -> Completion {
    let mut machine = StreamMachine::new(&StreamOptions::default().tools(dialect));
    for piece in pieces {
        if machine.chunk(StreamChunk::message(piece), &mut on_event).is_break() {
            break;
        }
    }
    machine.finish(StreamEnd::Done, &mut on_event)
}

fn main() -> Result<(), DialectError> {
    let mut calls = PartialCalls::default();
    let on_event = |event: AgentEvent| {
        calls.event(&event);
        match event {
            AgentEvent::MessageContent(MessageContentEvent { content, .. }) => {
                println!("text    {content:?}");
            }
            AgentEvent::ToolCallContent(ToolCallContentEvent { index, .. }) => {
                // The value so far: whole JSON at any time, while a string in it may still grow.
                let call = calls.get(index);
                if let Some(value) = call.and_then(|call| call.arguments.value()) {
                    println!("call {index}  {value}");
                }
            }
            AgentEvent::ToolCallEnd(ToolCallEndEvent { index, outcome, .. }) => {
                println!("call {index}  {outcome:?}");
            }
            _ => {}
        }
    };
    // A server cuts the text where it likes.
    let pieces = ANSWER.split_inclusive(['o', 't', 'e', '§']);
    for call in read(dialect()?, pieces, on_event).tool_calls {
        println!("run     {} {}", call.name, call.arguments_raw);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calls_are_the_same_at_every_cut() {
        let whole = read(dialect().unwrap(), [ANSWER], |_| {});
        let arguments: Vec<_> = whole.tool_calls.iter().map(|call| &*call.arguments_raw).collect();
        assert_eq!(
            arguments,
            [
                r#"{"text": "caf\u00e9 at nine", "tags": ["date"]}"#,
                r#"{"text": "a call ends with §§done"}"#
            ]
        );
        for (cut, _) in ANSWER.char_indices() {
            let (head, tail) = ANSWER.split_at(cut);
            assert_eq!(read(dialect().unwrap(), [head, tail], |_| {}), whole, "cut at {cut}");
        }
        main().unwrap();
    }
}
