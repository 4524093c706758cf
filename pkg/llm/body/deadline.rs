//! The deadlines of an exchange.

use std::time::Duration;

use tokio::time::Instant;

use crate::{ProviderError, TimeoutKind};

/// A deadline and what passing it means.
#[derive(Debug, Clone, Copy)]
pub struct BodyDeadline {
    pub(crate) at: Instant,
    pub(crate) which: TimeoutKind,
    pub(crate) after: Duration,
}

impl BodyDeadline {
    /// Creates a deadline; `None` if `after` is zero, or too long to represent.
    pub(crate) fn new(start: Instant, which: TimeoutKind, after: Duration) -> Option<Self> {
        let at = start.checked_add(after).filter(|_| !after.is_zero())?;
        Some(Self { at, which, after })
    }

    pub(crate) fn earlier(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(if other.at < one.at { other } else { one }),
            (one, other) => one.or(other),
        }
    }

    pub(crate) fn error(self) -> ProviderError {
        ProviderError::Timeout { which: self.which, after: self.after }
    }
}
