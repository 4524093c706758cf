//! The check of a whole chain.

use serde::Serialize;

use super::{
    chain::{AuditChain, AuditFault, AuditHead},
    store::AuditStore,
};
use crate::StoreError;

/// Number of rows read at a time.
const PAGE: usize = 200;

/// Maximum number of times that a check begins again because rows were cut meanwhile.
const MAX_TRIES: usize = 4;

/// The result of a check of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AuditReport {
    /// The number of rows that were read.
    pub rows: u64,
    /// The number of those whose content was erased.
    pub erased: u64,
    /// The head to which they lead; keep it elsewhere for the next check.
    pub head: AuditHead,
    /// The first fault, if there is one.
    pub fault: Option<AuditFault>,
}

impl AuditReport {
    /// Returns `true` if the chain is what was written.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.fault.is_none()
    }
}

/// Checks the chain of a scope, after an earlier head if one is known.
pub(super) async fn verify(
    store: &(impl AuditStore + ?Sized),
    scope: &str,
    known: Option<&AuditHead>,
) -> Result<AuditReport, StoreError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let head = store.head(scope).await?;
        let report = look(store, scope, known, head).await?;
        // Rows that are cut while they are read are not missing.
        let is_cut = !report.is_whole() && store.head(scope).await?.first != head.first;
        if !is_cut || tries == MAX_TRIES {
            return Ok(report);
        }
    }
}

async fn look(
    store: &(impl AuditStore + ?Sized),
    scope: &str,
    known: Option<&AuditHead>,
    head: AuditHead,
) -> Result<AuditReport, StoreError> {
    let known = known.filter(|known| known.next >= head.first);
    let mut chain = known.map_or_else(|| AuditChain::new(&head), AuditChain::after);
    let fault = rows(store, scope, &mut chain, &head).await?;
    Ok(AuditReport { rows: chain.rows(), erased: chain.erased(), head, fault })
}

async fn rows(
    store: &(impl AuditStore + ?Sized),
    scope: &str,
    chain: &mut AuditChain,
    head: &AuditHead,
) -> Result<Option<AuditFault>, StoreError> {
    while chain.next() < head.next {
        let page = store.chain(scope, chain.next(), PAGE).await?;
        let of_head = page.iter().filter(|row| row.seq < head.next);
        let before = chain.rows();
        for row in of_head {
            if let Err(fault) = chain.add(row) {
                return Ok(Some(fault));
            }
        }
        if chain.rows() == before {
            break;
        }
    }
    if let Err(fault) = chain.end(head) {
        return Ok(Some(fault));
    }
    // A row that came meanwhile has moved the head.
    let Some(extra) = store.chain(scope, head.next, 1).await?.pop() else { return Ok(None) };
    let is_new = store.head(scope).await?.next > extra.seq;
    Ok((!is_new).then_some(AuditFault::Extra { seq: extra.seq }))
}
