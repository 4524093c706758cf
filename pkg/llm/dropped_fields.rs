//! The report on what a provider's protocol leaves out of a request.

#[cfg(feature = "runtime")]
use crate::types::AgentEvent;
#[cfg(feature = "http")]
use crate::types::Text;

/// The name of the [`Custom`](crate::types::AgentEvent::Custom) event that reports, before the answer
/// begins, what the provider's protocol leaves out of the request:
/// `{"provider": …, "left_out": [words, …]}`.
///
/// A part that the request cannot do without is an error instead
/// ([`ProviderError::Unsupported`](super::ProviderError::Unsupported)).
pub const DEGRADED: &str = "degraded";

/// Creates the event that reports what `provider` leaves out.
#[cfg(feature = "http")]
pub(super) fn event(provider: &str, left_out: &[Text]) -> AgentEvent {
    let data = serde_json::json!({ "provider": provider, "left_out": left_out });
    AgentEvent::Custom { name: Text::from(DEGRADED), data }
}

/// Returns `true` for a report on what came before the answer: attempts that failed, and what was left
/// out of the request.
#[cfg(feature = "runtime")]
pub(crate) fn is_notice(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Retry { .. } | AgentEvent::Failover { .. })
        || matches!(event, AgentEvent::Custom { name, .. } if name == DEGRADED)
}
