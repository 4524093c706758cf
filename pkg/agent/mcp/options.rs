//! What a program lets servers ask of it.

use std::{fmt, sync::Arc};

use futures_core::future::BoxFuture;

use super::remote::{Login, McpLogins, TokenStore};
use crate::{
    agent::{RunContext, tools::Question},
    llm::Provider,
    types::{Text, ToolAnswer},
};

/// What a program lets servers ask of it.
///
/// Without options, questions of a server go to the user of the run whose call it serves, see
/// [`Questions`](crate::agent::Questions), and everything else that a server may ask for is refused.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::mcp::{McpOptions, McpQuestion}, types::ToolAnswer};
///
/// let options = McpOptions::default()
///     .respondent(|asked: McpQuestion| async move {
///         // The user is asked about the others.
///         (asked.server == "build").then_some(ToolAnswer::Decline)
///     })
///     .root("file:///srv/project");
/// # let _ = options;
/// ```
#[derive(Clone, Default)]
pub struct McpOptions {
    pub(super) respondent: Option<Arc<dyn Respondent>>,
    pub(super) roots: Vec<String>,
    pub(super) login: Login,
    pub(super) sampling: Option<Sampling>,
}

/// The model that servers may ask.
#[derive(Clone)]
pub(super) struct Sampling {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) max_tokens: u32,
}

impl McpOptions {
    /// Sets who answers questions of servers in place of the user.
    #[must_use]
    pub fn respondent(mut self, respondent: impl Respondent + 'static) -> Self {
        self.respondent = Some(Arc::new(respondent));
        self
    }

    /// Lets servers ask this model, for at most `max_tokens` an answer. Each request is shown to a person as one for
    /// approval of `<tool>.sampling`, also where the call itself was allowed from the start, and nothing is sent without
    /// their consent. What it costs is not counted in the run. Default: none, and servers that ask are refused.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::{agent::mcp::McpOptions, llm::demo::DemoProvider};
    ///
    /// let options = McpOptions::default().sampling(DemoProvider::new(), 500);
    /// # let _ = options;
    /// ```
    #[must_use]
    pub fn sampling(mut self, provider: impl Provider + 'static, max_tokens: u32) -> Self {
        self.sampling = Some(Sampling { provider: Arc::new(provider), max_tokens });
        self
    }

    /// Adds the address of a folder, such as `file:///srv/project`, that servers are told to work in. Default: none, and
    /// servers that ask are refused.
    #[must_use]
    pub fn root(mut self, uri: impl Into<String>) -> Self {
        self.roots.push(uri.into());
        self
    }

    /// Sets who lets a person log in. Default: nobody, and a server that needs a login is an error.
    #[must_use]
    pub fn logins(mut self, logins: impl McpLogins + 'static) -> Self {
        self.login.logins = Some(Arc::new(logins));
        self
    }

    /// Sets where tokens are kept. Default: the [files of the user](super::FileTokens::of_user).
    #[must_use]
    pub fn token_store(mut self, store: impl TokenStore + 'static) -> Self {
        self.login.tokens = Some(Arc::new(store));
        self
    }
}

/// A question of a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct McpQuestion {
    /// The name of the server.
    pub server: Text,
    /// The question, in the words of the server: text from outside.
    pub message: String,
    /// The form, if it is one: a JSON schema of an object with plain fields.
    pub schema: Option<crate::types::Json>,
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
/// server hears that nobody has answered. So it does when the respondent panics, or takes longer than
/// [`approval_timeout`](crate::agent::AgentConfig::approval_timeout). A function is a respondent, see [`McpOptions`].
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

impl fmt::Debug for McpOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("McpOptions")
            .field("has_respondent", &self.respondent.is_some())
            .field("roots", &self.roots)
            .field("has_sampling", &self.sampling.is_some())
            .finish_non_exhaustive()
    }
}
