//! Limits and policies of an agent.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    approval::{ApprovalPolicy, OutsideText},
    run::Budget,
    search::ToolSearch,
};
use forgeline_llm::Prices;
use forgeline_parser::ToolDialect;
use forgeline_types::setters;

/// The limits and policies of an agent.
///
/// With serde, absent fields have their defaults, and a dialect is written as its name.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use forgeline::agent::config::AgentConfig;
///
/// let config = AgentConfig::default().max_turns(3).tool_timeout(Duration::from_secs(5));
/// assert_eq!((config.max_turns, config.max_parallel_calls), (3, 8));
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "independent settings")]
#[non_exhaustive]
pub struct AgentConfig {
    /// The maximum number of model answers in a run. Default: 10; at least 1.
    pub max_turns: u32,
    /// The policy at `max_turns` and at the end of a [`Budget`]. Default: one last request without tools asks for the answer.
    pub at_limit: AtLimit,
    /// The policy for an answer without a call. Default: it is the final answer.
    pub no_tool_call: NoToolCall,
    /// The maximum number of times that an answer cut off by the length limit is continued, as long as turns are left. Its parts are one message of the
    /// conversation and one text of the outcome; a custom event named [`ANSWER_CONTINUED`](crate::notice::ANSWER_CONTINUED) precedes each further part. Default: 2; with 0, the answer
    /// stays cut off.
    pub continue_cut: u32,
    /// The number of times that the model is asked again for an answer that does not match its schema, with the problem, as long as turns are
    /// left. Default: 1; with 0, the first such answer ends the run with [`ErrorCode::InvalidAnswer`](forgeline_types::ErrorCode::InvalidAnswer).
    pub answer_repairs: u32,
    /// The way calls are exchanged with the model. Default: natively if the provider supports it.
    pub call_mode: CallMode,
    /// The time at which calls start. Default: after their answer.
    pub call_start: CallStart,
    /// The dialect of calls in the answer's text and, in text mode, of the instructions for writing them and of their results. Default: in text mode, that
    /// of the model, by its name, or else every dialect that is known by its opener; in native mode, the same if the server may leave calls in the text
    /// ([`ModelInfo::text_calls`]), else none.
    ///
    /// [`ModelInfo::text_calls`]: forgeline_types::ModelInfo::text_calls
    #[serde(with = "dialect_name")]
    pub tool_dialect: Option<ToolDialect>,
    /// The policy for reasoning that the model wrote into its text: later requests contain it in the model's own markers, or not at all. Default: the
    /// reasoning of answers that contain calls is kept.
    pub keep_thinking: KeepThinking,
    /// Adds the tools `task_completion`, `ask_question` and `converse`, with which a model ends a run. Their texts are in the
    /// [outcome](crate::RunOutcome), not in the events of the message. Default: `false`; an answer without a call ends a run.
    pub loop_breaking_tools: bool,
    /// The limits of each run, besides `max_turns`; an input may narrow them. A limit of cost needs a price that is known: see
    /// [`prices`](Self::prices). Default: none.
    pub budget: Budget,
    /// The prices of the model, in place of those of the [catalog](forgeline_llm::ModelCard). Without any, a run with a limit of cost is refused before
    /// its first request. Default: `None`.
    pub prices: Option<Prices>,
    /// The maximum duration of a whole run, including the wait for an earlier run of the agent. Content received until then is kept, and the run fails
    /// with [`ErrorCode::Timeout`]. Default: `None`, no limit.
    ///
    /// [`ErrorCode::Timeout`]: forgeline_types::ErrorCode::Timeout
    pub run_timeout: Option<Duration>,
    /// The maximum number of calls of a response that run at the same time. Default: 8; at least 1.
    pub max_parallel_calls: usize,
    /// The maximum duration of a call, unless its tool sets another. Default: 60 s.
    pub tool_timeout: Duration,
    /// The time for a tool to end after it was asked to stop, before it is abandoned. Default: 50 ms.
    pub tool_grace: Duration,
    /// The maximum length of the result of a call, in characters, unless its tool sets another. A longer result is withheld, and the model gets a note
    /// instead. Default: 200,000.
    pub max_result_chars: usize,
    /// The number of failures of the same kind of a tool, without a success in between, that ends the run. Calls count in the order of
    /// their answer; those that run beside the last one that counts end first, and further ones do not start. Default: 5; at least 1.
    pub breaker_failures: u32,
    /// Detects repeated calls among the last 16: the same call with the same result, or a cycle of up to four calls. The model is warned first; if
    /// it continues, the run fails with [`ErrorCode::CircuitBreaker`](forgeline_types::ErrorCode::CircuitBreaker). Calls of tools that [may
    /// repeat](crate::tools::Tool::may_repeat) do not count. Default: `true`.
    pub loop_guard: bool,
    /// The calls that require a person's approval before they run. Default: those of tools whose effects are irreversible.
    pub approval: ApprovalPolicy,
    /// The policy for irreversible calls once text from outside is in the conversation. Default: approval is required again.
    pub outside_text: OutsideText,
    /// The maximum wait for a person's answer to an approval request, after which the call is not run. The wait counts neither towards the tool's time nor
    /// towards the time of the [`Budget`]. Default: 5 min.
    pub approval_timeout: Duration,
    /// The maximum wait for the result of a call at the client, after which the model is informed that the client did not respond. The wait counts neither
    /// towards the tool's time nor towards the time of the [`Budget`]. Default: 90 s.
    pub client_timeout: Duration,
    /// The maximum duration of the [preview](crate::tools::Tool::preview) of a call, after which the call is not run. Default: 10 s.
    pub preview_timeout: Duration,
    /// The maximum wait for the journal, if the agent has one, after which the run fails with [`ErrorCode::Journal`](forgeline_types::ErrorCode::Journal).
    /// Default: 5 s.
    pub journal_timeout: Duration,
    /// The maximum wait for an earlier run of the agent, after which the run fails with [`ErrorCode::Timeout`](forgeline_types::ErrorCode::Timeout). Default:
    /// 10 min.
    pub queue_timeout: Duration,
    /// The maximum duration of a part of the system prompt, after which the run fails with [`ErrorCode::Timeout`](forgeline_types::ErrorCode::Timeout), or
    /// continues without the part if it is [optional](crate::prompts::SystemPrompt::is_optional). Default: 10 s.
    pub prompt_timeout: Duration,
    /// The maximum duration of a [source of tools](crate::tools::ToolSource), after which the run fails with
    /// [`ErrorCode::Timeout`](forgeline_types::ErrorCode::Timeout), or continues without its tools if it is [optional](crate::tools::ToolSource::is_optional).
    /// Default: 10 s.
    pub source_timeout: Duration,
    /// The maximum number of tokens of a request, as estimated by [`TokenEstimator`](forgeline_llm::TokenEstimator), which may be off by a quarter. Beyond
    /// it, results that the model has already read, then the first messages are left out of the request until half of the space is free again.
    /// Instructions, tools, the user's last message and the last answer with its results are always sent, and a call is never separated from its result. A
    /// custom event named [`CONTEXT_TRIMMED`](crate::notice::CONTEXT_TRIMMED) reports this. The conversation and the journal keep everything. Default: `None`, three quarters of the
    /// window of the run's model if it is known ([`ModelInfo::context_tokens`](forgeline_types::ModelInfo::context_tokens), else that of the
    /// [catalog](forgeline_llm::ModelCard)) and the server does not shorten conversations itself, else no limit. With `u64::MAX`, there is no limit.
    pub max_context_tokens: Option<u64>,
    /// The search for tools, if there are too many to describe all of them in each request. Default: beyond a twentieth of the model's window.
    pub tool_search: ToolSearch,
    /// The share of `max_context_tokens`, in percent, beyond which a model summarizes the beginning of the conversation before the next request: the
    /// agent's, or [another](crate::AgentBuilder::summarizer). The summary is sent before the rest, which then takes at most half of the share, and is
    /// part of the next summary. The user's last message is always sent unchanged, and a call is never separated from its result. A custom event named
    /// [`CONTEXT_SUMMARIZED`](crate::notice::CONTEXT_SUMMARIZED) reports a summary. One named [`CONTEXT_SUMMARY_FAILED`](crate::notice::CONTEXT_SUMMARY_FAILED) reports a failed summary; messages are then left out instead once
    /// the limit is reached. The tokens of a summary count towards the run. Default: `None`, no summary.
    pub summarize_at: Option<u8>,
    /// The maximum duration of a request for a summary, after which the summary has failed. Default: 1 min.
    pub summary_timeout: Duration,
    /// Cuts off an answer whose text or reasoning repeats itself over and over, see
    /// [`StreamOptions::stop_repetition`](forgeline_core::StreamOptions::stop_repetition). The model is warned once; the second time ends the run. Default:
    /// `true`.
    pub stop_repetition: bool,
    /// The maximum number of events that wait for their reader. Default: 64; at least 1.
    pub event_capacity: usize,
    /// The maximum number of inputs in the queue of a started agent. Default: 64; at least 1.
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
            answer_repairs: 1,
            prices: None,
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
        answer_repairs(u32),
        budget(Budget),
        prices(some Prices),
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
    /// The model is asked to call a tool, up to n times in a row; then the answer is final. Calls in a code fence are pointed out. The model needs a tool
    /// to end the run with, such as the [loop-breaking ones](AgentConfig::loop_breaking_tools).
    Nudge(u32),
}

/// The policy for a run that has reached a limit while its model wants to continue: after [`AgentConfig::max_turns`] answers, or with its [`Budget`]
/// spent.
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
/// It applies if the provider distinguishes such reasoning from reasoning in a field of its own: with Chat Completions. Reasoning with a signature is
/// always sent back where it belongs, and Ollama and Cohere have a field for all reasoning. That of gpt-oss goes back as a member of the message,
/// with calls and without text only: its template rejects it in the text. Events and [`transcript`](crate::Conversation::transcript)
/// always contain it as thinking.
///
/// # Examples
///
/// ```
/// use forgeline::{
///     agent::{Agent, config::KeepThinking},
///     llm::demo::DemoProvider,
/// };
///
/// let agent = Agent::builder(DemoProvider::new())
///     .keep_thinking(KeepThinking::Always)
///     .build()?;
/// assert_eq!(agent.config().keep_thinking, KeepThinking::Always);
/// # Ok::<(), forgeline::agent::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum KeepThinking {
    /// Reasoning of answers that contain calls is sent back: the next step builds on it.
    #[default]
    WithCalls,
    /// All reasoning is sent back: the history is what the model wrote.
    Always,
    /// No reasoning is sent back, which takes the fewest tokens.
    Never,
}

/// The way calls are exchanged with the model.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::{Agent, config::CallMode}, llm::demo::DemoProvider};
///
/// let agent = Agent::builder(DemoProvider::new()).call_mode(CallMode::Text).build()?;
/// assert_eq!(agent.config().call_mode, CallMode::Text);
/// # Ok::<(), forgeline::agent::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallMode {
    /// Native if the provider's capabilities include tools, else text.
    ///
    /// Some servers announce tools but refuse them. If a request with native tools fails before its answer begins, with an error whose message names tools
    /// or function calling (status 400, 404, 422, 500 or 501 that is not about keys, quota, rate or length; or `Unsupported`), the same turn is retried
    /// once in text mode. If that works, the agent and its clones stay in text mode, and a custom event named [`CALL_MODE_FALLBACK`](crate::notice::CALL_MODE_FALLBACK)
    /// contains the reason; else the run fails with the first error. This happens only until the provider has answered once, and never while the
    /// conversation contains native calls.
    #[default]
    Auto,
    /// The provider's function calling, regardless of its capabilities.
    Native,
    /// Text: the system prompt describes the tools, and results are sent as a user message, both in the form of [`AgentConfig::tool_dialect`]. The model's
    /// text is kept as it was written.
    Text,
}

/// The time at which the calls of an answer start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallStart {
    /// When the answer has ended.
    #[default]
    AfterAnswer,
    /// Each call as soon as its own end has streamed, while the answer continues.
    ///
    /// Some calls wait for the end of the answer: those of tools that [run alone](crate::tools::Tool::runs_alone) or end the run, and the calls after
    /// them; native calls of which no arguments arrived; and calls found in reasoning or code at the end. If the answer then fails, available results are kept
    /// and running calls are asked to stop. If the user interrupts the answer, running calls run to their end.
    AsComplete,
}

/// A dialect as its name.
mod dialect_name {
    use std::borrow::Cow;

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de::Error as _};

    use forgeline_parser::ToolDialect;

    #[expect(clippy::ref_option, reason = "the signature that serde expects")]
    pub(crate) fn serialize<S: Serializer>(
        dialect: &Option<ToolDialect>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        dialect.as_ref().map(ToolDialect::name).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
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
