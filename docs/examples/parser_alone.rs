#![expect(clippy::print_stdout, reason = "an example: it prints what it reads")]
#![expect(clippy::wildcard_enum_match_arm, reason = "an example names only what it shows")]
//! The parser alone, without a runtime or HTTP: the text of a local model, cut anywhere, becomes thinking, answer and calls. Also builds for
//! `wasm32-unknown-unknown`.

use std::io::{self, Read as _};

use forgeline::{TextPipeline, prelude::*};

/// Reads what the model writes, as it arrives in `pieces`.
fn read<P: AsRef<[u8]>>(
    model: &str,
    pieces: impl IntoIterator<Item = io::Result<P>>,
    mut on_event: impl FnMut(&AgentEvent),
) -> io::Result<Completion> {
    let mut pipeline = TextPipeline::for_model(model);
    for piece in pieces {
        pipeline.push_bytes(piece?.as_ref(), |event| on_event(&event));
    }
    Ok(pipeline.finish(|event| on_event(&event)))
}

/// Such as `ollama run qwen3 … | cargo run --example parser_alone`.
fn main() -> io::Result<()> {
    let mut input = io::stdin();
    let pieces = std::iter::from_fn(|| {
        let mut buffer = vec![0; 1024];
        match input.read(&mut buffer) {
            Ok(0) => None,
            Ok(length) => Some(Ok(buffer[..length].to_vec())),
            Err(error) => Some(Err(error)),
        }
    });
    let completion = read("qwen3", pieces, |event| match event {
        AgentEvent::ThinkingContent(event) => println!("thinking  {:?}", event.content),
        AgentEvent::MessageContent(event) => println!("text      {:?}", event.content),
        AgentEvent::ToolCallStart(event) => println!("call      {:?}", event.tool_name),
        _ => {}
    })?;
    for call in completion.tool_calls {
        println!("run       {} {}", call.name, call.arguments_raw);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use forgeline::types::CallOutcome;

    use super::*;

    const ANSWER: &str = "<think>\nThe user wants the café's hours.\n</think>\n\nA moment… \
        <tool_call>{\"name\": \"hours\", \"arguments\": {\"of\": \"café\"}}</tool_call>";

    /// Returns the answer, and the content of its events, by kind.
    fn content(pieces: &[&[u8]]) -> (Completion, [String; 2]) {
        let mut content = [String::new(), String::new()];
        let completion = read("qwen3", pieces.iter().map(Ok), |event| match event {
            AgentEvent::ThinkingContent(event) => content[0].push_str(&event.content),
            AgentEvent::MessageContent(event) => content[1].push_str(&event.content),
            _ => {}
        });
        (completion.unwrap(), content)
    }

    #[test]
    fn an_answer_is_read_alike_at_every_cut() {
        let whole = content(&[ANSWER.as_bytes()]);
        assert!(whole.1[0].contains("the café's hours"), "{whole:?}");
        assert_eq!(whole.1[1], "A moment… ");
        assert_eq!(whole.0.tool_calls[0].arguments_raw.as_str(), r#"{"of": "café"}"#);
        // Also inside a character.
        for cut in 0..ANSWER.len() {
            let (head, tail) = ANSWER.as_bytes().split_at(cut);
            assert_eq!(content(&[head, tail]), whole, "cut at {cut}");
        }
    }

    #[test]
    fn a_call_that_is_cut_off_is_not_one_to_run() {
        let (completion, _) = content(&[ANSWER.split_at(ANSWER.len() - 14).0.as_bytes()]);
        let whole = completion.tool_calls.iter().filter(|it| it.outcome == CallOutcome::Complete);
        assert_eq!(whole.count(), 0, "{completion:?}");
    }
}
