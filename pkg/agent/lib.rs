//! The agent: turns typed chunks into events and acts on them.

pub mod access;
pub mod approval;
pub mod channels;
pub mod config;
mod default_agent;
mod driver;
pub mod journal;
pub mod knowledge;
mod lexical;
pub mod memory;
mod nesting;
pub mod notice;
pub mod observe;
pub mod prompts;
pub mod run;
pub mod search;
mod setup;
mod state;
pub mod steering;
mod streams;
pub mod sub_agents;
mod support;
#[cfg(test)]
mod tests;
pub mod tools;

pub use self::{
    default_agent::{Agent, AgentBuilder, BuildError, Conversation, DefaultAgent, TypedOutcome},
    run::{
        caller::Caller,
        input::RunInput,
        outcome::{OutcomeKind, RunError, RunOutcome},
    },
    streams::{PartialAnswer, RunStream},
};
pub use forgeline_core as core;
pub use tokio_util::sync::CancellationToken;

/// Items for the crates above, and not for programs: they may change in any version.
#[doc(hidden)]
pub mod private {
    #[cfg(feature = "process")]
    pub use crate::tools::process_group::{PASSED, ProcessGroup, TOOLCHAINS};
    pub use crate::{
        default_agent::{RunHandles, RunInJournal},
        nesting::{BudgetDraw, current_draw},
        run::{below::SpentBelow, shared_state::SharedState},
        steering::steering_handle::RequestAnswer,
        tools::{CallPlace, form::complete_form},
    };
    // Generated code names them.
    #[cfg(feature = "local-tools")]
    pub use crate::{
        prompts::project::root_of,
        tools::{blocking, files_root::FolderRoot},
    };
    pub use schemars;
    pub use serde;

    /// Texts that people write into files.
    #[cfg(feature = "local-tools")]
    pub mod file_text {
        pub use crate::prompts::file_text::{FileText, open_folder, read_trimmed, read_whole};
    }
}
