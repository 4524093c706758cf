//! The agent: turns typed chunks into events and acts on them.

#[cfg(feature = "runtime")]
mod answer_gate;
#[cfg(feature = "runtime")]
mod approval_policy;
#[cfg(feature = "runtime")]
mod approvals;
#[cfg(feature = "runtime")]
mod approver;
#[cfg(feature = "runtime")]
mod audit;
#[cfg(feature = "runtime")]
mod audit_kind;
#[cfg(feature = "runtime")]
mod authorizer;
#[cfg(feature = "runtime")]
mod bounded;
#[cfg(feature = "runtime")]
mod builder;
#[cfg(feature = "runtime")]
mod call_mode;
#[cfg(feature = "runtime")]
mod channels;
#[cfg(feature = "runtime")]
mod client_calls;
#[cfg(feature = "runtime")]
mod clock;
#[cfg(feature = "runtime")]
mod config;
#[cfg(feature = "runtime")]
mod control;
pub mod core;
#[cfg(feature = "runtime")]
mod default_agent;
#[cfg(feature = "runtime")]
mod desk;
#[cfg(feature = "runtime")]
mod digest;
#[cfg(feature = "runtime")]
mod driver;
#[cfg(feature = "runtime")]
mod emitter;
#[cfg(feature = "runtime")]
mod feedback;
#[cfg(feature = "runtime")]
mod input;
#[cfg(feature = "runtime")]
pub mod journal;
#[cfg(feature = "runtime")]
pub mod knowledge;
#[cfg(feature = "runtime")]
mod lexical;
#[cfg(feature = "mcp")]
pub mod mcp;
#[cfg(feature = "runtime")]
pub mod memory;
#[cfg(feature = "runtime")]
mod nesting;
#[cfg(feature = "runtime")]
mod open_requests;
#[cfg(feature = "runtime")]
mod outcome;
#[cfg(feature = "runtime")]
mod outside_text;
#[cfg(feature = "runtime")]
mod panic;
#[cfg(feature = "runtime")]
mod parts;
#[cfg(feature = "runtime")]
mod permissions;
#[cfg(feature = "runtime")]
mod progress;
#[cfg(feature = "runtime")]
pub mod prompts;
#[cfg(feature = "runtime")]
mod questions;
#[cfg(feature = "runtime")]
mod records;
#[cfg(feature = "server")]
mod reopened;
#[cfg(feature = "runtime")]
mod rewind;
#[cfg(feature = "runtime")]
mod run;
#[cfg(feature = "runtime")]
mod run_stream;
#[cfg(feature = "runtime")]
mod session;
#[cfg(feature = "skills")]
pub mod skills;
#[cfg(feature = "runtime")]
mod state;
#[cfg(feature = "runtime")]
mod steering;
#[cfg(feature = "runtime")]
mod sub_agents;
#[cfg(feature = "runtime")]
mod sync;
#[cfg(feature = "runtime")]
#[cfg(test)]
mod tests;
#[cfg(feature = "runtime")]
mod tool_search;
#[cfg(feature = "runtime")]
mod tool_source;
#[cfg(feature = "runtime")]
pub mod tools;
#[cfg(feature = "runtime")]
mod typed_run;
#[cfg(feature = "runtime")]
mod written_thinking;

#[cfg(feature = "runtime")]
pub use self::{
    approval_policy::ApprovalPolicy,
    approvals::Approvals,
    approver::{Approver, Asked, Decision},
    audit::{AuditRecord, AuditSink},
    audit_kind::AuditKind,
    authorizer::{AllowList, Authorization, Authorizer, ClientCall},
    builder::{AgentBuilder, BuildError},
    channels::{AgentChannels, CancelSender, InputSender, ShutdownSender},
    client_calls::ClientCalls,
    config::{
        ANSWER_CONTINUED, ANSWER_KEPT, ANSWER_RESTARTED, ANSWER_TYPED, AgentConfig, AtLimit,
        BUDGET_UNMEASURED, CALL_MODE_FALLBACK, CONTEXT_SUMMARIZED, CONTEXT_SUMMARY_FAILED,
        CONTEXT_TRIMMED, CallMode, CallStart, KeepThinking, NoToolCall, STEERED, TOOL_SOURCE,
        UNDELIVERED,
    },
    default_agent::DefaultAgent,
    input::Input,
    outcome::{OutcomeKind, RunError, RunOutcome},
    outside_text::OutsideText,
    permissions::{ModulePermissions, NamedPermissions, Permissions, ToolAccess},
    questions::Questions,
    records::{
        CallBegan, CallEnd, CallRecord, Emission, Latencies, LatencyRecords, LatencyWindow, Metric,
        MetricNames, Observer, PrefixChange, PrefixPart, RequestSent, RunBegan, RunRecord,
        TurnRecord,
    },
    run::{Budget, Caller, Limit, RunContext, RunInput, Spent, Surface},
    run_stream::RunStream,
    session::AgentHandle,
    steering::Steering,
    sub_agents::{Places, SUB_AGENT, SubAgent, SubAgentEvent},
    tool_search::{FoundTools, ToolSearch},
    tool_source::ToolSource,
    typed_run::TypedOutcome,
};
#[cfg(feature = "server")]
pub(crate) use self::{
    reopened::{Found, Ways},
    steering::Given,
};
#[cfg(feature = "runtime")]
pub use tokio_util::sync::CancellationToken;
