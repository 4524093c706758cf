//! The agent, and how it is built.

mod agent;
mod builder;
mod reopened_run;
mod rewind;
mod skill_set;
mod typed_run;

pub use self::reopened_run::{RunHandles, RunInJournal};
pub use self::{
    agent::DefaultAgent,
    builder::{AgentBuilder, BuildError},
    skill_set::SkillSet,
    typed_run::TypedOutcome,
};
