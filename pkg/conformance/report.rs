//! What the checks found.

use std::fmt;

/// What the checks found, one after another.
///
/// `Display` prints a line for each check, and below it what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Every check, in order.
    pub checks: Vec<CheckReport>,
}

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckReport {
    /// Its name, such as `text-streams`.
    pub name: &'static str,
    /// Why it matters, in a line.
    pub reason: &'static str,
    /// What it found.
    pub outcome: Outcome,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It holds.
    Passed,
    /// It does not; each entry says where and how.
    Failed(Vec<String>),
    /// There is nothing to check, and why.
    NotApplicable(String),
}

impl Report {
    /// Whether nothing failed.
    #[must_use]
    pub fn is_conforming(&self) -> bool {
        self.failed().next().is_none()
    }

    /// The checks that failed.
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
