//! The permissions that people have granted for the session of an agent.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::agent::state::Grant;

/// Maximum number of permissions kept; the oldest are dropped first.
const MAX_GRANTS: usize = 256;

/// The permissions of a session, the newest last.
#[derive(Default)]
pub(in crate::agent) struct Grants(Mutex<Vec<Grant>>);

impl Grants {
    pub(super) fn all(&self) -> Vec<Grant> {
        self.lock().clone()
    }

    pub(super) fn add(&self, grant: Grant) {
        let mut grants = self.lock();
        if grants.len() >= MAX_GRANTS {
            grants.remove(0);
        }
        grants.push(grant);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Grant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
