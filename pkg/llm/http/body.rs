//! Request bodies: what was sent before goes out again as the same bytes.
//!
//! Everything that stays comes first and the messages last, so the body of a turn starts with the
//! body of the turn before, less its last brackets. Encoded messages are kept beside the history that
//! they belong to; a turn encodes only what is new.

use std::{fmt, io::Write as _, marker::PhantomData, sync::Arc};

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

#[cfg(any(feature = "anthropic", feature = "gemini"))]
use crate::{llm::Request, types::Part};
use crate::{
    llm::{ProviderError, ToolSpec},
    types::{Message, MessageRole, Transcript},
};

/// The encoding of the first messages of a history and of what stays from turn to turn, kept in the
/// history's wire cache. `W` tells one protocol's encoding from another's.
pub struct Encoded<W> {
    /// Messages in `segments`.
    count: usize,
    /// Each at least twice as long as the next, so there are few.
    segments: Vec<Bytes>,
    tools: Option<(Arc<[ToolSpec]>, u8, Bytes)>,
    system: Option<(Arc<str>, u8, Bytes)>,
    protocol: PhantomData<fn() -> W>,
}

impl<W> Default for Encoded<W> {
    fn default() -> Self {
        Self { count: 0, segments: Vec::new(), tools: None, system: None, protocol: PhantomData }
    }
}

impl<W> fmt::Debug for Encoded<W> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Encoded").field("count", &self.count).finish_non_exhaustive()
    }
}

impl<W: 'static> Encoded<W> {
    /// The encoding that an earlier request of this history left.
    pub fn take(history: &Transcript) -> Self {
        history.wire_cache().take().unwrap_or_default()
    }

    /// Leaves the encoding to the next request.
    pub fn keep(self, history: &Transcript) {
        history.wire_cache().put(self);
    }

    /// The tools, encoded once for a list and a `variant` of writing it.
    pub fn tools(
        &mut self,
        tools: &Arc<[ToolSpec]>,
        variant: u8,
        write: impl FnOnce(&[ToolSpec]) -> Value,
    ) -> Bytes {
        match &self.tools {
            Some((known, as_written, bytes))
                if Arc::ptr_eq(known, tools) && *as_written == variant =>
            {
                bytes.clone()
            }
            _ => {
                let bytes = to_bytes(&write(tools));
                self.tools = Some((Arc::clone(tools), variant, bytes.clone()));
                bytes
            }
        }
    }

    /// The standing instructions, encoded once for a text and a `variant` of writing it.
    pub fn system(
        &mut self,
        system: &Arc<str>,
        variant: u8,
        write: impl FnOnce(&str) -> Value,
    ) -> Bytes {
        match &self.system {
            Some((known, as_written, bytes))
                if Arc::ptr_eq(known, system) && *as_written == variant =>
            {
                bytes.clone()
            }
            _ => {
                let bytes = to_bytes(&write(system));
                self.system = Some((Arc::clone(system), variant, bytes.clone()));
                bytes
            }
        }
    }

    /// Encodes the first `upto` messages of `history` that are not encoded yet; `encode` writes one
    /// message, and is told whether one stands before it.
    ///
    /// # Errors
    ///
    /// What `encode` fails with; nothing is kept of that message then, nor of those before it that
    /// were new.
    pub fn append(
        &mut self,
        history: &Transcript,
        upto: usize,
        mut encode: impl FnMut(&Message, bool, &mut Vec<u8>) -> Result<(), ProviderError>,
    ) -> Result<(), ProviderError> {
        let new = history.get(self.count..upto.min(history.len()));
        let Some(new) = new.filter(|new| !new.is_empty()) else { return Ok(()) };
        let (mut out, mut count) = (Vec::new(), self.count);
        for message in new {
            let has_before = out.len() + self.segments.len() > 0;
            encode(message, has_before, &mut out)?;
            count += 1;
        }
        self.count = count;
        if !out.is_empty() {
            self.segments.push(Bytes::from(out));
            merge(&mut self.segments);
        }
        Ok(())
    }

    /// As [`append`](Self::append), for protocols in which the results of one answer's calls are one
    /// message: `encode` writes neighbouring tool messages together, and any other message alone.
    ///
    /// A body that ended with such a message is not the beginning of one in which another follows it:
    /// what was encoded is then written anew, and differs in the brackets behind the last result.
    ///
    /// # Errors
    ///
    /// As of [`append`](Self::append).
    pub fn append_runs(
        &mut self,
        history: &Transcript,
        upto: usize,
        mut encode: impl FnMut(&[Arc<Message>], bool, &mut Vec<u8>) -> Result<(), ProviderError>,
    ) -> Result<(), ProviderError> {
        if run_start(history, self.count) < self.count && self.count < history.len() {
            self.restart();
        }
        let new = history.get(self.count..upto.min(history.len())).unwrap_or_default();
        let (mut out, mut count) = (Vec::new(), self.count);
        for run in new.chunk_by(is_one_run) {
            let has_before = out.len() + self.segments.len() > 0;
            encode(run, has_before, &mut out)?;
            count += run.len();
        }
        self.count = count;
        if !out.is_empty() {
            self.segments.push(Bytes::from(out));
            merge(&mut self.segments);
        }
        Ok(())
    }

    /// Forgets the encoded messages.
    pub fn restart(&mut self) {
        self.count = 0;
        self.segments.clear();
    }

    /// How many messages are encoded.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The encoded messages, separated by commas.
    pub fn segments(&self) -> impl Iterator<Item = Bytes> {
        self.segments.iter().cloned()
    }

    /// Whether nothing was written for the messages so far.
    pub fn is_blank(&self) -> bool {
        self.segments.is_empty()
    }
}

/// Where the run begins that message `at` of `history` belongs to; `at` itself at its beginning.
pub fn run_start(history: &[Arc<Message>], at: usize) -> usize {
    let goes_on = |at: &usize| match history.get(at.saturating_sub(1)..=*at) {
        Some([before, after]) => is_one_run(before, after),
        _ => false,
    };
    let mut start = at;
    while goes_on(&start) {
        start -= 1;
    }
    start
}

fn is_one_run(before: &Arc<Message>, after: &Arc<Message>) -> bool {
    before.role == MessageRole::Tool && after.role == MessageRole::Tool
}

/// The standing instructions of a request: its own, then those that begin its conversation. `None`
/// when there are later ones, for which some protocols have no place; the first `known` messages were
/// looked through before.
#[cfg(any(feature = "anthropic", feature = "gemini"))]
pub(in crate::llm) fn instructions(request: &Request, known: usize) -> Option<Instructions<'_>> {
    let is_system = |message: &&Arc<Message>| message.role == MessageRole::System;
    let leading = request.messages.iter().take_while(is_system).count();
    let new = request.messages.get(leading.max(known)..).unwrap_or_default();
    if new.iter().any(|message| is_system(&message)) {
        return None;
    }
    let own = request.system.as_ref().filter(|text| !text.trim().is_empty());
    if leading == 0 {
        return Some(own.map_or(Instructions::None, Instructions::Own));
    }
    let messages = request.messages.iter().take(leading).flat_map(|message| &message.parts);
    let texts = messages.filter_map(|part| match part {
        Part::Text { text } if !text.trim().is_empty() => Some(text.as_str()),
        Part::Text { .. }
        | Part::Thinking { .. }
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::ProviderItem(_)
        | Part::Image { .. }
        | Part::Document { .. } => None,
    });
    let texts: Vec<_> = own.map(|text| &**text).into_iter().chain(texts).collect();
    Some(if texts.is_empty() { Instructions::None } else { Instructions::All(texts) })
}

/// What [`instructions`] found.
#[cfg(any(feature = "anthropic", feature = "gemini"))]
pub(in crate::llm) enum Instructions<'r> {
    None,
    /// Those of the request alone.
    Own(&'r Arc<str>),
    /// Those that begin the conversation, and before them the request's.
    All(Vec<&'r str>),
}

/// Joins the last segments until each is at least twice as long as the next: a body has few
/// segments, and a byte is copied as often as its segment has doubled.
fn merge(segments: &mut Vec<Bytes>) {
    while let [.., before, last] = segments.as_slice() {
        if before.len() >= 2 * last.len() {
            return;
        }
        let joined = Bytes::from([before.as_ref(), last.as_ref()].concat());
        segments.truncate(segments.len() - 2);
        segments.push(joined);
    }
}

/// Writes the fields of an object, each followed by a comma; those that the caller of the library
/// sets himself, in `extra`, are left out.
#[derive(Debug)]
pub struct Fields<'r> {
    /// What is written so far; behind [`key`](Self::key) a value and a comma may be appended.
    pub out: Vec<u8>,
    extra: &'r Map<String, Value>,
}

impl<'r> Fields<'r> {
    /// Begins the object.
    pub fn new(extra: &'r Map<String, Value>) -> Self {
        Self { out: b"{".to_vec(), extra }
    }

    /// Whether the caller sets `key` himself.
    pub fn is_overridden(&self, key: &str) -> bool {
        self.extra.contains_key(key)
    }

    /// Writes a field.
    pub fn field(&mut self, key: &str, value: &(impl Serialize + ?Sized)) {
        if !self.is_overridden(key) {
            self.write(key, value);
        }
    }

    /// Writes a field that has a value.
    pub fn optional(&mut self, key: &str, value: Option<&(impl Serialize + ?Sized)>) {
        if let Some(value) = value {
            self.field(key, value);
        }
    }

    /// Writes a key; its value follows.
    pub fn key(&mut self, key: &str) {
        write_json(&mut self.out, key);
        self.out.push(b':');
    }

    /// Takes out what was written, for the body's next segment.
    pub fn take(&mut self) -> Bytes {
        Bytes::from(std::mem::take(&mut self.out))
    }

    /// Writes the fields of the caller.
    pub fn extra(&mut self) {
        for (key, value) in self.extra {
            self.write(key, value);
        }
    }

    /// Ends the object behind the last field.
    pub fn end(mut self) -> Bytes {
        if self.out.last() == Some(&b',') {
            self.out.pop();
        }
        self.out.push(b'}');
        Bytes::from(self.out)
    }

    fn write(&mut self, key: &str, value: &(impl Serialize + ?Sized)) {
        self.key(key);
        write_json(&mut self.out, value);
        self.out.push(b',');
    }
}

/// A value that has a JSON form, as bytes.
pub(in crate::llm) fn to_bytes(value: &impl Serialize) -> Bytes {
    let mut out = Vec::new();
    write_json(&mut out, value);
    Bytes::from(out)
}

/// Writes a value that has a JSON form: text, numbers, and values made of them.
pub fn write_json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
        out.write_all(b"null").unwrap_or_default();
    }
}
