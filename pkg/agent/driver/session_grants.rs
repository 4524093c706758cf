//! The permissions that people have granted for the session of an agent.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::approval::SessionGrant;

/// Maximum number of permissions kept; the oldest are dropped first.
const MAX_GRANTS: usize = 256;

/// The permissions of a session, the newest last.
#[derive(Default)]
pub(crate) struct SessionGrants(Mutex<Vec<SessionGrant>>);

impl SessionGrants {
    pub(super) fn all(&self) -> Vec<SessionGrant> {
        self.lock().clone()
    }

    pub(super) fn add(&self, grant: SessionGrant) {
        let mut grants = self.lock();
        if grants.len() >= MAX_GRANTS {
            grants.remove(0);
        }
        grants.push(grant);
    }

    /// Replaces the permissions with those of a journal, oldest first.
    pub(super) fn set(&self, mut grants: Vec<SessionGrant>) {
        grants.drain(..grants.len().saturating_sub(MAX_GRANTS));
        *self.lock() = grants;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<SessionGrant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(at: usize) -> SessionGrant {
        SessionGrant { tool: "run".into(), pattern: Some(at.to_string()) }
    }

    #[test]
    fn the_newest_permissions_are_kept_up_to_the_bound() {
        let grants = SessionGrants::default();
        for at in 0..3 * MAX_GRANTS {
            grants.add(grant(at));
            assert!(grants.all().len() <= MAX_GRANTS, "after {at}");
        }
        let want: Vec<_> = (2 * MAX_GRANTS..3 * MAX_GRANTS).map(grant).collect();
        assert_eq!(grants.all(), want);
        grants.set((0..3 * MAX_GRANTS).map(grant).collect());
        assert_eq!(grants.all(), want, "of a journal");
    }
}
