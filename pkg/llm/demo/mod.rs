//! The demo model: deterministic rules in place of a model, for trying out the pipeline offline.

mod planner;
mod provider;
mod situation;
mod words;

pub use provider::DemoProvider;
