//! The result of a health check.

use std::time::Duration;

/// The result of a health check that passed: the server is reachable and accepts the key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// The time until the answer had arrived.
    pub latency: Duration,
    /// `true` if the server showed that it accepts the key: it is the vendor's own, received a key and
    /// listed its models. Other servers may list them to anybody.
    pub key_checked: bool,
    /// `true` if the server lists the configured model; `None` when it has no list, or no model is
    /// configured.
    pub model_listed: Option<bool>,
}
