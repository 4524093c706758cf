//! The place where the grant of one server is kept.

use std::{sync::Arc, time::Duration};

use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::timeout;

use super::grant::Grant;
use crate::agent::mcp::remote::{address::resource, logins::McpLoginError, tokens::TokenStore};

/// Longest wait for a place where tokens are kept.
const STORE_TIMEOUT: Duration = Duration::from_secs(5);

/// The place where the grant of one server is kept.
#[derive(Clone)]
pub(super) struct Store {
    tokens: Arc<dyn TokenStore>,
    server: String,
}

impl Store {
    pub(super) fn new(tokens: Arc<dyn TokenStore>, server: &Url) -> Self {
        Self { tokens, server: resource(server) }
    }

    /// Returns the grant that is kept; what an older version wrote counts as nothing.
    pub(super) async fn load(&self) -> Result<Option<Grant>, String> {
        let kept = within(self.tokens.load(&self.server)).await?;
        Ok(kept.and_then(|kept| serde_json::from_str(kept.expose_secret()).ok()))
    }

    /// Keeps a grant in place of the one before.
    pub(super) async fn save(&self, grant: &Grant) -> Result<(), String> {
        let text = serde_json::to_string(grant).map_err(|error| error.to_string())?;
        within(self.tokens.save(&self.server, Some(SecretString::from(text)))).await
    }
}

async fn within<T>(done: impl Future<Output = Result<T, McpLoginError>>) -> Result<T, String> {
    let done = timeout(STORE_TIMEOUT, done).await;
    let done =
        done.map_err(|_| format!("the tokens cannot be reached within {STORE_TIMEOUT:?}"))?;
    done.map_err(|error| error.to_string())
}
