//! Bounds and policies of an agent.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{ApprovalPolicy, Budget, OutsideText, ToolSearch};
use crate::{llm::parser::ToolDialect, types::setters};

/// Bounds and policies of an agent.
///
/// With serde, absent fields have their defaults, and a dialect is written as its name.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use forgeline::agent::AgentConfig;
///
/// let config = AgentConfig::default().max_turns(3).tool_timeout(Duration::from_secs(5));
/// assert_eq!((config.max_turns, config.max_parallel_calls), (3, 8));
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "settings that have nothing in common")]
pub struct AgentConfig {
    /// Most answers of the model in one run. Default: 10; at least 1.
    pub max_turns: u32,
    /// The policy at `max_turns` and at the end of a [`Budget`]. Default: one last request without tools
    /// asks for the answer.
    pub at_limit: AtLimit,
    /// The policy for an answer without a call. Default: it is the final answer.
    pub no_tool_call: NoToolCall,
    /// Most times that an answer is continued which the limit of length has cut, as long as turns are left.
    /// Its parts are one message of the conversation, and one text of the outcome; before each further one
    /// is a custom event named [`ANSWER_CONTINUED`]. Default: 2; with 0 it stays cut.
    pub continue_cut: u32,
    /// The exchange of calls with the model. Default: natively when the provider can.
    pub call_mode: CallMode,
    /// The moment at which calls begin. Default: after their answer.
    pub call_start: CallStart,
    /// The dialect of calls in the answer's text and, in text mode, of the instructions for writing
    /// them and of their results. Default: in text mode that of the model, by its name, or else every
    /// dialect that is known by its opener; in native mode that of a model whose name is known, where
    /// the server may leave calls in the text ([`ModelInfo::text_calls`]), else none.
    ///
    /// [`ModelInfo::text_calls`]: crate::types::ModelInfo::text_calls
    #[serde(with = "dialect_name")]
    pub tool_dialect: Option<ToolDialect>,
    /// The policy for reasoning that the model wrote into its text: with later requests it goes back in the
    /// model's own markers, or not at all. Default: that of answers that have calls.
    pub keep_thinking: KeepThinking,
    /// Adds the tools `task_completion`, `ask_question` and `converse`, with which a model ends a run.
    /// Their texts are in the [outcome](super::RunOutcome), not in the events of the message. Default:
    /// `false`; an answer without a call ends a run.
    pub loop_breaking_tools: bool,
    /// The limits of each run, beside `max_turns`; an input may narrow them. Default: none.
    pub budget: Budget,
    /// Longest time of a whole run, the wait for an earlier run of the agent included. What had arrived
    /// by then is kept, and the run fails with [`ErrorCode::Timeout`]. Default: `None`, no limit.
    ///
    /// [`ErrorCode::Timeout`]: crate::types::ErrorCode::Timeout
    pub run_timeout: Option<Duration>,
    /// Most calls of one response that run at the same time. Default: 8; at least 1.
    pub max_parallel_calls: usize,
    /// Longest time that one call may take, where its tool says no other. Default: 60 s.
    pub tool_timeout: Duration,
    /// Time for a tool to end after it was told to stop, before it is abandoned. Default: 50 ms.
    pub tool_grace: Duration,
    /// Longest result of one call, in characters, where its tool says no other. Default: 200,000; a longer
    /// one is withheld, and the model reads a note instead.
    pub max_result_chars: usize,
    /// Failures of one kind of one tool, without a success between, that end the run. Default: 5; at
    /// least 1.
    pub breaker_failures: u32,
    /// Looks for calls that go round in circles, over the last 16: the same call with the same result, or
    /// up to four calls in turn. The model is told first; when it goes on the run fails with
    /// [`ErrorCode::CircuitBreaker`](crate::types::ErrorCode::CircuitBreaker). Calls of tools that
    /// [may repeat](super::tools::Tool::may_repeat) do not count. Default: `true`.
    pub loop_guard: bool,
    /// The calls that a person is asked about before they run. Default: those of tools whose effects are
    /// irreversible.
    pub approval: ApprovalPolicy,
    /// The policy for calls that cannot be changed back, once text from outside is in the conversation. Default:
    /// they are asked about again.
    pub outside_text: OutsideText,
    /// Longest wait for a person's answer to a request for approval. Default: 5 min; the call is then not
    /// run. The wait counts neither for the tool's time nor for the time of the [`Budget`].
    pub approval_timeout: Duration,
    /// Longest wait for the result of a call at the client. Default: 90 s; the model then reads that the client
    /// did not respond. The wait counts neither for the tool's time nor for the time of the [`Budget`].
    pub client_timeout: Duration,
    /// Longest time that the [preview](super::tools::Tool::preview) of a call may take. Default: 10 s; the
    /// call is then not run.
    pub preview_timeout: Duration,
    /// Longest wait for the journal, if the agent has one. Default: 5 s; beyond it the run fails with
    /// [`ErrorCode::Journal`](crate::types::ErrorCode::Journal).
    pub journal_timeout: Duration,
    /// Longest wait for an earlier run of the agent. Default: 10 min; beyond it the run fails with
    /// [`ErrorCode::Timeout`](crate::types::ErrorCode::Timeout).
    pub queue_timeout: Duration,
    /// Longest time that a part of the system prompt may take. Default: 10 s; beyond it the run fails
    /// with [`ErrorCode::Timeout`](crate::types::ErrorCode::Timeout), or goes on without the part
    /// if that is [optional](super::prompts::SystemPrompt::is_optional).
    pub prompt_timeout: Duration,
    /// Longest time that a [source of tools](super::ToolSource) may take. Default: 10 s; beyond it the run fails with
    /// [`ErrorCode::Timeout`](crate::types::ErrorCode::Timeout), or goes on without its tools if it is
    /// [optional](super::ToolSource::is_optional).
    pub source_timeout: Duration,
    /// Most tokens of a request, by the estimate of [`TokenEstimator`](crate::llm::TokenEstimator), which may be a
    /// quarter off. Beyond it the results that the model has read, then the first messages are left out of
    /// the request, so that half of the room is free again; instructions, tools, the last message of the user and
    /// the last answer with its results always go. A call is never parted from its result. A custom event named
    /// [`CONTEXT_TRIMMED`] tells it. The conversation and the journal keep all. Default: `None`, three quarters of the window
    /// of the run's model where that is known ([`ModelInfo::context_tokens`](crate::types::ModelInfo::context_tokens), else
    /// the [catalog's](crate::llm::ModelCard)) and the server does not shorten conversations itself, else no limit. With
    /// `u64::MAX` there is none.
    pub max_context_tokens: Option<u64>,
    /// The search for tools, where there are too many to describe them all in each request. Default: beyond a twentieth
    /// of the window of the model.
    pub tool_search: ToolSearch,
    /// The share of `max_context_tokens`, in percent, beyond which the beginning of the conversation is summed up by
    /// a model before the next request: the agent's, or [another](super::AgentBuilder::summarizer). The summary is
    /// sent before the rest, which takes at most half of the share then, and the next summary has it in it. The
    /// last message of the user always goes as it is, and a call is never parted from its result. A summary that
    /// fails is told by a custom event named [`CONTEXT_SUMMARY_FAILED`], and messages are left out in its place once
    /// the limit is reached; one that is there by [`CONTEXT_SUMMARIZED`]. Its tokens count in the run. Default:
    /// `None`, no summary.
    pub summarize_at: Option<u8>,
    /// Longest time that a request for a summary may take. Default: 1 min; beyond it the summary has failed.
    pub summary_timeout: Duration,
    /// Cuts an answer whose text or reasoning says the same over and over, see
    /// [`StreamOptions::stop_repetition`](super::core::StreamOptions::stop_repetition). The model is told
    /// once; the second time in a run ends it. Default: `true`.
    pub stop_repetition: bool,
    /// Most events that wait for their reader. Default: 64; at least 1.
    pub event_capacity: usize,
    /// Most inputs that wait in the queue of a started agent. Default: 64; at least 1.
    pub input_capacity: usize,
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            max_turns: 10,
            at_limit: AtLimit::AskForAnswer,
            no_tool_call: NoToolCall::AcceptAsFinal,
            continue_cut: 2,
            call_mode: CallMode::Auto,
            call_start: CallStart::AfterAnswer,
            tool_dialect: None,
            keep_thinking: KeepThinking::WithCalls,
            loop_breaking_tools: false,
            budget: Budget::default(),
            run_timeout: None,
            max_parallel_calls: 8,
            tool_timeout: Duration::from_mins(1),
            tool_grace: Duration::from_millis(50),
            max_result_chars: 200_000,
            breaker_failures: 5,
            loop_guard: true,
            approval: ApprovalPolicy::Irreversible,
            outside_text: OutsideText::AskAgain,
            approval_timeout: Duration::from_mins(5),
            client_timeout: Duration::from_secs(90),
            preview_timeout: Duration::from_secs(10),
            journal_timeout: Duration::from_secs(5),
            queue_timeout: Duration::from_mins(10),
            prompt_timeout: Duration::from_secs(10),
            source_timeout: Duration::from_secs(10),
            max_context_tokens: None,
            tool_search: ToolSearch::default(),
            summarize_at: None,
            summary_timeout: Duration::from_mins(1),
            stop_repetition: true,
            event_capacity: 64,
            input_capacity: 64,
        }
    }
}

impl AgentConfig {
    setters! {
        AgentConfig:
        max_turns(u32),
        at_limit(AtLimit),
        no_tool_call(NoToolCall),
        continue_cut(u32),
        call_mode(CallMode),
        call_start(CallStart),
        tool_dialect(some ToolDialect),
        keep_thinking(KeepThinking),
        loop_breaking_tools(bool),
        budget(Budget),
        run_timeout(some Duration),
        max_parallel_calls(usize),
        tool_timeout(Duration),
        tool_grace(Duration),
        max_result_chars(usize),
        breaker_failures(u32),
        loop_guard(bool),
        approval(ApprovalPolicy),
        outside_text(OutsideText),
        approval_timeout(Duration),
        client_timeout(Duration),
        preview_timeout(Duration),
        journal_timeout(Duration),
        queue_timeout(Duration),
        prompt_timeout(Duration),
        source_timeout(Duration),
        tool_search(ToolSearch),
        max_context_tokens(some u64),
        summarize_at(some u8),
        summary_timeout(Duration),
        stop_repetition(bool),
        event_capacity(usize),
        input_capacity(usize),
    }
}

/// The policy for an answer without a tool call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NoToolCall {
    /// The answer is final.
    #[default]
    AcceptAsFinal,
    /// The model is told to call a tool, up to n times in a row; then the answer is final. Calls in a
    /// code fence are pointed out. A model needs a tool to end with, such as the
    /// [loop-breaking ones](AgentConfig::loop_breaking_tools).
    Nudge(u32),
}

/// The policy for a run that is at a limit, and whose model wants to go on: after
/// [`AgentConfig::max_turns`] answers, or with its [`Budget`] spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AtLimit {
    /// One last request without tools asks for the answer.
    #[default]
    AskForAnswer,
    /// The run fails.
    Fail,
}

/// The policy for reasoning in the history that the model wrote into its text, such as `<think>…</think>`.
///
/// It counts where the provider tells such reasoning from that which came in a place of its own: with
/// Chat Completions. Reasoning with a signature always goes back where it belongs, and Ollama and
/// Cohere have a member for all reasoning. Events and [`transcript`](super::DefaultAgent::transcript) have
/// it as thinking in any case.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::{DefaultAgent, KeepThinking}, llm::demo::DemoProvider};
///
/// let agent = DefaultAgent::builder(DemoProvider::new())
///     .keep_thinking(KeepThinking::Always)
///     .build()?;
/// assert_eq!(agent.config().keep_thinking, KeepThinking::Always);
/// # Ok::<(), forgeline::agent::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum KeepThinking {
    /// The reasoning of answers that have calls goes back: the next step builds on it.
    #[default]
    WithCalls,
    /// All reasoning goes back: the history is what the model wrote.
    Always,
    /// No reasoning goes back, which takes the fewest tokens.
    Never,
}

/// The exchange of calls with the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallMode {
    /// Native when the provider's capabilities include tools, else text.
    ///
    /// Some servers announce tools and refuse them all the same. When a request with native tools
    /// fails before its answer begins, with an error that may be about the tools (status 400, 422,
    /// 500 or 501 that is not about keys, quota, rate or length; 404 with a message that names
    /// tools; or `Unsupported`), the same turn is retried once in text. If that works, the agent
    /// and its clones stay in text mode, and a custom event named [`CALL_MODE_FALLBACK`] gives the
    /// reason; else the run fails with the first error. This happens only until the provider has
    /// answered once, and never while the conversation holds native calls.
    #[default]
    Auto,
    /// The provider's function calling, whatever its capabilities.
    Native,
    /// Text: the system prompt describes the tools, and results are sent as a user message, both in
    /// the form of [`AgentConfig::tool_dialect`]. The model's text is kept as it was written.
    Text,
}

/// The moment at which the calls of an answer begin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallStart {
    /// When the answer has ended.
    #[default]
    AfterAnswer,
    /// Each as soon as its own end has streamed, while the answer goes on.
    ///
    /// The end of the answer is waited for by tools that [run alone](super::tools::Tool::runs_alone) or end
    /// the run, and the calls behind them; by native calls of whose arguments nothing came; and by calls
    /// that are found in reasoning or code at the end. If the answer then fails, results that are there are
    /// kept and calls that run are told to stop. If the user interrupts it, the calls that run come to
    /// their end.
    AsComplete,
}

/// The name of the custom event of [`CallMode::Auto`] falling back to text; its data is an object
/// whose `reason` is the provider's message.
pub const CALL_MODE_FALLBACK: &str = "call_mode_fallback";

/// The name of the custom event of a request that a part of the conversation was left out of; see
/// [`AgentConfig::max_context_tokens`]. Its data is an object with the `messages` and `results` that were left
/// out for the first time, and the estimated `tokens` of the request and `tokens_before`.
pub const CONTEXT_TRIMMED: &str = "context_trimmed";

/// The name of the custom event of a conversation whose beginning was summed up; see [`AgentConfig::summarize_at`].
/// Its data is an object with the number of `messages` that the summary is of and the one before it was not, the
/// `requests` that it took, and the estimated `tokens` of the next request and `tokens_before`.
pub const CONTEXT_SUMMARIZED: &str = "context_summarized";

/// The name of the custom event of a summary that failed; see [`AgentConfig::summarize_at`]. Its data is an object
/// with the number of `requests` that were made for it, and the `error`.
pub const CONTEXT_SUMMARY_FAILED: &str = "context_summary_failed";

/// The name of the custom event of a run that was resumed in the middle of an answer: the answer is asked
/// for again, and what its events have brought is to be dropped. Its data is an object with `turn`, and
/// the `attempt` that begins.
pub const ANSWER_RESTARTED: &str = "answer_restarted";

/// The name of the custom event of a run that was resumed in the middle of an answer of which calls had begun
/// already: the answer is kept up to the last of them, and what its events have brought behind it is to be
/// dropped. Its data is an object with `turn`, and the number of `calls` that are kept.
pub const ANSWER_KEPT: &str = "answer_kept";

/// The name of the custom event of a message that was delivered to a run under way; see
/// [`Steering`](super::Steering). Its data is an object with the `kind`, `steer` or `follow_up`, and the
/// `text`.
pub const STEERED: &str = "steered";

/// The name of the custom event of messages that a run could not deliver any more. Its data is an object
/// with their `texts`.
pub const UNDELIVERED: &str = "undelivered";

/// The name of the custom event of a run whose budget has a limit that cannot be counted: the provider
/// reports no tokens, or the model has no price. Its data is an object with the `limit`; it comes once.
pub const BUDGET_UNMEASURED: &str = "budget_unmeasured";

/// The name of the custom event of what a source says of its tools at the beginning of a run, such as that some of them are
/// gone; see [`ToolSource::notices`](super::ToolSource::notices). Its data is the source's own, with a `kind`.
pub const TOOL_SOURCE: &str = "tool_source";

/// The name of the custom event before the answer that the schema of the run's input binds; see
/// [`RunInput::answer`](super::RunInput::answer). The text of that answer, or the arguments of its one call, is
/// the value: [`PartialJson`](crate::types::PartialJson) reads it while it comes. Its data is an object with the
/// `turn`.
pub const ANSWER_TYPED: &str = "answer_typed";

/// The name of the custom event behind an answer that the limit of length has cut, when the model is asked
/// to go on: the next text joins it without a break. Its data is an object with the `turn` that was cut, and
/// the `times` that the answer has been continued.
pub const ANSWER_CONTINUED: &str = "answer_continued";

/// A dialect as its name.
mod dialect_name {
    use std::borrow::Cow;

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de::Error as _};

    use crate::llm::parser::ToolDialect;

    #[expect(clippy::ref_option, reason = "the signature that serde calls")]
    pub(super) fn serialize<S: Serializer>(
        dialect: &Option<ToolDialect>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        dialect.as_ref().map(ToolDialect::name).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<ToolDialect>, D::Error> {
        let Some(name) = Option::<Cow<'_, str>>::deserialize(deserializer)? else {
            return Ok(None);
        };
        let unknown = || D::Error::custom(format_args!("unknown tool dialect `{name}`"));
        ToolDialect::by_name(&name).map(Some).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_survives_json_and_absent_fields_have_their_defaults() {
        let config = AgentConfig::default()
            .no_tool_call(NoToolCall::Nudge(2))
            .call_mode(CallMode::Text)
            .tool_dialect(ToolDialect::FORGE);
        let json = serde_json::to_value(&config).unwrap();
        assert_eq!(json["no_tool_call"], serde_json::json!({ "nudge": 2 }));
        assert_eq!(json["tool_dialect"], "forge");
        let read: AgentConfig = serde_json::from_value(json).unwrap();
        assert_eq!(format!("{read:?}"), format!("{config:?}"));
        let read: AgentConfig = serde_json::from_str(r#"{"max_turns":3}"#).unwrap();
        assert_eq!((read.max_turns, read.event_capacity), (3, 64));
        let error = serde_json::from_str::<AgentConfig>(r#"{"tool_dialect":"x"}"#).unwrap_err();
        assert!(error.to_string().contains("unknown tool dialect `x`"), "{error}");
    }
}
