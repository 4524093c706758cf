//! The decoder of Anthropic Messages responses.

use serde_json::value::RawValue;

use super::{
    answer::AnthropicAnswer,
    items::PROTOCOL,
    wire::{AnthropicEvent, FACTS},
};
use crate::decode::{
    EventFault, EventReader, JsonEntries, JsonMembers, OutSink, event_decoder, fill, in_stream,
    reported,
};

event_decoder! {
    /// A decoder for the body of an Anthropic Messages response, as sent by Anthropic and compatible
    /// servers.
    ///
    /// The body is a stream of events, or one JSON object from a server that does not stream;
    /// anything else is a [`ProviderError::Decode`](crate::ProviderError::Decode) that quotes its
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
    AnthropicDecoder, AnthropicAnswer
}

/// The events whose members are all understood; of others, the whole event is reported.
const KNOWN_EVENTS: [&str; 4] =
    ["content_block_delta", "content_block_start", "content_block_stop", "message_delta"];

impl EventReader for AnthropicAnswer {
    const PROTOCOL: &'static str = PROTOCOL;

    fn event(&mut self, name: &str, data: &str, sink: &mut OutSink<'_>) -> Result<(), EventFault> {
        let mut event = AnthropicEvent::default();
        fill(data, &mut event)?;
        let kind = if event.kind.0.is_empty() { name } else { &*event.kind.0 };
        let index = event.index.0.or_else(|| self.last_block()).unwrap_or_default();
        if self.has_start() && kind != "ping" {
            let streamed = event.index.0.filter(|_| kind == "content_block_start");
            self.open(streamed, sink)?;
        }
        if !event.rest.is_empty() && KNOWN_EVENTS.contains(&kind) {
            sink.unknown_besides("event", &FACTS, &event.rest);
        }
        match kind {
            "content_block_delta" => return self.delta(index, &mut event.delta, data, sink),
            "content_block_start" => {
                let index = event.index.0.unwrap_or_else(|| self.next_block());
                self.stop(index, sink);
                return self.block(index, event.content_block.map_or("{}", RawValue::get), sink);
            }
            "content_block_stop" => self.stop(index, sink),
            "message_start" => self.begin(event.message.map_or(data, RawValue::get), sink),
            "message_delta" => {
                let mut facts = JsonMembers::parse(data);
                let delta = JsonMembers::parse(facts.get("delta").unwrap_or_default());
                facts.merge(delta, |_| false);
                sink.unknown_besides("delta", &FACTS, &event.delta.rest);
                self.conclude(&event.delta.stop_reason.0, event.usage, &facts, sink);
            }
            "message_stop" => self.close(sink),
            _ if kind == "error" || name == "error" || reported(event.error).is_some() => {
                sink.fail(in_stream(Some(event.error.map_or(data, RawValue::get)), data));
            }
            // `message` is the event name of data without a type or a name.
            "ping" => {}
            "" | "message" => sink.stray(data),
            _ => sink.unknown_event(kind, data),
        }
        Ok(())
    }

    fn whole(&mut self, text: &str, sink: &mut OutSink<'_>) -> Result<(), EventFault> {
        let message = JsonEntries::parse(text);
        if let Some(error) = message.get("error") {
            sink.fail(in_stream(Some(error.get()), text));
            return Ok(());
        }
        let content = message.get("content").map_or("null", RawValue::get);
        let blocks: Vec<&RawValue> = serde_json::from_str(content)?;
        self.begin(text, sink);
        self.forget_start();
        self.blocks_of(&blocks, sink)?;
        self.conclude(&message.text("stop_reason"), None, &JsonMembers::parse(text), sink);
        self.close(sink);
        Ok(())
    }

    fn done(&mut self, _: &mut OutSink<'_>) {
        // Sent by a router; the message has already ended with the previous event.
    }

    fn end(&mut self, sink: &mut OutSink<'_>) {
        if let Err(fault) = self.open(None, sink) {
            sink.fail(fault.at(0));
        }
        self.finish(sink);
    }
}
