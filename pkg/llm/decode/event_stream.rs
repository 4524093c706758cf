//! The state that the events of every protocol share: progress, error, identity, torn characters.

use std::fmt;

use super::{
    Emit, Progress, emit_event,
    surrogates::{Repaired, has_surrogates},
    vendor_error::in_stream,
};
use crate::{
    llm::{ChunkDetails, ProviderError},
    types::{AgentEvent, Json, MessageRole, ProviderItem, Text},
};

/// Most events of unknown types that are reported; further ones are dropped.
const MAX_UNKNOWN_EVENTS: u32 = 1024;

/// Reads the events of one protocol.
pub(in crate::llm) trait EventReader {
    /// Reads the data of the event called `name`.
    fn event(
        &mut self,
        name: &str,
        data: &str,
        state: &mut StreamState,
        emit: Emit<'_>,
    ) -> Result<(), Fault>;

    /// Reads a body that is one JSON value, as a server sends it that does not stream.
    fn whole(&mut self, text: &str, state: &mut StreamState, emit: Emit<'_>) -> Result<(), Fault> {
        self.event("", text, state, emit)
    }

    /// Takes the marker `[DONE]`.
    fn done(&mut self, state: &mut StreamState, _emit: Emit<'_>) {
        if state.progress == Progress::Complete {
            state.progress = Progress::Done;
        }
    }

    /// Ends the body: nothing more comes.
    fn end(&mut self, _state: &mut StreamState, _emit: Emit<'_>) {}
}

/// The reason why an event was not read.
#[derive(Debug)]
pub(in crate::llm) enum Fault {
    /// The data are not what the protocol sends.
    Data(Text),
    /// The response passed a limit.
    Limit(&'static str),
}

impl Fault {
    /// Returns the error of an event at byte `offset` of the body.
    pub(in crate::llm) fn at(&self, offset: u64) -> ProviderError {
        ProviderError::Decode { offset, reason: Text::from(self.to_string()) }
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        Self::Data(Text::from(error.to_string()))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data(reason) => write!(formatter, "invalid event data: {reason}"),
            Self::Limit(reason) => formatter.write_str(reason),
        }
    }
}

/// The events of one response, read by `R`.
///
/// Every event of every protocol passes [`event`](Self::event), between framing and parsing.
#[derive(Debug, Default)]
pub(in crate::llm) struct EventStream<R> {
    reader: R,
    state: StreamState,
    /// An event that ends in half a character: the next event may have the rest.
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    name: String,
    data: Repaired,
    offset: u64,
}

impl<R: EventReader> EventStream<R> {
    /// Reads one event, which begins at byte `offset` of the body.
    pub(in crate::llm) fn event(
        &mut self,
        name: &str,
        data: &str,
        offset: u64,
        emit: Emit<'_>,
    ) -> Result<(), ProviderError> {
        if matches!(self.state.progress, Progress::Done | Progress::Failed) {
            return Ok(());
        }
        let is_whole = self.held.is_none() && !has_surrogates(data);
        if is_whole && data.starts_with('{') {
            return self.json(name, data, offset, emit);
        }
        if data.trim().is_empty() {
            return Ok(());
        }
        if is_whole {
            return self.read(name, data, offset, emit);
        }
        let mut next = Repaired::new(data);
        if let Some(mut held) = self.held.take() {
            held.data.join(&mut next);
            self.read(&held.name, held.data.json(), held.offset, emit)?;
        }
        if next.is_open() && name != "error" {
            self.held = Some(Held { name: name.to_owned(), data: next, offset });
            return Ok(());
        }
        self.read(name, next.json(), offset, emit)
    }

    fn read(
        &mut self,
        name: &str,
        data: &str,
        offset: u64,
        emit: Emit<'_>,
    ) -> Result<(), ProviderError> {
        if data.trim() == "[DONE]" {
            self.reader.done(&mut self.state, emit);
            return Ok(());
        }
        self.json(name, data, offset, emit)
    }

    fn json(
        &mut self,
        name: &str,
        data: &str,
        offset: u64,
        emit: Emit<'_>,
    ) -> Result<(), ProviderError> {
        match self.reader.event(name, data, &mut self.state, emit) {
            Ok(()) => Ok(()),
            // Some servers report an error in plain words.
            Err(Fault::Data(_)) if name == "error" => {
                self.state.fail(in_stream(None, data));
                Ok(())
            }
            Err(fault) => Err(fault.at(offset)),
        }
    }

    /// Reads a body that is one JSON value.
    pub(super) fn whole(&mut self, text: &str, emit: Emit<'_>) -> Result<(), Fault> {
        self.reader.whole(Repaired::new(text).json(), &mut self.state, emit)
    }

    /// Ends the body; returns `true` when the response is complete.
    pub(in crate::llm) fn finish(&mut self, emit: Emit<'_>) -> Result<bool, ProviderError> {
        let read = self
            .held
            .take()
            .map_or(Ok(()), |held| self.read(&held.name, held.data.json(), held.offset, emit));
        self.reader.end(&mut self.state, emit);
        read?;
        match self.state.error.take() {
            Some(error) => Err(error),
            None => Ok(matches!(self.state.progress, Progress::Complete | Progress::Done)),
        }
    }

    pub(in crate::llm) fn progress(&self) -> Progress {
        let progress = self.state.progress;
        let has_failed = self.state.has_failed() && progress != Progress::Done;
        if has_failed { Progress::Failed } else { progress }
    }

    pub(in crate::llm) fn reader(&self) -> &R {
        &self.reader
    }
}

/// The facts of a response so far.
#[derive(Debug, Default)]
pub(in crate::llm) struct StreamState {
    /// [`Progress::Failed`] when the answer has ended in an error and nothing that follows counts.
    pub(in crate::llm) progress: Progress,
    error: Option<ProviderError>,
    has_role: bool,
    model: Text,
    response_id: Text,
    highest_choice: u32,
    unknown_events: u32,
}

impl StreamState {
    /// Notes an error that the server reported. The first one counts, unless it has no error value
    /// of the vendor and the later one has.
    pub(in crate::llm) fn fail(&mut self, error: ProviderError) {
        if self.error.as_ref().is_none_or(|known| known.raw().is_none() && error.raw().is_some()) {
            self.error = Some(error);
        }
    }

    /// Notes an error that says at least as much as an earlier one.
    pub(in crate::llm) fn fail_again(&mut self, error: ProviderError) {
        self.error = Some(error);
    }

    pub(in crate::llm) fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// Returns the role when it is named for the first time.
    pub(in crate::llm) fn role(&mut self, name: &str) -> Option<MessageRole> {
        let is_new = !self.has_role && matches!(name, "assistant" | "model");
        self.has_role |= is_new;
        is_new.then_some(MessageRole::Assistant)
    }

    /// Adds model and id to `details`, unless earlier events named some: servers exist that invent
    /// a new id for every event.
    pub(in crate::llm) fn identify(
        &mut self,
        model: &str,
        response_id: &str,
        details: &mut Option<Box<ChunkDetails>>,
    ) {
        let model = if self.model.is_empty() { model } else { "" };
        let response_id = if self.response_id.is_empty() { response_id } else { "" };
        self.identify_again(model, response_id, details);
    }

    /// Adds model and id to `details` where they are others than before.
    pub(in crate::llm) fn identify_again(
        &mut self,
        model: &str,
        response_id: &str,
        details: &mut Option<Box<ChunkDetails>>,
    ) {
        if !model.is_empty() && self.model != *model {
            self.model = Text::from(model);
            details.get_or_insert_default().model = Some(self.model.clone());
        }
        if !response_id.is_empty() && self.response_id != *response_id {
            self.response_id = Text::from(response_id);
            details.get_or_insert_default().response_id = Some(self.response_id.clone());
        }
    }

    /// Adds to `details` that there are further answers, up to the one numbered `index`.
    pub(in crate::llm) fn ignore_choice(
        &mut self,
        index: u32,
        details: &mut Option<Box<ChunkDetails>>,
    ) {
        if index > self.highest_choice {
            self.highest_choice = index;
            details.get_or_insert_default().ignored_choices = index;
        }
    }

    /// Reports an event of an unknown type as it came; it is not a part of the answer.
    pub(in crate::llm) fn unknown_event(
        &mut self,
        protocol: &str,
        kind: &str,
        data: &str,
        emit: Emit<'_>,
    ) {
        if self.unknown_events < MAX_UNKNOWN_EVENTS
            && let Ok(raw) = Json::parse(data)
        {
            self.unknown_events += 1;
            let item = ProviderItem::unknown_event(protocol, kind, raw);
            emit_event(AgentEvent::ProviderItem(item), emit);
        }
    }
}
