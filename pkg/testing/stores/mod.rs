//! Conformance checks for stores, for authors of storage engines.
//!
//! Each function takes a factory that returns an empty store, or empty stores that belong together, calls it once for each check, and returns a
//! [`Report`]. The checks run on the test's runtime, in real time: an engine may have threads of its own.
//!
//! # Examples
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! use std::sync::Arc;
//! use forgeline::{store::InMemoryLog, testing::stores::check_event_log};
//!
//! let report = check_event_log(async || Arc::new(InMemoryLog::new())).await;
//! assert!(report.is_conforming(), "{report}");
//! # }
//! ```

mod audit;
mod commands;
mod conversations;
mod latency;
mod log;
mod nodes;
mod notifications;
mod owners;
mod provider_profiles;
mod runs;
mod secrets;
mod suite;
#[cfg(test)]
mod tests;

pub use self::{
    audit::check_audit_store,
    commands::check_command_store,
    conversations::check_conversation_store,
    latency::check_latency_store,
    log::check_event_log,
    nodes::{NodeControl, OneNode},
    notifications::check_notification_channel,
    owners::check_run_owners,
    provider_profiles::check_provider_profile_store,
    runs::check_run_store,
    secrets::check_secret_store,
};
pub use super::conformance::{CheckReport, Outcome, Report};
