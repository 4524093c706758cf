//! The assistant's message of one response.

use crate::{memory::readable, prompts::render_call, setup::push_text};
use forgeline_types::{Message, MessageRole, Part};

/// Returns the message to keep of an answer with these parts; `None` when the answer is empty: items that only the provider
/// can read are not an answer, unless it has paused and continues once it gets them back.
///
/// In text mode the text is kept as the model wrote it, calls included: in the next turn the model
/// reads its own output unchanged, and the request begins with the same bytes as the previous one.
pub(super) fn message(parts: Vec<Part>, native: bool, is_paused: bool) -> Option<Message> {
    let mut kept = Vec::with_capacity(parts.len());
    let mut says_something = false;
    for part in parts {
        says_something |= part.is_answer() || (is_paused && matches!(part, Part::ProviderItem(_)));
        match part {
            Part::Text { text } => push_text(&mut kept, &text),
            Part::ToolCall(call) if native => kept.push(Part::ToolCall(readable(call))),
            Part::ToolCall(call) => push_call(&mut kept, &render_call(&call)),
            part @ (Part::Thinking { .. }
            | Part::ToolResult(_)
            | Part::ProviderItem(_)
            | Part::Image { .. }
            | Part::Document { .. }
            | _) => kept.push(part),
        }
    }
    says_something.then(|| Message::new(MessageRole::Assistant, kept))
}

/// Appends a call on separate lines.
fn push_call(parts: &mut Vec<Part>, call: &str) {
    if let Some(Part::Text { text }) = parts.last_mut()
        && !text.ends_with('\n')
    {
        text.push('\n');
    }
    push_text(parts, call);
    push_text(parts, "\n");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use forgeline_core::{StreamEnd, StreamMachine, StreamOptions};
    use forgeline_llm::{StreamChunk, ToolCallDelta};
    use forgeline_types::{FinishReason, private::KeptContent};

    /// Runs the chunks of an answer through the machine.
    fn kept(native: bool, chunks: Vec<StreamChunk>) -> Option<Message> {
        let keep = if native { KeptContent::Parts } else { KeptContent::Verbatim };
        let mut machine = StreamMachine::keeping(&StreamOptions::default(), keep);
        for chunk in chunks {
            assert!(machine.chunk(chunk, &mut |_| {}).is_continue());
        }
        message(machine.finish(StreamEnd::Done, &mut |_| {}).parts, native, false)
    }

    fn call(index: u32, arguments: &str) -> StreamChunk {
        let name = ["add", "echo"][index as usize];
        let delta = ToolCallDelta::new(index).name(name).arguments(arguments);
        StreamChunk::calls(vec![delta])
    }

    #[test]
    fn a_message_keeps_the_order_of_the_response() {
        let message = kept(
            true,
            vec![
                StreamChunk::thinking("Hm."),
                StreamChunk::message("One "),
                StreamChunk::message("moment."),
                call(0, "{\"a\":1}"),
                StreamChunk::message("And"),
                call(1, "{\"tool"),
            ],
        );
        let message = message.unwrap();
        let kinds = message.parts.iter().map(|part| serde_json::to_value(part).unwrap());
        let kinds: Vec<_> = kinds.collect();
        let kinds: Vec<_> = kinds.iter().map(|part| part["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["thinking", "text", "tool_call", "text", "tool_call"]);
        assert_eq!(message.text(), "One moment.And");
        let arguments: Vec<_> =
            message.tool_calls().map(|call| call.arguments.clone().unwrap().to_value()).collect();
        assert_eq!(arguments, [json!({ "a": 1 }), json!({})], "a cut call is kept without its own");
    }

    #[test]
    fn in_text_mode_the_message_is_what_the_model_wrote() {
        let chunks =
            ["Hm. See <to", "ol>{\"tool_name\": \"add\"}</tool>"].map(StreamChunk::message);
        let mut chunks = Vec::from(chunks);
        chunks.insert(0, StreamChunk::thinking("Hm."));
        let message = kept(false, chunks).unwrap();
        let want = "Hm. See <tool>{\"tool_name\": \"add\"}</tool>";
        assert_eq!((message.text().as_str(), message.parts.len()), (want, 2));

        let chunks = vec![
            StreamChunk::message("See"),
            call(0, "{\"a\":1}"),
            StreamChunk::end(FinishReason::ToolCalls),
        ];
        let want = "See\n<tool>\n{\"tool_name\": \"add\", \"arguments\": {\"a\":1}}\n</tool>\n";
        assert_eq!(kept(false, chunks).unwrap().text(), want);
    }

    #[test]
    fn an_answer_that_says_nothing_is_not_kept() {
        assert_eq!(kept(true, Vec::new()), None);
        assert_eq!(kept(true, vec![StreamChunk::thinking("Hm.")]), None);
        assert_eq!(kept(false, vec![StreamChunk::message(" \n")]), None);
        let message = kept(true, vec![call(0, "{\"a")]).unwrap();
        let calls: Vec<_> = message.tool_calls().collect();
        assert_eq!((calls.len(), calls[0].arguments_raw.as_str()), (1, "{}"));
    }
}
