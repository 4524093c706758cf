//! `dynamo-parsers`: reasoning chunk by chunk, calls by a stream that holds them back and reads
//! them whole.

use std::{
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use dynamo_parsers::{
    reasoning::{ParserResult, ReasoningParser as _, ReasoningParserType},
    tool_calling::{
        ToolDefinition,
        jail::{Annotated, JailedStream},
    },
};
use dynamo_protocols::types::{
    ChatChoiceStream, ChatCompletionMessageContent, ChatCompletionStreamResponseDelta,
    CreateChatCompletionStreamResponse, FinishReason,
};
use futures::{StreamExt as _, executor::block_on, pin_mut, stream};

use super::{LOOK, Watch};
use crate::{
    answer::Sink,
    corpus::{self, Call},
};

/// One event of a stream.
pub(crate) type Event = Annotated<CreateChatCompletionStreamResponse>;

#[derive(Debug)]
pub(crate) struct Dynamo {
    thinking: Option<&'static str>,
    calls: Option<&'static str>,
}

impl Dynamo {
    pub(super) fn new(
        (thinking, calls): (Option<&'static str>, Option<&'static str>),
    ) -> Option<Self> {
        (thinking.is_some() || calls.is_some()).then_some(Self { thinking, calls })
    }

    pub(super) fn name(&self) -> String {
        super::title("dynamo-parsers", self.thinking, self.calls)
    }

    pub(super) fn takes_events(&self) -> bool {
        self.calls.is_some()
    }

    /// Reasoning alone.
    pub(super) fn read(&self, chunks: &[&str], watch: &Watch, sink: &mut impl Sink) {
        let name = self.thinking.unwrap_or_default();
        let mut parser = ReasoningParserType::get_reasoning_parser_from_name(name);
        let mut give = |result: &ParserResult| {
            if !result.reasoning_text.is_empty() {
                sink.thinking(&result.reasoning_text);
            }
            if !result.normal_text.is_empty() {
                sink.text(&result.normal_text);
            }
        };
        for chunk in watch.groups(chunks).flatten() {
            give(&parser.parse_reasoning_streaming_incremental(black_box(*chunk), &[]));
        }
        give(&parser.finish_reasoning_stream());
    }

    /// Calls, behind reasoning where both are asked for.
    pub(super) fn read_events(&self, events: Vec<Event>, watch: &Watch, sink: &mut impl Sink) {
        let tools = vec![ToolDefinition {
            name: Call::NAME.to_owned(),
            parameters: Some(corpus::schema()),
            strict: None,
        }];
        let jail = JailedStream::builder()
            .tool_call_parser(self.calls.unwrap_or_default())
            .tool_definitions(tools)
            .build();
        let (end, is_over) = (watch.end, Arc::new(AtomicBool::new(false)));
        let over = Arc::clone(&is_over);
        let mut looks = 0_usize;
        let events = events.into_iter().take_while(move |_| {
            looks += 1;
            if looks.is_multiple_of(LOOK) && Instant::now() > end {
                over.store(true, Ordering::Relaxed);
            }
            !over.load(Ordering::Relaxed)
        });
        let mut reasoning = self.thinking.map(ReasoningParserType::get_reasoning_parser_from_name);
        let events = events.map(move |mut event| {
            if let Some(parser) = &mut reasoning {
                reason(&mut event, parser);
            }
            event
        });
        let stream = jail.apply(stream::iter(events));
        block_on(async {
            pin_mut!(stream);
            while let Some(event) = stream.next().await {
                give(&event, sink);
            }
        });
        watch.is_over.set(watch.is_over() || is_over.load(Ordering::Relaxed));
    }
}

/// Replaces the text of an event by what is not reasoning in it.
fn reason(event: &mut Event, parser: &mut dynamo_parsers::reasoning::ReasoningParserWrapper) {
    let Some(choice) = event.data.as_mut().and_then(|data| data.choices.first_mut()) else {
        return;
    };
    let mut result = match choice.delta.content.take() {
        Some(ChatCompletionMessageContent::Text(text)) => {
            parser.parse_reasoning_streaming_incremental(&text, &[])
        }
        other => {
            choice.delta.content = other;
            ParserResult::default()
        }
    };
    if choice.finish_reason.is_some() {
        let rest = parser.finish_reasoning_stream();
        result.normal_text.push_str(&rest.normal_text);
        result.reasoning_text.push_str(&rest.reasoning_text);
    }
    choice.delta.reasoning_content = result.get_some_reasoning();
    choice.delta.content = result.get_some_normal_text().map(ChatCompletionMessageContent::Text);
}

fn give(event: &Event, sink: &mut impl Sink) {
    for choice in event.data.iter().flat_map(|data| &data.choices) {
        if let Some(text) = &choice.delta.reasoning_content {
            sink.thinking(text);
        }
        if let Some(ChatCompletionMessageContent::Text(text)) = &choice.delta.content {
            sink.text(text);
        }
        for call in choice.delta.tool_calls.iter().flatten() {
            let number = usize::try_from(call.index).unwrap_or_default();
            if let Some(function) = &call.function {
                let arguments = function.arguments.as_deref().unwrap_or_default();
                sink.call(number, function.name.as_deref(), arguments);
            }
        }
    }
}

/// `chunks` as the events of a stream, and the event that ends it.
pub(super) fn events(chunks: &[&str]) -> Vec<Event> {
    let texts = chunks.iter().map(|chunk| event(Some(chunk)));
    texts.chain([event(None)]).collect()
}

fn event(text: Option<&&str>) -> Event {
    let delta = ChatCompletionStreamResponseDelta {
        role: None,
        content: text.map(|text| ChatCompletionMessageContent::Text((*text).to_owned())),
        tool_calls: None,
        function_call: None,
        refusal: None,
        reasoning_content: None,
    };
    let finish_reason = text.is_none().then_some(FinishReason::Stop);
    let choice = ChatChoiceStream { index: 0, delta, finish_reason, logprobs: None };
    let data = CreateChatCompletionStreamResponse {
        id: String::new(),
        choices: vec![choice],
        created: 0,
        model: String::new(),
        system_fingerprint: None,
        object: String::new(),
        usage: None,
        service_tier: None,
    };
    Annotated { data: Some(data), id: None, event: None, comment: None, error: None }
}
