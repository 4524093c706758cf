//! Request bodies: what was sent before goes out again as the same bytes.
//!
//! Everything that stays comes first and the messages last, so the body of a turn starts with the
//! body of the turn before, less its last brackets. Encoded messages are kept beside the history that
//! they belong to; a turn encodes only what is new.

use std::{fmt, io::Write as _, marker::PhantomData, sync::Arc};

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    llm::{ProviderError, ToolSpec},
    types::{Message, Transcript},
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
