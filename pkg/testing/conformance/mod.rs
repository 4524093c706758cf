//! The conformance suite: the contract of [`Provider`](forgeline_llm::Provider) as checks, for authors of
//! providers.
//!
//! A [`Subject`] sets the provider up and encodes answers in its vendor's wire format; [`check`] plays
//! them through an in-memory [`Transport`] on a paused clock, complete, broken and truncated at every byte,
//! and reports every violation. No socket is opened, and no real time passes.
//!
//! Add `forgeline` with the feature `testing` to the dev-dependencies, and call
//! [`assert_conforms`] in a test.
//!
//! [`Transport`]: forgeline_llm::transport::Transport
//!
//! The components that an application gives to an agent are checked by the functions of [`agent`].
//!
//! # Examples
//!
//! A custom wire format, and its test. `cargo run --example own_provider --features testing`
//! prints the report:
//!
//! ```
#![doc = include_str!("../../../docs/examples/own_provider.rs")]
//! ```

pub mod agent;
mod checks;
mod harness;
mod run;
mod verdict;

pub use harness::{
    Answer, AnswerCall, AnswerEnd, AnswerPart, AnswerUsage, Candidate, Setup, Subject,
    ndjson_frame, sse_frame,
};
pub use run::{assert_conforms, check, check_one};
pub use verdict::{CheckReport, Outcome, Report};
