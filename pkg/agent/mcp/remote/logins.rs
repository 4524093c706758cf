//! The ends of a login that only the program has.

use futures_core::future::BoxFuture;

/// Lets a person log in at the page of an authorization server.
///
/// [`LoopbackLogins`](super::LoopbackLogins) does it on the machine of the browser.
///
/// # Examples
///
/// ```
/// use forgeline::agent::mcp::{McpLogins, McpLogin, McpLoginError};
/// use futures_core::future::BoxFuture;
///
/// /// Always says no.
/// struct Refusing;
///
/// impl McpLogins for Refusing {
///     fn begin(&self, server: &str) -> BoxFuture<'static, Result<Box<dyn McpLogin>, McpLoginError>> {
///         let error = McpLoginError::new(format!("no login to {server} is possible here"));
///         Box::pin(async { Err(error) })
///     }
/// }
/// ```
pub trait McpLogins: Send + Sync {
    /// Begins a login to the server of this name: finds the address to which the browser will be sent back.
    ///
    /// # Errors
    ///
    /// When no login is possible.
    fn begin(&self, server: &str) -> BoxFuture<'static, Result<Box<dyn McpLogin>, McpLoginError>>;
}

/// One login. It ends when it is dropped.
pub trait McpLogin: Send + Sync {
    /// Returns the address to which the browser is sent back.
    fn redirect_uri(&self) -> String;

    /// Shows the page to the person, and returns the address to which the browser was sent back, with its query.
    ///
    /// The caller checks that the answer belongs to the question, and waits for at most five minutes.
    ///
    /// # Errors
    ///
    /// When the page cannot be shown, or the person does not answer.
    fn answer(self: Box<Self>, page: &str) -> BoxFuture<'static, Result<String, McpLoginError>>;
}

/// The error of a login, or of the place where tokens are kept. Its message must not have a secret.
///
/// # Examples
///
/// ```
/// use forgeline::agent::mcp::McpLoginError;
///
/// assert_eq!(McpLoginError::new("no browser").to_string(), "no browser");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct McpLoginError {
    /// The reason.
    pub message: String,
}

impl McpLoginError {
    /// Creates an error of this reason.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}
