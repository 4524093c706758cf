//! The agent: turns typed chunks into events and acts on them.

mod access;
mod approval;
mod channels;
mod config;
mod default_agent;
mod driver;
pub mod journal;
pub mod knowledge;
mod lexical;
pub mod memory;
mod nesting;
pub mod notice;
mod observe;
pub mod prompts;
mod run;
mod search;
mod setup;
mod state;
mod steering;
mod streams;
mod sub_agents;
mod support;
#[cfg(test)]
mod tests;
pub mod tools;

pub use self::{
    access::{
        AllowList, AuditKind, AuditRecord, AuditSink, Authorization, Authorizer, ClientCall,
        ModulePermissions, NamedPermissions, Permissions, ToolAccess,
    },
    approval::{ApprovalContext, ApprovalPolicy, Approver, Decision, OutsideText},
    channels::{
        AgentChannels, AgentHandle, CancelSender, Input, InputSender, ShutdownSender, UnsentInput,
    },
    config::{AgentConfig, AtLimit, CallMode, CallStart, KeepThinking, NoToolCall},
    default_agent::{
        Agent, AgentBuilder, BuildError, Conversation, DefaultAgent, SkillSet, TypedOutcome,
    },
    nesting::Places,
    notice::Notice,
    observe::{
        CallBegan, CallEnd, CallRecord, Emission, Latencies, LatencyRecords, LatencyWindow, Metric,
        MetricNames, Observer, PrefixChange, PrefixPart, RequestSent, RunBegan, RunRecord,
        TurnRecord,
    },
    run::{
        Budget, Caller, Limit, OutcomeKind, RunContext, RunError, RunInput, RunOutcome, Spending,
        Surface,
    },
    search::{FoundTools, ToolSearch},
    steering::{Approvals, ClientCalls, Questions, Steering},
    streams::RunStream,
    sub_agents::SubAgent,
    tools::ToolSource,
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
        run::{SharedState, SpentBelow},
        steering::RequestAnswer,
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
