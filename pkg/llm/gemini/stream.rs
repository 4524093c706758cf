//! The decoder of Gemini responses.

use serde_json::value::RawValue;

use super::{
    PROTOCOL, part, sources,
    wire::{GeminiCandidate, GeminiResponse},
};
use crate::{
    Progress, ProviderError, StreamChunk,
    decode::{
        AnswerChoices, EventFault, EventReader, JsonEntries, OutSink, UsagePaths, event_decoder,
        fill, finish_reason, reported,
    },
};
use forgeline_types::{ErrorCode, ItemKind, Text};

const USAGE: UsagePaths = UsagePaths {
    input: &["promptTokenCount+toolUsePromptTokenCount"],
    output: &["candidatesTokenCount+thoughtsTokenCount"],
    cache_read: &["cachedContentTokenCount"],
    cache_write: &[],
    reasoning: &["thoughtsTokenCount"],
};

event_decoder! {
    /// A decoder for the body of a Gemini response.
    ///
    /// The body is a stream of events, as requested by `alt=sse`. A body that is one JSON list of the same
    /// pieces, as sent without it, and one that is a whole answer are read at their end. A prompt that
    /// the server blocks is a [`ProviderError::InStream`] of the kind
    /// [`ContentFiltered`](forgeline_types::ErrorCode::ContentFiltered).
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
    GeminiDecoder, GeminiReader
}

impl GeminiDecoder {
    /// Reads all candidates as parts of one answer, in the order in which they arrive: the request asked for one. By
    /// default, the first candidate alone is the answer, since a body does not say what was asked for, and of several answers
    /// that were, joined calls would all run.
    #[must_use]
    pub fn merge_choices(mut self, merge: bool) -> Self {
        self.0.reader_mut().choices.merges = merge;
        self
    }
}

/// Decodes the JSON of events into chunks.
#[derive(Debug, Default)]
struct GeminiReader {
    choices: AnswerChoices,
    calls: part::GeminiCalls,
    /// The last event with a usage that has not been emitted: every event repeats the usage with higher counts,
    /// and only the last one counts. At most as long as an event.
    usage: String,
    /// `true` if the last event had a usage.
    has_usage: bool,
}

impl EventReader for GeminiReader {
    const PROTOCOL: &'static str = PROTOCOL;
    const PADDING: &'static [&'static str] = &["usageMetadata"];

    fn event(&mut self, _name: &str, data: &str, sink: &mut OutSink<'_>) -> Result<(), EventFault> {
        let data = data.trim();
        if !data.starts_with('[') {
            return self.response(data, sink);
        }
        let mut list = ListMembers::new(data);
        while let Some(member) = list.next() {
            self.response(member, sink)?;
        }
        sink.must_not_repeat();
        if list.is_whole() { Ok(()) } else { Err(EventFault::data("a list without end")) }
    }

    fn whole(&mut self, text: &str, sink: &mut OutSink<'_>) -> Result<(), EventFault> {
        let mut list = ListMembers::new(text);
        let mut read = |member: &str, sink: &mut OutSink<'_>| {
            let mut response = GeminiResponse::default();
            fill(member, &mut response)?;
            if response.is_blank() {
                return Err(EventFault::data("no candidates"));
            }
            if let Err(fault) = self.unwrap(response, member, sink) {
                sink.fail(fault.at(0));
            }
            Ok(())
        };
        if !text.starts_with('[') {
            return read(text, sink);
        }
        let first = list.next().ok_or(EventFault::data("an empty list"))?;
        read(first, sink)?;
        while let Some(member) = list.next() {
            read(member, sink)?;
        }
        if !list.is_whole() && sink.progress() == Progress::Open {
            sink.fail(ProviderError::EndedEarly { received: text.len() as u64 });
        }
        Ok(())
    }

    fn repeated(&mut self, data: &str) {
        if self.has_usage {
            self.usage.clear();
            self.usage.push_str(data);
        }
    }

    fn end(&mut self, sink: &mut OutSink<'_>) {
        self.emit_usage(StreamChunk::default(), sink);
    }
}

impl GeminiReader {
    fn response(&mut self, data: &str, sink: &mut OutSink<'_>) -> Result<(), EventFault> {
        let mut response = GeminiResponse::default();
        fill(data, &mut response)?;
        self.unwrap(response, data, sink)
    }

    fn unwrap(
        &mut self,
        response: GeminiResponse<'_>,
        data: &str,
        sink: &mut OutSink<'_>,
    ) -> Result<(), EventFault> {
        let Some(inner) = response.wrapped.map(RawValue::get) else {
            return self.answer(response, data, sink);
        };
        // Only one wrapper is read: wrappers could be nested without end.
        let mut response = GeminiResponse::default();
        fill(inner, &mut response)?;
        self.answer(response, inner, sink)
    }

    fn answer(
        &mut self,
        response: GeminiResponse<'_>,
        data: &str,
        sink: &mut OutSink<'_>,
    ) -> Result<(), EventFault> {
        let is_blank = response.is_blank();
        if !response.rest.is_empty() && !is_blank {
            sink.unknown_members("response", &response.rest);
        }
        let mut facts = StreamChunk::default();
        sink.identify(&response.model_version.0, &response.id.0, &mut facts.details);
        sink.emit_some(facts);
        self.has_usage = response.usage_metadata.is_there;
        self.repeated(data);
        let mut is_empty = true;
        for candidate in response.candidates.into_members().filter_map(|candidate| candidate.0) {
            if self.choices.reads(candidate.index()) {
                is_empty = false;
                self.candidate(candidate, sink)?;
            } else {
                let mut ignored = StreamChunk::default();
                sink.ignore_choice(candidate.index(), &mut ignored.details);
                sink.emit_some(ignored);
            }
        }
        if sink.progress() == Progress::Complete {
            self.emit_usage(StreamChunk::default(), sink);
        } else if is_empty {
            block(&JsonEntries::from_raw(response.prompt_feedback), sink);
        }
        if let Some(raw) = reported(response.error) {
            sink.fail_with(raw);
        } else if is_blank {
            sink.stray(data);
        }
        Ok(())
    }

    fn candidate(
        &mut self,
        candidate: GeminiCandidate<'_>,
        sink: &mut OutSink<'_>,
    ) -> Result<(), EventFault> {
        let word = candidate.finish_word().map(Text::from);
        sink.emit_role(&candidate.content.role.0);
        for raw in candidate.content.parts.into_members() {
            part::read_part(raw, &mut self.calls, sink)?;
        }
        if !candidate.rest.is_empty() || !candidate.content.rest.is_empty() {
            sink.unknown_members("candidate", &candidate.rest);
            sink.unknown_members("content", &candidate.content.rest);
        }
        if let Some(raw) = candidate.citation_metadata {
            sink.events(sources::citations(raw));
        }
        if let Some(raw) = candidate.grounding_metadata {
            sink.events(sources::grounding(raw));
        }
        let facts = [
            ("groundingMetadata", candidate.grounding_metadata),
            ("urlContextMetadata", candidate.url_context_metadata),
            ("finishMessage", candidate.finish_message),
        ];
        for (name, raw) in facts {
            if let Some(raw) = raw.filter(|raw| raw.get() != "{}") {
                sink.item(ItemKind::other(name), raw.get());
            }
        }
        if let Some(word) = word {
            sink.set_progress(Progress::Complete);
            let mut end = StreamChunk { finished: true, ..StreamChunk::default() };
            let reason = finish_reason(&word);
            if self.choices.end(&reason) {
                end.set_finish_reason(reason, &word);
            }
            self.emit_usage(end, sink);
        }
        Ok(())
    }

    /// Puts the pending usage into `chunk`, and emits the chunk unless it is empty.
    fn emit_usage(&mut self, mut chunk: StreamChunk, sink: &mut OutSink<'_>) {
        let event = JsonEntries::parse(&self.usage);
        let usage = event.get("usageMetadata").or(event.get("response.usageMetadata"));
        chunk.set_usage(&USAGE, usage);
        self.usage.clear();
        sink.emit_some(chunk);
    }
}

/// Records that the prompt was blocked: it gets no answer, and no end either.
fn block(feedback: &JsonEntries<'_>, sink: &mut OutSink<'_>) {
    let Some(reason) = feedback.first_text(&["blockReason"]) else { return };
    if reason != "BLOCK_REASON_UNSPECIFIED" {
        let message = feedback.first_text(&["blockReasonMessage"]);
        sink.fail(ProviderError::InStream {
            kind: ErrorCode::ContentFiltered,
            message: message
                .unwrap_or_else(|| Text::from(format!("the prompt was blocked: {reason}"))),
            code: Some(reason),
            raw: None,
        });
    }
}

/// The members of a JSON list that may be incomplete, as sent without `alt=sse`.
struct ListMembers<'a>(&'a str);

impl<'a> ListMembers<'a> {
    fn new(text: &'a str) -> Self {
        Self(text.strip_prefix('[').unwrap_or(text))
    }

    fn next(&mut self) -> Option<&'a str> {
        let rest = self.0.trim_start().trim_start_matches(',');
        let mut members = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let member = members.next()?.ok()?;
        self.0 = rest.split_at_checked(members.byte_offset())?.1;
        Some(member.get())
    }

    fn is_whole(&self) -> bool {
        self.0.trim_start().starts_with(']')
    }
}
