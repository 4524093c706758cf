//! The results of the checks.

use std::fmt;

/// The results of all checks.
///
/// `Display` prints one line for each check, followed by its failures.
///
/// # Examples
///
/// ```
/// use forgeline::testing::conformance::Report;
///
/// fn names(report: &Report) -> Vec<&str> {
///     report.failed().map(|check| check.name).collect()
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Every check, in order.
    pub checks: Vec<CheckReport>,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckReport {
    /// The name, such as `text-streams`.
    pub name: &'static str,
    /// The reason for the check, on one line.
    pub reason: &'static str,
    /// The outcome.
    pub outcome: Outcome,
}

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The provider conforms.
    Passed,
    /// The provider does not conform; each entry names a place and a difference.
    Failed(Vec<String>),
    /// The check does not apply, for this reason.
    NotApplicable(String),
}

impl Report {
    /// Returns `true` if no check failed.
    #[must_use]
    pub fn is_conforming(&self) -> bool {
        self.failed().next().is_none()
    }

    /// Returns the checks that failed.
    pub fn failed(&self) -> impl Iterator<Item = &CheckReport> {
        self.checks.iter().filter(|check| matches!(check.outcome, Outcome::Failed(_)))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.checks.iter().try_for_each(|check| writeln!(formatter, "{check}"))
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, reason, outcome } = self;
        match outcome {
            Outcome::Passed => write!(formatter, "pass  {name}: {reason}"),
            Outcome::NotApplicable(why) => write!(formatter, "-     {name}: {why}"),
            Outcome::Failed(details) => {
                write!(formatter, "FAIL  {name}: {reason}")?;
                details.iter().try_for_each(|detail| write!(formatter, "\n      {detail}"))
            }
        }
    }
}
