//! The state shared by the events of every protocol: progress, error, identity, split characters.

use std::fmt;

use super::{
    EmitChunk, OutSink, Progress,
    repeats::{EventChunks, RepeatedEvents},
    sink::StreamState,
    surrogates::{RepairedData, has_surrogates},
    vendor_error::in_stream,
};
use crate::{ProviderError, StreamChunk};
use forgeline_types::Text;

/// A reader of the events of one protocol.
pub(crate) trait EventReader {
    /// The name of the protocol in items.
    const PROTOCOL: &'static str;
    /// Members of an event that may change from one delta to the next without meaning.
    const PADDING: &'static [&'static str] = &[];

    /// Reads the data of the event with this name.
    fn event(&mut self, name: &str, data: &str, sink: &mut OutSink<'_>) -> Result<(), EventFault>;

    /// Reads a body that is one JSON value, as sent by a server that does not stream.
    fn whole(&mut self, text: &str, sink: &mut OutSink<'_>) -> Result<(), EventFault> {
        self.event("", text, sink)
    }

    /// Processes an event that equals the one before except for its text, and so was not parsed.
    fn repeated(&mut self, _data: &str) {}

    /// Processes the marker `[DONE]`.
    fn done(&mut self, sink: &mut OutSink<'_>) {
        if sink.progress() == Progress::Complete {
            sink.set_progress(Progress::Done);
        }
    }

    /// Processes the end of the body.
    fn end(&mut self, _sink: &mut OutSink<'_>) {}
}

/// The reason why an event could not be read.
#[derive(Debug)]
pub(crate) enum EventFault {
    /// The data does not follow the protocol.
    Data(Text),
    /// The response exceeded a limit.
    Limit(&'static str),
}

impl EventFault {
    /// Returns the fault of data that does not follow the protocol.
    pub(crate) fn data(reason: &str) -> Self {
        Self::Data(Text::from(reason))
    }

    /// Returns the error of an event at byte `offset` of the body.
    pub(crate) fn at(&self, offset: u64) -> ProviderError {
        ProviderError::Decode { offset, reason: Text::from(self.to_string()) }
    }
}

impl From<serde_json::Error> for EventFault {
    fn from(error: serde_json::Error) -> Self {
        Self::Data(Text::from(error.to_string()))
    }
}

impl fmt::Display for EventFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data(reason) => write!(formatter, "invalid event data: {reason}"),
            Self::Limit(reason) => formatter.write_str(reason),
        }
    }
}

/// The events of one response, read by `R`.
///
/// Every event of every protocol passes through [`event`](Self::event), between framing and parsing.
#[derive(Debug, Default)]
pub(crate) struct EventStream<R> {
    reader: R,
    state: StreamState,
    /// An event that ends in half a character, the rest of which may be in the next event.
    held: Option<HeldEvent>,
    repeats: RepeatedEvents,
}

#[derive(Debug)]
struct HeldEvent {
    name: String,
    data: RepairedData,
    offset: u64,
}

impl<R: EventReader> EventStream<R> {
    /// Reads one event that begins at byte `offset` of the body.
    pub(crate) fn event(
        &mut self,
        name: &str,
        data: &str,
        offset: u64,
        emit: EmitChunk<'_>,
    ) -> Result<(), ProviderError> {
        if matches!(self.state.progress, Progress::Done | Progress::Failed) {
            return Ok(());
        }
        if let Some(chunk) = self.repeats.repeated_chunk(name, data) {
            self.reader.repeated(data);
            emit(chunk);
            return Ok(());
        }
        let is_whole = self.held.is_none() && !has_surrogates(data);
        if is_whole && data.starts_with('{') {
            return self.json(name, data, offset, emit);
        }
        let data = data.trim_start_matches('\u{FEFF}');
        if data.trim().is_empty() {
            return Ok(());
        }
        if is_whole {
            return self.read_event(name, data, offset, emit);
        }
        let mut next = RepairedData::new(data);
        if let Some(mut held) = self.held.take() {
            held.data.join(&mut next);
            self.read_event(&held.name, held.data.json(), held.offset, emit)?;
        }
        if next.is_open() && name != "error" {
            self.held = Some(HeldEvent { name: name.to_owned(), data: next, offset });
            self.repeats.forget();
            return Ok(());
        }
        self.read_event(name, next.json(), offset, emit)
    }

    fn read_event(
        &mut self,
        name: &str,
        data: &str,
        offset: u64,
        emit: EmitChunk<'_>,
    ) -> Result<(), ProviderError> {
        if data.trim() == "[DONE]" {
            self.reader.done(&mut sink(&mut self.state, emit, R::PROTOCOL));
            return Ok(());
        }
        self.json(name, data, offset, emit)
    }

    fn json(
        &mut self,
        name: &str,
        data: &str,
        offset: u64,
        emit: EmitChunk<'_>,
    ) -> Result<(), ProviderError> {
        self.repeats.forget();
        self.state.may_repeat = false;
        let mut given = EventChunks::Nothing;
        let mut emit = |chunk: StreamChunk| {
            given.add(&chunk);
            emit(chunk);
        };
        let mut sink = sink(&mut self.state, &mut emit, R::PROTOCOL);
        match self.reader.event(name, data, &mut sink) {
            Ok(()) => {
                let state = &self.state;
                let goes_on = state.progress == Progress::Open && state.error.is_none();
                if state.may_repeat && goes_on {
                    self.repeats.parsed(name, data, given, R::PADDING);
                }
                Ok(())
            }
            // Some servers report an error as plain text.
            Err(EventFault::Data(_)) if name == "error" => {
                self.state.fail(in_stream(None, data));
                Ok(())
            }
            Err(fault) => Err(fault.at(offset)),
        }
    }

    /// Reads a body that is one JSON value.
    pub(super) fn whole(&mut self, text: &str, emit: EmitChunk<'_>) -> Result<(), EventFault> {
        let mut sink = sink(&mut self.state, emit, R::PROTOCOL);
        if has_surrogates(text) {
            return self.reader.whole(RepairedData::new(text).json(), &mut sink);
        }
        self.reader.whole(text, &mut sink)
    }

    /// Ends the body; returns `true` if the response is complete.
    pub(crate) fn finish(&mut self, emit: EmitChunk<'_>) -> Result<bool, ProviderError> {
        let read = self.held.take().map_or(Ok(()), |held| {
            self.read_event(&held.name, held.data.json(), held.offset, emit)
        });
        self.reader.end(&mut sink(&mut self.state, emit, R::PROTOCOL));
        read?;
        match self.state.error.take() {
            Some(error) => Err(error),
            None => Ok(matches!(self.state.progress, Progress::Complete | Progress::Done)),
        }
    }

    pub(crate) fn progress(&self) -> Progress {
        let progress = self.state.progress;
        let has_failed = self.state.error.is_some() && progress != Progress::Done;
        if has_failed { Progress::Failed } else { progress }
    }

    pub(crate) fn reader(&self) -> &R {
        &self.reader
    }

    pub(crate) fn reader_mut(&mut self) -> &mut R {
        &mut self.reader
    }
}

fn sink<'s>(
    state: &'s mut StreamState,
    emit: EmitChunk<'s>,
    protocol: &'static str,
) -> OutSink<'s> {
    OutSink { state, emit, protocol }
}
