//! The report on fields of a request that a provider's protocol drops.

use serde::{Deserialize, Serialize};

use forgeline_types::{AgentEvent, CustomEvent, Text};

/// The name of the [`Custom`](AgentEvent::Custom) event whose data is a [`DegradedNotice`].
pub const DEGRADED: &str = "degraded";

/// Sent before the answer begins, with the parts of the request that the provider's protocol leaves out.
///
/// A part without which the request makes no sense is an error instead
/// ([`ProviderError::Unsupported`](super::ProviderError::Unsupported)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DegradedNotice {
    /// The provider's name.
    pub provider: Text,
    /// The parts that are left out, in words.
    pub left_out: Vec<Text>,
}

impl From<DegradedNotice> for AgentEvent {
    fn from(notice: DegradedNotice) -> Self {
        let data = serde_json::json!({ "provider": notice.provider, "left_out": notice.left_out });
        Self::Custom(CustomEvent::new(DEGRADED, data))
    }
}

/// Returns `true` for a report on what happened before the answer: failed attempts, and parts left
/// out of the request.
pub fn is_notice(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Retry(_) | AgentEvent::Failover(_))
        || matches!(event, AgentEvent::Custom(CustomEvent { name, .. }) if name == DEGRADED)
}
