//! The sweep of audit rows.

use std::sync::PoisonError;

use super::{DataRetention, Keep};
use forgeline_store::{StoreError, private::now_ms};
use forgeline_types::Text;

/// Maximum number of scopes that a sweep looks at; the next one goes on behind them.
const MAX_SCOPES: usize = 100;

impl DataRetention {
    /// Cuts the audit rows of some scopes that are not to be kept.
    pub(super) async fn sweep_audit(&self, keep: &Keep) -> Result<(), StoreError> {
        let after = self.swept().clone();
        let audit = &self.stores.audit;
        let scopes = audit.scopes(after.as_deref(), MAX_SCOPES).await?;
        let age = keep.audit_age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
        let before_ms = age.map_or(0, |age| now_ms().saturating_sub(age));
        for scope in &scopes {
            // A look before each write: most scopes have nothing to cut.
            let head = audit.head(scope).await?;
            let oldest = match age {
                Some(_) => audit.chain(scope, head.first, 1).await?.pop(),
                None => None,
            };
            let is_old = oldest.is_some_and(|row| row.event.at_ms < before_ms);
            if is_old || head.next - head.first.min(head.next) > keep.audit_rows {
                while audit.cut(scope, before_ms, keep.audit_rows).await? > 0 {}
            }
        }
        let is_all = scopes.len() < MAX_SCOPES;
        *self.swept() = scopes.into_iter().next_back().filter(|_| !is_all);
        Ok(())
    }

    fn swept(&self) -> std::sync::MutexGuard<'_, Option<Text>> {
        self.audit_swept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
