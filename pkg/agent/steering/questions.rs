//! Answers to questions of tools, from outside a run.

use std::{fmt, sync::Arc};

use super::{
    open_requests::OpenRequests,
    request_kind::RequestKind,
    requests::Requests,
    session_control::SessionControl,
    steering_handle::{QueuedKind, Steering, SteeringQueue},
};
use crate::tools::{ToolError, form::complete_form};
use forgeline_types::{AgentError, Text, ToolAnswer, ToolQuestion};

/// A handle that answers the questions of running tools, for a run or a started agent. Clones answer the same questions. See
/// [`RunStream::questions`](crate::RunStream::questions) and [`AgentChannels::questions`](crate::channels::AgentChannels).
///
/// A question is an [event](forgeline_types::AgentEvent::ToolQuestion), and is answered once by its id. An answer that does not fit the form is an error that
/// names the field, and the question stays open. An answer after the time limit, a second answer, and an answer for another run are errors and change
/// nothing.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::{Agent, tools::{Question, ToolContext, tool_fn}},
///     testing::{ScriptedProvider, ScriptedTurn},
///     types::{AgentEvent, Json, ToolAnswer},
/// };
/// use serde_json::json;
///
/// let book = tool_fn("book", "Books a seat.", async |context: ToolContext, (): ()| {
///     let schema = json!({
///         "type": "object",
///         "properties": { "seat": { "type": "string", "maxLength": 3 }, "meal": { "type": "boolean", "default": false } },
///         "required": ["seat"],
///     });
///     match context.ask(Question::form("Which seat?", schema)).await {
///         ToolAnswer::Accept { content, .. } => content.as_str().to_owned(),
///         _ => "no seat was chosen".to_owned(),
///     }
/// });
/// let turn = ScriptedTurn::new().call("book", json!({}));
/// let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("Booked.")]);
/// let mut stream = Agent::builder(provider).tool(book).build()?.run_stream("Book it.");
/// let questions = stream.questions();
/// while let Some(envelope) = stream.next().await {
///     if let AgentEvent::ToolQuestion(question) = envelope.event {
///         let answer = |text| Json::parse(text).map(|content| ToolAnswer::accept(content));
///         let wrong = questions.answer(&question.question_id, answer(r#"{"seat":"window"}"#)?);
///         assert_eq!(wrong.unwrap_err().message, "the answer does not fit: `seat` must have at most 3 characters");
///         questions.answer(&question.question_id, answer(r#"{"seat":"12A"}"#)?)?;
///     }
/// }
/// let outcome = stream.outcome().await?;
/// let result = outcome.messages[2].tool_results().next().unwrap();
/// assert_eq!(result.content, r#"{"seat":"12A","meal":false}"#);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Questions(Requests<ToolQuestion>);

impl Questions {
    pub(crate) fn of_run(steering: Steering) -> Self {
        Self(Requests::of_run(steering))
    }

    pub(crate) fn of_agent(control: Arc<SessionControl>) -> Self {
        Self(Requests::of_agent(control))
    }

    /// Answers a question. Fields missing from the answer get their defaults.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorCode::InvalidInput`](forgeline_types::ErrorCode::InvalidInput) if the answer does not fit the form (the question stays open), or if there is no such question: it was
    /// answered, withdrawn, or never asked. Returns [`ErrorCode::Shutdown`](forgeline_types::ErrorCode::Shutdown) if the agent has ended.
    pub fn answer(&self, question_id: &str, answer: ToolAnswer) -> Result<(), AgentError> {
        self.0.answer(question_id, answer)
    }

    /// Checks that an answer fits an open question, without answering it.
    #[doc(hidden)]
    pub fn check(&self, question_id: &str, answer: &ToolAnswer) -> Result<(), AgentError> {
        self.0.check(question_id, answer)
    }

    /// Returns the open questions, in the order in which they were asked.
    #[must_use]
    pub fn open(&self) -> Vec<ToolQuestion> {
        self.0.open()
    }
}

impl RequestKind for ToolQuestion {
    type Answer = ToolAnswer;

    const UNFIT: &'static str = "the answer does not fit";

    fn request_id(&self) -> &Text {
        &self.question_id
    }

    fn not_open(id: &str) -> String {
        format!("no question `{id}` is open: it was answered or withdrawn, or there was none")
    }

    fn complete(&self, answer: ToolAnswer) -> Result<ToolAnswer, ToolError> {
        complete_form(self.schema.as_ref(), answer)
    }

    fn refusal() -> ToolAnswer {
        ToolAnswer::Cancel
    }
}

impl QueuedKind for ToolQuestion {
    fn of_queue(queue: &SteeringQueue) -> &OpenRequests<Self> {
        &queue.questions
    }

    fn of_queue_mut(queue: &mut SteeringQueue) -> &mut OpenRequests<Self> {
        &mut queue.questions
    }
}

impl fmt::Debug for Questions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Questions").finish_non_exhaustive()
    }
}
