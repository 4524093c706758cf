//! The audit store.

use super::{
    chain::{AuditChain, AuditFault, AuditHead},
    event::AuditEvent,
    query::{AuditPage, AuditQuery},
    report::AuditReport,
    row::AuditRow,
};
use crate::{EraseMode, StoreError, StoreFuture};
use forgeline_types::Text;

/// Number of rows read at a time.
const PAGE: usize = 200;

/// Maximum number of times that a check begins again because rows were cut meanwhile.
const MAX_TRIES: usize = 4;

/// A store of acts and refusals, by scope: rows that are added and never changed, numbered from 0 without gaps, each with a hash over itself and all before it.
///
/// A row that is changed, removed or moved breaks the chain of its scope; the [head](AuditHead), kept apart, names the last row, so that missing ones at the end
/// are found too. Writers at once, of any number of processes, extend one chain. A [cut](Self::cut) removes the oldest rows and leaves the hash before them;
/// an [erasure](Self::erase) leaves the hash of what it removes: both keep the chain whole.
///
/// Every operation but [`verify`](Self::verify) completes within 10 s, if necessary with [`StoreError::Slow`](crate::StoreError::Slow).
///
/// # Cancel safety
///
/// If the future of [`append`](Self::append) is dropped, the event may or may not be stored; appending it again stores it once.
pub trait AuditStore: Send + Sync + 'static {
    /// Adds an event to the chain of a scope, and returns its number. An event with the same id that is there already is not added again.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Full`](crate::StoreError::Full) for a payload of more than
    /// [`MAX_AUDIT_PAYLOAD_BYTES`](super::MAX_AUDIT_PAYLOAD_BYTES) or a name of more than 1,024 bytes, and
    /// [`StoreError::Exists`](crate::StoreError::Exists) if the scope has another event with this id.
    fn append<'a>(&'a self, scope: &'a str, event: AuditEvent) -> StoreFuture<'a, u64>;

    /// Returns the rows of a scope, newest first by the time of their events.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::BadCursor`](crate::StoreError::BadCursor) if `after` is not the `next` of a page.
    fn read(&self, query: AuditQuery) -> StoreFuture<'_, AuditPage>;

    /// Returns at most `most` rows of a scope in the order of their numbers, from number `from` on.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn chain<'a>(
        &'a self,
        scope: &'a str,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<AuditRow>>;

    /// Returns the ends of the chain of a scope; the default for a scope that never had a row.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn head<'a>(&'a self, scope: &'a str) -> StoreFuture<'a, AuditHead>;

    /// Returns at most `most` scopes that have or had rows, each once and sorted by name, after the scope `after` if one is given.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn scopes<'a>(&'a self, after: Option<&'a str>, most: usize) -> StoreFuture<'a, Vec<Text>>;

    /// Removes the oldest rows of a scope: those before the first event of `before_ms` or later, and those beyond the number `keep`. At most 1,000 at a time;
    /// returns their number, 0 once there are none. The hash of the last of them stays, so that the chain can be checked from there.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn cut<'a>(&'a self, scope: &'a str, before_ms: u64, keep: u64) -> StoreFuture<'a, u64>;

    /// Erases actor, owner, subject and payload of the rows that an owner did or that are about data of the owner, and returns their number; an owner with an
    /// empty name has none. Type, source, time and hashes stay, with [`EraseMode::Hard`] and [`EraseMode::Tombstone`] alike: the chain stays whole.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn erase<'a>(&'a self, scope: &'a str, owner: &'a str, mode: EraseMode)
    -> StoreFuture<'a, u64>;

    /// Checks the chain of a scope row by row; with an earlier head, only the rows after it, and that they follow it. Takes time in proportion to the number of
    /// rows.
    ///
    /// Whoever can write the database can write the chain and its head anew, which this finds only with an earlier head that was kept elsewhere. It can empty rows
    /// as an erasure does: [`AuditReport::erased`] counts them.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used. A fault of the chain is in the report.
    fn verify<'a>(
        &'a self,
        scope: &'a str,
        known: Option<&'a AuditHead>,
    ) -> StoreFuture<'a, AuditReport> {
        Box::pin(verify(self, scope, known))
    }
}

/// Checks the chain of a scope, after an earlier head if one is known.
async fn verify(
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
