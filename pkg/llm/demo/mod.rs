//! A model that is none: deterministic, offline, for trying the pipeline out.

mod provider;

pub use provider::DemoProvider;
