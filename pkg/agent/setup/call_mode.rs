//! The way calls are exchanged with the model: the configured mode, and the one that the provider supports.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use super::{agent_setup::AgentSetup, written_thinking::WrittenThinking};
use crate::{
    config::CallMode,
    prompts::{describe, render_results},
};
use forgeline_core::{StreamMachine, StreamOptions};
use forgeline_llm::StreamChunk;
use forgeline_llm::{PromptCache, ProviderError, Request, ToolSpec};
use forgeline_parser::{Dialect, ToolDialect, private::MarkerEscaper};
use forgeline_types::Part;
use forgeline_types::{ErrorCode, Message, Transcript, private::KeptContent};

/// A mode, with everything that is the same in each of its requests.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct RequestMode {
    /// `true` when calls go through the provider's function calling.
    pub(crate) native: bool,
    /// `true` when found tools are called through a tool that is offered from the start.
    pub(crate) indirect: bool,
    /// `true` when calls may be left in the text of a model that is not known.
    is_guess: bool,
    /// The tools of a native request.
    specs: Arc<[ToolSpec]>,
    /// The system prompt's section on tools; empty in native mode and without tools.
    section: String,
    /// The options for reading an answer.
    pub(crate) options: StreamOptions,
    /// The filter that breaks the model's markers in text from others.
    neutral: MarkerEscaper,
    /// The policy for reasoning that is sent back as text.
    pub(crate) thinking: WrittenThinking,
}

impl RequestMode {
    fn new(parts: &AgentSetup, native: bool) -> Self {
        let indirect = native && parts.calls_through_one();
        let offered = parts.offered(indirect);
        let specs = if native { Arc::clone(offered) } else { Arc::from([]) };
        let described = !native && !parts.tools.is_empty();
        let info = parts.provider.info();
        let models = Dialect::for_model(&info.model);
        // A server without a parser for the model's calls leaves native calls in the text; when the
        // model is not known, they may be in any dialect.
        let is_left = !specs.is_empty() && info.text_calls;
        let default =
            || if described || is_left { models.tools.clone() } else { ToolDialect::NONE };
        let is_guess =
            is_left && parts.config.tool_dialect.is_none() && models == Dialect::default();
        let dialect = parts.config.tool_dialect.clone().unwrap_or_else(default);
        let neutral = MarkerEscaper::new(&dialect, &models.thinking);
        let describe = || describe(&dialect, &neutral, offered.iter());
        let section = if described { describe() } else { String::new() };
        // If the dialect has no calls in text, the schemas type nothing.
        let is_typed = !dialect.is_none();
        let typing = parts.specs.iter().filter(|_| is_typed);
        let schemas = typing.map(|spec| (spec.name.clone(), Arc::clone(&spec.parameters)));
        let mut options = StreamOptions::default()
            .tools(dialect)
            .schemas(schemas)
            .stop_repetition(parts.config.stop_repetition);
        // A native model may answer with JSON of its own; only a call of an offered tool counts as a call.
        options.bare_of_known = native;
        let read = parts.provider.written_thinking();
        let thinking = WrittenThinking::new(read, &models, parts.config.keep_thinking);
        Self { native, indirect, is_guess, specs, section, options, neutral, thinking }
    }

    fn describe(&self, specs: &[ToolSpec]) -> String {
        if specs.is_empty() {
            return String::new();
        }
        describe(&self.options.tools, &self.neutral, specs)
    }

    /// Returns a text with the model's markers broken, so that it is read and not obeyed.
    pub(crate) fn broken(&self, text: &str) -> String {
        self.neutral.text(text).into_owned()
    }

    /// Returns the reader of an answer. The text of an answer bound to a schema is a value, which
    /// is not searched for calls.
    pub(crate) fn machine(&self, is_bound: bool) -> Box<StreamMachine> {
        if is_bound {
            let options = self.options.clone().tools(ToolDialect::NONE);
            return Box::new(StreamMachine::keeping(&options, KeptContent::Parts));
        }
        let keep = if self.native { KeptContent::Parts } else { KeptContent::Verbatim };
        Box::new(StreamMachine::keeping(&self.options, keep))
    }

    /// Returns the parts of an answer, parsed again from the model's text into text and calls; `None` if the answer contains no call.
    pub(crate) fn read_again(&self, written: &Message) -> Option<Vec<Part>> {
        let machine = StreamMachine::keeping(&self.options, KeptContent::Parts);
        let texts = written.parts.iter().filter_map(Part::as_text).map(StreamChunk::message);
        let mut end = StreamChunk::default();
        end.finished = true;
        let read = machine.complete(texts.chain([end]));
        let others = written.parts.iter().filter(|part| part.as_text().is_none()).cloned();
        (!read.tool_calls.is_empty()).then(|| others.chain(read.parts).collect())
    }

    /// Returns the results of calls that were written as text, as the model reads them.
    pub(crate) fn write_results(&self, results: &Message) -> Message {
        let dialect = &self.options.tools;
        let mut message =
            Message::user(render_results(dialect, &self.neutral, results.tool_results()));
        let behind = results.tool_results().flat_map(|result| &result.parts);
        message.parts.extend(behind.cloned());
        message
    }

    /// Returns the request from which those of a run are made; `prompt` is its system prompt
    /// without the tools. With `caches`, the provider caches the marked part of the prompt. If only
    /// some tools are `offered`, the request lists these.
    pub(crate) fn request(
        &self,
        template: &Request,
        prompt: &str,
        caches: bool,
        offered: Option<Arc<[ToolSpec]>>,
    ) -> Request {
        let mut system = prompt.to_owned();
        let described = offered.as_deref().filter(|_| !self.section.is_empty());
        let described = described.map(|specs| self.describe(specs));
        let section = described.as_ref().unwrap_or(&self.section);
        for part in [template.system.as_deref().unwrap_or_default(), section] {
            if !system.is_empty() && !part.is_empty() {
                system.push_str("\n\n");
            }
            system.push_str(part);
        }
        let mut request = template.clone();
        request.system = (!system.is_empty()).then(|| system.into());
        let offered = offered.filter(|_| self.native);
        request.tools = offered.unwrap_or_else(|| Arc::clone(&self.specs));
        // Every turn sends the conversation again.
        if caches {
            request.cache.get_or_insert(PromptCache::Marks);
        }
        request
    }
}

/// The current mode, and the mode to fall back to.
#[derive(Debug)]
pub(crate) struct RequestModes {
    first: RequestMode,
    /// Text mode, created when a provider refuses native tools; only [`CallMode::Auto`] uses it.
    text: OnceLock<RequestMode>,
    has_fallback: bool,
    /// Fixed by the first response to a request with tools; `true` for the fallback to text.
    fell_back: OnceLock<bool>,
    /// `true` once it was said that calls come in the text; shared by all runs.
    told_of_text: Arc<AtomicBool>,
}

impl RequestModes {
    pub(crate) fn new(parts: &AgentSetup) -> Self {
        let native = match parts.config.call_mode {
            CallMode::Auto => parts.provider.info().capabilities.tools,
            CallMode::Native => true,
            CallMode::Text => false,
        };
        let first = RequestMode::new(parts, native);
        let is_auto = parts.config.call_mode == CallMode::Auto;
        let has_fallback = is_auto && native && !first.specs.is_empty();
        let (text, fell_back) = (OnceLock::new(), OnceLock::new());
        Self { first, text, has_fallback, fell_back, told_of_text: Arc::default() }
    }

    /// Returns the modes of a run with other tools, keeping what has been fixed so far.
    pub(crate) fn of_run(&self, parts: &AgentSetup) -> Self {
        let told_of_text = Arc::clone(&self.told_of_text);
        let own = Self { told_of_text, ..Self::new(parts) };
        if let Some(fell_back) = self.fell_back.get().filter(|_| own.has_fallback) {
            own.text.get_or_init(|| RequestMode::new(parts, false));
            own.fell_back.get_or_init(|| *fell_back);
        }
        own
    }

    /// Returns the current mode.
    pub(crate) fn current(&self) -> &RequestMode {
        let fell_back = self.fell_back.get().is_some_and(|fell_back| *fell_back);
        self.text.get().filter(|_| fell_back).unwrap_or(&self.first)
    }

    /// Returns `true` when a provider that refuses this conversation with native tools may be asked
    /// in text mode.
    ///
    /// Once a native request has been answered, the provider does not object to the tools; and
    /// native calls in the conversation would be sent in text mode too.
    pub(crate) fn may_fall_back(&self, conversation: &Transcript) -> bool {
        self.has_fallback
            && self.fell_back.get().is_none()
            && !conversation.iter().any(|message| message.tool_calls().next().is_some())
    }

    /// Returns `true`, once, if a person must read that an answer in `mode` had its calls in the text.
    pub(crate) fn may_tell_of_text(&self, mode: &RequestMode) -> bool {
        mode.is_guess && !self.told_of_text.swap(true, Ordering::Relaxed)
    }

    /// Returns the text mode.
    pub(crate) fn text(&self, parts: &AgentSetup) -> &RequestMode {
        self.text.get_or_init(|| RequestMode::new(parts, false))
    }

    /// Fixes the mode: the provider answered a request of `mode`.
    pub(crate) fn answered(&self, mode: &RequestMode) {
        self.fell_back.get_or_init(|| mode.native != self.first.native);
    }
}

/// Returns `true` for an error before the first output whose words blame the native tools.
///
/// Servers without function calling have no common status for it: some respond with 400, 404, 422, 500 or 501, and
/// the same statuses say that memory is used up or that an option is out of range. Only the message tells.
pub(crate) fn is_refusal(error: &ProviderError) -> bool {
    let error = error.root();
    if let ProviderError::Status(status) = error {
        let kinds = [ErrorCode::InvalidRequest, ErrorCode::Unsupported, ErrorCode::Status];
        matches!(status.status, 400 | 404 | 422 | 500 | 501)
            && kinds.contains(&status.kind)
            && blames_tools(&status.message)
    } else if let ProviderError::InStream { kind, message, .. } = error {
        [ErrorCode::InvalidRequest, ErrorCode::Unsupported].contains(kind) && blames_tools(message)
    } else if let ProviderError::Unsupported { feature, .. } = error {
        blames_tools(feature)
    } else {
        false
    }
}

/// Returns `true` for words about tools or function calling; a function of a program, as in a server's trace, is neither.
fn blames_tools(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    let mut words = message.split(|sign: char| !sign.is_ascii_alphanumeric());
    let mut before = "";
    words.any(|word| {
        let is_call = matches!(word, "call" | "calls" | "calling");
        let is_it = matches!(
            word,
            "tool" | "tools" | "toolchoice" | "toolcall" | "toolcalls" | "functions"
        ) || (before == "function" && is_call)
            || matches!(word, "functioncall" | "functioncalling");
        if !word.is_empty() {
            before = word;
        }
        is_it
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rows: N-10
    #[test]
    fn only_words_about_tools_blame_them() {
        let rows = [
            ("m does not support tools", true),
            ("`tool_choice` is not supported", true),
            ("tools param requires --jinja flag", true),
            ("Function calling is not enabled for this model", true),
            ("Unknown name \"functionDeclarations\": functions are not available", true),
            ("unknown field: function_call", true),
            ("CUDA error: out of memory, in function alloc_pool at cuda.cu:71", false),
            ("install the CUDA toolkit", false),
            ("temperature must be at most 1", false),
            ("the function failed", false),
            ("", false),
        ];
        for (message, want) in rows {
            assert_eq!(blames_tools(message), want, "{message}");
        }
    }
}
