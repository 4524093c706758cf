//! OAuth access to a server: stored tokens, their renewal, and logins by a person.

use std::sync::{
    Arc,
    atomic::{AtomicU32, AtomicUsize, Ordering},
};

use tokio::sync::Mutex;
use url::Url;

use super::{
    authorization_server::AuthorizationServer,
    bearer_challenge::BearerChallenge,
    grant_renewal::SharedRenewals,
    grant_renewal::{GrantRenewal, RenewalOutcome},
    grant_store::GrantStore,
    login_options::LoginOptions,
    oauth_exchange::OAuthExchange,
    token_grant::TokenGrant,
};
use crate::{
    addresses::address_reach::is_local,
    config::remote_settings::{McpOAuth, McpRemote},
    login::{file_tokens::FileTokens, mcp_logins::McpLogins, memory_tokens::MemoryTokens},
    output::remote_watch::RemoteWatch,
};
use forgeline_llm::{private::SecretRedactor, transport::Transport};
use forgeline_types::Text;

/// Maximum number of consecutive logins that did not help.
const MAX_LOGINS: u32 = 3;

/// The reason for denied access when only a login would help.
pub(super) const NO_PERSON: &str = "it needs a login, and there is no person to ask for one";

/// Access to one server.
///
/// Everything that needs the token waits while the token is renewed or a person logs in: there is one login at a time.
pub(crate) struct OAuthAccess {
    pub(super) server: Text,
    pub(super) url: Url,
    pub(super) settings: McpOAuth,
    pub(super) logins: Option<Arc<dyn McpLogins>>,
    pub(super) store: GrantStore,
    pub(super) exchange: OAuthExchange,
    pub(super) watch: Arc<RemoteWatch>,
    /// The number of people being asked at this time, including by other sessions with the same server.
    pub(super) asking: Arc<AtomicUsize>,
    pub(super) renewals: SharedRenewals,
    /// Secrets known from the start.
    pub(super) secrets: SecretRedactor,
    state: Mutex<GrantState>,
    /// Logins since the server last accepted a request.
    logins_in_vain: AtomicU32,
}

#[derive(Default)]
struct GrantState {
    is_loaded: bool,
    grant: Option<TokenGrant>,
}

impl OAuthAccess {
    pub(crate) fn new(
        server: Text,
        url: Url,
        (remote, login): (&McpRemote, &LoginOptions),
        transport: Arc<dyn Transport>,
        watch: Arc<RemoteWatch>,
    ) -> Self {
        let mut secrets = watch.secrets();
        remote.oauth.client_secret.iter().for_each(|secret| secrets.add(secret.expose()));
        watch.hide(secrets.clone());
        let tokens = login.tokens.clone().unwrap_or_else(|| match FileTokens::of_user() {
            Some(files) => Arc::new(files),
            None => Arc::new(MemoryTokens::new()),
        });
        let store = GrantStore::new(tokens, &url, &remote.oauth);
        Self {
            server,
            url,
            settings: remote.oauth.clone(),
            logins: login.logins.clone(),
            store,
            exchange: OAuthExchange::new(transport),
            watch,
            asking: Arc::clone(&login.asking),
            renewals: login.renewals.clone(),
            secrets,
            state: Mutex::default(),
            logins_in_vain: AtomicU32::new(0),
        }
    }

    /// Returns the token to send, renewed if it has expired; `None` before the first login.
    ///
    /// # Errors
    ///
    /// Returns the reason why the stored tokens cannot be read.
    pub(crate) async fn token(&self) -> Result<Option<String>, String> {
        if !self.is_safe() {
            return Ok(None);
        }
        let mut state = self.state.lock().await;
        self.load(&mut state).await?;
        if state.grant.as_ref().is_some_and(TokenGrant::is_over) {
            // An expired token is not sent: the server asks for a login if it requires one.
            let renewed = self.renewed(&mut state).await;
            return Ok(renewed.then(|| state.token()).flatten());
        }
        Ok(state.token())
    }

    /// Records that the server accepted a request.
    pub(crate) fn worked(&self) {
        self.logins_in_vain.store(0, Ordering::Relaxed);
    }

    /// Renews the token that was sent, if that is possible without a person.
    pub(crate) async fn renew(&self, sent: Option<&str>) -> bool {
        let mut state = self.state.lock().await;
        state.has_other(sent) || self.renewed(&mut state).await
    }

    /// Obtains another token after the server refused the one that was sent.
    ///
    /// # Errors
    ///
    /// Returns the reason why there is none.
    pub(crate) async fn answer(
        &self,
        challenge: &BearerChallenge,
        sent: Option<&str>,
    ) -> Result<(), String> {
        if !self.is_safe() {
            return Err("it needs a login, and is reached over plain HTTP; use `https`".to_owned());
        }
        let mut state = self.state.lock().await;
        if state.has_other(sent) {
            return Ok(());
        }
        let can_renew = state.grant.as_ref().is_some_and(|grant| grant.refresh_token.is_some());
        if self.logins.is_none() && !self.settings.is_for_itself && !can_renew {
            return Err(NO_PERSON.to_owned());
        }
        let asking = (self.watch.ask(), AskingCount::new(&self.asking));
        let authorization = AuthorizationServer::find(&self.exchange, &self.url, challenge).await?;
        // A grant of another authorization server is useless here, and must not be sent to this one.
        state.grant.take_if(|grant| {
            grant.issuer != authorization.issuer || grant.resource != authorization.resource
        });
        if !challenge.is_step_up() && self.renewed(&mut state).await {
            return Ok(());
        }
        if self.logins_in_vain.fetch_add(1, Ordering::Relaxed) >= MAX_LOGINS {
            return Err(format!("it refused access after each of {MAX_LOGINS} logins"));
        }
        let granted = self.login(&authorization, challenge, state.grant.as_ref()).await;
        drop(asking);
        self.keep(&mut state, granted?).await
    }

    /// Returns `true` when requests to the server cannot be read in transit.
    fn is_safe(&self) -> bool {
        self.url.scheme() == "https" || is_local(&self.url)
    }

    /// Loads the stored grant, once.
    async fn load(&self, state: &mut GrantState) -> Result<(), String> {
        if state.is_loaded {
            return Ok(());
        }
        state.grant = self.store.load().await?;
        state.is_loaded = true;
        self.hide(state, None);
        Ok(())
    }

    /// Stores a grant in place of the previous one.
    async fn keep(&self, state: &mut GrantState, grant: TokenGrant) -> Result<(), String> {
        let kept = self.store.save(&grant).await;
        let before = state.grant.replace(grant);
        self.hide(state, before.as_ref());
        kept
    }

    /// Updates the secrets that must not be shown: those used now, and those used until now.
    fn hide(&self, state: &GrantState, before: Option<&TokenGrant>) {
        let mut secrets = self.secrets.clone();
        state.grant.iter().chain(before).for_each(|grant| grant.hide(&mut secrets));
        self.watch.hide(secrets);
    }

    /// Renews the token with the refresh token; returns `false` when that is not possible.
    async fn renewed(&self, state: &mut GrantState) -> bool {
        let Some(grant) = &state.grant else { return false };
        let Some(renewal) = GrantRenewal::new(grant, &self.url) else { return false };
        let renewed = match self.renewals.renew(renewal, &self.exchange, &self.store).await {
            RenewalOutcome::Grant(grant) => Some(*grant),
            // Another process was faster.
            RenewalOutcome::Rejected => {
                let kept = self.store.load().await.ok().flatten();
                kept.filter(|kept| kept.is_instead_of(grant) && !kept.is_over())
            }
            RenewalOutcome::Failed => return false,
        };
        let is_renewed = renewed.is_some();
        if let Some(renewed) = renewed {
            let before = state.grant.replace(renewed);
            self.hide(state, before.as_ref());
        } else if let Some(grant) = &mut state.grant {
            // The refresh token can never be used again.
            grant.refresh_token = None;
        }
        is_renewed
    }
}

/// A person being asked, until this is dropped.
struct AskingCount<'a>(&'a AtomicUsize);

impl<'a> AskingCount<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(count)
    }
}

impl Drop for AskingCount<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl GrantState {
    fn token(&self) -> Option<String> {
        self.grant.as_ref().map(|grant| grant.access_token.clone())
    }

    /// Returns `true` when there is a token that the server has not refused.
    fn has_other(&self, sent: Option<&str>) -> bool {
        self.grant
            .as_ref()
            .is_some_and(|grant| Some(grant.access_token.as_str()) != sent && !grant.is_over())
    }
}
