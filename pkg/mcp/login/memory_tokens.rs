//! Tokens in memory.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use forgeline_llm::http::Secret;
use futures_core::future::BoxFuture;

use super::{
    mcp_logins::McpLoginError,
    token_store::{TokenLock, TokenStore},
};

/// A store of tokens in memory: the next process logs in again.
#[derive(Clone, Default)]
pub struct MemoryTokens(Arc<Mutex<BTreeMap<String, InMemory>>>);

/// The tokens of one server, and the lock for their renewal.
#[derive(Default)]
struct InMemory {
    kept: Option<Secret>,
    lock: Arc<tokio::sync::Mutex<()>>,
}

impl MemoryTokens {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl std::fmt::Debug for MemoryTokens {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("MemoryTokens")
    }
}

impl TokenStore for MemoryTokens {
    fn load(&self, server: &str) -> BoxFuture<'static, Result<Option<Secret>, McpLoginError>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = all.get(server).and_then(|of_server| of_server.kept.clone());
        Box::pin(async { Ok(kept) })
    }

    fn save(
        &self,
        server: &str,
        tokens: Option<Secret>,
    ) -> BoxFuture<'static, Result<(), McpLoginError>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(server.to_owned()).or_default().kept = tokens;
        Box::pin(async { Ok(()) })
    }

    fn lock(&self, server: &str) -> BoxFuture<'static, Result<TokenLock, McpLoginError>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = Arc::clone(&all.entry(server.to_owned()).or_default().lock);
        Box::pin(async { Ok(TokenLock::of(lock.lock_owned().await)) })
    }
}
