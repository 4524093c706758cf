//! Runs whose answer is a typed value.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::{agent::Agent, conversation::Conversation};
use crate::run::{OutcomeKind, RunError, RunInput, RunOutcome};
use forgeline_json::locate_mismatch;
use forgeline_llm::AnswerSchema;
use forgeline_types::{AgentError, ErrorCode};

/// The outcome of a run whose answer is a typed value.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TypedOutcome<T> {
    /// The answer.
    pub value: T,
    /// The outcome of the run; its text is the JSON of the answer.
    pub outcome: RunOutcome,
}

impl Conversation {
    /// Runs `input` to its end and returns the answer as a `T`: the model first works with its tools, turn by turn, and then gives one answer that is
    /// bound by the schema of `T`. An agent without tools is called once.
    ///
    /// The bound answer is a turn of its own: it counts, can be cancelled, and is requested again if the run is [resumed](Self::resume), whose outcome
    /// [`RunOutcome::value`] reads. To observe the value while it streams, pass [`RunInput::answer`] to [`run_stream`](Self::run_stream).
    ///
    /// # Errors
    ///
    /// The same as for [`run`](Self::run), and [`ErrorCode::InvalidAnswer`] if the answer is not a `T`, or the run ended with a question or a refusal. The text
    /// of the error's outcome is the model's answer.
    ///
    /// # Cancel safety
    ///
    /// The same as for [`run`](Self::run).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use forgeline::{
    ///     agent::{DefaultAgent, tools::Calculator},
    ///     testing::{ScriptedProvider, ScriptedTurn},
    /// };
    /// use serde_json::json;
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Bill {
    ///     total: u32,
    /// }
    ///
    /// let provider = ScriptedProvider::new([
    ///     ScriptedTurn::new().call("calculator", json!({ "expression": "6 * 7" })),
    ///     ScriptedTurn::new().text("It is 42."),
    ///     ScriptedTurn::new().json(json!({ "total": 42 })),
    /// ]);
    /// let agent = DefaultAgent::builder(provider).tool(Calculator).build()?;
    /// let bill = agent.run_typed::<Bill>("What do six of seven cost?").await?;
    /// assert_eq!((bill.value.total, bill.outcome.turns), (42, 3));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn run_typed<T: JsonSchema + DeserializeOwned>(
        &self,
        input: impl Into<RunInput>,
    ) -> Result<TypedOutcome<T>, RunError> {
        let outcome = self.run(input.into().answer(AnswerSchema::of::<T>())).await?;
        match outcome.value() {
            Ok(value) => Ok(TypedOutcome { value, outcome }),
            Err(error) => Err(RunError { error, outcome: Box::new(outcome) }),
        }
    }
}

impl Agent {
    /// Runs `input` to its end and returns the answer as a `T`; see [`Conversation::run_typed`] and [`run`](Self::run).
    ///
    /// # Errors
    ///
    /// The same as for [`Conversation::run_typed`] and [`run`](Self::run).
    ///
    /// # Cancel safety
    ///
    /// The same as for [`Conversation::run`].
    pub async fn run_typed<T: JsonSchema + DeserializeOwned>(
        &self,
        input: impl Into<RunInput>,
    ) -> Result<TypedOutcome<T>, RunError> {
        let (conversation, input) = self.conversation_of(input.into());
        conversation.run_typed(input).await
    }
}

impl RunOutcome {
    /// Parses the answer of a run that was [bound](RunInput::answer) to the schema of `T`.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorCode::InvalidAnswer`], with the actual answer, if the answer is not a `T`.
    pub fn value<T: DeserializeOwned>(&self) -> Result<T, AgentError> {
        let unlike = |problem: String| {
            AgentError::new(
                ErrorCode::InvalidAnswer,
                format!("the answer is not the requested value: {problem}"),
            )
        };
        if let OutcomeKind::QuestionAsked { question, .. } = &self.reason {
            return Err(unlike(format!("the model asks the user: {question}")));
        }
        serde_json::from_str(&self.text)
            .map_err(|error| unlike(locate_mismatch(&self.text, &error)))
    }
}
