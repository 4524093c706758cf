//! Respondents, which answer questions of servers.

use futures_core::future::BoxFuture;

use forgeline_agent::{run::RunContext, tools::Question};
use forgeline_types::{Json, Text, ToolAnswer};

/// A question of a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct McpQuestion {
    /// The name of the server.
    pub server: Text,
    /// The question, as the server words it: text from outside.
    pub message: String,
    /// The form, if the question has one: a JSON schema of an object with primitive fields.
    pub schema: Option<Json>,
    /// The URL that the user is to open, if the question has one.
    pub url: Option<String>,
    /// The context of the run whose call the server works on; `None` if it works on none.
    pub run: Option<RunContext>,
}

impl McpQuestion {
    pub(crate) fn new(server: Text, question: &Question, run: Option<RunContext>) -> Self {
        let Question { message, schema, url } = question.clone();
        Self { server, message, schema, url, run }
    }
}

/// An object that answers questions of servers: a program that knows the answers, or a dialog of its own.
///
/// Fields missing from an answer get their defaults. An answer that does not fit the form is not sent, and the server is informed that there is no answer; the
/// same applies if the respondent panics, or takes longer than [`approval_timeout`](forgeline_agent::config::AgentConfig::approval_timeout). Functions are
/// respondents, see [`McpOptions`](crate::McpOptions).
pub trait Respondent: Send + Sync {
    /// Answers a question; `None` asks the user of the run, if there is one.
    ///
    /// # Cancel safety
    ///
    /// The future is dropped when the call ends, or the server withdraws its question.
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
