//! The setup of an agent: its parts, and the modes in which it writes and reads calls.

mod agent_setup;
mod call_mode;
mod written_thinking;

pub(crate) use self::{
    agent_setup::AgentSetup,
    call_mode::{RequestMode, RequestModes, is_refusal},
    written_thinking::{WrittenThinking, framing, push_text, without_framing},
};
