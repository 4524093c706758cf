//! What a provider leaves out of a request is told.

#[cfg(feature = "runtime")]
use crate::types::AgentEvent;
#[cfg(feature = "http")]
use crate::types::Text;

/// The name of the [`Custom`](crate::types::AgentEvent::Custom) event that tells what the provider's protocol leaves
/// out of the request, before the answer begins: `{"provider": …, "left_out": [words, …]}`.
///
/// What a request cannot do without is an error instead
/// ([`ProviderError::Unsupported`](super::ProviderError::Unsupported)).
pub const DEGRADED: &str = "degraded";

/// Tells that `provider` leaves this out.
#[cfg(feature = "http")]
pub(super) fn event(provider: &str, left_out: &[Text]) -> AgentEvent {
    let data = serde_json::json!({ "provider": provider, "left_out": left_out });
    AgentEvent::Custom { name: Text::from(DEGRADED), data }
}

/// Whether an event only tells of what came before the answer: attempts that failed, and what was
/// left out of the request.
#[cfg(feature = "runtime")]
pub(crate) fn is_notice(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Retry { .. } | AgentEvent::Failover { .. })
        || matches!(event, AgentEvent::Custom { name, .. } if name == DEGRADED)
}
