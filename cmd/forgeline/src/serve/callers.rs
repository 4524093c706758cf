//! Those who may call: the callers of a tokens file, and those of a login server.

use std::sync::Arc;

use axum::http::request::Parts;
use forgeline::{
    agent::Caller,
    llm::transport::HttpTransport,
    server::{
        Identify, Problem,
        oidc::{OidcCallers, OidcOptions},
    },
};
use futures_util::future::BoxFuture;

use super::token_file::TokenFile;
use crate::exit::UsageResult as _;

/// The callers of a tokens file, and those of a login server, whose tokens are recognised by their form.
#[derive(Debug)]
pub(super) struct ServedCallers {
    tokens: Option<TokenFile>,
    oidc: OidcCallers,
}

/// Reads the keys of a login server.
///
/// # Errors
///
/// A usage error for one that cannot be used.
pub(super) async fn connect(options: OidcOptions) -> anyhow::Result<OidcCallers> {
    let advice = || "cannot use `[oidc]`".to_owned();
    let transport = HttpTransport::new().usage_context(advice)?;
    OidcCallers::connect(options, Arc::new(transport)).await.usage_context(advice)
}

impl ServedCallers {
    pub(super) fn new(tokens: Option<TokenFile>, oidc: OidcCallers) -> Self {
        Self { tokens, oidc }
    }
}

impl Identify for ServedCallers {
    fn identify(&self, parts: &Parts) -> Result<Caller, Problem> {
        match &self.tokens {
            Some(tokens) if !OidcCallers::is_for(parts) => tokens.identify(parts),
            _ => self.oidc.identify(parts),
        }
    }

    fn prepare<'a>(&'a self, parts: &'a Parts) -> Option<BoxFuture<'a, ()>> {
        self.oidc.prepare(parts)
    }
}
