//! Programs that answer questions of servers.

use futures_core::future::BoxFuture;

use crate::{
    agent::{RunContext, tools::Question},
    types::{Json, Text, ToolAnswer},
};

/// A question of a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct McpQuestion {
    /// The name of the server.
    pub server: Text,
    /// The question, in the words of the server: text from outside.
    pub message: String,
    /// The form, if it is one: a JSON schema of an object with plain fields.
    pub schema: Option<Json>,
    /// The address that the user is to open, if it is one.
    pub url: Option<String>,
    /// The context of the run whose call the server works on; `None` when it works on none.
    pub run: Option<RunContext>,
}

impl McpQuestion {
    pub(super) fn new(server: Text, question: &Question, run: Option<RunContext>) -> Self {
        let Question { message, schema, url } = question.clone();
        Self { server, message, schema, url, run }
    }
}

/// Answers questions of servers: a program that knows the answers, a dialog of its own.
///
/// Fields of a form that an answer leaves out have their defaults; one that does not fit the form is not sent, and the
/// server hears that there is no answer. So it does when the respondent panics, or takes longer than
/// [`approval_timeout`](crate::agent::AgentConfig::approval_timeout). A function is a respondent, see [`McpOptions`](super::McpOptions).
pub trait Respondent: Send + Sync {
    /// Answers a question; `None` asks the user of the run, if there is one.
    ///
    /// # Cancel safety
    ///
    /// The future is dropped when the call ends, or the server takes its question back.
    fn respond(&self, question: McpQuestion) -> BoxFuture<'static, Option<ToolAnswer>>;
}

impl<F, R> Respondent for F
where
    F: Fn(McpQuestion) -> R + Send + Sync,
    R: Future<Output = Option<ToolAnswer>> + Send + 'static,
{
    fn respond(&self, question: McpQuestion) -> BoxFuture<'static, Option<ToolAnswer>> {
        Box::pin(self(question))
    }
}
