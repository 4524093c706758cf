//! forgeline: a streaming agent pipeline.

pub mod agent;
pub mod llm;
pub mod types;
