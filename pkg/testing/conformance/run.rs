//! Runs of the checks against a provider.

use super::{
    CheckReport, Outcome, Report, Subject,
    checks::{CHECKS, SuiteCheck},
    harness::CheckSuite,
    verdict::on_a_thread,
};

/// Runs all checks.
///
/// Each check runs on its own thread, on a paused clock; a panic fails the check.
///
/// # Examples
///
/// ```
/// use forgeline::testing::conformance::{Subject, check};
///
/// fn print(subject: &dyn Subject) {
///     print!("{}", check(subject));
/// }
/// ```
#[must_use]
pub fn check(subject: &dyn Subject) -> Report {
    Report { checks: CHECKS.iter().map(|check| report(subject, check)).collect() }
}

/// Runs only the check with this name; returns `None` if there is none.
///
/// # Examples
///
/// ```
/// use forgeline::testing::conformance::{Outcome, Subject, check_one};
///
/// fn streams(subject: &dyn Subject) -> bool {
///     check_one(subject, "text-streams").is_some_and(|check| check.outcome == Outcome::Passed)
/// }
/// ```
#[must_use]
pub fn check_one(subject: &dyn Subject, name: &str) -> Option<CheckReport> {
    let check = CHECKS.iter().find(|check| check.name == name)?;
    Some(report(subject, check))
}

/// Runs all checks, and panics with the failures.
///
/// # Examples
///
/// In a test of the provider's own crate:
///
/// ```
/// use forgeline::testing::conformance::{Subject, assert_conforms};
///
/// fn my_provider_conforms(subject: &dyn Subject) {
///     assert_conforms(subject);
/// }
/// ```
///
/// # Panics
///
/// Panics if a check fails.
pub fn assert_conforms(subject: &dyn Subject) {
    let report = check(subject);
    let failed: Vec<_> = report.failed().map(ToString::to_string).collect();
    assert!(failed.is_empty(), "the provider does not conform:\n{}", failed.join("\n"));
}

fn report(subject: &dyn Subject, check: &SuiteCheck) -> CheckReport {
    let exempt = subject.exempt().iter().find(|(name, _)| *name == check.name);
    let outcome = match exempt {
        Some((_, why)) => Outcome::NotApplicable((*why).to_owned()),
        None => {
            on_a_thread(|| Box::pin(async { (check.run)(&CheckSuite { subject }).await })).into()
        }
    };
    CheckReport { name: check.name, reason: check.reason, outcome }
}
