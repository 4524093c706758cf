//! The stores of tokens.

use std::any::Any;

use forgeline_llm::http::Secret;
use futures_core::future::BoxFuture;

use super::mcp_logins::McpLoginError;

/// A store for the results of logins, by server.
///
/// A server is identified by its URL, with a suffix after `#` if the file specifies a client or a query: two entries with one URL share a login only if
/// all of these are equal.
///
/// The stored value is a single text in a format internal to this library; all of it is secret.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), forgeline::agent::mcp::McpLoginError> {
/// use forgeline::agent::mcp::{MemoryTokens, TokenStore as _};
///
/// let store = MemoryTokens::new();
/// store.save("https://mcp.example", Some("…".into())).await?;
/// assert!(store.load("https://mcp.example").await?.is_some());
/// store.save("https://mcp.example", None).await?;
/// assert!(store.load("https://mcp.example").await?.is_none());
/// # Ok(())
/// # }
/// ```
pub trait TokenStore: Send + Sync {
    /// Returns the stored text of a server.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    fn load(&self, server: &str) -> BoxFuture<'static, Result<Option<Secret>, McpLoginError>>;

    /// Stores the text of a server, replacing the previous one; `None` removes it.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be written.
    fn save(
        &self,
        server: &str,
        tokens: Option<Secret>,
    ) -> BoxFuture<'static, Result<(), McpLoginError>>;

    /// Waits until no other program with the same store renews the tokens of this server, and returns a lock that makes others wait: a token for renewals
    /// may be usable only once, and two programs that use it may both lose access.
    ///
    /// The default implementation returns at once, which suffices for a store that only one program uses.
    ///
    /// # Errors
    ///
    /// Returns an error if locking is impossible; the renewal continues without a lock.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, no lock is held.
    fn lock(&self, server: &str) -> BoxFuture<'static, Result<TokenLock, McpLoginError>> {
        let _ = server;
        Box::pin(async { Ok(TokenLock::none()) })
    }
}

/// A lock of a [`TokenStore`] for a server, released on drop.
pub struct TokenLock(
    #[expect(dead_code, reason = "it is held, and dropped")] Option<Box<dyn Any + Send>>,
);

impl TokenLock {
    /// Returns a lock that blocks no one.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// Returns a lock that is released when `held` is dropped, such as the guard of a mutex or a locked file.
    pub fn of(held: impl Send + 'static) -> Self {
        Self(Some(Box::new(held)))
    }
}

impl std::fmt::Debug for TokenLock {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("TokenLock")
    }
}
