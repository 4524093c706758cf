//! Texts of a model: how bytes become one with cuts, and how it is read.

use forgeline::{
    agent::core::{StreamEnd, StreamMachine, StreamOptions},
    llm::{
        ContentTyper, StreamChunk,
        parser::{ThinkingDialect, ToolDialect},
    },
    types::{
        AgentEvent, Completion, FinishReason, MessageContentEvent, Repair, ThinkingContentEvent,
        ToolCallContentEvent,
    },
};

/// Bytes of an input that choose how its text is read and cut.
const HEADER_BYTES: usize = 8;

/// One input: a text, and how to read it.
#[derive(Debug)]
pub struct Case {
    pub thinking: ThinkingDialect,
    pub tools: ToolDialect,
    pub finish: FinishReason,
    pub text: String,
    /// Whether text that repeats itself ends the answer.
    pub stops: bool,
    /// Where to cut, in order, in parts of 255 of the length.
    cuts: Vec<u8>,
}

impl Case {
    /// Reads an input: a byte for each dialect, one for the finish and the stop at repetition, five for
    /// the cuts, then the text. `None` when there is no text.
    pub fn new(input: &[u8]) -> Option<Self> {
        let (header, text) = input.split_at_checked(HEADER_BYTES)?;
        let pick = |at: usize, count: usize| usize::from(header[at]) % count;
        let (thinking, tools) = (ThinkingDialect::all(), ToolDialect::all());
        let finishes = [FinishReason::Stop, FinishReason::Length];
        let text = String::from_utf8_lossy(text).into_owned();
        let mut cuts = [&header[3..], &[0, 255]].concat();
        cuts.sort_unstable();
        Some(Self {
            thinking: thinking[pick(0, thinking.len())].clone(),
            tools: tools[pick(1, tools.len())].clone(),
            finish: finishes[pick(2, 2)].clone(),
            text,
            stops: header[2] & 2 != 0,
            cuts,
        })
    }

    /// The text in one piece, in those that the input asks for, and character by character.
    pub fn cuts<'t>(&self, text: &'t str) -> [Vec<&'t str>; 3] {
        let place = |share: &u8| text.floor_char_boundary(usize::from(*share) * text.len() / 255);
        let places: Vec<_> = self.cuts.iter().map(place).collect();
        let chosen = places.windows(2).map(|pair| &text[pair[0]..pair[1]]);
        [vec![text], chosen.collect(), text.split_inclusive(|_| true).collect()]
    }

    /// Reads pieces through both parsers and the event machine.
    pub fn read(&self, pieces: &[&str]) -> Run {
        let mut typer = ContentTyper::new(&self.thinking, &self.tools);
        let options =
            StreamOptions::default().tools(self.tools.clone()).stop_repetition(self.stops);
        let mut machine = StreamMachine::new(&options);
        let mut events = Vec::new();
        let mut feed = |chunk| {
            let flow = machine.chunk(chunk, &mut |event| join(&mut events, event));
            assert!(self.stops || flow.is_continue(), "a text this short passes no limit");
        };
        for piece in pieces {
            typer.push(StreamChunk::message(*piece), &mut feed);
        }
        typer.finish(&mut feed);
        feed(StreamChunk::end(self.finish.clone()));
        let completion = machine.finish(StreamEnd::Done, &mut |event| join(&mut events, event));
        Run { events, completion }
    }
}

/// The events, neighbouring deltas of one kind joined, and the completion.
#[derive(Debug, PartialEq)]
pub struct Run {
    pub events: Vec<AgentEvent>,
    pub completion: Completion,
}

impl Run {
    /// The joined arguments of each call.
    pub fn arguments(&self) -> Vec<String> {
        let mut joined = vec![String::new(); self.completion.tool_calls.len()];
        for event in &self.events {
            if let AgentEvent::ToolCallContent(ToolCallContentEvent { index, arguments, .. }) =
                event
            {
                joined[*index as usize].push_str(arguments);
            }
        }
        joined
    }

    /// What holds for every text: complete calls have valid JSON, and each character of the output
    /// comes from the text, in order.
    pub fn check(&self, text: &str) {
        let mut rest = text.chars();
        // The text of these calls was given before, as what it looked like.
        let is_recovered = |repair: &Repair| {
            matches!(repair, Repair::RecoveredFromThinking | Repair::RecoveredFromCode)
        };
        for event in &self.events {
            let content = match event {
                AgentEvent::ToolCallContent(ToolCallContentEvent { index, .. })
                    if self
                        .completion
                        .tool_calls
                        .get(*index as usize)
                        .is_some_and(|call| call.repairs.iter().any(is_recovered)) =>
                {
                    continue;
                }
                AgentEvent::MessageContent(MessageContentEvent { content, .. })
                | AgentEvent::ThinkingContent(ThinkingContentEvent { content, .. })
                | AgentEvent::ToolCallContent(ToolCallContentEvent { content, .. }) => content,
                _ => continue,
            };
            for wanted in content.chars() {
                assert!(rest.any(|found| found == wanted), "{content:?} was invented: {self:?}");
            }
        }
        for (call, arguments) in self.completion.tool_calls.iter().zip(self.arguments()) {
            if call.is_complete() {
                let is_valid = serde_json::from_str::<&serde_json::value::RawValue>(&arguments);
                assert!(is_valid.is_ok() && !call.name.is_empty(), "{call:?}: {arguments:?}");
            }
        }
    }
}

/// Adds an event; a delta of the same thing as the last event is joined with it.
pub(crate) fn join(events: &mut Vec<AgentEvent>, event: AgentEvent) {
    match (events.last_mut(), &event) {
        (
            Some(AgentEvent::MessageContent(MessageContentEvent { content, refusal, .. })),
            AgentEvent::MessageContent(MessageContentEvent {
                content: more, refusal: same, ..
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
                content: more,
                arguments: json,
                ..
            }),
        ) if index == same => {
            content.push_str(more);
            arguments.push_str(json);
        }
        _ => events.push(event),
    }
}
