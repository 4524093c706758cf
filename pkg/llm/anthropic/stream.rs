//! The body of an Anthropic Messages response becomes chunks.

use serde_json::value::RawValue;

use super::{
    answer::Answer,
    blocks::TooMuch,
    items::PROTOCOL,
    members::Members,
    wire::{self, Event, Message},
};
use crate::{
    llm::{
        Progress, ProviderError, StreamChunk,
        event_body::{EventReader, event_decoder},
        sse::SseEvent,
        surrogates::Mended,
        vendor_error::in_stream,
    },
    types::{AgentEvent, Json, ProviderItem, Text},
};

event_decoder! {
    /// Decodes the body of an Anthropic Messages response, as Anthropic and everybody compatible
    /// send it.
    ///
    /// A stream of events is the rule. A body that starts with `{` is read as a whole answer, as a
    /// server sends it that does not stream; anything else is a [`ProviderError::Decode`] that says
    /// what came.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::llm::{BodyDecoder, anthropic::AnthropicDecoder};
    ///
    /// let body = b"data: {\"type\":\"content_block_delta\",\"index\":0,\
    ///     \"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n\
    ///     data: {\"type\":\"message_stop\"}\n\n";
    /// let mut decoder = AnthropicDecoder::default();
    /// let mut text = String::new();
    /// for bytes in body.chunks(7) {
    ///     decoder.push(bytes, &mut |chunk| text.push_str(&chunk.content))?;
    /// }
    /// decoder.finish(&mut |_| {})?;
    /// assert_eq!(text, "Hi");
    /// # Ok::<(), forgeline::llm::ProviderError>(())
    /// ```
    AnthropicDecoder, MessageReader
}

/// Most events of unknown types that are shown; further ones are left out.
const MAX_UNKNOWN_EVENTS: u32 = 1024;

/// Turns the JSON of events into chunks.
#[derive(Debug, Default)]
struct MessageReader {
    end: End,
    answer: Answer,
    error: Option<ProviderError>,
    unknown_events: u32,
    /// An event that ends in half a character, and where it stands: the next one may have the rest.
    half: Option<(Mended, u64)>,
}

/// Whether the message's end was seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum End {
    #[default]
    Open,
    Seen,
}

impl EventReader for MessageReader {
    fn event(
        &mut self,
        event: &SseEvent<'_>,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        if self.end == End::Seen || event.data.is_empty() {
            return Ok(());
        }
        let Some((mut half, half_offset)) = self.half.take() else {
            return self.data(event.data, event.event, event.offset, emit);
        };
        let mut next = Mended::new(event.data);
        half.join(&mut next);
        self.data(half.json(), "", half_offset, emit)?;
        self.mended(next, event.event, event.offset, emit)
    }

    /// Reads a body that is one JSON value.
    fn whole(&mut self, text: &str, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ()> {
        let mended = Mended::new(text);
        let text = mended.json();
        let message: Message<'_> = serde_json::from_str(text).map_err(|_| ())?;
        if let Some(error) = message.error {
            self.fail(in_stream(Some(error.get()), text));
            return Ok(());
        }
        let content = message.content.ok_or(())?;
        let blocks: Vec<&RawValue> = serde_json::from_str(content.get()).map_err(|_| ())?;
        self.answer.begin(text, emit);
        for (index, block) in (0..).zip(blocks) {
            self.answer.block(index, block.get(), emit).map_err(|_| ())?;
            self.answer.stop(index, emit);
        }
        self.answer.conclude(&message.stop_reason.0, None, &Members::read(text), emit);
        self.finish(emit);
        Ok(())
    }

    /// The body ended: no other half of a character will come, and no more of any block.
    fn end(&mut self, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ProviderError> {
        let half = self.half.take();
        let read = half.map_or(Ok(()), |(half, offset)| self.data(half.json(), "", offset, emit));
        self.answer.finish(emit);
        read
    }

    fn take_error(&mut self) -> Option<ProviderError> {
        self.error.take()
    }

    fn progress(&self) -> Progress {
        match self.end {
            End::Seen => Progress::Done,
            End::Open if self.error.is_some() => Progress::Failed,
            End::Open => Progress::Open,
        }
    }
}

impl MessageReader {
    /// Reads the data of the event called `name`.
    fn data(
        &mut self,
        data: &str,
        name: &str,
        offset: u64,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        let mut event = Event::default();
        if let Err(error) = wire::event(data, &mut event) {
            return self.unreadable(data, name, offset, &error, emit);
        }
        self.read(&mut event, data, name, emit).map_err(|TooMuch| ProviderError::Decode {
            offset,
            reason: Text::from("the blocks that are open are too many or too long"),
        })
    }

    /// Data that are no JSON: a router's marker, an error in plain words, or torn characters.
    fn unreadable(
        &mut self,
        data: &str,
        name: &str,
        offset: u64,
        error: &serde_json::Error,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        if data.trim() == "[DONE]" {
            return Ok(());
        }
        if name == "error" {
            self.fail(in_stream(None, data));
            return Ok(());
        }
        let event = Mended::new(data);
        if event.json() != data {
            return self.mended(event, name, offset, emit);
        }
        let reason = Text::from(format!("an event's data are no JSON: {error}"));
        Err(ProviderError::Decode { offset, reason })
    }

    /// Reads an event without lone surrogates, once its last character is whole.
    fn mended(
        &mut self,
        event: Mended,
        name: &str,
        offset: u64,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        if event.is_open() {
            self.half = Some((event, offset));
            return Ok(());
        }
        self.data(event.json(), name, offset, emit)
    }

    fn read(
        &mut self,
        event: &mut Event<'_>,
        data: &str,
        name: &str,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), TooMuch> {
        let kind = if event.kind.0.is_empty() { name } else { &*event.kind.0 };
        let index = event.index.0.or_else(|| self.answer.last()).unwrap_or_default();
        match kind {
            "content_block_delta" => return self.answer.delta(index, event, data, emit),
            "content_block_start" => {
                let index = event.index.0.unwrap_or_else(|| self.answer.next());
                self.answer.stop(index, emit);
                let block = event.content_block.map_or("{}", RawValue::get);
                return self.answer.block(index, block, emit);
            }
            "content_block_stop" => self.answer.stop(index, emit),
            "message_start" => self.answer.begin(event.message.map_or(data, RawValue::get), emit),
            "message_delta" => {
                let mut facts = Members::read(data);
                let delta = Members::read(facts.get("delta").unwrap_or_default());
                facts.merge(delta);
                self.answer.conclude(&event.delta.stop_reason.0, event.usage, &facts, emit);
            }
            "message_stop" => self.finish(emit),
            _ if kind == "error" || name == "error" || event.error.is_some() => {
                self.fail(in_stream(Some(event.error.map_or(data, RawValue::get)), data));
            }
            "ping" | "" => {}
            // `message` is what data without a type or a name are.
            "message" => {}
            _ => self.unknown(kind, data, emit),
        }
        Ok(())
    }

    /// An event that is not known yet: shown as it came, and no part of the answer.
    fn unknown(&mut self, kind: &str, data: &str, emit: &mut dyn FnMut(StreamChunk)) {
        if self.unknown_events < MAX_UNKNOWN_EVENTS
            && let Ok(raw) = Json::parse(data)
        {
            self.unknown_events += 1;
            let item = ProviderItem::unknown_event(PROTOCOL, kind, raw);
            emit(StreamChunk::events(vec![AgentEvent::ProviderItem(item)]));
        }
    }

    fn fail(&mut self, error: ProviderError) {
        self.error.get_or_insert(error);
    }

    fn finish(&mut self, emit: &mut dyn FnMut(StreamChunk)) {
        self.answer.finish(emit);
        self.end = End::Seen;
        emit(StreamChunk { finished: true, ..StreamChunk::default() });
    }
}
