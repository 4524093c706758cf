//! Whether a provider can be asked.

use std::time::Duration;

/// What a health check found: the server answers and takes the key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// How long the answer took.
    pub latency: Duration,
    /// Whether the server showed that it takes the key: it is the vendor's own, was sent a key and
    /// listed its models. Other servers may list them to anybody.
    pub key_checked: bool,
    /// Whether the configured model is among those that the server lists; `None` when it lists none,
    /// or no model is configured.
    pub model_listed: Option<bool>,
}
