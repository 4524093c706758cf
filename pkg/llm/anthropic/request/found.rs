//! Tools that are described where a search found them instead of at the beginning of the prompt.

use crate::{ToolSpec, http::HttpConfig};
use forgeline_types::{Text, ToolResult};

/// Name prefixes of models that accept tools only at the beginning.
const OLDER: [&str; 3] = ["claude-2", "claude-3", "claude-instant"];

/// The tools of a request that its results may refer to.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoundTools<'a>(&'a [ToolSpec]);

impl<'a> FoundTools<'a> {
    /// Returns the tools of a request to this server; none if it is not the vendor's own, or if the model is older.
    pub(super) fn new(tools: &'a [ToolSpec], config: &HttpConfig) -> Self {
        Self(if defers(config) { tools } else { &[] })
    }

    /// Returns the names of the tools that are described where they were found.
    pub(super) fn names(self) -> impl Iterator<Item = &'a Text> {
        self.0.iter().filter(|spec| spec.deferred).map(|spec| &spec.name)
    }

    /// Returns the tools that `result` refers to: the provider rejects other names.
    pub(super) fn found_by(self, result: &ToolResult) -> impl Iterator<Item = &Text> {
        result.found.iter().filter(move |name| self.names().any(|it| it == *name))
    }
}

/// Returns `true` for the vendor's own server and a model that accepts tools elsewhere than at the beginning.
pub(super) fn defers(config: &HttpConfig) -> bool {
    let is_own = config.base_url.contains("anthropic.com");
    is_own && !OLDER.iter().any(|older| config.model.contains(older))
}
