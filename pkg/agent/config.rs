//! How an agent behaves.

use std::time::Duration;

use crate::llm::parser::ToolDialect;

/// Bounds and policies of an agent.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AgentConfig {
    /// Answers of the model in one run. Default: 10; at least 1.
    pub max_turns: u32,
    /// What happens at `max_turns`. Default: one last call without tools that asks for the answer.
    pub at_max_turns: AtMaxTurns,
    /// What an answer without a call means. Default: it is the final answer.
    pub no_tool_call: NoToolCall,
    /// How calls are exchanged with the model. Default: natively when the provider can.
    pub call_mode: CallMode,
    /// How calls written in the answer's text are read and, in text mode, how the model is told to
    /// write them and how it gets their results. Default: in text mode that of the model, by its
    /// name, or else every dialect that is known by its opener; none in native mode.
    pub tool_dialect: Option<ToolDialect>,
    /// Whether the agent has `task_completion`, `ask_question` and `converse`. Default: yes.
    pub loop_breaking_tools: bool,
    /// Calls of one response that run at the same time. Default: 8; at least 1.
    pub max_parallel_calls: usize,
    /// Longest time that one call may take. Default: 60 s.
    pub tool_timeout: Duration,
    /// How long a tool that was told to stop may go on before it is abandoned. Default: 50 ms.
    pub tool_grace: Duration,
    /// Longest result of one call, in characters. Default: 200 000; a longer one is withheld, and
    /// the model is told so.
    pub max_result_chars: usize,
    /// Failures of one kind of one tool, without a success between, that end the run. Default: 5.
    pub breaker_failures: u32,
    /// Events that wait for their reader at most. Default: 64; at least 1.
    pub event_capacity: usize,
    /// Inputs that wait for the running turn at most. Default: 64; at least 1.
    pub input_capacity: usize,
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            max_turns: 10,
            at_max_turns: AtMaxTurns::AskForAnswer,
            no_tool_call: NoToolCall::AcceptAsFinal,
            call_mode: CallMode::Auto,
            tool_dialect: None,
            loop_breaking_tools: true,
            max_parallel_calls: 8,
            tool_timeout: Duration::from_mins(1),
            tool_grace: Duration::from_millis(50),
            max_result_chars: 200_000,
            breaker_failures: 5,
            event_capacity: 64,
            input_capacity: 64,
        }
    }
}

/// What an answer without a tool call means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoToolCall {
    /// It is the final answer.
    #[default]
    AcceptAsFinal,
    /// The model is told to call a tool, so many times in a row; then the answer is final. Calls
    /// that stand in a code fence are pointed out.
    Nudge(u32),
}

/// What happens when the model has answered [`AgentConfig::max_turns`] times and wants to go on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AtMaxTurns {
    /// One last call without tools asks for the answer.
    #[default]
    AskForAnswer,
    /// The run fails.
    Fail,
}

/// How calls are exchanged with the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallMode {
    /// Native when the provider says that the model can, else text.
    ///
    /// Some servers say so and refuse tools all the same. When a request with native tools fails
    /// before its answer begins, with an error that may be about the tools (status 400, 404, 422, 500
    /// or 501 that is not about keys, quota, rate or length; or `Unsupported`), the same turn is tried
    /// once more in text. If that works the agent and its clones stay in text mode, and a custom event
    /// named [`CALL_MODE_FALLBACK`] says why; else the first error is what the run fails with. This
    /// happens at most until the provider has answered once, and never while the conversation holds
    /// native calls.
    #[default]
    Auto,
    /// Through the provider's function calling, whatever it says.
    Native,
    /// As text: the system prompt describes the tools, and results come back as a user message, both
    /// in the form of [`AgentConfig::tool_dialect`]. What the model wrote is kept as it wrote it.
    Text,
}

/// Name of the custom event that says that [`CallMode::Auto`] went over to text; its data are an
/// object whose `reason` is the provider's message.
pub const CALL_MODE_FALLBACK: &str = "call_mode_fallback";
