//! The paths of the facade, over a part of the crates.
//!
//! The examples in the documentation of a crate name items as users do, `forgeline::llm::Request`. They cannot
//! depend on the facade itself: each test of a lower crate would then build every crate above it.

#[cfg(feature = "core")]
pub use forgeline_core::TextPipeline;
#[cfg(feature = "llm")]
pub use forgeline_llm as llm;
#[cfg(feature = "agent")]
pub use forgeline_macros::tool;
#[cfg(feature = "server")]
pub use forgeline_server as server;
#[cfg(feature = "store")]
pub use forgeline_store as store;
pub use forgeline_types as types;

/// The agent, as in the facade.
#[cfg(feature = "core")]
pub mod agent {
    #[cfg(feature = "agent")]
    pub use forgeline_agent::*;
    pub use forgeline_core as core;
    #[cfg(feature = "mcp")]
    pub use forgeline_mcp as mcp;
    #[cfg(feature = "skills")]
    pub use forgeline_skills as skills;
}

/// Providers for tests, as in the facade.
#[cfg(feature = "agent")]
pub mod testing {
    pub use forgeline_llm::scripted::{ScriptedProvider, ScriptedTurn};
    #[cfg(feature = "testing")]
    pub use forgeline_testing::*;
}
