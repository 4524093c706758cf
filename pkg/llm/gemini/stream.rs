//! The body of a Gemini response becomes chunks.

use serde_json::value::RawValue;

use super::{
    list::List,
    part::{self, emit_item, emit_items},
    sources,
    wire::{self, Candidate, Feedback, Response},
};
use crate::{
    llm::{
        ChunkDetails, Progress, ProviderError, StreamChunk,
        event_body::{EventReader, event_decoder},
        sse::SseEvent,
        surrogates::Mended,
        vendor_error::in_stream,
    },
    types::{ErrorCode, ItemKind, Json, MessageRole, Text},
};

event_decoder! {
    /// Decodes the body of a Gemini response.
    ///
    /// A stream of events is the rule, as `alt=sse` asks for. A body that is one JSON list of the same
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
#[derive(Debug)]
struct Reader {
    progress: Progress,
    /// How many calls there were.
    calls: u32,
    role: Option<MessageRole>,
    model: Text,
    response_id: Text,
    highest_other: u32,
    /// The last event with a usage that was not passed on yet: every event repeats it with higher
    /// counts, and only the last one counts. As long as an event at most.
    usage: String,
    error: Option<ProviderError>,
}

impl Default for Reader {
    fn default() -> Self {
        Self {
            progress: Progress::Open,
            calls: 0,
            role: None,
            model: Text::new(),
            response_id: Text::new(),
            highest_other: 0,
            usage: String::new(),
            error: None,
        }
    }
}

impl EventReader for Reader {
    fn event(
        &mut self,
        event: &SseEvent<'_>,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        let data = event.data.trim();
        if data == "[DONE]" && self.progress == Progress::Complete {
            self.progress = Progress::Done;
        }
        if data.is_empty() || data == "[DONE]" || self.progress == Progress::Done {
            return Ok(());
        }
        if event.event == "error" && !data.starts_with(['{', '[']) {
            self.fail(in_stream(None, data));
            return Ok(());
        }
        if data.starts_with('[') {
            let mut list = List::new(data);
            while let Some(member) = list.next() {
                self.piece(member, event.offset, emit)?;
            }
            return if list.is_whole() { Ok(()) } else { Err(no_answer(event.offset, "a list")) };
        }
        self.piece(data, event.offset, emit)
    }

    fn whole(&mut self, text: &str, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ()> {
        let mut list = List::new(text);
        let mut read = |member: &str| {
            let mended = Mended::new(member);
            let response: Response<'_> = serde_json::from_str(mended.json()).map_err(|_| ())?;
            if response.is_blank() {
                return Err(());
            }
            self.piece(member, 0, emit).or_else(|error| {
                self.fail(error);
                Ok(())
            })
        };
        if !text.starts_with('[') {
            return read(text);
        }
        let first = list.next().ok_or(())?;
        read(first)?;
        while let Some(member) = list.next() {
            read(member)?;
        }
        if !list.is_whole() && self.progress == Progress::Open {
            self.fail(ProviderError::EndedEarly { received: text.len() as u64 });
        }
        Ok(())
    }

    fn end(&mut self, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ProviderError> {
        self.tell_usage(StreamChunk::default(), emit);
        Ok(())
    }

    fn take_error(&mut self) -> Option<ProviderError> {
        self.error.take()
    }

    fn progress(&self) -> Progress {
        match self.progress {
            Progress::Done => Progress::Done,
            _ if self.error.is_some() => Progress::Failed,
            Progress::Open | Progress::Failed | Progress::Complete => self.progress,
        }
    }
}

impl Reader {
    /// Reads one piece of the stream.
    fn piece(
        &mut self,
        data: &str,
        offset: u64,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        let error = match serde_json::from_str(data) {
            Ok(response) => return self.response(response, data, offset, emit),
            Err(error) => error,
        };
        // A gateway that cuts text between UTF-16 units leaves half characters.
        let mended = Mended::new(data);
        match serde_json::from_str(mended.json()) {
            Ok(response) => self.response(response, mended.json(), offset, emit),
            Err(_) => Err(no_answer(offset, &error.to_string())),
        }
    }

    fn response(
        &mut self,
        response: Response<'_>,
        data: &str,
        offset: u64,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        if let Some(inner) = response.wrapped {
            // Nobody wraps twice; who does could do so without end.
            return match serde_json::from_str(inner.get()) {
                Ok(response) => self.answer(response, inner.get(), offset, emit),
                Err(error) => Err(no_answer(offset, &error.to_string())),
            };
        }
        self.answer(response, data, offset, emit)
    }

    fn answer(
        &mut self,
        response: Response<'_>,
        data: &str,
        offset: u64,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        self.identity(&response, emit);
        if response.usage_metadata.is_there {
            self.usage.clear();
            self.usage.push_str(data);
        }
        let mut is_empty = true;
        for candidate in response.candidates.into_members().filter_map(|candidate| candidate.0) {
            if candidate.index() == 0 {
                is_empty = false;
                self.candidate(candidate, offset, emit)?;
            } else if candidate.index() > self.highest_other {
                self.highest_other = candidate.index();
                let ignored_choices = self.highest_other;
                tell(ChunkDetails { ignored_choices, ..ChunkDetails::default() }, emit);
            }
        }
        if self.progress == Progress::Complete {
            self.tell_usage(StreamChunk::default(), emit);
        } else if let (true, Some(feedback)) = (is_empty, response.prompt_feedback) {
            self.feedback(&wire::read(feedback));
        }
        if let Some(raw) = response.error.map(RawValue::get) {
            self.fail(in_stream(Some(raw), raw));
        }
        Ok(())
    }

    /// What a piece says about the response that earlier ones did not.
    fn identity(&mut self, response: &Response<'_>, emit: &mut dyn FnMut(StreamChunk)) {
        let news = |known: &mut Text, said: &str| {
            let is_new = known.is_empty() && !said.is_empty();
            is_new.then(|| {
                *known = Text::from(said);
                known.clone()
            })
        };
        let model = news(&mut self.model, &response.model_version.0);
        let response_id = news(&mut self.response_id, &response.id.0);
        if model.is_some() || response_id.is_some() {
            tell(ChunkDetails { model, response_id, ..ChunkDetails::default() }, emit);
        }
    }

    fn candidate(
        &mut self,
        candidate: Candidate<'_>,
        offset: u64,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        let word = candidate.finish_word().map(Text::from);
        let content = candidate.content.0.unwrap_or_default();
        if self.role.is_none() && content.role.0 == "model" {
            self.role = Some(MessageRole::Assistant);
            emit(StreamChunk { role: self.role, ..StreamChunk::default() });
        }
        for raw in content.parts.into_members() {
            part::read(raw, &mut self.calls, emit)
                .map_err(|reason| ProviderError::Decode { offset, reason })?;
        }
        if let Some(raw) = candidate.citation_metadata {
            emit_items(sources::citations(raw), emit);
        }
        if let Some(raw) = candidate.grounding_metadata {
            emit_items(sources::grounding(raw), emit);
        }
        let facts = [
            ("groundingMetadata", candidate.grounding_metadata),
            ("urlContextMetadata", candidate.url_context_metadata),
            ("finishMessage", candidate.finish_message),
        ];
        for (name, raw) in facts {
            if let Some(raw) = raw.filter(|raw| raw.get() != "{}") {
                let kind = ItemKind::Other { name: Text::from(name) };
                emit_item(kind, Json::parse(raw.get()).ok(), emit);
            }
        }
        if let Some(word) = word {
            self.progress = Progress::Complete;
            let mut end = StreamChunk::end(wire::finish_reason(&word));
            end.details.get_or_insert_default().finish_reason_raw = Some(word);
            self.tell_usage(end, emit);
        }
        Ok(())
    }

    /// Puts the usage that was not told yet into `chunk`, and gives it if it says something.
    fn tell_usage(&mut self, mut chunk: StreamChunk, emit: &mut dyn FnMut(StreamChunk)) {
        if !self.usage.is_empty() {
            if let Some((raw, counts)) = wire::usage(&self.usage) {
                chunk.usage = Some(counts);
                chunk.details.get_or_insert_default().usage_raw = Some(raw);
            }
            self.usage.clear();
        }
        if chunk != StreamChunk::default() {
            emit(chunk);
        }
    }

    /// A blocked prompt gets no answer, and no end either.
    fn feedback(&mut self, feedback: &Feedback<'_>) {
        let reason = &*feedback.block_reason.0;
        if reason.is_empty() || reason == "BLOCK_REASON_UNSPECIFIED" {
            return;
        }
        let message = match &*feedback.block_reason_message.0 {
            "" => Text::from(format!("the prompt was blocked: {reason}")),
            message => Text::from(message),
        };
        self.fail(ProviderError::InStream {
            kind: ErrorCode::ContentFiltered,
            code: Some(Text::from(reason)),
            message,
            raw: None,
        });
    }

    fn fail(&mut self, error: ProviderError) {
        self.error.get_or_insert(error);
    }
}

fn tell(details: ChunkDetails, emit: &mut dyn FnMut(StreamChunk)) {
    emit(StreamChunk { details: Some(Box::new(details)), ..StreamChunk::default() });
}

fn no_answer(offset: u64, what: &str) -> ProviderError {
    let reason = Text::from(format!("an event's data are no answer: {what}"));
    ProviderError::Decode { offset, reason }
}
