//! The report on fields of a request that a provider's protocol drops.

#[cfg(feature = "runtime")]
use forgeline_types::AgentEvent;
#[cfg(feature = "http")]
use forgeline_types::Text;

/// The name of the [`Custom`](forgeline_types::AgentEvent::Custom) event that reports, before the answer
/// begins, the parts of the request that the provider's protocol leaves out:
/// `{"provider": …, "left_out": [words, …]}`.
///
/// A part without which the request makes no sense is an error instead
/// ([`ProviderError::Unsupported`](super::ProviderError::Unsupported)).
pub const DEGRADED: &str = "degraded";

/// Creates the event that reports the parts left out by `provider`.
#[cfg(feature = "http")]
pub(crate) fn degraded_event(provider: &str, left_out: &[Text]) -> AgentEvent {
    let data = serde_json::json!({ "provider": provider, "left_out": left_out });
    AgentEvent::Custom { name: Text::from(DEGRADED), data }
}

/// Returns `true` for a report on what happened before the answer: failed attempts, and parts left
/// out of the request.
#[cfg(feature = "runtime")]
pub fn is_notice(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Retry { .. } | AgentEvent::Failover { .. })
        || matches!(event, AgentEvent::Custom { name, .. } if name == DEGRADED)
}
