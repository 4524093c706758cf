//! What stops a model that fails in circles.

use std::collections::{HashMap, HashSet};

use crate::types::{Json, Text};

/// What went wrong with a call. The breaker counts kinds, not texts, which vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Failure {
    /// The answer ended inside the call.
    Cut,
    /// The call could not be read.
    Malformed,
    /// There is no such tool.
    UnknownTool,
    /// The arguments do not fit the schema.
    Arguments,
    /// The tool says that it cannot do this.
    Failed,
    /// The tool failed by chance.
    Transient,
    /// The tool took too long.
    TimedOut,
    /// The tool panicked.
    Panicked,
    /// The call has just failed and was not tried again.
    Repeated,
    /// The call was not run for a reason that is not its own.
    NotRun,
}

impl Failure {
    /// Whether the same call would fail again.
    fn is_certain(self) -> bool {
        match self {
            Self::UnknownTool | Self::Arguments | Self::Failed | Self::Panicked => true,
            Self::Cut
            | Self::Malformed
            | Self::Transient
            | Self::TimedOut
            | Self::Repeated
            | Self::NotRun => false,
        }
    }
}

/// Counts failures of one run between two successes.
///
/// A failure is counted by its kind and tool, so neither varying texts nor a model that alternates
/// between two failing calls gets around it.
#[derive(Debug)]
pub(super) struct Breaker {
    limit: u32,
    counts: HashMap<(Text, Failure), u32>,
    /// Calls that would fail again.
    certain: HashSet<(Text, String)>,
}

impl Breaker {
    pub(super) fn new(limit: u32) -> Self {
        Self { limit, counts: HashMap::new(), certain: HashSet::new() }
    }

    /// A call went well: what failed before may work now.
    pub(super) fn succeeded(&mut self) {
        self.counts.clear();
        self.certain.clear();
    }

    /// A call failed. Returns whether it has done so too often.
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
            self.certain.insert((tool.clone(), arguments.as_str().to_owned()));
        }
        let count = self.counts.entry((tool.clone(), failure)).or_default();
        *count += 1;
        *count >= self.limit
    }

    /// Whether this very call has failed since the last success and would fail again.
    pub(super) fn would_fail(&self, tool: &Text, arguments: &Json) -> bool {
        !self.certain.is_empty()
            && self.certain.contains(&(tool.clone(), arguments.as_str().to_owned()))
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
        breaker.succeeded();
        assert!(!breaker.would_fail(&one, &arguments(1)));
        assert!(!breaker.failed(&one, Some(&arguments(1)), Failure::Failed));
    }

    #[test]
    fn what_may_pass_by_itself_is_tried_again() {
        let mut breaker = Breaker::new(2);
        let (tool, arguments) = (Text::from("tool"), Json::from(json!({})));
        assert!(!breaker.failed(&tool, Some(&arguments), Failure::Transient));
        assert!(!breaker.would_fail(&tool, &arguments));
        assert!(!breaker.failed(&tool, Some(&arguments), Failure::NotRun));
        assert!(breaker.failed(&tool, Some(&arguments), Failure::Transient));
    }
}
