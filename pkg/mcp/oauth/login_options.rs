//! The handles for a login that the program provides.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use super::grant_renewal::SharedRenewals;
use crate::login::{mcp_logins::McpLogins, token_store::TokenStore};

/// The program's handles for a login.
#[derive(Clone, Default)]
pub(crate) struct LoginOptions {
    pub(crate) logins: Option<Arc<dyn McpLogins>>,
    pub(crate) tokens: Option<Arc<dyn TokenStore>>,
    /// The number of people being asked at this time.
    pub(crate) asking: Arc<AtomicUsize>,
    /// The renewals in progress.
    pub(crate) renewals: SharedRenewals,
}

impl LoginOptions {
    /// Returns `true` while a person is being asked.
    pub(crate) fn is_asking(&self) -> bool {
        self.asking.load(Ordering::Acquire) > 0
    }
}
