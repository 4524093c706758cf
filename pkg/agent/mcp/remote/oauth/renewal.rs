//! The renewal of a token, which continues when the request that needs it is dropped.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use futures_core::future::BoxFuture;
use futures_util::{FutureExt as _, future::Shared};
use reqwest::Url;

use super::{
    exchange::Exchange,
    grant::{Grant, Issued},
    store::Store,
};
use crate::agent::mcp::remote::address::trusted;

/// A grant that is to be renewed, and where.
pub(super) struct Renewal {
    grant: Grant,
    endpoint: Url,
    server: Url,
}

/// The end of a renewal.
#[derive(Clone)]
pub(super) enum Renewed {
    Grant(Box<Grant>),
    /// The token for renewals is of no use any more.
    Rejected,
    Failed,
}

/// The last renewal of each login: all sessions of a program share it, for a token for renewals may be of use once.
#[derive(Clone, Default)]
pub(in crate::agent::mcp) struct Renewals(Arc<Mutex<BTreeMap<String, Last>>>);

/// A renewal that is under way, or has ended.
struct Last {
    /// The token that it replaces.
    replaces: String,
    renewed: Shared<BoxFuture<'static, Renewed>>,
}

impl Renewals {
    /// Renews a grant, or waits for the renewal of the same one.
    ///
    /// # Cancel safety
    ///
    /// The renewal goes on when its wait is dropped, and the next one that wants it gets what it led to.
    pub(super) async fn renew(
        &self,
        renewal: Renewal,
        exchange: &Exchange,
        store: &Store,
    ) -> Renewed {
        let renewed = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let last = all.get(store.key()).filter(|last| last.is_of(&renewal.grant));
            if let Some(last) = last {
                last.renewed.clone()
            } else {
                let replaces = renewal.grant.access_token.clone();
                let (exchange, kept) = (exchange.clone(), store.clone());
                let task = tokio::spawn(async move { renewal.run(&exchange, &kept).await });
                let renewed = task.map(|ended| ended.unwrap_or(Renewed::Failed)).boxed().shared();
                let last = Last { replaces, renewed: renewed.clone() };
                all.insert(store.key().to_owned(), last);
                renewed
            }
        };
        renewed.await
    }
}

impl Last {
    /// Returns `true` for the renewal of this grant, unless it has led to nothing, or to what is over by now.
    fn is_of(&self, grant: &Grant) -> bool {
        let is_of_use = match self.renewed.peek() {
            None | Some(Renewed::Rejected) => true,
            Some(Renewed::Grant(renewed)) => !renewed.is_over(),
            Some(Renewed::Failed) => false,
        };
        self.replaces == grant.access_token && is_of_use
    }
}

impl Renewal {
    /// Returns the renewal of a grant; `None` when it cannot be renewed at an address that can be trusted.
    pub(super) fn new(grant: &Grant, server: &Url) -> Option<Self> {
        grant.refresh_token.as_ref()?;
        let endpoint = trusted(&grant.token_endpoint, server).ok()?;
        Some(Self { grant: grant.clone(), endpoint, server: server.clone() })
    }

    /// Renews the grant, and keeps it; takes what another process has kept meanwhile.
    async fn run(mut self, exchange: &Exchange, store: &Store) -> Renewed {
        // Sessions of this program wait by themselves; this is for other programs, and for servers set up apart.
        let Some(_lock) = store.lock().await else { return Renewed::Failed };
        if let Ok(Some(kept)) = store.load().await
            && kept.is_instead_of(&self.grant)
        {
            if !kept.is_over() {
                return Renewed::Grant(Box::new(kept));
            }
            // Its token for renewals is the newer one.
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
            return Renewed::Failed;
        };
        let issued = answer.json::<Issued>("a token").ok().filter(|_| answer.is_success());
        let Some(issued) = issued.filter(Issued::is_bearer) else {
            let is_rejected = answer.error().as_deref() == Some("invalid_grant");
            return if is_rejected { Renewed::Rejected } else { Renewed::Failed };
        };
        grant.renew(issued);
        // A grant that cannot be written is of use in this process.
        let _written = store.save(&grant).await;
        Renewed::Grant(Box::new(grant))
    }
}
