//! An agent behind channels.

mod agent_channels;
mod input;
pub(crate) mod session;

pub use self::{
    agent_channels::{AgentChannels, CancelSender, InputSender, ShutdownSender, UnsentInput},
    input::Input,
    session::AgentHandle,
};
