//! Audit stores with a fault.

use super::failed;
use crate::stores::check_audit_store;
use std::sync::{Arc, Mutex};

use forgeline_store::{
    AuditEvent, AuditHash, AuditHead, AuditPage, AuditQuery, AuditReport, AuditRow, AuditStore,
    EraseMode, InMemoryStore, StoreError, StoreFuture,
};
use forgeline_types::Text;

/// A rule that an audit store breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AuditFaultKind {
    HasAScope,
    SubjectsForgotten,
    OrderedByNumber,
    KindsOfAllScopes,
    KindsByPrefix,
    SourcesIgnored,
    EndsInclusive,
    PagesInclusive,
    ScopesUnsorted,
    StoredTwice,
    AnyLength,
    HashesOfNothing,
    RowsLost,
    CutsTooMuch,
    OwnersKept,
    KnownIgnored,
    ChainsShort,
}

use AuditFaultKind as Fault;

/// A store in memory with a fault.
struct FaultyAudit {
    store: InMemoryStore,
    fault: Fault,
    /// The scopes in the order in which they came.
    seen: Mutex<Vec<Text>>,
}

impl FaultyAudit {
    fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    /// Returns all rows of a query, without its limit.
    async fn all(&self, mut query: AuditQuery) -> Result<Vec<AuditRow>, StoreError> {
        (query.most, query.after) = (usize::MAX, None);
        Ok(self.store.read(query).await?.rows)
    }
}

/// Returns the page of some rows after the place that a cursor names.
fn page_of(rows: Vec<AuditRow>, query: &AuditQuery, skipped: usize) -> AuditPage {
    let place = |row: &AuditRow| Text::from(format!("{}.{}", row.event.at_ms, row.seq));
    let at = query.after.as_ref().map(|after| rows.iter().position(|row| place(row) == *after));
    let from = at.flatten().map_or(0, |at| at + skipped);
    let is_more = rows.len() > from + query.most;
    let page: Vec<_> = rows.into_iter().skip(from).take(query.most).collect();
    let next = page.last().filter(|_| is_more).map(place);
    AuditPage::new(page, next)
}

impl AuditStore for FaultyAudit {
    fn append<'a>(&'a self, scope: &'a str, mut event: AuditEvent) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let mut seen = self.seen.lock().unwrap().clone();
            seen.retain(|it| it != scope);
            seen.push(scope.into());
            *self.seen.lock().unwrap() = seen;
            if self.is(Fault::SubjectsForgotten) {
                event.subject.request = None;
            }
            let next = self.store.head(scope).await?.next;
            let again = event.clone();
            if self.is(Fault::RowsLost) && event.actor.starts_with("a1") {
                return Ok(self.store.head(scope).await?.next);
            }
            match self.store.append(scope, event).await {
                Err(StoreError::Full { .. }) if self.is(Fault::AnyLength) => Ok(0),
                Ok(number) if self.is(Fault::StoredTwice) && number < next => {
                    let mut event = again;
                    event.id = AuditEvent::new("", "", "", 0).id;
                    self.store.append(scope, event).await
                }
                done => done,
            }
        })
    }

    fn read(&self, query: AuditQuery) -> StoreFuture<'_, AuditPage> {
        Box::pin(async move {
            let mut wider = query.clone();
            let mut rows = match self.fault {
                Fault::KindsOfAllScopes if query.kind.is_some() => {
                    let mut rows = Vec::new();
                    for scope in self.store.scopes(None, usize::MAX).await? {
                        wider.scope = scope;
                        rows.extend(self.all(wider.clone()).await?);
                    }
                    rows
                }
                Fault::KindsByPrefix => {
                    let wanted = wider.kind.take().unwrap_or_default();
                    let mut rows = self.all(wider).await?;
                    rows.retain(|row| row.event.kind.starts_with(wanted.as_str()));
                    rows
                }
                Fault::SourcesIgnored => {
                    wider.source = None;
                    self.all(wider).await?
                }
                Fault::EndsInclusive => {
                    wider.until_ms = wider.until_ms.map(|until| until + 1);
                    self.all(wider).await?
                }
                Fault::OrderedByNumber | Fault::PagesInclusive => self.all(wider).await?,
                Fault::HasAScope
                | Fault::SubjectsForgotten
                | Fault::KindsOfAllScopes
                | Fault::ScopesUnsorted
                | Fault::StoredTwice
                | Fault::AnyLength
                | Fault::HashesOfNothing
                | Fault::RowsLost
                | Fault::CutsTooMuch
                | Fault::OwnersKept
                | Fault::KnownIgnored
                | Fault::ChainsShort => return self.store.read(query).await,
            };
            if self.is(Fault::OrderedByNumber) {
                rows.sort_by_key(|row| std::cmp::Reverse(row.seq));
            }
            if query.after.as_ref().is_some_and(|after| !after.contains('.')) {
                return self.store.read(query).await;
            }
            Ok(page_of(rows, &query, usize::from(!self.is(Fault::PagesInclusive))))
        })
    }

    fn chain<'a>(
        &'a self,
        scope: &'a str,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<AuditRow>> {
        Box::pin(async move {
            let mut rows = self.store.chain(scope, from, most).await?;
            if self.is(Fault::HashesOfNothing) && rows.len() == 5 {
                for row in &mut rows {
                    row.hash = AuditHash::default();
                }
            }
            if self.is(Fault::ChainsShort) && rows.len() == 100 {
                rows.pop();
                rows.remove(50);
            }
            Ok(rows)
        })
    }

    fn head<'a>(&'a self, scope: &'a str) -> StoreFuture<'a, AuditHead> {
        self.store.head(scope)
    }

    fn scopes<'a>(&'a self, after: Option<&'a str>, most: usize) -> StoreFuture<'a, Vec<Text>> {
        Box::pin(async move {
            match self.fault {
                Fault::HasAScope => {
                    let mut scopes = self.store.scopes(after, most).await?;
                    if scopes.is_empty() && after.is_none() {
                        scopes.push("a".into());
                    }
                    Ok(scopes)
                }
                Fault::ScopesUnsorted => Ok(self.seen.lock().unwrap().clone()),
                Fault::SubjectsForgotten
                | Fault::OrderedByNumber
                | Fault::KindsOfAllScopes
                | Fault::KindsByPrefix
                | Fault::SourcesIgnored
                | Fault::EndsInclusive
                | Fault::PagesInclusive
                | Fault::StoredTwice
                | Fault::AnyLength
                | Fault::HashesOfNothing
                | Fault::RowsLost
                | Fault::CutsTooMuch
                | Fault::OwnersKept
                | Fault::KnownIgnored
                | Fault::ChainsShort => self.store.scopes(after, most).await,
            }
        })
    }

    fn cut<'a>(&'a self, scope: &'a str, before_ms: u64, keep: u64) -> StoreFuture<'a, u64> {
        let is_wrong = self.is(Fault::CutsTooMuch) && keep == 3;
        self.store.cut(scope, before_ms, if is_wrong { keep - 1 } else { keep })
    }

    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let is_wrong = self.is(Fault::OwnersKept) && !mode.is_dry_run() && owner == "bob";
            let mode = if is_wrong { EraseMode::Count } else { mode };
            self.store.erase(scope, owner, mode).await
        })
    }

    fn verify<'a>(
        &'a self,
        scope: &'a str,
        known: Option<&'a AuditHead>,
    ) -> StoreFuture<'a, AuditReport> {
        let known = known.filter(|_| !self.is(Fault::KnownIgnored));
        self.store.verify(scope, known)
    }
}

#[tokio::test]
async fn each_wrong_audit_store_fails_the_check_that_is_meant() {
    let faults = [
        (Fault::HasAScope, "empty"),
        (Fault::SubjectsForgotten, "round-trip"),
        (Fault::OrderedByNumber, "order"),
        (Fault::KindsOfAllScopes, "scopes"),
        (Fault::KindsByPrefix, "types"),
        (Fault::SourcesIgnored, "sources"),
        (Fault::EndsInclusive, "times"),
        (Fault::PagesInclusive, "pages"),
        (Fault::ScopesUnsorted, "listed"),
        (Fault::StoredTwice, "once"),
        (Fault::AnyLength, "length"),
        (Fault::HashesOfNothing, "chain"),
        (Fault::RowsLost, "race"),
        (Fault::CutsTooMuch, "cut"),
        (Fault::OwnersKept, "erase"),
        (Fault::KnownIgnored, "known"),
        (Fault::ChainsShort, "export"),
    ];
    let mut wrong = Vec::new();
    for (fault, check) in faults {
        let make = async || {
            let (store, seen) = (InMemoryStore::new(), Mutex::default());
            Arc::new(FaultyAudit { store, fault, seen })
        };
        let report = check_audit_store(make).await;
        if failed(&report) != [check] {
            wrong.push(format!("{fault:?}, expected {check}: {report}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
