//! The parts of a login that the program provides.

use futures_core::future::BoxFuture;

/// A provider of logins, by which a person logs in at the page of an authorization server.
///
/// [`LoopbackLogins`](crate::LoopbackLogins) implements it with a browser on this machine.
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
    /// Begins a login to the server with this name: determines the URL to which the browser will be redirected.
    ///
    /// # Errors
    ///
    /// Returns an error if no login is possible.
    fn begin(&self, server: &str) -> BoxFuture<'static, Result<Box<dyn McpLogin>, McpLoginError>>;
}

/// A login, which ends when it is dropped.
pub trait McpLogin: Send + Sync {
    /// Returns the URL to which the browser is redirected.
    fn redirect_uri(&self) -> String;

    /// Shows the page to the person, and returns the URL to which the browser was redirected, with its query.
    ///
    /// The caller checks that the answer belongs to the request, and waits for at most five minutes.
    ///
    /// # Errors
    ///
    /// Returns an error if the page cannot be shown, or the person does not answer.
    fn answer(self: Box<Self>, page: &str) -> BoxFuture<'static, Result<String, McpLoginError>>;
}

/// An error of a login, or of the store of tokens. Its message must not contain secrets.
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
    /// Creates an error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}
