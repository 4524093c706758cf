//! The renewal of a token, which continues when the request that needs it is dropped.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use futures_core::future::BoxFuture;
use futures_util::{FutureExt as _, future::Shared};
use url::Url;

use super::{
    grant_store::GrantStore,
    oauth_exchange::OAuthExchange,
    token_grant::{TokenGrant, TokenResponse},
};
use crate::addresses::address_reach::parse_trusted;

/// A grant to be renewed, and the place to renew it.
pub(crate) struct GrantRenewal {
    grant: TokenGrant,
    endpoint: Url,
    server: Url,
}

/// The result of a renewal.
#[derive(Clone)]
pub(crate) enum RenewalOutcome {
    Grant(Box<TokenGrant>),
    /// The refresh token cannot be used any more.
    Rejected,
    Failed,
}

/// The last renewal of each login, which all sessions of a program share, since a refresh token may be usable only once.
#[derive(Clone, Default)]
pub(crate) struct SharedRenewals(Arc<Mutex<BTreeMap<String, LastRenewal>>>);

/// A renewal that is in progress, or has ended.
struct LastRenewal {
    /// The access token that the renewal replaces.
    replaces: String,
    renewed: Shared<BoxFuture<'static, RenewalOutcome>>,
}

impl SharedRenewals {
    /// Renews a grant, or waits for a renewal of the same one.
    ///
    /// # Cancel safety
    ///
    /// The renewal continues when the future is dropped, and the next call for the same grant gets its result.
    pub(crate) async fn renew(
        &self,
        renewal: GrantRenewal,
        exchange: &OAuthExchange,
        store: &GrantStore,
    ) -> RenewalOutcome {
        let renewed = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let last = all.get(store.key()).filter(|last| last.is_of(&renewal.grant));
            if let Some(last) = last {
                last.renewed.clone()
            } else {
                let replaces = renewal.grant.access_token.clone();
                let (exchange, kept) = (exchange.clone(), store.clone());
                let task = tokio::spawn(async move { renewal.run(&exchange, &kept).await });
                let renewed =
                    task.map(|ended| ended.unwrap_or(RenewalOutcome::Failed)).boxed().shared();
                let last = LastRenewal { replaces, renewed: renewed.clone() };
                all.insert(store.key().to_owned(), last);
                renewed
            }
        };
        renewed.await
    }
}

impl LastRenewal {
    /// Returns `true` for the renewal of this grant, unless it failed, or its result has expired by now.
    fn is_of(&self, grant: &TokenGrant) -> bool {
        let is_of_use = match self.renewed.peek() {
            None | Some(RenewalOutcome::Rejected) => true,
            Some(RenewalOutcome::Grant(renewed)) => !renewed.is_over(),
            Some(RenewalOutcome::Failed) => false,
        };
        self.replaces == grant.access_token && is_of_use
    }
}

impl GrantRenewal {
    /// Returns the renewal of a grant; `None` when the grant cannot be renewed at a trusted URL.
    pub(crate) fn new(grant: &TokenGrant, server: &Url) -> Option<Self> {
        grant.refresh_token.as_ref()?;
        let endpoint = parse_trusted(&grant.token_endpoint, server).ok()?;
        Some(Self { grant: grant.clone(), endpoint, server: server.clone() })
    }

    /// Renews the grant, and stores it; takes over a grant that another process has stored in the meantime.
    async fn run(mut self, exchange: &OAuthExchange, store: &GrantStore) -> RenewalOutcome {
        // Sessions of this program wait by themselves; the lock is for other programs, and for servers set up separately.
        let Some(_lock) = store.lock().await else { return RenewalOutcome::Failed };
        if let Ok(Some(kept)) = store.load().await
            && kept.is_instead_of(&self.grant)
        {
            if !kept.is_over() {
                return RenewalOutcome::Grant(Box::new(kept));
            }
            // The stored grant has the newer refresh token.
            self = Self::new(&kept, &self.server).unwrap_or(self);
        }
        let Self { mut grant, endpoint, server: _ } = self;
        let mut form = vec![
            ("grant_type", "refresh_token"),
            ("refresh_token", grant.refresh_token.as_deref().unwrap_or_default()),
            ("resource", grant.resource.as_str()),
        ];
        let proof = grant.client.prove(&mut form);
        let Ok(answer) = exchange.post_form(&endpoint, &form, proof).await else {
            return RenewalOutcome::Failed;
        };
        let issued = answer.json::<TokenResponse>("a token").ok().filter(|_| answer.is_success());
        let Some(issued) = issued.filter(TokenResponse::is_bearer) else {
            let is_rejected = answer.error().as_deref() == Some("invalid_grant");
            return if is_rejected { RenewalOutcome::Rejected } else { RenewalOutcome::Failed };
        };
        grant.renew(issued);
        // A grant that cannot be stored is still usable in this process.
        let _written = store.save(&grant).await;
        RenewalOutcome::Grant(Box::new(grant))
    }
}
