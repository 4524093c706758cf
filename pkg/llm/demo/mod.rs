//! The demo model: a few deterministic rules in place of a model, offline, to try out the pipeline.

mod planner;
mod provider;
mod situation;
mod words;

pub use provider::DemoProvider;
