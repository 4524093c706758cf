//! JSON written member by member and item by item.

use std::{borrow::Cow, io::Write as _};

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{ProviderError, Request};

/// A vendor's names for the sampling options; an empty name means an option that the vendor
/// lacks.
#[derive(Debug, Clone, Copy)]
pub struct SamplingNames {
    /// The name of [`Request::max_tokens`]; a vendor without one writes the limit elsewhere.
    pub max_tokens: &'static str,
    /// The name of [`Request::top_p`].
    pub top_p: &'static str,
    /// The name of [`Request::top_k`].
    pub top_k: &'static str,
    /// The name of [`Request::seed`].
    pub seed: &'static str,
    /// The name of [`Request::stop`].
    pub stop: &'static str,
}

impl SamplingNames {
    /// The names of Chat Completions.
    pub const CHAT: Self = Self {
        max_tokens: "max_tokens",
        top_p: "top_p",
        top_k: "top_k",
        seed: "seed",
        stop: "stop",
    };
}

/// The members of an object, each followed by a comma; those that the caller sets
/// in `extra` are left out.
#[derive(Debug)]
pub(crate) struct JsonFields<'r> {
    /// The JSON so far; after [`key`](Self::key) a value and a comma may be appended.
    pub(super) out: Vec<u8>,
    pub(super) extra: Cow<'r, Map<String, Value>>,
}

impl<'r> JsonFields<'r> {
    /// Begins the object.
    pub(crate) fn new(extra: Cow<'r, Map<String, Value>>) -> Self {
        Self { out: b"{".to_vec(), extra }
    }

    /// Begins an object in which the caller sets nothing.
    pub(crate) fn object() -> JsonFields<'static> {
        JsonFields::new(Cow::Owned(Map::new()))
    }

    /// Returns `true` if the caller sets `key`.
    pub(crate) fn is_set(&self, key: &str) -> bool {
        self.extra.contains_key(key)
    }

    /// Writes a member.
    pub(crate) fn field(&mut self, key: &str, value: &(impl Serialize + ?Sized)) {
        if !self.is_set(key) {
            self.key(key);
            write_json(&mut self.out, value);
            self.out.push(b',');
        }
    }

    /// Writes a member if it has a value.
    pub(crate) fn optional(&mut self, key: &str, value: Option<impl Serialize>) {
        if let Some(value) = value {
            self.field(key, &value);
        }
    }

    /// Writes a member whose value is already JSON.
    pub(crate) fn raw(&mut self, key: &str, json: &[u8]) {
        if !self.is_set(key) {
            self.key(key);
            self.out.extend_from_slice(json);
            self.out.push(b',');
        }
    }

    /// Writes the token limit and the sampling options; an option without a name is unsupported unless the caller
    /// sets it.
    pub(crate) fn sampling(
        &mut self,
        request: &Request,
        provider: &str,
        names: &SamplingNames,
    ) -> Result<(), ProviderError> {
        let stop = Some(&request.stop).filter(|texts| !texts.is_empty());
        let lacking = [
            ("top_p", names.top_p, request.top_p.is_some()),
            ("top_k", names.top_k, request.top_k.is_some()),
            ("seed", names.seed, request.seed.is_some()),
            ("stop", names.stop, stop.is_some()),
        ];
        let is_lacking = |(option, name, is_wanted): &&(&str, &str, bool)| {
            *is_wanted && name.is_empty() && !self.is_set(option)
        };
        if let Some((option, ..)) = lacking.iter().find(is_lacking) {
            let feature = format!("`{option}`; for a server that supports it, set it in `extra`");
            return Err(ProviderError::unsupported(provider, feature));
        }
        self.named(names.max_tokens, request.max_tokens);
        self.optional("temperature", request.temperature);
        self.named(names.top_p, request.top_p);
        self.named(names.top_k, request.top_k);
        self.named(names.seed, request.seed);
        self.named(names.stop, stop);
        Ok(())
    }

    fn named(&mut self, name: &str, value: Option<impl Serialize>) {
        self.optional(name, value.filter(|_| !name.is_empty()));
    }

    /// Writes a key, to be followed by its value.
    pub(super) fn key(&mut self, key: &str) {
        write_json(&mut self.out, key);
        self.out.push(b':');
    }

    /// Writes the members of the caller.
    pub(crate) fn extra(&mut self) {
        for (key, value) in &*self.extra {
            write_json(&mut self.out, key);
            self.out.push(b':');
            write_json(&mut self.out, value);
            self.out.push(b',');
        }
    }

    /// Ends the object; returns `None` if it has no members.
    pub(crate) fn end(mut self) -> Option<Bytes> {
        self.out.pop().filter(|last| *last == b',')?;
        self.out.push(b'}');
        Some(Bytes::from(self.out))
    }
}

/// Member-by-member construction of the objects in messages.
impl JsonFields<'_> {
    /// Adds a member.
    pub(crate) fn with(mut self, key: &str, value: &(impl Serialize + ?Sized)) -> Self {
        self.field(key, value);
        self
    }

    /// Adds a member if it has a value.
    pub(crate) fn with_some(mut self, key: &str, value: Option<impl Serialize>) -> Self {
        self.optional(key, value);
        self
    }

    /// Adds a member that is an object, whose members are added by `add`.
    pub(crate) fn nested(mut self, key: &str, add: impl FnOnce(Self) -> Self) -> Self {
        self.key(key);
        self.out.push(b'{');
        let mut fields = add(self);
        fields.out.pop_if(|last| *last == b',');
        fields.out.extend_from_slice(b"},");
        fields
    }
}

/// A writer for the items of an array.
#[derive(Debug)]
pub struct JsonItems<'o> {
    out: &'o mut Vec<u8>,
    has_before: bool,
}

impl<'o> JsonItems<'o> {
    /// Creates a writer that appends to `out`, which already has items if `has_before`.
    pub(crate) fn new(out: &'o mut Vec<u8>, has_before: bool) -> Self {
        Self { out, has_before }
    }

    /// Writes an item that can be serialized as JSON: text, numbers, and values made of them.
    pub fn push(&mut self, item: &(impl Serialize + ?Sized)) {
        write_json(self.begin_item(), item);
    }

    /// Writes an item that is already JSON.
    pub fn raw(&mut self, json: &str) {
        self.begin_item().extend_from_slice(json.as_bytes());
    }

    /// Writes an item that is an object.
    pub(crate) fn object(&mut self, fields: JsonFields<'_>) {
        self.begin_item().extend_from_slice(&fields.end().unwrap_or_default());
    }

    /// Writes an item that starts with `before` and ends with a list.
    pub(crate) fn nest(&mut self, before: &str, list: &[u8]) {
        let out = self.begin_item();
        for piece in [before.as_bytes(), list, b"]}"] {
            out.extend_from_slice(piece);
        }
    }

    /// Begins the next item, with a separator if needed; its bytes are to be appended to the returned buffer.
    pub(crate) fn begin_item(&mut self) -> &mut Vec<u8> {
        if std::mem::replace(&mut self.has_before, true) {
            self.out.push(b',');
        }
        self.out
    }
}

/// Returns the JSON bytes of a value that can be serialized.
pub(crate) fn to_bytes(value: &impl Serialize) -> Bytes {
    let mut out = Vec::new();
    write_json(&mut out, value);
    Bytes::from(out)
}

/// Writes a value that can be serialized as JSON: text, numbers, and values made of them.
pub(crate) fn write_json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
        out.write_all(b"null").unwrap_or_default();
    }
}
