//! The storage of the grant of a server.

use std::{sync::Arc, time::Duration};

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use forgeline_llm::http::Secret;
use ring::digest::{SHA256, digest};
use serde_json::json;
use tokio::time::timeout;
use url::Url;

use super::token_grant::TokenGrant;
use crate::{
    addresses::address_reach::resource,
    config::remote_settings::McpOAuth,
    login::{
        mcp_logins::McpLoginError,
        token_store::{TokenLock, TokenStore},
    },
};

/// Maximum wait for a token store.
const STORE_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum wait for another program that renews the same grant: longer than it takes to read, request and write.
const LOCK_TIMEOUT: Duration = Duration::from_secs(25);

/// The storage for the grant of one server.
#[derive(Clone)]
pub(crate) struct GrantStore {
    tokens: Arc<dyn TokenStore>,
    key: String,
}

impl GrantStore {
    pub(crate) fn new(tokens: Arc<dyn TokenStore>, server: &Url, settings: &McpOAuth) -> Self {
        Self { tokens, key: key(server, settings) }
    }

    /// Returns the name under which the grant is stored.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Waits until no other program renews the grant; returns `None` when another takes too long. A
    /// store that cannot be locked is used without a lock.
    pub(crate) async fn lock(&self) -> Option<TokenLock> {
        let locked = timeout(LOCK_TIMEOUT, self.tokens.lock(&self.key)).await.ok()?;
        Some(locked.unwrap_or_else(|error| {
            tracing::warn!(%error, "tokens are renewed without a lock");
            TokenLock::none()
        }))
    }

    /// Returns the stored grant; one written by an older version is ignored.
    pub(crate) async fn load(&self) -> Result<Option<TokenGrant>, String> {
        let kept = within(self.tokens.load(&self.key)).await?;
        Ok(kept.and_then(|kept| serde_json::from_str(kept.expose()).ok()))
    }

    /// Stores a grant in place of the previous one.
    pub(crate) async fn save(&self, grant: &TokenGrant) -> Result<(), String> {
        let text = serde_json::to_string(grant).map_err(|error| error.to_string())?;
        within(self.tokens.save(&self.key, Some(Secret::from(text)))).await
    }
}

/// Returns the name of a login: the server's URL, with a suffix if several logins are possible at that URL.
fn key(server: &Url, settings: &McpOAuth) -> String {
    let McpOAuth { client_id, issuer, client_metadata_url, is_for_itself, scopes, .. } = settings;
    let mut scopes = scopes.clone();
    scopes.sort_unstable();
    let own =
        json!([server.query(), client_id, issuer, client_metadata_url, is_for_itself, scopes]);
    let address = resource(server);
    if own == json!([null, null, null, null, false, []]) {
        return address;
    }
    // The query may be secret.
    let digest = digest(&SHA256, own.to_string().as_bytes());
    let mark = BASE64_URL_SAFE_NO_PAD.encode(digest.as_ref().get(..16).unwrap_or_default());
    format!("{address}#{mark}")
}

async fn within<T>(done: impl Future<Output = Result<T, McpLoginError>>) -> Result<T, String> {
    let done = timeout(STORE_TIMEOUT, done).await;
    let done =
        done.map_err(|_| format!("the tokens cannot be reached within {STORE_TIMEOUT:?}"))?;
    done.map_err(|error| error.to_string())
}
