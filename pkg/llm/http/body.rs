//! Request bodies whose beginning stays the same, byte for byte, from turn to turn.
//!
//! Everything that stays the same comes first and the messages last, so the body of a turn starts with the
//! body of the turn before, less its last brackets.

use std::{borrow::Cow, fmt, sync::Arc};

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    HttpConfig,
    encoded::{EncodedCache, EncodedHistory},
    fields::{JsonFields, JsonItems, SamplingNames},
};
use crate::{ProviderError, Request, ToolChoice, ToolSpec};
use forgeline_types::{Message, Transcript};

/// A writer for the body of one request: the members of a JSON object in the order of the calls, with the
/// messages last.
///
/// Members that the caller sets in [`Request::extra`] take precedence: the library's are
/// left out. Encoded messages are kept for the next turn of the same conversation, so each turn encodes
/// only what is new.
///
/// # Examples
///
/// ```
/// use forgeline::{
///     llm::{Request, http::{BodyWriter, HttpConfig, chat}},
///     types::Capabilities,
/// };
///
/// let mut config = HttpConfig::new("https://api.acme.example/v1", Capabilities::ALL);
/// config.model = "m".into();
/// let request = Request::prompt("Hi").max_tokens(9);
/// let mut body = BodyWriter::new("acme", &request, &config);
/// body.begin();
/// body.optional("max_tokens", request.max_tokens);
/// let body = body.chat_messages(|message, items| {
///     items.push(&serde_json::json!({ "role": chat::role(message.role), "content": message.text() }));
///     Ok(())
/// })?;
/// let want = br#"{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}"#;
/// assert_eq!(body.concat(), want);
/// # Ok::<(), forgeline::llm::ProviderError>(())
/// ```
pub struct BodyWriter<'r> {
    provider: &'static str,
    request: &'r Request,
    config: &'r HttpConfig,
    fields: JsonFields<'r>,
    segments: Vec<Bytes>,
    encoded: EncodedHistory,
    cache: Option<&'r EncodedCache>,
    has_extra: bool,
}

impl fmt::Debug for BodyWriter<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("BodyWriter").field("request", self.request).finish_non_exhaustive()
    }
}

impl<'r> BodyWriter<'r> {
    /// Creates a writer for a request to `provider`, without any part of the conversation encoded.
    #[must_use]
    pub fn new(provider: &'static str, request: &'r Request, config: &'r HttpConfig) -> Self {
        Self {
            provider,
            request,
            config,
            fields: JsonFields::new(Cow::Borrowed(&request.extra)),
            segments: Vec::with_capacity(10),
            encoded: EncodedHistory::default(),
            cache: None,
            has_extra: false,
        }
    }

    /// Takes the conversation's encoding from `cache`, and returns it there at the end.
    pub(crate) fn with_cache(mut self, cache: &'r EncodedCache) -> Self {
        (self.encoded, self.cache) = (cache.take(&self.request.messages), Some(cache));
        self
    }

    /// Returns the request.
    #[must_use]
    pub fn request(&self) -> &'r Request {
        self.request
    }

    /// Returns the provider's configuration.
    #[must_use]
    pub fn config(&self) -> &'r HttpConfig {
        self.config
    }

    /// Returns the error of a feature that the provider lacks.
    #[must_use]
    pub fn unsupported(&self, feature: &str) -> ProviderError {
        ProviderError::unsupported(self.provider, feature)
    }

    /// Writes the members that most bodies begin with: the `model`, unless the server chooses it, and
    /// `stream`, to request a streamed response.
    pub fn begin(&mut self) {
        self.optional("model", Some(&*self.config.model).filter(|model| !model.is_empty()));
        self.field("stream", &true);
    }

    /// Returns `true` if the caller sets `key`.
    #[must_use]
    pub fn is_set(&self, key: &str) -> bool {
        self.fields.is_set(key)
    }

    /// Writes a member.
    pub fn field(&mut self, key: &str, value: &(impl Serialize + ?Sized)) {
        self.fields.field(key, value);
    }

    /// Writes a member if it has a value.
    pub fn optional(&mut self, key: &str, value: Option<impl Serialize>) {
        self.fields.optional(key, value);
    }

    /// Writes a member whose value is already JSON.
    pub fn raw(&mut self, key: &str, json: Bytes) {
        if !self.is_set(key) {
            self.fields.key(key);
            self.flush();
            self.segments.push(json);
            self.fields.out.push(b',');
        }
    }

    /// Writes the request's token limit and sampling options under a vendor's `names`.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Unsupported`] for an option without a name.
    pub fn sampling(&mut self, names: &SamplingNames) -> Result<(), ProviderError> {
        self.fields.sampling(self.request, self.provider, names)
    }

    /// Writes the request's metadata, if there is any.
    pub fn metadata(&mut self, key: &str) {
        self.optional(key, Some(&self.request.metadata).filter(|all| !all.is_empty()));
    }

    /// Writes the rules for calling the request's tools, if there are any, in the format of Chat
    /// Completions: `tool_choice`, as encoded by `write`, and `parallel_tool_calls`.
    pub fn tool_choice(&mut self, write: impl FnOnce(&ToolChoice) -> Value) {
        let request = self.request;
        if !request.tools.is_empty() {
            self.optional("tool_choice", request.tool_choice.as_ref().map(write));
            self.optional("parallel_tool_calls", request.parallel_tool_calls);
        }
    }

    /// Writes the request's tools, if there are any. They are encoded once per list and `variant`
    /// of the encoding.
    pub fn tools(&mut self, key: &str, variant: u8, write: impl FnOnce(&[ToolSpec]) -> Value) {
        let tools = &self.request.tools;
        self.tools_of(key, tools, variant, write);
    }

    /// Writes the given tools of the request, if there are any.
    pub(crate) fn tools_of(
        &mut self,
        key: &str,
        tools: &Arc<[ToolSpec]>,
        variant: u8,
        write: impl FnOnce(&[ToolSpec]) -> Value,
    ) {
        if !tools.is_empty() && !self.is_set(key) {
            let tools = self.encoded.tools(tools, variant, write);
            self.raw(key, tools);
        }
    }

    /// Writes `text` as instructions. They are encoded once per text and `variant` of the encoding.
    pub(crate) fn system(
        &mut self,
        key: &str,
        text: &Arc<str>,
        variant: u8,
        write: impl FnOnce(&str) -> Value,
    ) {
        let system = self.encoded.system(text, variant, write);
        self.raw(key, system);
    }

    /// Writes the members that the caller sets; must be called before the messages are written.
    pub(crate) fn extra(&mut self) {
        if !std::mem::replace(&mut self.has_extra, true) {
            self.fields.extra();
        }
    }

    /// Returns the caller's members, so that one of them can be merged with the library's.
    pub(crate) fn extra_mut(&mut self) -> &mut serde_json::Map<String, Value> {
        self.fields.extra.to_mut()
    }

    /// Sets the `variant` of encoding messages; messages encoded in another variant are discarded.
    pub(crate) fn variant(&mut self, variant: u8) {
        self.encoded.set_variant(variant);
    }

    /// Discards encoded messages that refer to tools of the request which have changed.
    pub(crate) fn refer_to_tools(&mut self) {
        self.encoded.refer_to(&self.request.tools, &self.request.messages);
    }

    /// Returns the number of the request's messages that are already encoded.
    pub(crate) fn known(&self) -> usize {
        self.encoded.count()
    }

    /// Ends the body with `messages` in the format of Chat Completions: the system message, then each
    /// message as `encode` writes it.
    ///
    /// # Errors
    ///
    /// The errors of `encode`.
    pub fn chat_messages(
        mut self,
        encode: impl FnMut(&Message, &mut JsonItems<'_>) -> Result<(), ProviderError>,
    ) -> Result<Vec<Bytes>, ProviderError> {
        let message = |text: &str| json!({ "role": "system", "content": text });
        let system = self.request.system.as_ref();
        let system = system.map(|text| self.encoded.system(text, 0, message));
        self.array("messages", system, each(encode))
    }

    /// Ends the body with an array of the messages, each written by `encode`.
    pub(crate) fn messages(
        self,
        key: &str,
        encode: impl FnMut(&Message, &mut JsonItems<'_>) -> Result<(), ProviderError>,
    ) -> Result<Vec<Bytes>, ProviderError> {
        self.array(key, None, each(encode))
    }

    /// Ends the body with an array whose last items are returned by `fill`, after it has encoded the messages
    /// before them. `first` is the array's first item.
    pub(crate) fn array(
        mut self,
        key: &str,
        first: Option<Bytes>,
        fill: impl FnOnce(&mut EncodedHistory, &Transcript) -> Result<Option<Bytes>, ProviderError>,
    ) -> Result<Vec<Bytes>, ProviderError> {
        self.extra();
        if self.is_set(key) {
            // The caller provides the messages.
            return Ok(self.end(b"}"));
        }
        self.fields.key(key);
        self.fields.out.push(b'[');
        self.flush();
        let last = fill(&mut self.encoded, &self.request.messages)?;
        let mut has_before = false;
        let groups =
            [first.into_iter().collect(), self.encoded.segments(), last.into_iter().collect()];
        for group in groups.into_iter().filter(|group: &Vec<Bytes>| !group.is_empty()) {
            if std::mem::replace(&mut has_before, true) {
                self.segments.push(Bytes::from_static(b","));
            }
            self.segments.extend(group);
        }
        Ok(self.end(b"]}"))
    }

    fn end(mut self, brackets: &[u8]) -> Vec<Bytes> {
        if self.fields.out.last() == Some(&b',') {
            self.fields.out.pop();
        }
        self.fields.out.extend_from_slice(brackets);
        self.flush();
        if let Some(cache) = self.cache {
            cache.put(self.encoded);
        }
        self.segments
    }

    /// Ends the current segment.
    fn flush(&mut self) {
        let written = std::mem::take(&mut self.fields.out);
        self.segments.push(Bytes::from(written));
    }
}

/// Fills an array with the messages, each encoded by itself.
fn each(
    mut encode: impl FnMut(&Message, &mut JsonItems<'_>) -> Result<(), ProviderError>,
) -> impl FnOnce(&mut EncodedHistory, &Transcript) -> Result<Option<Bytes>, ProviderError> {
    move |encoded, history| {
        let alone = |_: &Arc<Message>, _: &Arc<Message>| false;
        encoded.append(history, usize::MAX, alone, |run, items| {
            run.iter().try_for_each(|message| encode(message, items))
        })?;
        Ok(None)
    }
}
