//! The `WireFormat` of Anthropic Messages.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{
    found::{self, FoundTools},
    message::{self, CacheMark},
    reasoning::ReasoningRequest,
};
use crate::{
    PromptCache, ProviderError, Request, ResponseFormat, SchemaRules, Thinking, ToolChoice,
    ToolSchemaRules, ToolSpec,
    anthropic::{AnthropicDecoder, items::PROTOCOL},
    http::tool_names,
    http::{
        BodyWriter, EnvNames, HttpBuilder, HttpConfig, HttpProvider, JsonItems, SamplingNames,
        WireFormat, instructions, joins_results, run_start,
    },
};
use forgeline_json::subslice;
use forgeline_parser::ThinkingDialect;
use forgeline_types::{Capabilities, MediaRules, Message, PictureKinds, Text};

/// The version of the API.
const VERSION: &str = "2023-06-01";

/// The provider for Anthropic Messages, for Anthropic and compatible servers.
///
/// Signed reasoning, redacted reasoning and the blocks of the vendor's own tools are sent back
/// unchanged in the next request. Of a [`Request`]'s metadata only `user_id` is sent; a seed and a
/// JSON object without a schema are [`ProviderError::Unsupported`]. [`Thinking::On`] lets the model
/// decide how much it thinks; Claude 4.5 and older ones, recognized by their names, get a budget of
/// 4096 tokens, or half of `max_tokens` if that is less. The vendor rejects a budget in a turn that began without reasoning
/// that goes back, such as reasoning whose signature was refused: that turn goes on without reasoning.
///
/// [`Thinking::On`]: crate::Thinking::On
///
/// # Examples
///
/// ```no_run
/// use forgeline::llm::{PromptCache, Provider, Request, anthropic::Anthropic};
///
/// # async fn run() -> Result<(), forgeline::llm::ProviderError> {
/// let provider = Anthropic::new("your key", "claude-sonnet-5")?;
/// let request = Request::prompt("What is 6 × 7?").system("Be brief.").cache(PromptCache::Marks);
/// let answer = provider.complete(request).await?;
/// # Ok(())
/// # }
/// ```
pub type Anthropic = HttpProvider<Messages>;

/// The format of Anthropic Messages.
///
/// # Examples
///
/// ```
/// use forgeline::llm::{http::HttpProvider, anthropic::Messages};
///
/// let builder = HttpProvider::<Messages>::builder().base_url("https://api.anthropic.com");
/// let provider = builder.api_key("your key").model("m").build()?;
/// # drop(provider);
/// # Ok::<(), forgeline::llm::ProviderError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Messages {
    /// The maximum number of tokens of an answer if the request sets none; the protocol requires a number. A budget
    /// for reasoning is added to it. Default: 4096.
    pub max_tokens: u32,
    /// Beta features of the API to enable, for the header `anthropic-beta`. Default: none.
    pub beta: Vec<Text>,
    /// The number of input tokens above which the server summarizes the conversation; the minimum is 50,000. The summary
    /// arrives as an item and goes back with later requests, of which the server drops everything before it. This is a beta
    /// feature of the vendor, for some models. Default: `None`, never.
    pub compact_above: Option<u64>,
    /// The number of input tokens above which the server clears the oldest tool results, keeping the last three. This is a
    /// beta feature of the vendor. Default: `None`, never.
    pub clear_results_above: Option<u64>,
}

impl Default for Messages {
    fn default() -> Self {
        Self { max_tokens: 4096, beta: Vec::new(), compact_above: None, clear_results_above: None }
    }
}

impl HttpBuilder<Messages> {
    /// Sets [`max_tokens`](Messages::max_tokens).
    #[must_use]
    pub fn max_tokens(self, tokens: u32) -> Self {
        self.wire(|messages| messages.max_tokens = tokens)
    }

    /// Adds to [`beta`](Messages::beta).
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::llm::anthropic::Anthropic;
    ///
    /// let builder = Anthropic::builder().api_key("your key").model("claude-sonnet-5");
    /// let provider = builder.beta("compact-2026-01-12").build()?;
    /// # Ok::<(), forgeline::llm::ProviderError>(())
    /// ```
    #[must_use]
    pub fn beta(self, feature: impl Into<Text>) -> Self {
        self.wire(|messages| messages.beta.push(feature.into()))
    }

    /// Sets [`compact_above`](Messages::compact_above).
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::llm::anthropic::Anthropic;
    ///
    /// let builder = Anthropic::builder().api_key("your key").model("claude-sonnet-4-6");
    /// let provider = builder.compact_above(150_000).build()?;
    /// # Ok::<(), forgeline::llm::ProviderError>(())
    /// ```
    #[must_use]
    pub fn compact_above(self, tokens: u64) -> Self {
        self.wire(|messages| messages.compact_above = Some(tokens))
    }

    /// Sets [`clear_results_above`](Messages::clear_results_above).
    #[must_use]
    pub fn clear_results_above(self, tokens: u64) -> Self {
        self.wire(|messages| messages.clear_results_above = Some(tokens))
    }
}

impl WireFormat for Messages {
    type Decoder = AnthropicDecoder;

    const PROVIDER: &'static str = PROTOCOL;

    const ENV: EnvNames =
        EnvNames::new("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL");

    const PATH: &'static str = "/messages";

    const MODELS_QUERY: &'static str = "limit=1000";

    const NEEDS_MODEL: bool = true;

    const STREAM_FIELD: Option<&'static str> = Some("stream");

    fn defaults() -> HttpConfig {
        // Reasoning has blocks of its own; a tag in the text is plain text.
        HttpConfig::new("https://api.anthropic.com", Capabilities::ALL)
            .thinking(ThinkingDialect::NONE)
    }

    fn key_header(&self, key: &str) -> (Text, String) {
        (Text::from("x-api-key"), key.to_owned())
    }

    fn headers(&self, _: &Request) -> Vec<(Text, Text)> {
        let mut headers = vec![(Text::from("anthropic-version"), Text::from(VERSION))];
        let of_edits = self.edits().map(|edit| edit.feature);
        let own = self.beta.iter().map(Text::as_str);
        let others = of_edits.filter(|feature| self.beta.iter().all(|own| own != feature));
        let features: Vec<_> = own.chain(others).collect();
        if !features.is_empty() {
            headers.push((Text::from("anthropic-beta"), Text::from(features.join(","))));
        }
        headers
    }

    fn body(&self, mut body: BodyWriter<'_>) -> Result<Vec<Bytes>, ProviderError> {
        let marks = body.request().cache == Some(PromptCache::Marks);
        options(&mut body, self.max_tokens)?;
        let found = FoundTools::new(&body.request().tools, body.config());
        let defers = found.names().next().is_some();
        let variant = u8::from(marks) | u8::from(defers) << 1;
        let edits: Vec<_> = self.edits().map(ContextEdit::value).collect();
        let management = (!edits.is_empty()).then(|| json!({ "edits": edits }));
        body.optional("context_management", management);
        body.tools("tools", variant, |list| tools(list, marks, defers));
        body.extra();
        if !body.is_set("messages") {
            let write = |texts: &[&str]| blocks(texts, marks);
            instructions::write(&mut body, "system", u8::from(marks), write)?;
        }
        messages(body, marks, |run, mark, items| message::encode(run, mark, found, items))
    }

    /// Returns what the vendor accepts: it limits an image by the length of its base64, to 10 MiB as of
    /// September 2026.
    fn media_rules(&self, config: &HttpConfig) -> MediaRules {
        let most = config.base_url.contains("anthropic.com").then_some(10 << 20);
        let rules = MediaRules::default().pictures(PictureKinds::Web).all_documents(false);
        rules.max_picture_letters(most)
    }

    fn compacts(&self) -> bool {
        self.compact_above.is_some()
    }

    fn defers_tools(&self, config: &HttpConfig) -> bool {
        found::defers(config)
    }

    fn dropped_fields(&self, request: &Request, config: &HttpConfig) -> Vec<Text> {
        let has_other = request.metadata.keys().any(|key| key != "user_id");
        let wanted = !matches!(request.thinking, None | Some(Thinking::Off));
        let is_off =
            ReasoningRequest::of(request, &config.model) == Some(ReasoningRequest::Disabled);
        let left_out = [
            (has_other, "metadata other than user_id"),
            (wanted && is_off, "reasoning in this turn, which began without any that can go back"),
        ];
        left_out.into_iter().filter(|it| it.0).map(|it| Text::from(it.1)).collect()
    }

    fn schema_rules(&self, config: &HttpConfig) -> SchemaRules {
        // Compatible servers honor more, or something else.
        if config.base_url.contains("anthropic.com") {
            SchemaRules::ANTHROPIC
        } else {
            SchemaRules::ANY
        }
    }

    fn tool_schema_rules(&self, _config: &HttpConfig) -> ToolSchemaRules {
        ToolSchemaRules::ANTHROPIC
    }

    fn decoder(&self, config: &HttpConfig) -> AnthropicDecoder {
        AnthropicDecoder::new(config.limits)
    }
}

/// A change that the server makes to a long conversation.
struct ContextEdit {
    kind: &'static str,
    /// The name of the feature in the header that enables it.
    feature: &'static str,
    above: u64,
}

impl ContextEdit {
    fn value(self) -> Value {
        let trigger = json!({ "type": "input_tokens", "value": self.above });
        json!({ "type": self.kind, "trigger": trigger })
    }
}

impl Messages {
    fn edits(&self) -> impl Iterator<Item = ContextEdit> {
        let clear = self.clear_results_above.map(|above| {
            let (kind, feature) = ("clear_tool_uses_20250919", "context-management-2025-06-27");
            ContextEdit { kind, feature, above }
        });
        let compact = self.compact_above.map(|above| {
            let (kind, feature) = ("compact_20260112", "compact-2026-01-12");
            ContextEdit { kind, feature, above }
        });
        clear.into_iter().chain(compact)
    }
}

/// Anthropic's names; the API has no seed.
const NAMES: SamplingNames =
    SamplingNames { max_tokens: "", seed: "", stop: "stop_sequences", ..SamplingNames::CHAT };

/// Writes the messages; those that may be marked in this turn are not kept.
///
/// Cache marks move with the conversation, so the last message and the marked one before it are
/// encoded anew in each turn, and all earlier ones are kept as they are, without a mark. The mark
/// is set on the last message with content before the final one.
fn messages(
    mut body: BodyWriter<'_>,
    marks: bool,
    mut encode: impl FnMut(&[Arc<Message>], CacheMark, &mut JsonItems<'_>) -> Result<(), ProviderError>,
) -> Result<Vec<Bytes>, ProviderError> {
    body.refer_to_tools();
    body.array("messages", None, |encoded, history| {
        let mut kept = history.len();
        // The last message, then those before it, back to the marked one.
        let mut tail: Vec<Vec<u8>> = Vec::new();
        while marks && kept > 0 {
            let start = run_start(history.messages(), kept - 1);
            let run = subslice(history.messages(), start..kept);
            let mark = if tail.is_empty() { CacheMark::Nothing } else { CacheMark::LastBlock };
            let mut out = Vec::new();
            encode(run, mark, &mut JsonItems::new(&mut out, false))?;
            kept = start;
            let is_marked = mark == CacheMark::LastBlock && !out.is_empty();
            tail.push(out);
            if is_marked {
                break;
            }
        }
        if encoded.count() > kept {
            // An earlier request without marks kept more messages.
            encoded.restart();
        }
        encoded.append(history, kept, joins_results, |run, items| {
            encode(run, CacheMark::Nothing, items)
        })?;
        let tail: Vec<_> = tail.into_iter().rev().filter(|message| !message.is_empty()).collect();
        Ok((!tail.is_empty()).then(|| Bytes::from(tail.join(&b','))))
    })
}

fn options(body: &mut BodyWriter<'_>, default_max_tokens: u32) -> Result<(), ProviderError> {
    let (request, model) = (body.request(), &body.config().model);
    body.begin();
    let reasoning = ReasoningRequest::of(request, model);
    let budget = reasoning.map_or(0, ReasoningRequest::budget);
    let most = request.max_tokens.unwrap_or(default_max_tokens.saturating_add(budget));
    body.field("max_tokens", &most);
    body.sampling(&NAMES)?;
    if let Some(reasoning) = reasoning
        && !body.is_set("thinking")
    {
        let is_free = body.is_set("max_tokens");
        body.field("thinking", &reasoning.value(if is_free { u32::MAX } else { most })?);
    }
    let output = output(body)?;
    body.optional("output_config", (!output.is_empty()).then_some(output));
    let user = request.metadata.get("user_id");
    body.optional("metadata", user.map(|user| json!({ "user_id": user })));
    if !request.tools.is_empty() {
        let choice = choice(request.tool_choice.as_ref(), request.parallel_tool_calls);
        body.optional("tool_choice", choice);
    }
    body.optional("container", message::container(&request.messages));
    body.optional("cache_control", (request.cache == Some(PromptCache::Automatic)).then(mark));
    Ok(())
}

fn mark() -> Value {
    json!({ "type": "ephemeral" })
}

fn output(body: &BodyWriter<'_>) -> Result<Map<String, Value>, ProviderError> {
    let request = body.request();
    let mut output = Map::new();
    if let Some(effort) = &request.reasoning_effort {
        output.insert("effort".to_owned(), json!(effort));
    }
    match &request.response_format {
        // The provider always enforces a schema, and takes no name for it.
        Some(ResponseFormat::JsonSchema { schema, .. }) => {
            let format = json!({ "type": "json_schema", "schema": schema });
            output.insert("format".to_owned(), format);
        }
        Some(ResponseFormat::JsonObject) if !request.extra.contains_key("output_config") => {
            return Err(body.unsupported("a JSON object without a schema; give a schema"));
        }
        Some(ResponseFormat::JsonObject) | None => {}
    }
    Ok(output)
}

fn choice(choice: Option<&ToolChoice>, parallel: Option<bool>) -> Option<Value> {
    let is_single = parallel == Some(false);
    let mut value = match choice {
        None if !is_single => return None,
        None | Some(ToolChoice::Auto) => json!({ "type": "auto" }),
        Some(ToolChoice::None) => return Some(json!({ "type": "none" })),
        Some(ToolChoice::Required) => json!({ "type": "any" }),
        Some(ToolChoice::Tool(name)) => {
            json!({ "type": "tool", "name": tool_names::encode(name) })
        }
    };
    if is_single {
        value["disable_parallel_tool_use"] = Value::Bool(true);
    }
    Some(value)
}

/// Returns the tools; with `defers`, found ones are deferred instead of described here, and bear no mark.
fn tools(list: &[ToolSpec], marks: bool, defers: bool) -> Value {
    let mut tools: Vec<_> = list.iter().map(tool).collect();
    let is_deferred = |spec: &ToolSpec| defers && spec.deferred;
    for (value, _) in tools.iter_mut().zip(list).filter(|(_, spec)| is_deferred(spec)) {
        value["defer_loading"] = Value::Bool(true);
    }
    let place = list.iter().rposition(|spec| !is_deferred(spec));
    if let Some(marked) = place.and_then(|at| tools.get_mut(at)).filter(|_| marks) {
        marked["cache_control"] = mark();
    }
    Value::Array(tools)
}

fn tool(tool: &ToolSpec) -> Value {
    let mut value = json!({ "name": tool_names::encode(&tool.name) });
    if !tool.description.is_empty() {
        value["description"] = json!(tool.description);
    }
    let takes_nothing = || json!({ "type": "object", "properties": {} });
    value["input_schema"] =
        if tool.parameters.is_object() { Value::clone(&tool.parameters) } else { takes_nothing() };
    if tool.strict {
        value["strict"] = Value::Bool(true);
    }
    value
}

fn blocks(texts: &[&str], marks: bool) -> Value {
    let mut blocks: Vec<_> =
        texts.iter().map(|text| json!({ "type": "text", "text": text })).collect();
    if let Some(last) = blocks.last_mut().filter(|_| marks) {
        last["cache_control"] = mark();
    }
    Value::Array(blocks)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::http::EncodedCache;
    use forgeline_types::Transcript;

    /// Returns how often each message is encoded of a conversation that grows by `step` messages a
    /// turn.
    fn encodings(step: usize) -> Vec<usize> {
        let config = Messages::defaults();
        let counts = RefCell::new(vec![0; 400]);
        let (cache, mut history) = (EncodedCache::default(), Transcript::default());
        for turn in 0..400 / step {
            for at in 0..step {
                history.push(Message::user((turn * step + at).to_string()));
            }
            let none = FoundTools::new(&[], &config);
            let encode = |run: &[Arc<Message>], mark, items: &mut JsonItems<'_>| {
                for message in run {
                    counts.borrow_mut()[message.text().parse::<usize>().unwrap()] += 1;
                }
                message::encode(run, mark, none, items)
            };
            let request = Request::new(history.clone());
            let body = BodyWriter::new("anthropic", &request, &config).with_cache(&cache);
            messages(body, true, encode).unwrap();
        }
        counts.into_inner()
    }

    #[test]
    fn each_message_is_encoded_a_bounded_number_of_times() {
        assert_eq!(encodings(1).iter().max(), Some(&3));
        assert_eq!(encodings(2).iter().max(), Some(&2));
        assert_eq!(encodings(5).iter().max(), Some(&2));
    }
}
