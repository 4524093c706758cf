//! The body of an Anthropic Messages response becomes chunks.

use serde_json::value::RawValue;

use super::{
    answer::Answer,
    items::PROTOCOL,
    wire::{Event, Message},
};
use crate::llm::{
    Progress, StreamChunk,
    decode::{
        Emit, EventReader, Fault, Members, StreamState, event_decoder,
        lax_json::{Into, fill},
        vendor_error::{in_stream, reported},
    },
};

event_decoder! {
    /// A decoder for the body of an Anthropic Messages response, as Anthropic and compatible servers
    /// send it.
    ///
    /// The body is a stream of events, or one JSON object, as a server sends it that does not stream;
    /// anything else is a [`ProviderError::Decode`](crate::llm::ProviderError::Decode) that quotes its
    /// beginning.
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
    AnthropicDecoder, Answer
}

impl EventReader for Answer {
    fn event(
        &mut self,
        name: &str,
        data: &str,
        state: &mut StreamState,
        emit: Emit<'_>,
    ) -> Result<(), Fault> {
        let mut event = Event::default();
        fill(data, Into(&mut event))?;
        let kind = if event.kind.0.is_empty() { name } else { &*event.kind.0 };
        let index = event.index.0.or_else(|| self.last_block()).unwrap_or_default();
        match kind {
            "content_block_delta" => return self.delta(index, &mut event.delta, data, emit),
            "content_block_start" => {
                let index = event.index.0.unwrap_or_else(|| self.next_block());
                self.stop(index, emit);
                return self.block(index, event.content_block.map_or("{}", RawValue::get), emit);
            }
            "content_block_stop" => self.stop(index, emit),
            "message_start" => {
                self.begin(event.message.map_or(data, RawValue::get), state, emit);
            }
            "message_delta" => {
                let mut facts = Members::read(data);
                let delta = Members::read(facts.get("delta").unwrap_or_default());
                facts.merge(delta, |_| false);
                self.conclude(&event.delta.stop_reason.0, event.usage, &facts, emit);
            }
            "message_stop" => self.close(state, emit),
            _ if kind == "error" || name == "error" || reported(event.error).is_some() => {
                state.fail(in_stream(Some(event.error.map_or(data, RawValue::get)), data));
            }
            // `message` is the kind of data without a type or a name.
            "ping" | "" | "message" => {}
            _ => state.unknown_event(PROTOCOL, kind, data, emit),
        }
        Ok(())
    }

    fn whole(&mut self, text: &str, state: &mut StreamState, emit: Emit<'_>) -> Result<(), Fault> {
        let message: Message<'_> = serde_json::from_str(text)?;
        if let Some(error) = message.error {
            state.fail(in_stream(Some(error.get()), text));
            return Ok(());
        }
        let content = message.content.map_or("null", RawValue::get);
        let blocks: Vec<&RawValue> = serde_json::from_str(content)?;
        self.begin(text, state, emit);
        for (index, block) in (0..).zip(blocks) {
            self.block(index, block.get(), emit)?;
            self.stop(index, emit);
        }
        self.conclude(&message.stop_reason.0, None, &Members::read(text), emit);
        self.close(state, emit);
        Ok(())
    }

    fn done(&mut self, _state: &mut StreamState, _emit: Emit<'_>) {
        // A router's; the end of the message is the event before it.
    }

    fn end(&mut self, _state: &mut StreamState, emit: Emit<'_>) {
        self.finish(emit);
    }
}

impl Answer {
    fn close(&mut self, state: &mut StreamState, emit: Emit<'_>) {
        self.finish(emit);
        state.progress = Progress::Done;
        emit(StreamChunk { finished: true, ..StreamChunk::default() });
    }
}
