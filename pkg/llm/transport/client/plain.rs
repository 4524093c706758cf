//! Connections without TLS, in a build that has none.

use std::convert::Infallible;

/// A connector as it is.
pub(super) type SecuredConnector<C> = C;

/// Makes connections as they are.
#[derive(Clone)]
pub(super) struct TlsLayer;

impl TlsLayer {
    #[expect(clippy::unnecessary_wraps, reason = "TLS may fail")]
    pub(super) fn new() -> Result<Self, Infallible> {
        Ok(Self)
    }

    #[expect(clippy::unused_self, reason = "TLS has settings")]
    pub(super) fn over<C>(&self, connector: C) -> SecuredConnector<C> {
        connector
    }

    #[expect(clippy::unused_self, reason = "TLS has settings")]
    pub(super) fn to_proxy<C>(&self, connector: C) -> SecuredConnector<C> {
        connector
    }
}
