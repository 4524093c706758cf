//! The agent, and how it is built.

mod agent;
mod builder;
mod conversation;
mod hosted_agent;
mod reopened_run;
mod rewind;
mod skill_set;
mod stored_conversations;
mod typed_run;

pub use self::reopened_run::{RunHandles, RunInJournal};
pub use self::{
    agent::{Agent, DefaultAgent},
    builder::{AgentBuilder, BuildError},
    conversation::Conversation,
    typed_run::TypedOutcome,
};
