//! The body of a Gemini response becomes chunks.

use serde_json::value::RawValue;

use super::{
    PROTOCOL,
    list::List,
    part, sources,
    wire::{self, Candidate, Feedback, Response},
};
use crate::{
    llm::{
        Progress, ProviderError, StreamChunk,
        decode::{
            Emit, EventReader, Fault, StreamState, emit_details, emit_events, event_decoder,
            finish_reason, item,
            lax_json::value,
            vendor_error::{in_stream, reported},
        },
    },
    types::{ErrorCode, ItemKind, Text},
};

event_decoder! {
    /// A decoder for the body of a Gemini response.
    ///
    /// The body is a stream of events, as `alt=sse` requests it. A body that is one JSON list of the same
    /// pieces, as it comes without, and one that is a whole answer are read at their end. A prompt that
    /// the server blocks is a [`ProviderError::InStream`] of the kind
    /// [`ContentFiltered`](crate::types::ErrorCode::ContentFiltered).
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::llm::{BodyDecoder, gemini::GeminiDecoder};
    ///
    /// let body = b"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hi\"}]},\"finishReason\":\"STOP\"}]}\r\n\r\n";
    /// let mut decoder = GeminiDecoder::default();
    /// let mut text = String::new();
    /// for bytes in body.chunks(7) {
    ///     decoder.push(bytes, &mut |chunk| text.push_str(&chunk.content))?;
    /// }
    /// decoder.finish(&mut |_| {})?;
    /// assert_eq!(text, "Hi");
    /// # Ok::<(), forgeline::llm::ProviderError>(())
    /// ```
    GeminiDecoder, Reader
}

/// Turns the JSON of events into chunks.
#[derive(Debug, Default)]
struct Reader {
    /// The number of calls so far.
    calls: u32,
    /// The last event with a usage that was not emitted yet: every event repeats it with higher counts,
    /// and only the last one counts. As long as an event at most.
    usage: String,
}

impl EventReader for Reader {
    fn event(
        &mut self,
        _name: &str,
        data: &str,
        state: &mut StreamState,
        emit: Emit<'_>,
    ) -> Result<(), Fault> {
        let data = data.trim();
        if !data.starts_with('[') {
            return self.piece(data, state, emit);
        }
        let mut list = List::new(data);
        while let Some(member) = list.next() {
            self.piece(member, state, emit)?;
        }
        if list.is_whole() { Ok(()) } else { Err(Fault::Data(Text::from("a list without end"))) }
    }

    fn whole(&mut self, text: &str, state: &mut StreamState, emit: Emit<'_>) -> Result<(), Fault> {
        let mut list = List::new(text);
        let mut read = |member: &str, state: &mut StreamState| {
            let response: Response<'_> = serde_json::from_str(member)?;
            if response.is_blank() {
                return Err(Fault::Data(Text::from("no candidates")));
            }
            if let Err(fault) = self.response(response, member, state, emit) {
                state.fail(fault.at(0));
            }
            Ok(())
        };
        if !text.starts_with('[') {
            return read(text, state);
        }
        let first = list.next().ok_or(Fault::Data(Text::from("an empty list")))?;
        read(first, state)?;
        while let Some(member) = list.next() {
            read(member, state)?;
        }
        if !list.is_whole() && state.progress == Progress::Open {
            state.fail(ProviderError::EndedEarly { received: text.len() as u64 });
        }
        Ok(())
    }

    fn end(&mut self, _state: &mut StreamState, emit: Emit<'_>) {
        self.emit_usage(StreamChunk::default(), emit);
    }
}

impl Reader {
    /// Reads one piece of the stream.
    fn piece(&mut self, data: &str, state: &mut StreamState, emit: Emit<'_>) -> Result<(), Fault> {
        self.response(serde_json::from_str(data)?, data, state, emit)
    }

    fn response(
        &mut self,
        response: Response<'_>,
        data: &str,
        state: &mut StreamState,
        emit: Emit<'_>,
    ) -> Result<(), Fault> {
        match response.wrapped.map(RawValue::get) {
            // Only one wrapper is read: more could be nested without end.
            Some(inner) => self.answer(serde_json::from_str(inner)?, inner, state, emit),
            None => self.answer(response, data, state, emit),
        }
    }

    fn answer(
        &mut self,
        response: Response<'_>,
        data: &str,
        state: &mut StreamState,
        emit: Emit<'_>,
    ) -> Result<(), Fault> {
        let mut details = None;
        state.identify(&response.model_version.0, &response.id.0, &mut details);
        emit_details(details, emit);
        if response.usage_metadata.is_there {
            self.usage.clear();
            self.usage.push_str(data);
        }
        let mut is_empty = true;
        for candidate in response.candidates.into_members().filter_map(|candidate| candidate.0) {
            if candidate.index() == 0 {
                is_empty = false;
                self.candidate(candidate, state, emit)?;
            } else {
                let mut details = None;
                state.ignore_choice(candidate.index(), &mut details);
                emit_details(details, emit);
            }
        }
        if state.progress == Progress::Complete {
            self.emit_usage(StreamChunk::default(), emit);
        } else if let (true, Some(feedback)) = (is_empty, response.prompt_feedback) {
            block(&value(feedback), state);
        }
        if let Some(raw) = reported(response.error) {
            state.fail(in_stream(Some(raw), raw));
        }
        Ok(())
    }

    fn candidate(
        &mut self,
        candidate: Candidate<'_>,
        state: &mut StreamState,
        emit: Emit<'_>,
    ) -> Result<(), Fault> {
        let word = candidate.finish_word().map(Text::from);
        let content = candidate.content.0.unwrap_or_default();
        if let role @ Some(_) = state.role(&content.role.0) {
            emit(StreamChunk { role, ..StreamChunk::default() });
        }
        for raw in content.parts.into_members() {
            part::read(raw, &mut self.calls, emit)?;
        }
        if let Some(raw) = candidate.citation_metadata {
            emit_events(sources::citations(raw), emit);
        }
        if let Some(raw) = candidate.grounding_metadata {
            emit_events(sources::grounding(raw), emit);
        }
        let facts = [
            ("groundingMetadata", candidate.grounding_metadata),
            ("urlContextMetadata", candidate.url_context_metadata),
            ("finishMessage", candidate.finish_message),
        ];
        for (name, raw) in facts {
            if let Some(raw) = raw.filter(|raw| raw.get() != "{}") {
                emit_events(
                    item(PROTOCOL, ItemKind::Other { name: Text::from(name) }, raw.get()),
                    emit,
                );
            }
        }
        if let Some(word) = word {
            state.progress = Progress::Complete;
            let mut end = StreamChunk { finished: true, ..StreamChunk::default() };
            end.set_finish_reason(finish_reason(&word), &word);
            self.emit_usage(end, emit);
        }
        Ok(())
    }

    /// Puts the usage that was not emitted yet into `chunk`, and emits it unless it is empty.
    fn emit_usage(&mut self, mut chunk: StreamChunk, emit: Emit<'_>) {
        if !self.usage.is_empty() {
            wire::usage(&self.usage, &mut chunk);
            self.usage.clear();
        }
        if !chunk.is_empty() {
            emit(chunk);
        }
    }
}

/// Notes that the prompt was blocked: it gets no answer, and no end either.
fn block(feedback: &Feedback<'_>, state: &mut StreamState) {
    let reason = &*feedback.block_reason.0;
    if reason.is_empty() || reason == "BLOCK_REASON_UNSPECIFIED" {
        return;
    }
    let message = feedback.block_reason_message.non_empty();
    state.fail(ProviderError::InStream {
        kind: ErrorCode::ContentFiltered,
        code: Some(Text::from(reason)),
        message: message.unwrap_or_else(|| Text::from(format!("the prompt was blocked: {reason}"))),
        raw: None,
    });
}
