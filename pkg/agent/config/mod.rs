//! The configuration of an agent.

mod agent_config;

pub use self::agent_config::{AgentConfig, AtLimit, CallMode, CallStart, KeepThinking, NoToolCall};
