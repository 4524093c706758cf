//! The circuit breaker of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::prompts::feedback;
use forgeline_types::Text;

/// The result of a call: its text, or its failure.
pub(crate) type CallResult = Result<String, CallFailure>;

/// The failure of a call: its kind, and the text that the model reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CallFailure(pub(crate) FailureKind, pub(crate) String);

/// The kind of a call's failure. The breaker counts kinds rather than texts, since texts vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FailureKind {
    /// The answer ended inside the call.
    Cut,
    /// The call could not be parsed.
    Malformed,
    /// The tool does not exist.
    UnknownTool,
    /// The arguments do not match the schema.
    Arguments,
    /// The tool reported a failure.
    Failed,
    /// The tool reported a failure that may be transient.
    Transient,
    /// The tool exceeded its time limit.
    TimedOut,
    /// The tool panicked.
    Panicked,
    /// The call was not approved by a person.
    Denied,
    /// The caller may not use the tool.
    Forbidden,
    /// The authorizer denied the call.
    Unauthorized,
    /// The same call has failed before and was not repeated.
    Repeated,
    /// The call was not run, for a reason unrelated to the call itself.
    NotRun,
    /// No decision was made about the call, or what it would do has changed since it was shown.
    Undecided,
}

impl FailureKind {
    /// Returns `true` when someone, or a rule, did not allow the call.
    pub(super) fn is_denial(self) -> bool {
        matches!(self, Self::Denied | Self::Forbidden | Self::Unauthorized)
    }

    /// Returns `true` when the same call would fail again.
    pub(super) fn is_certain(self) -> bool {
        matches!(
            self,
            Self::Arguments
                | Self::Failed
                | Self::Panicked
                | Self::Denied
                | Self::Forbidden
                | Self::Unauthorized
        )
    }
}

/// A counter of the failures of each tool in one run, reset when the tool succeeds.
///
/// Failures are counted by kind and tool, and all unknown tools count as one: neither varying texts
/// and names nor successful calls of other tools in between defeat the breaker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct FailureBreaker {
    limit: u32,
    counts: BTreeMap<Text, BTreeMap<FailureKind, u32>>,
}

impl FailureBreaker {
    pub(super) fn new(limit: u32) -> Self {
        Self { limit, counts: BTreeMap::new() }
    }

    /// Resets the counts of a tool after a success.
    pub(super) fn succeeded(&mut self, tool: &Text) {
        self.counts.remove(tool);
    }

    /// Counts a failure; returns the reason to end the run when the limit is reached.
    pub(super) fn failed(&mut self, tool: &Text, failure: FailureKind) -> Option<String> {
        if failure == FailureKind::NotRun {
            return None;
        }
        let exists = failure != FailureKind::UnknownTool;
        let counted = if exists { tool.clone() } else { Text::default() };
        let count = self.counts.entry(counted).or_default().entry(failure).or_default();
        *count += 1;
        (*count >= self.limit).then(|| feedback::breaker_stopped(tool, exists, *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `true` when this failure ends the run.
    fn fails(breaker: &mut FailureBreaker, tool: &str, failure: FailureKind) -> bool {
        breaker.failed(&Text::from(tool), failure).is_some()
    }

    #[test]
    fn failures_of_one_kind_are_counted_whatever_their_text() {
        let mut breaker = FailureBreaker::new(3);
        assert!(!fails(&mut breaker, "one", FailureKind::Failed));
        assert!(!fails(&mut breaker, "two", FailureKind::Failed));
        assert!(!fails(&mut breaker, "one", FailureKind::Arguments));
        assert!(!fails(&mut breaker, "one", FailureKind::Failed));
        assert!(fails(&mut breaker, "one", FailureKind::Failed), "the third of its kind");
        breaker.succeeded(&Text::from("two"));
        assert!(fails(&mut breaker, "one", FailureKind::Failed), "no success of it");
        breaker.succeeded(&Text::from("one"));
        assert!(!fails(&mut breaker, "one", FailureKind::Failed));
    }

    #[test]
    fn unknown_tools_count_as_one_kind_of_failure() {
        let mut breaker = FailureBreaker::new(3);
        assert!(!fails(&mut breaker, "one", FailureKind::UnknownTool));
        assert!(!fails(&mut breaker, "two", FailureKind::UnknownTool));
        breaker.succeeded(&Text::from("known"));
        assert!(fails(&mut breaker, "three", FailureKind::UnknownTool));
    }

    #[test]
    fn calls_that_did_not_run_are_not_counted() {
        let mut breaker = FailureBreaker::new(2);
        assert!(!fails(&mut breaker, "tool", FailureKind::Transient));
        for _ in 0..3 {
            assert!(!fails(&mut breaker, "tool", FailureKind::NotRun));
        }
        assert!(fails(&mut breaker, "tool", FailureKind::Transient));
    }
}
