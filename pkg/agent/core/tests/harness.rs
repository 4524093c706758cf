//! Runs text through both parsers and the machine, and checks what must hold on every path.

use crate::{StreamEnd, StreamMachine, StreamOptions};
use forgeline_llm::{ContentTyper, StreamChunk};
use forgeline_parser::{ThinkingDialect, ThinkingParser, ToolDialect};
use forgeline_types::{
    AgentEvent, Completion, FinishReason, MessageContentEvent, Repair, Text, ThinkingContentEvent,
    ToolCallContentEvent, ToolCallEndEvent, ToolCallStartEvent,
};

/// In a text, reasoning that the provider has typed.
pub(super) const NATIVE: char = '\u{E000}';

/// What to run a text through.
#[derive(Clone)]
pub(super) struct Setup {
    pub(super) thinking: ThinkingDialect,
    pub(super) options: StreamOptions,
    pub(super) finish: Option<FinishReason>,
    /// Whether the stream ends with its terminal marker.
    pub(super) is_finished: bool,
    pub(super) prompt: &'static str,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            thinking: ThinkingDialect::AUTO,
            options: StreamOptions::default().tools(ToolDialect::FORGE),
            finish: None,
            is_finished: true,
            prompt: "",
        }
    }
}

/// The events, adjacent deltas joined, and the completion.
#[derive(Debug, PartialEq)]
pub(super) struct Run {
    pub(super) events: Vec<AgentEvent>,
    pub(super) completion: Completion,
}

impl Setup {
    /// Runs the pieces through everything.
    pub(super) fn run<'a>(&self, pieces: impl IntoIterator<Item = &'a str>) -> Run {
        let parser = ThinkingParser::new(&self.thinking, &self.options.tools);
        let mut typer = ContentTyper::with_parser(parser.after_prompt(self.prompt));
        let mut machine = StreamMachine::new(&self.options);
        let mut events = Vec::new();
        let mut feed = |chunk| {
            let _ = machine.chunk(chunk, &mut |event| events.push(event));
        };
        let mut text = String::new();
        for piece in pieces {
            text.push_str(piece);
            let mut parts = piece.split(NATIVE);
            typer.push(StreamChunk::message(parts.next().unwrap_or_default()), &mut feed);
            for part in parts {
                typer.push(StreamChunk::thinking(NATIVE.to_string()), &mut feed);
                typer.push(StreamChunk::message(part), &mut feed);
            }
        }
        typer.finish(&mut feed);
        let (finished, finish_reason) = (self.is_finished, self.finish.clone());
        feed({
            let mut it = StreamChunk::default();
            it.finished = finished;
            it.finish_reason = finish_reason;
            it
        });
        let completion = machine.finish(StreamEnd::Done, &mut |event| events.push(event));
        check_brackets(&events);
        check_arguments(&events, &completion);
        // A call goes on behind such reasoning, and holds what may be its end.
        if !text.contains(NATIVE) {
            check_order(&text, &events);
        }
        Run { events: join(events), completion }
    }

    /// The events of a stream that goes on behind these pieces.
    pub(super) fn events_so_far<'a>(
        &self,
        pieces: impl IntoIterator<Item = &'a str>,
    ) -> Vec<AgentEvent> {
        let parser = ThinkingParser::new(&self.thinking, &self.options.tools);
        let mut typer = ContentTyper::with_parser(parser.after_prompt(self.prompt));
        let mut machine = StreamMachine::new(&self.options);
        let mut events = Vec::new();
        for piece in pieces {
            typer.push(StreamChunk::message(piece), &mut |chunk| {
                let _ = machine.chunk(chunk, &mut |event| events.push(event));
            });
        }
        join(events)
    }

    /// Runs `text` whole and cut at random places, so many times; all must give the same.
    pub(super) fn run_at_random_cuts(&self, name: &str, text: &str, times: u64) -> Run {
        let whole = self.run([text]);
        for seed in 0..times {
            let pieces = random_pieces(text, seed);
            assert_eq!(self.run(pieces.iter().copied()), whole, "{name}: cut as {pieces:?}");
        }
        whole
    }

    /// Runs `text` whole, and in every cut that tests must try; all must give the same.
    pub(super) fn run_at_every_cut(&self, name: &str, text: &str) -> Run {
        let whole = self.run([text]);
        for (at, _) in text.char_indices() {
            let (head, tail) = text.split_at(at);
            assert_eq!(self.run([head, tail]), whole, "{name}: split at byte {at}");
        }
        assert_eq!(self.run(text.split_inclusive(|_| true)), whole, "{name}: char by char");
        for size in [2, 3, 7] {
            assert_eq!(self.run(in_pieces(text, size)), whole, "{name}: {size} characters each");
        }
        whole
    }
}

/// Pieces of so many characters.
pub(super) fn in_pieces(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let starts: Vec<_> = text.char_indices().step_by(size).map(|(at, _)| at).collect();
    let ends: Vec<_> = starts.iter().skip(1).copied().chain([text.len()]).collect();
    starts.into_iter().zip(ends).map(|(from, to)| text.get(from..to).unwrap())
}

/// Pieces of random lengths, the same for the same seed.
pub(super) fn random_pieces(text: &str, seed: u64) -> Vec<&str> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap() % below
    };
    let longest = 2 + random(40);
    let mut rest = text;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let length = rest.ceil_char_boundary(1 + random(longest)).min(rest.len());
        let (piece, tail) = rest.split_at(length);
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

/// I4: the deltas of a complete call, joined, are the JSON of its arguments.
fn check_arguments(events: &[AgentEvent], completion: &Completion) {
    for call in completion.tool_calls.iter().filter(|call| call.is_complete()) {
        let deltas = events.iter().filter_map(|event| match event {
            AgentEvent::ToolCallContent(ToolCallContentEvent { index, arguments, .. })
                if *index == call.index =>
            {
                Some(arguments.as_str())
            }
            _ => None,
        });
        let joined: serde_json::Value = serde_json::from_str(&deltas.collect::<String>()).unwrap();
        let arguments = call.arguments.as_ref().unwrap();
        assert_eq!(joined, arguments.to_value(), "{call:?}");
        assert!(joined.is_object(), "{call:?}");
    }
}

/// I2: content is in the text, in the order of the events; a recovered call was reported before.
fn check_order(text: &str, events: &[AgentEvent]) {
    let is_recovered = |wanted: u32| {
        events.iter().any(|event| {
            matches!(event, AgentEvent::ToolCallEnd(ToolCallEndEvent { index, repairs, .. }) if *index == wanted
            && repairs.iter().any(|repair| {
                matches!(repair, Repair::RecoveredFromThinking | Repair::RecoveredFromCode)
            }))
        })
    };
    let mut rest = text;
    for event in events {
        let content = match event {
            AgentEvent::ToolCallContent(ToolCallContentEvent { index, content, .. })
                if !is_recovered(*index) =>
            {
                content
            }
            AgentEvent::MessageContent(MessageContentEvent { content, .. })
            | AgentEvent::ThinkingContent(ThinkingContentEvent { content, .. }) => content,
            _ => continue,
        };
        for character in content.chars() {
            let at = rest.find(character);
            let at = at.unwrap_or_else(|| panic!("{content:?} is not in order: {events:?}"));
            rest = &rest[at + character.len_utf8()..];
        }
    }
}

/// Joins adjacent deltas of one kind.
pub(super) fn join(events: Vec<AgentEvent>) -> Vec<AgentEvent> {
    let mut joined: Vec<AgentEvent> = Vec::new();
    for event in events {
        match (joined.last_mut(), &event) {
            (
                Some(AgentEvent::MessageContent(MessageContentEvent { content, refusal, .. })),
                AgentEvent::MessageContent(MessageContentEvent {
                    content: more,
                    refusal: same,
                    ..
                }),
            ) if refusal == same => content.push_str(more),
            (
                Some(AgentEvent::ThinkingContent(ThinkingContentEvent { content, .. })),
                AgentEvent::ThinkingContent(ThinkingContentEvent { content: more, .. }),
            ) => content.push_str(more),
            (
                Some(AgentEvent::ToolCallContent(ToolCallContentEvent {
                    index,
                    content,
                    arguments,
                    ..
                })),
                AgentEvent::ToolCallContent(ToolCallContentEvent {
                    index: same,
                    content: body,
                    arguments: json,
                    ..
                }),
            ) if index == same => {
                content.push_str(body);
                arguments.push_str(json);
            }
            _ => joined.push(event),
        }
    }
    joined
}

/// I3: every start has one end; content lies between; of thinking and message one is open at most.
pub(super) fn check_brackets(events: &[AgentEvent]) {
    let (mut thinking, mut message) = (false, false);
    let mut open: Vec<u32> = Vec::new();
    let mut next = 0;
    for event in events {
        match event {
            AgentEvent::ThinkingStart => {
                assert!(!thinking && !message, "{events:?}");
                thinking = true;
            }
            AgentEvent::ThinkingContent(ThinkingContentEvent { content, .. }) => {
                assert!(thinking && !content.is_empty(), "{events:?}");
            }
            AgentEvent::ThinkingEnd => assert!(std::mem::take(&mut thinking), "{events:?}"),
            AgentEvent::MessageStart => {
                assert!(!thinking && !message, "{events:?}");
                message = true;
            }
            AgentEvent::MessageContent(MessageContentEvent { content, .. }) => {
                assert!(message && !content.is_empty(), "{events:?}");
            }
            AgentEvent::MessageEnd => assert!(std::mem::take(&mut message), "{events:?}"),
            AgentEvent::ToolCallStart(ToolCallStartEvent { index, .. }) => {
                assert_eq!(*index, next, "{events:?}");
                assert!(!thinking && !message, "a call closes sections: {events:?}");
                next += 1;
                open.push(*index);
            }
            AgentEvent::ToolCallContent(ToolCallContentEvent { index, .. }) => {
                assert!(open.contains(index));
            }
            AgentEvent::ToolCallEnd(ToolCallEndEvent { index, .. }) => {
                let at = open.iter().position(|known| known == index).expect("an open call");
                open.remove(at);
            }
            _ => {}
        }
    }
    assert!(!thinking && !message && open.is_empty(), "left open: {events:?}");
}

/// The events as short lines, for tables: `M:text`, `T:thinking`, `C name {"arguments"}` …
pub(super) fn lines(run: &Run) -> Vec<String> {
    let mut calls: Vec<(u32, String)> = Vec::new();
    let mut lines = Vec::new();
    for event in &run.events {
        match event {
            AgentEvent::MessageContent(MessageContentEvent { content, .. }) => {
                lines.push(format!("M:{content}"));
            }
            AgentEvent::ThinkingContent(ThinkingContentEvent { content, .. }) => {
                lines.push(format!("T:{content}"));
            }
            AgentEvent::ToolCallContent(ToolCallContentEvent { index, arguments, .. }) => {
                match calls.iter_mut().find(|(known, _)| known == index) {
                    Some((_, json)) => json.push_str(arguments),
                    None => calls.push((*index, arguments.to_string())),
                }
            }
            AgentEvent::ToolCallEnd(ToolCallEndEvent {
                index,
                tool_name,
                outcome,
                repairs,
                ..
            }) => {
                let json = calls.iter().find(|(known, _)| known == index);
                let json = json.map(|(_, json)| json.as_str()).unwrap_or_default();
                let name = tool_name.clone().unwrap_or_default();
                let repairs: Vec<_> = repairs.iter().map(|repair| repair.as_str()).collect();
                let outcome = match outcome {
                    forgeline_types::CallOutcome::Complete => String::new(),
                    forgeline_types::CallOutcome::Incomplete => " incomplete".to_owned(),
                    forgeline_types::CallOutcome::Malformed { reason, offset, .. } => {
                        format!(" malformed at {offset}: {reason}")
                    }
                    outcome => panic!("{outcome:?}"),
                };
                let repairs = if repairs.is_empty() {
                    String::new()
                } else {
                    format!(" +{}", repairs.join("+"))
                };
                lines.push(format!("C {name} {json}{outcome}{repairs}"));
            }
            _ => {}
        }
    }
    lines
}

/// Schemas for a tool `t`.
pub(super) fn schema(parameters: &str) -> Vec<(Text, serde_json::Value)> {
    let properties: serde_json::Value = serde_json::from_str(parameters).unwrap();
    let schema = serde_json::json!({"type": "object", "properties": properties});
    vec![(Text::from("t"), schema)]
}
