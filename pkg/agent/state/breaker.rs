//! The circuit breaker of a run.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::types::{Json, Text};

/// The kind of a call's failure. The breaker counts kinds, not texts, which vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Failure {
    /// The answer ended inside the call.
    Cut,
    /// The call could not be read.
    Malformed,
    /// The tool does not exist.
    UnknownTool,
    /// The arguments do not fit the schema.
    Arguments,
    /// The tool reported a failure.
    Failed,
    /// The tool reported a failure that may pass.
    Transient,
    /// The tool took too long.
    TimedOut,
    /// The tool panicked.
    Panicked,
    /// The call has just failed and was not repeated.
    Repeated,
    /// The call was not run, for a reason other than the call itself.
    NotRun,
}

impl Failure {
    /// Returns `true` when the same call would fail again.
    fn is_certain(self) -> bool {
        matches!(self, Self::Arguments | Self::Failed | Self::Panicked)
    }
}

/// Counts failures of one run, of each tool between two successes of it.
///
/// Failures are counted by kind and tool, and all tools that do not exist are one: neither varying texts
/// and names nor calls that succeed in between defeat the breaker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Breaker {
    limit: u32,
    counts: BTreeMap<Text, BTreeMap<Failure, u32>>,
    /// Calls that would fail again.
    certain: BTreeMap<Text, BTreeSet<String>>,
}

impl Breaker {
    pub(super) fn new(limit: u32) -> Self {
        Self { limit, counts: BTreeMap::new(), certain: BTreeMap::new() }
    }

    /// Resets the counts of a tool after a success. Calls that failed before, of any tool, may succeed
    /// now.
    pub(super) fn succeeded(&mut self, tool: &Text) {
        self.counts.remove(tool);
        self.certain.clear();
    }

    /// Counts a failure; returns `true` when it is one too many.
    pub(super) fn failed(
        &mut self,
        tool: &Text,
        arguments: Option<&Json>,
        failure: Failure,
    ) -> bool {
        if failure == Failure::NotRun {
            return false;
        }
        if let Some(arguments) = arguments.filter(|_| failure.is_certain()) {
            let certain = self.certain.entry(tool.clone()).or_default();
            certain.insert(arguments.as_str().to_owned());
        }
        let exists = failure != Failure::UnknownTool;
        let tool = if exists { tool.clone() } else { Text::default() };
        let count = self.counts.entry(tool).or_default().entry(failure).or_default();
        *count += 1;
        *count >= self.limit
    }

    /// Returns `true` when the same call has failed since the last success and would fail again.
    pub(super) fn would_fail(&self, tool: &Text, arguments: &Json) -> bool {
        self.certain.get(tool).is_some_and(|certain| certain.contains(arguments.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kinds_are_counted_whatever_else_varies() {
        let mut breaker = Breaker::new(3);
        let arguments = |n: u32| Json::from(json!({ "n": n }));
        let (one, two) = (Text::from("one"), Text::from("two"));
        assert!(!breaker.failed(&one, Some(&arguments(1)), Failure::Failed));
        assert!(!breaker.failed(&two, Some(&arguments(1)), Failure::Failed));
        assert!(!breaker.failed(&one, Some(&arguments(2)), Failure::Arguments));
        assert!(!breaker.failed(&one, Some(&arguments(3)), Failure::Failed));
        assert!(breaker.would_fail(&one, &arguments(1)));
        assert!(!breaker.would_fail(&one, &arguments(4)));
        assert!(
            breaker.failed(&one, Some(&arguments(4)), Failure::Failed),
            "the third of its kind"
        );
        breaker.succeeded(&two);
        assert!(!breaker.would_fail(&one, &arguments(1)));
        assert!(breaker.failed(&one, Some(&arguments(1)), Failure::Failed), "no success of it");
        breaker.succeeded(&one);
        assert!(!breaker.failed(&one, Some(&arguments(1)), Failure::Failed));
    }

    #[test]
    fn all_tools_that_do_not_exist_are_one() {
        let mut breaker = Breaker::new(3);
        let failed = |breaker: &mut Breaker, name| {
            breaker.failed(&Text::from(name), None, Failure::UnknownTool)
        };
        assert!(!failed(&mut breaker, "one") && !failed(&mut breaker, "two"));
        breaker.succeeded(&Text::from("known"));
        assert!(failed(&mut breaker, "three"));
    }

    #[test]
    fn what_may_pass_by_itself_is_tried_again() {
        let mut breaker = Breaker::new(2);
        let (tool, arguments) = (Text::from("tool"), Json::from(json!({})));
        assert!(!breaker.failed(&tool, Some(&arguments), Failure::Transient));
        assert!(!breaker.would_fail(&tool, &arguments));
        for _ in 0..3 {
            assert!(!breaker.failed(&tool, Some(&arguments), Failure::NotRun));
        }
        assert!(breaker.failed(&tool, Some(&arguments), Failure::Transient));
    }
}
