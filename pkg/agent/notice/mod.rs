//! The custom events that the library itself sends.
//!
//! A [`Custom`](forgeline_types::AgentEvent::Custom) event has a name and data. For the names of this module,
//! [`Notice::read`] gives the data a type.

mod payloads;
mod sub_agent_event;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use forgeline_core::IgnoredChoicesNotice;
use forgeline_llm::DegradedNotice;
use forgeline_types::{AgentEvent, CustomEvent};

pub use self::payloads::{
    AnswerAskedAgainNotice, AnswerContinuedNotice, AnswerKeptNotice, AnswerRestartedNotice,
    AnswerTypedNotice, BudgetUnmeasuredNotice, CallModeFallbackNotice, CallsInTextNotice,
    ContentRefusedNotice, ContextSummarizedNotice, ContextSummaryFailedNotice,
    ContextTrimmedNotice, RefusedKind, RunTakenOverNotice, SteeredKind, SteeredNotice,
    ToolSourceNotice, UndeliveredNotice,
};
pub use self::sub_agent_event::{SUB_AGENT, SubAgentEvent};
pub use forgeline_core::IGNORED_CHOICES;
pub use forgeline_llm::DEGRADED;

/// The name of the notice of [`CallModeFallbackNotice`].
pub const CALL_MODE_FALLBACK: &str = "call_mode_fallback";
/// The name of the notice of [`CallsInTextNotice`].
pub const CALLS_IN_TEXT: &str = "calls_in_text";
/// The name of the notice of [`ContextTrimmedNotice`].
pub const CONTEXT_TRIMMED: &str = "context_trimmed";
/// The name of the notice of [`ContentRefusedNotice`].
pub const CONTENT_REFUSED: &str = "content_refused";
/// The name of the notice of [`ContextSummarizedNotice`].
pub const CONTEXT_SUMMARIZED: &str = "context_summarized";
/// The name of the notice of [`ContextSummaryFailedNotice`].
pub const CONTEXT_SUMMARY_FAILED: &str = "context_summary_failed";
/// The name of the notice of [`AnswerAskedAgainNotice`].
pub const ANSWER_ASKED_AGAIN: &str = "answer_asked_again";
/// The name of the notice of [`AnswerRestartedNotice`].
pub const ANSWER_RESTARTED: &str = "answer_restarted";
/// The name of the notice of [`AnswerKeptNotice`].
pub const ANSWER_KEPT: &str = "answer_kept";
/// The name of the notice of [`SteeredNotice`].
pub const STEERED: &str = "steered";
/// The name of the notice of [`UndeliveredNotice`].
pub const UNDELIVERED: &str = "undelivered";
/// The name of the notice of [`BudgetUnmeasuredNotice`].
pub const BUDGET_UNMEASURED: &str = "budget_unmeasured";
/// The name of the notice of [`ToolSourceNotice`].
pub const TOOL_SOURCE: &str = "tool_source";
/// The name of the notice of [`AnswerTypedNotice`].
pub const ANSWER_TYPED: &str = "answer_typed";
/// The name of the notice of [`AnswerContinuedNotice`].
pub const ANSWER_CONTINUED: &str = "answer_continued";
/// The name of the notice of [`RunTakenOverNotice`].
pub const RUN_TAKEN_OVER: &str = "run_taken_over";

/// Declares the notices once: the type, its names, and the ways from and to an event.
macro_rules! notices {
    ($($variant:ident($payload:ty) = $name:ident, $doc:literal;)+) => {
        /// The data of a custom event that the library itself sends.
        ///
        /// # Examples
        ///
        /// ```
        /// use forgeline::{
        ///     agent::notice::Notice,
        ///     types::{AgentEvent, CustomEvent},
        /// };
        /// use serde_json::json;
        ///
        /// let data = json!({ "kind": "steer", "text": "In euros, please." });
        /// let event = AgentEvent::Custom(CustomEvent::new("steered", data));
        /// let Some(Notice::Steered(steered)) = Notice::read(&event) else { panic!("{event:?}") };
        /// assert_eq!(steered.text, "In euros, please.");
        ///
        /// let own = AgentEvent::Custom(CustomEvent::new("progress", json!({ "percent": 50 })));
        /// assert_eq!(Notice::read(&own), None);
        /// ```
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum Notice {
            $(#[doc = $doc] $variant($payload),)+
        }

        impl Notice {
            /// Reads a notice; returns `None` for any other event, and for one whose data is not what its name says.
            #[must_use]
            pub fn read(event: &AgentEvent) -> Option<Self> {
                let AgentEvent::Custom(CustomEvent { name, data, .. }) = event else { return None };
                match name.as_str() {
                    $($name => <$payload>::deserialize(data).ok().map(Self::$variant),)+
                    _ => None,
                }
            }

            /// Returns the name of the event.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)+
                }
            }

            fn data(&self) -> Value {
                match self {
                    $(Self::$variant(notice) => to_data(notice),)+
                }
            }

            #[cfg(test)]
            const NAMES: &[&str] = &[$($name),+];
        }
    };
}

notices! {
    CallModeFallback(CallModeFallbackNotice) = CALL_MODE_FALLBACK, "Calls are written as text from now on.";
    CallsInText(CallsInTextNotice) = CALLS_IN_TEXT, "Calls came in the text of an answer, where they are read.";
    ContextTrimmed(ContextTrimmedNotice) = CONTEXT_TRIMMED, "A part of the conversation is left out of requests.";
    ContentRefused(ContentRefusedNotice) = CONTENT_REFUSED, "The provider refused a part of the conversation.";
    ContextSummarized(ContextSummarizedNotice) = CONTEXT_SUMMARIZED, "The beginning of the conversation was summarized.";
    ContextSummaryFailed(ContextSummaryFailedNotice) = CONTEXT_SUMMARY_FAILED, "A summary failed.";
    AnswerAskedAgain(AnswerAskedAgainNotice) = ANSWER_ASKED_AGAIN, "The model is asked once more.";
    AnswerRestarted(AnswerRestartedNotice) = ANSWER_RESTARTED, "An answer in progress is requested again.";
    AnswerKept(AnswerKeptNotice) = ANSWER_KEPT, "An answer in progress is kept up to its last call.";
    AnswerTyped(AnswerTypedNotice) = ANSWER_TYPED, "The next answer is bound by a schema.";
    AnswerContinued(AnswerContinuedNotice) = ANSWER_CONTINUED, "A truncated answer is continued.";
    RunTakenOver(RunTakenOverNotice) = RUN_TAKEN_OVER, "Another node of the service goes on with the run.";
    Steered(SteeredNotice) = STEERED, "A message was delivered to the active run.";
    Undelivered(UndeliveredNotice) = UNDELIVERED, "Messages could no longer be delivered.";
    BudgetUnmeasured(BudgetUnmeasuredNotice) = BUDGET_UNMEASURED, "A limit of the budget cannot be measured.";
    ToolSource(ToolSourceNotice) = TOOL_SOURCE, "A source reports about its tools.";
    SubAgent(Box<SubAgentEvent>) = SUB_AGENT, "An event of a sub-agent.";
    Degraded(DegradedNotice) = DEGRADED, "The provider's protocol leaves out parts of the request.";
    IgnoredChoices(IgnoredChoicesNotice) = IGNORED_CHOICES, "The response has further answers, which are not read.";
}

impl From<Notice> for AgentEvent {
    fn from(notice: Notice) -> Self {
        Self::Custom(CustomEvent::new(notice.name(), notice.data()))
    }
}

/// Returns the data on the wire; `null` for data that JSON cannot hold, which no notice has.
fn to_data(notice: &impl Serialize) -> Value {
    serde_json::to_value(notice).unwrap_or_default()
}
