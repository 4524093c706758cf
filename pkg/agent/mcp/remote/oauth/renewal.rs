//! The renewal of a token, which goes on when the request that wants it is dropped.

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
}

/// The end of a renewal.
pub(super) enum Renewed {
    Grant(Box<Grant>),
    /// The token for renewals is of no use any more.
    Rejected,
    Failed,
}

impl Renewal {
    /// Returns the renewal of a grant; `None` when it cannot be renewed at an address that can be trusted.
    pub(super) fn new(grant: &Grant, server: &Url) -> Option<Self> {
        grant.refresh_token.as_ref()?;
        let endpoint = trusted(&grant.token_endpoint, server).ok()?;
        Some(Self { grant: grant.clone(), endpoint })
    }

    /// Renews the grant, and keeps it.
    pub(super) async fn run(self, exchange: &Exchange, store: &Store) -> Renewed {
        let Self { mut grant, endpoint } = self;
        let mut form = vec![
            ("grant_type", "refresh_token"),
            ("refresh_token", grant.refresh_token.as_deref().unwrap_or_default()),
            ("resource", grant.resource.as_str()),
        ];
        let proof = grant.client.prove(&mut form);
        let Ok(answer) = exchange.post_form(&endpoint, &form, proof).await else {
            return Renewed::Failed;
        };
        let issued = answer.json::<Issued>().ok().filter(|_| answer.is_success());
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
