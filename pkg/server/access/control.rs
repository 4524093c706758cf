//! The access of a request, before any route handles it.

use std::sync::Arc;

use axum::http::request::Parts;

use super::{identity::Identify, limits::Limits, origins::AllowedOrigins, usage::ServiceUsage};
use crate::Problem;
use forgeline_agent::Caller;

/// The rules for requests: who sends them, how much each scope and caller may use, and which pages may send them.
pub(crate) struct AccessControl {
    identify: Box<dyn Identify>,
    usage: Arc<ServiceUsage>,
    origins: AllowedOrigins,
}

impl AccessControl {
    pub(crate) fn new(
        identify: Box<dyn Identify>,
        usage: Arc<ServiceUsage>,
        origins: AllowedOrigins,
    ) -> Self {
        Self { identify, usage, origins }
    }

    /// Identifies the sender of a request.
    pub(crate) async fn identify(&self, parts: &Parts) -> Result<Caller, Problem> {
        if let Some(preparation) = self.identify.prepare(parts) {
            preparation.await;
        }
        self.identify.identify(parts)
    }

    pub(crate) fn usage(&self) -> &Arc<ServiceUsage> {
        &self.usage
    }

    pub(crate) fn limits(&self) -> &Limits {
        self.usage.limits()
    }

    pub(crate) fn origins(&self) -> &AllowedOrigins {
        &self.origins
    }
}
