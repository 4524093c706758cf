//! The names that most programs need.
//!
//! # Examples
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use forgeline::{llm::demo::DemoProvider, prelude::*};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Shout {
//!     /// The words.
//!     text: String,
//! }
//!
//! let shout = tool_fn("shout", "Shouts.", async |_, it: Shout| it.text.to_uppercase());
//! let agent = Agent::builder(DemoProvider::new()).tool(shout).tool(Calculator).build()?;
//! let mut run = agent.run_stream("What is 6 * 7?");
//! let mut text = String::new();
//! while let Some(Envelope { event, .. }) = run.next().await {
//!     if let AgentEvent::MessageContent(MessageContentEvent { content, .. }) = event {
//!         text.push_str(&content);
//!     }
//! }
//! assert!(text.contains("42"));
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "local-tools")]
pub use crate::agent::tools::FileTools;
pub use crate::{
    agent::core::{EventStream, StreamMachine, StreamOptions, process_stream},
    llm::{Provider, ProviderError, Request, StreamChunk, ToolSpec},
    types::{
        AgentError, AgentEvent, ApprovalRequest, CallOutcome, Completion, Envelope, ErrorCode,
        FinishReason, Message, MessageContentEvent, MessageRole, Part, ToolCall, ToolCallEvent,
        ToolResult, ToolResultEvent, Transcript,
    },
};
#[cfg(feature = "runtime")]
pub use crate::{
    agent::{
        Agent, AgentBuilder, BuildError, Caller, CancellationToken, Conversation, OutcomeKind,
        RunError, RunInput, RunOutcome, RunStream,
        approval::{ApprovalContext, ApprovalPolicy, Decision},
        channels::AgentChannels,
        config::{AgentConfig, CallMode},
        tools::{Calculator, Tool, ToolContext, ToolError, ToolOutput, tool_fn, tool_with},
    },
    llm::{Failover, Limited, RetryPolicy, StructuredExt},
};
