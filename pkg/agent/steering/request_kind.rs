//! The kinds of requests that a run makes and that are answered from outside it.

use super::answer_gate::AnswerGate;
use crate::tools::ToolError;
use forgeline_types::Text;

/// A request of a run, answered once by its id.
pub(crate) trait RequestKind: Clone {
    /// The answer to a request.
    type Answer: Clone;

    /// The message about an answer that does not fit, before the problem.
    const UNFIT: &'static str;

    /// Returns the id of the request.
    fn request_id(&self) -> &Text;

    /// Returns the message about an id under which no request is open.
    fn not_open(id: &str) -> String;

    /// Checks an answer by the rules for the tool of the request.
    ///
    /// # Errors
    ///
    /// Returns an error for the first problem of the answer.
    fn check(gate: &AnswerGate, answer: &Self::Answer) -> Result<(), ToolError> {
        let _ = (gate, answer);
        Ok(())
    }

    /// Returns the answer as the run receives it.
    ///
    /// # Errors
    ///
    /// Returns an error for the first problem of the answer.
    fn complete(&self, answer: Self::Answer) -> Result<Self::Answer, ToolError> {
        Ok(answer)
    }

    /// Returns the answer to a request that is refused because the user has left.
    fn refusal() -> Self::Answer;
}
