//! The configuration of an agent.

mod agent_config;

pub use self::agent_config::{
    ANSWER_ASKED_AGAIN, ANSWER_CONTINUED, ANSWER_KEPT, ANSWER_RESTARTED, ANSWER_TYPED, AgentConfig,
    AtLimit, BUDGET_UNMEASURED, CALL_MODE_FALLBACK, CONTEXT_SUMMARIZED, CONTEXT_SUMMARY_FAILED,
    CONTEXT_TRIMMED, CallMode, CallStart, KeepThinking, NoToolCall, STEERED, TOOL_SOURCE,
    UNDELIVERED,
};
