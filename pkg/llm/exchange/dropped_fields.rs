//! The report on fields of a request that a provider's protocol drops.

use forgeline_types::{AgentEvent, CustomEvent};

/// The name of the [`Custom`](forgeline_types::AgentEvent::Custom) event that reports, before the answer
/// begins, the parts of the request that the provider's protocol leaves out:
/// `{"provider": …, "left_out": [words, …]}`.
///
/// A part without which the request makes no sense is an error instead
/// ([`ProviderError::Unsupported`](super::ProviderError::Unsupported)).
pub const DEGRADED: &str = "degraded";

/// Returns `true` for a report on what happened before the answer: failed attempts, and parts left
/// out of the request.
pub fn is_notice(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Retry(_) | AgentEvent::Failover(_))
        || matches!(event, AgentEvent::Custom(CustomEvent { name, .. }) if name == DEGRADED)
}
