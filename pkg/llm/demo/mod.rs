//! A model that is none: deterministic, offline, for trying the pipeline out.

mod planner;
mod provider;
mod situation;
mod words;

pub use provider::DemoProvider;
