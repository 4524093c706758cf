//! How calls are exchanged with the model: what was chosen, and what the provider turned out to take.

use std::sync::{Arc, OnceLock};

use super::{CallMode, core::StreamOptions, default_agent::Parts, prompts::describe};
use crate::{
    llm::{
        PromptCache, ProviderError, Request, ToolSpec,
        parser::{Dialect, ToolDialect},
    },
    types::{ErrorCode, Part, Transcript},
};

/// What is the same in every run of one mode, made once.
#[derive(Debug)]
pub(super) struct Plan {
    /// Whether calls go through the provider's function calling.
    pub(super) native: bool,
    /// What a native request carries.
    specs: Arc<[ToolSpec]>,
    /// The system prompt's section on tools; empty in native mode and without tools.
    section: String,
    /// How an answer is read.
    pub(super) options: StreamOptions,
}

impl Plan {
    fn new(parts: &Parts, native: bool) -> Self {
        let all = || parts.tools.specs().cloned();
        let specs = if native { all().collect() } else { Arc::from([]) };
        let described = !native && !parts.tools.is_empty();
        let default = || {
            if described {
                Dialect::for_model(&parts.provider.info().model).tools
            } else {
                ToolDialect::NONE
            }
        };
        let dialect = parts.config.tool_dialect.clone().unwrap_or_else(default);
        let section =
            if described { describe(&dialect, parts.tools.specs()) } else { String::new() };
        let schemas: Vec<_> = all().map(|spec| (spec.name, spec.parameters)).collect();
        let options = StreamOptions::default().tools(dialect).schemas(schemas);
        Self { native, specs, section, options }
    }

    /// How calls are written in an answer's text.
    pub(super) fn dialect(&self) -> &ToolDialect {
        &self.options.tools
    }

    /// What the requests of a run are made from; `prompt` is its system prompt without the tools.
    /// `caches`: whether the provider keeps of the prompt what the request marks.
    pub(super) fn request(&self, template: &Request, prompt: &str, caches: bool) -> Request {
        let mut system = prompt.to_owned();
        for part in [template.system.as_deref().unwrap_or_default(), &self.section] {
            if !system.is_empty() && !part.is_empty() {
                system.push_str("\n\n");
            }
            system.push_str(part);
        }
        let mut request = template.clone();
        request.system = (!system.is_empty()).then(|| system.into());
        request.tools = Arc::clone(&self.specs);
        // Every turn sends the conversation again.
        if caches {
            request.cache.get_or_insert(PromptCache::Marks);
        }
        request
    }
}

/// The plan in force, and the one to fall back to.
#[derive(Debug)]
pub(super) struct Plans {
    first: Plan,
    /// Text mode, made when a provider refuses native tools; only [`CallMode::Auto`] has it.
    text: OnceLock<Plan>,
    has_fallback: bool,
    /// Set by the first answer to a request that told of tools: from then on the mode stays.
    settled: OnceLock<Settled>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Settled {
    First,
    Text,
}

impl Plans {
    pub(super) fn new(parts: &Parts) -> Self {
        let native = match parts.config.call_mode {
            CallMode::Auto => parts.provider.info().capabilities.tools,
            CallMode::Native => true,
            CallMode::Text => false,
        };
        let first = Plan::new(parts, native);
        let is_auto = parts.config.call_mode == CallMode::Auto;
        let has_fallback = is_auto && native && !first.specs.is_empty();
        Self { first, text: OnceLock::new(), has_fallback, settled: OnceLock::new() }
    }

    pub(super) fn current(&self) -> &Plan {
        match (self.settled.get(), self.text.get()) {
            (Some(Settled::Text), Some(text)) => text,
            _ => &self.first,
        }
    }

    /// Whether a provider that refuses this conversation with native tools may be asked in text.
    ///
    /// Not once a native request was answered: then it is not the tools that the provider minds.
    /// Not with native calls in the conversation: in text mode they would be sent all the same.
    pub(super) fn may_fall_back(&self, conversation: &Transcript) -> bool {
        let is_native = |part: &Part| matches!(part, Part::ToolCall(_) | Part::ToolResult(_));
        self.has_fallback
            && self.settled.get().is_none()
            && !conversation.iter().any(|message| message.parts.iter().any(is_native))
    }

    pub(super) fn text(&self, parts: &Parts) -> &Plan {
        self.text.get_or_init(|| Plan::new(parts, false))
    }

    /// The provider answered a request made by this plan.
    pub(super) fn answered(&self, plan: &Plan) {
        let mode = if plan.native == self.first.native { Settled::First } else { Settled::Text };
        self.settled.get_or_init(|| mode);
    }
}

/// Whether a provider that fails so, before it said anything, may mind the native tools.
///
/// Servers without function calling have no common word for it: some answer with 400, 404, 422 or
/// 501, and a chat template that does not fit the server's grammar is a plain 500.
pub(super) fn is_refusal(error: &ProviderError) -> bool {
    match error.root() {
        ProviderError::Unsupported { .. } => true,
        ProviderError::Status(status) => {
            matches!(status.status, 400 | 404 | 422 | 500 | 501)
                && matches!(
                    status.kind,
                    ErrorCode::InvalidRequest | ErrorCode::Unsupported | ErrorCode::Status
                )
        }
        ProviderError::InStream { kind, .. } => {
            matches!(kind, ErrorCode::InvalidRequest | ErrorCode::Unsupported)
        }
        ProviderError::Connect { .. }
        | ProviderError::Timeout { .. }
        | ProviderError::Decode { .. }
        | ProviderError::EndedEarly { .. }
        | ProviderError::Body { .. }
        | ProviderError::RetriesExhausted { .. }
        | ProviderError::Aborted { .. }
        | ProviderError::SchemaUnsupported { .. }
        | ProviderError::Cancelled
        | ProviderError::Config { .. } => false,
    }
}
