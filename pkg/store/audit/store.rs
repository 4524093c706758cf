//! The audit store.

use super::{
    chain::AuditHead,
    event::AuditEvent,
    query::{AuditPage, AuditQuery},
    row::AuditRow,
    verify::{AuditReport, verify},
};
use crate::{EraseMode, StoreFuture};
use forgeline_types::Text;

/// What was done and refused, by scope: rows that are added and never changed, numbered from 0 without gaps, each with a hash over itself and all before it.
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
