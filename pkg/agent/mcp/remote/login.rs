//! The handles for a login that the program provides.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use super::{logins::McpLogins, oauth::Renewals, tokens::TokenStore};

/// The program's handles for a login.
#[derive(Clone, Default)]
pub(in crate::agent::mcp) struct Login {
    pub(in crate::agent::mcp) logins: Option<Arc<dyn McpLogins>>,
    pub(in crate::agent::mcp) tokens: Option<Arc<dyn TokenStore>>,
    /// The number of people being asked at this time.
    pub(in crate::agent::mcp) asking: Arc<AtomicUsize>,
    /// The renewals in progress.
    pub(in crate::agent::mcp) renewals: Renewals,
}

impl Login {
    /// Returns `true` while a person is being asked.
    pub(in crate::agent::mcp) fn is_asking(&self) -> bool {
        self.asking.load(Ordering::Acquire) > 0
    }
}
