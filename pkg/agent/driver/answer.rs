//! The assistant's message of one response.

use crate::{
    memory::readable,
    prompts::render_call,
    setup::{WrittenThinking, push_text},
};
use forgeline_types::{Message, MessageRole, Part};

/// Returns the message to keep of an answer with these parts; `None` when the answer is empty: items that only the provider
/// can read are not an answer, unless it has paused and continues once it gets them back.
///
/// In text mode the text is kept as the model wrote it, calls included: in the next turn the model
/// reads its own output unchanged, and the request begins with the same bytes as the previous one.
pub(super) fn message(
    mut parts: Vec<Part>,
    native: bool,
    is_paused: bool,
    thinking: &WrittenThinking,
) -> Option<Message> {
    thinking.settle(&mut parts);
    let mut kept = Vec::with_capacity(parts.len());
    let mut says_something = false;
    for part in parts {
        says_something |= part.is_answer() || (is_paused && matches!(part, Part::ProviderItem(_)));
        match part {
            Part::Text { text, .. } => push_text(&mut kept, &text),
            Part::ToolCall(call) if native => kept.push(Part::ToolCall(readable(call))),
            Part::ToolCall(call) => push_call(&mut kept, &render_call(&call)),
            part @ (Part::Thinking { .. }
            | Part::Framing { .. }
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
    if let Some(Part::Text { text, .. }) = parts.last_mut()
        && !text.ends_with('\n')
    {
        text.push('\n');
    }
    push_text(parts, call);
    push_text(parts, "\n");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::config::KeepThinking;
    use forgeline_core::{StreamEnd, StreamMachine, StreamOptions};
    use forgeline_llm::{ContentTyper, StreamChunk, ToolCallDelta};
    use forgeline_parser::{Dialect, ThinkingDialect, ToolDialect};
    use forgeline_types::{FinishReason, private::KeptContent};

    /// Runs the chunks of an answer through the machine.
    fn kept(native: bool, chunks: Vec<StreamChunk>) -> Option<Message> {
        let keep = if native { KeptContent::Parts } else { KeptContent::Verbatim };
        let mut machine = StreamMachine::keeping(&StreamOptions::default(), keep);
        for chunk in chunks {
            assert!(machine.chunk(chunk, &mut |_| {}).is_continue());
        }
        let (tags, models) = (ThinkingDialect::THINK, Dialect::default());
        let thinking = WrittenThinking::new(Some(tags), &models, KeepThinking::Always);
        message(machine.finish(StreamEnd::Done, &mut |_| {}).parts, native, false, &thinking)
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

    /// Returns what the model reads of its own answer, which arrives in pieces of these lengths.
    fn goes_back(dialect: &ThinkingDialect, answer: &str, lengths: &[usize]) -> Option<String> {
        let mut typer = ContentTyper::new(dialect, &ToolDialect::AUTO);
        let options = StreamOptions::default().tools(ToolDialect::AUTO);
        let mut machine = StreamMachine::keeping(&options, KeptContent::Verbatim);
        let give = &mut |chunk| assert!(machine.chunk(chunk, &mut |_| {}).is_continue());
        let (mut rest, mut lengths) = (answer, lengths.iter().cycle());
        while !rest.is_empty() {
            let length =
                lengths.next().map_or(rest.len(), |length| rest.floor_char_boundary(*length));
            let (piece, behind) = rest.split_at(if length == 0 { rest.len() } else { length });
            typer.push(StreamChunk::message(piece), give);
            rest = behind;
        }
        typer.finish(give);
        let parts = machine.finish(StreamEnd::Done, &mut |_| {}).parts;
        let models = Dialect::default();
        let thinking = WrittenThinking::new(Some(dialect.clone()), &models, KeepThinking::Always);
        let message = message(parts, false, false, &thinking)?;
        // As a journal keeps it.
        let stored = serde_json::to_string(&message).unwrap();
        let stored: Message = serde_json::from_str(&stored).unwrap();
        assert_eq!(stored, message);
        let keeps = thinking.changes(&stored, || false);
        Some(if keeps { thinking.write(&stored) } else { stored }.text())
    }

    fn dialects() -> Vec<ThinkingDialect> {
        let own = [ThinkingDialect::tags(&["plan"])];
        let all = ThinkingDialect::all().into_iter().chain(own);
        all.filter(|dialect| dialect.write("").is_some()).collect()
    }

    // Rows: N-26
    #[test]
    fn reasoning_goes_back_as_it_was_written() {
        let answers = [
            "<think>plan</think>Look.",
            "<think>\nplan\n</think>\n\nLook.",
            "<think>\r\nplan\r\n</think>\r\nLook.",
            "\n\n<think> plan </think> Look.",
            "<think>\n\n</think>\n\nLook.",
            "<think></think>Look.",
            "<think>a</think>One.\n<think>b</think>\nTwo.",
            "plan</think>Look.",
            "<think>plan</think>\n<tool>{\"tool_name\":\"f\",\"arguments\":{}}</tool>\n",
        ];
        for answer in answers {
            for lengths in [&[0][..], &[1], &[3], &[7, 2]] {
                let back = goes_back(&ThinkingDialect::AUTO, answer, lengths);
                assert_eq!(back.as_deref(), Some(answer), "{lengths:?}");
            }
        }
    }

    #[test]
    fn reasoning_in_the_usual_form_is_kept_without_its_framing() {
        let think = |text: &str| {
            let mut typer = ContentTyper::new(&ThinkingDialect::THINK, &ToolDialect::NONE);
            let mut chunks = Vec::new();
            typer.push(StreamChunk::message(text), &mut |chunk| chunks.push(chunk));
            chunks
        };
        let parts = |native, text| {
            let parts = kept(native, think(text)).unwrap().parts;
            parts.iter().map(|part| format!("{part:?}")).collect::<Vec<_>>()
        };
        let usual = "<think>\nplan\n</think>\n\nLook.";
        let want = ["Thinking { text: \"plan\", signature: None }", "Text { text: \"Look.\" }"];
        assert_eq!(parts(false, usual), want);
        assert_eq!(parts(true, usual), want);
        assert_eq!(parts(true, "<think>plan</think>Look."), want, "calls are no text");
        assert_eq!(parts(false, "<think>plan</think>Look.").len(), 4);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_answer_goes_back_as_it_was_written(
            dialect in prop::sample::select(dialects()),
            pieces in prop::collection::vec(0..16_usize, 1..10),
            lengths in prop::collection::vec(1..12_usize, 1..6),
        ) {
            let usual = dialect.write("plan").unwrap();
            let (opener, closer) = usual.split_once("plan").unwrap();
            let words = [
                opener, closer, opener.trim(), closer.trim(), &usual, "\n", "\n\n", "\r\n", " ", "\t",
                "Look.", "a < b", "`x`", "é日", "<tool>{\"tool_name\":\"f\",\"arguments\":{}}</tool>", "<",
            ];
            let answer: String = pieces.iter().map(|at| words[*at]).collect();
            // What says nothing is not kept.
            if let Some(back) = goes_back(&dialect, &answer, &lengths) {
                prop_assert_eq!(back, answer, "{}", dialect);
            }
        }
    }
}
