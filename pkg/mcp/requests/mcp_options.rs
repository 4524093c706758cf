//! The options for requests of servers.

use std::{fmt, sync::Arc, time::Duration};

use super::respondent::Respondent;
use crate::{
    login::{mcp_logins::McpLogins, token_store::TokenStore},
    oauth::login_options::LoginOptions,
};
use forgeline_llm::Provider;

/// Maximum wait for the handshake of a server, unless the program sets another.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum wait for a complete list of a server, unless the program sets another.
const LIST_TIMEOUT: Duration = Duration::from_secs(3);

/// The requests that a program accepts from servers, and the time limits of servers.
///
/// Without options, questions of a server go to the user of the run whose call it works on, see [`Questions`](forgeline_agent::steering::Questions), and all other
/// requests of servers are refused.
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
#[derive(Clone)]
pub struct McpOptions {
    pub(crate) respondent: Option<Arc<dyn Respondent>>,
    pub(crate) roots: Vec<String>,
    pub(crate) login: LoginOptions,
    pub(crate) sampling: Option<SamplingModel>,
    pub(crate) start_timeout: Duration,
    pub(crate) list_timeout: Duration,
}

impl Default for McpOptions {
    fn default() -> Self {
        Self {
            respondent: None,
            roots: Vec::new(),
            login: LoginOptions::default(),
            sampling: None,
            start_timeout: START_TIMEOUT,
            list_timeout: LIST_TIMEOUT,
        }
    }
}

/// The model that servers may use.
#[derive(Clone)]
pub(crate) struct SamplingModel {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) max_tokens: u32,
}

impl McpOptions {
    /// Sets a respondent that answers questions of servers in place of the user.
    #[must_use]
    pub fn respondent(mut self, respondent: impl Respondent + 'static) -> Self {
        self.respondent = Some(Arc::new(respondent));
        self
    }

    /// Lets servers send requests to this model, for at most `max_tokens` per answer. Each request is shown to a person as an approval request for
    /// `<tool>.sampling`, even if the call itself was allowed from the start, and nothing is sent without consent. The usage counts towards the run whose
    /// call the server works on, and towards its budget, but not as a turn. Default: none; such requests of servers are refused.
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
        self.sampling = Some(SamplingModel { provider: Arc::new(provider), max_tokens });
        self
    }

    /// Adds the URI of a folder, such as `file:///srv/project`, in which servers are asked to work. Default: none; servers that ask for folders are
    /// refused.
    #[must_use]
    pub fn root(mut self, uri: impl Into<String>) -> Self {
        self.roots.push(uri.into());
        self
    }

    /// Sets the maximum wait for the handshake of a server, including its start. Zero, and the default: 30 s. The `timeout` of a server in the file takes
    /// precedence.
    ///
    /// A run waits at most 8 s for a server that is not required; the start continues, for the next run.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::agent::mcp::McpOptions;
    /// use std::time::Duration;
    ///
    /// // Its program is loaded from a registry first.
    /// let options = McpOptions::default().start_timeout(Duration::from_mins(1));
    /// # let _ = options;
    /// ```
    #[must_use]
    pub fn start_timeout(mut self, limit: Duration) -> Self {
        self.start_timeout = if limit.is_zero() { START_TIMEOUT } else { limit };
        self
    }

    /// Sets the maximum wait for a complete list of a server: its tools, prompts or resources. Zero, and the default: 3 s. The `timeout` of a server in
    /// the file takes precedence.
    #[must_use]
    pub fn list_timeout(mut self, limit: Duration) -> Self {
        self.list_timeout = if limit.is_zero() { LIST_TIMEOUT } else { limit };
        self
    }

    /// Sets how a person logs in. Default: `None`; a server that requires a login is an error.
    #[must_use]
    pub fn logins(mut self, logins: impl McpLogins + 'static) -> Self {
        self.login.logins = Some(Arc::new(logins));
        self
    }

    /// Sets the store of tokens. Default: the [files of the user](crate::FileTokens::of_user).
    #[must_use]
    pub fn token_store(mut self, store: impl TokenStore + 'static) -> Self {
        self.login.tokens = Some(Arc::new(store));
        self
    }
}

impl fmt::Debug for McpOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("McpOptions")
            .field("has_respondent", &self.respondent.is_some())
            .field("roots", &self.roots)
            .field("has_sampling", &self.sampling.is_some())
            .field("start_timeout", &self.start_timeout)
            .field("list_timeout", &self.list_timeout)
            .finish_non_exhaustive()
    }
}
