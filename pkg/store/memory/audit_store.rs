//! The audit store of [`InMemoryStore`].

use super::{
    InMemoryStore,
    audit::{MAX_SCOPES, ScopeAudit},
    locks::{lock, ready},
    scopes::entry,
};
use crate::{
    AuditEvent, AuditHead, AuditPage, AuditQuery, AuditRow, AuditStore, EraseMode, StoreFuture,
};
use forgeline_types::Text;

impl AuditStore for InMemoryStore {
    fn append<'a>(&'a self, scope: &'a str, event: AuditEvent) -> StoreFuture<'a, u64> {
        let added = event.check(scope).and_then(|()| {
            let mut scopes = lock(&self.0.audit);
            let used_ms = |audit: &ScopeAudit| Some(audit.used_ms());
            entry(&mut scopes, scope, MAX_SCOPES, used_ms).append(scope, event)
        });
        ready(added)
    }

    fn read(&self, query: AuditQuery) -> StoreFuture<'_, AuditPage> {
        let scopes = lock(&self.0.audit);
        let none = ScopeAudit::default();
        ready(scopes.get(&query.scope).unwrap_or(&none).read(&query))
    }

    fn chain<'a>(
        &'a self,
        scope: &'a str,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<AuditRow>> {
        let scopes = lock(&self.0.audit);
        ready(Ok(scopes.get(scope).map(|audit| audit.chain(from, most)).unwrap_or_default()))
    }

    fn head<'a>(&'a self, scope: &'a str) -> StoreFuture<'a, AuditHead> {
        ready(Ok(lock(&self.0.audit).get(scope).map(|audit| audit.head).unwrap_or_default()))
    }

    fn scopes<'a>(&'a self, after: Option<&'a str>, most: usize) -> StoreFuture<'a, Vec<Text>> {
        let scopes = lock(&self.0.audit);
        let behind = scopes.keys().filter(|scope| after.is_none_or(|after| scope.as_str() > after));
        let mut found: Vec<Text> = behind.cloned().collect();
        found.sort();
        found.truncate(most);
        ready(Ok(found))
    }

    fn cut<'a>(&'a self, scope: &'a str, before_ms: u64, keep: u64) -> StoreFuture<'a, u64> {
        let mut scopes = lock(&self.0.audit);
        ready(Ok(scopes.get_mut(scope).map_or(0, |audit| audit.cut(before_ms, keep))))
    }

    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> StoreFuture<'a, u64> {
        let mut scopes = lock(&self.0.audit);
        ready(Ok(scopes.get_mut(scope).map_or(0, |audit| audit.erase(owner, mode))))
    }
}
