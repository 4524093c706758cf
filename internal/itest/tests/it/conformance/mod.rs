//! The conformance suite, bound to our providers.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a subject writes what its protocol has; the rest is what it lacks"
)]

mod anthropic;
mod cohere;
mod gemini;
mod mutants;
mod ollama;
mod openai;
mod responses;

use forgeline_testkit::conformance::{Outcome, Subject, check};

/// Everything that applies holds, and no more than `exempt` does not apply.
fn conforms(subject: &dyn Subject, exempt: &[&str]) {
    let report = check(subject);
    forgeline_testkit::say(&report);
    let failed: Vec<_> = report.failed().map(ToString::to_string).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    let of_report = report.checks.iter();
    let absent = of_report.filter(|check| matches!(check.outcome, Outcome::NotApplicable(_)));
    let absent: Vec<_> = absent.map(|check| check.name).collect();
    assert_eq!(absent, exempt, "what does not apply");
}
