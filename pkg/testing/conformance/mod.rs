//! The conformance suite: the contract of [`Provider`](crate::llm::Provider) as checks, for authors of
//! providers.
//!
//! A [`Subject`] sets the provider up and encodes answers in its vendor's wire format; [`check`] plays
//! them through an in-memory [`Transport`] on a paused clock, complete, broken and truncated at every byte,
//! and reports every violation. No socket is opened, and no real time passes.
//!
//! Add `forgeline` with the feature `conformance` to the dev-dependencies, and call
//! [`assert_conforms`] in a test.
//!
//! [`Transport`]: crate::llm::transport::Transport
//!
//! The components that an application gives to an agent are checked by the functions of [`agent`].
//!
//! # Examples
//!
//! A custom wire format, and its test. `cargo run --example own_provider --features conformance`
//! prints the report:
//!
//! ```
#![doc = include_str!("../../../docs/examples/own_provider.rs")]
//! ```

pub mod agent;
mod answer;
mod checks;
mod play;
mod report;
mod seen;
mod server;
mod subject;
mod suite;

pub use answer::{Answer, AnswerCall, AnswerEnd, AnswerPart, AnswerUsage, ndjson_frame, sse_frame};
pub use report::{CheckReport, Outcome, Report};
pub use subject::{Candidate, Setup, Subject};

use checks::{CHECKS, Check};
use play::on_a_thread;
use suite::{Miss, Suite, Verdict};

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

impl From<Verdict> for Outcome {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Ok(()) => Self::Passed,
            Err(Miss::Absent(why)) => Self::NotApplicable(why),
            Err(Miss::Fails(details)) => Self::Failed(details),
        }
    }
}

fn report(subject: &dyn Subject, check: &Check) -> CheckReport {
    let exempt = subject.exempt().iter().find(|(name, _)| *name == check.name);
    let outcome = match exempt {
        Some((_, why)) => Outcome::NotApplicable((*why).to_owned()),
        None => on_a_thread(|| Box::pin(async { (check.run)(&Suite { subject }).await })).into(),
    };
    CheckReport { name: check.name, reason: check.reason, outcome }
}
