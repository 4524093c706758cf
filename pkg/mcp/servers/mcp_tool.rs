//! A tool of a server.

use std::{sync::Arc, time::Duration};

use rmcp::model::Tool as Listed;
use serde_json::Value;

use super::{list_session::ListSession, tool_output::tool_output};
use forgeline_agent::tools::{
    PreviewFuture, Tool, ToolContext, ToolEffects, ToolError, ToolFuture,
};
use forgeline_types::{Json, Preview, TextOrigin};

/// A tool of a server, under a name that begins with the server's name.
pub(crate) struct McpTool {
    list: Arc<ListSession>,
    server: String,
    /// The name under which the tool is offered.
    name: String,
    source: String,
    listed: Listed,
    trusts_annotations: bool,
    timeout: Option<Duration>,
}

impl McpTool {
    pub(crate) fn new(
        list: Arc<ListSession>,
        (server, name): (&str, String),
        listed: Listed,
        trusts_annotations: bool,
    ) -> Self {
        let (server, source) = (server.to_owned(), source_of(server));
        Self { list, server, name, source, listed, trusts_annotations, timeout: None }
    }

    /// Sets the time limit of a call.
    pub(crate) fn limited(self, timeout: Option<Duration>) -> Self {
        Self { timeout, ..self }
    }

    /// Replaces the description.
    pub(crate) fn describe(&mut self, description: String) {
        self.listed.description = Some(description.into());
    }
}

/// Returns the name of a server as a source of text from outside, with which the names of its tools begin.
pub(crate) fn source_of(server: &str) -> String {
    format!("mcp.{server}")
}

impl Tool for McpTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        self.listed.description.as_deref().unwrap_or_default()
    }

    fn schema(&self) -> Value {
        Value::Object((*self.listed.input_schema).clone())
    }

    /// Returns the effects that a trusted server declares, and otherwise the most restrictive.
    fn effects(&self) -> ToolEffects {
        match &self.listed.annotations {
            Some(hints) if self.trusts_annotations => {
                if hints.read_only_hint == Some(true) {
                    ToolEffects::Reads
                } else if hints.destructive_hint == Some(false) {
                    ToolEffects::Writes
                } else {
                    ToolEffects::Irreversible
                }
            }
            _ => ToolEffects::Irreversible,
        }
    }

    fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    fn origin(&self) -> TextOrigin {
        TextOrigin::Outside
    }

    fn outside_source(&self) -> Option<&str> {
        Some(&self.source)
    }

    /// Returns a line that states who wrote the description that the model has read: descriptions
    /// of tools are text from outside, and do not count as such in the conversation.
    fn preview(&self, _context: ToolContext, _arguments: Json) -> PreviewFuture {
        let own = &self.listed.name;
        let is_plain = self.name.strip_prefix(&self.source) == Some(&format!(".{own}"));
        let called = if is_plain { String::new() } else { format!(" as {own:?}") };
        let server = &self.server;
        let text = format!("The MCP server {server} runs it{called}, and wrote its description.");
        Box::pin(std::future::ready(Ok(Some(Preview::text(text)))))
    }

    fn execute(&self, context: ToolContext, arguments: Json) -> ToolFuture {
        let list = Arc::clone(&self.list);
        let name = self.listed.name.clone().into_owned();
        let full_name = self.name.clone();
        Box::pin(async move {
            let reached = async {
                let session = list.session().await?;
                let is_offered = session.offers(&name).await;
                Ok::<_, ToolError>((session, is_offered))
            };
            let (session, is_offered) = tokio::select! {
                biased;
                () = context.cancelled().cancelled() => {
                    return Err(ToolError::cancelled(false));
                }
                reached = reached => reached?,
            };
            if !is_offered {
                return Err(ToolError::failed(format!(
                    "the tool `{full_name}` no longer exists: its server changed its list of \
                    tools; continue without it"
                )));
            }
            let arguments =
                arguments.read().map_err(|_| ToolError::invalid("", "must be an object"))?;
            tool_output(session.call(name, arguments, &context).await?)
        })
    }
}
