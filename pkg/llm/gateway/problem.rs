//! Problems of requests.

use std::fmt;

use serde_json::json;

/// The greatest length of a text in a problem, in bytes: a request may have any text, and its problem quotes it.
const MAX_BYTES: usize = 1024;

/// The reason why a request cannot be read: a place, what was found, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestProblem {
    /// The place, such as `messages[2].content`; empty for the whole body.
    pub place: String,
    /// The difference, such as `expected a text or a list of parts, found a number`.
    pub problem: String,
}

impl fmt::Display for RequestProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.place.is_empty() { "the body" } else { &self.place };
        write!(formatter, "{place}: {}", self.problem)
    }
}

impl std::error::Error for RequestProblem {}

impl RequestProblem {
    /// Creates a problem, such as of a server that does not have the model; an empty place is the whole body.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::llm::gateway::RequestProblem;
    ///
    /// let problem = RequestProblem::new("model", "the model \"large\" is not served here");
    /// assert!(problem.to_body().contains(r#""param":"model""#));
    /// ```
    #[must_use]
    pub fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { place: short(place.into()), problem: short(problem.into()) }
    }

    /// Returns the body of the response with which Chat Completions and Responses refuse the request; its status is 400, or 404 for a model that does
    /// not exist. [`AnswerWriter::refusal`](super::AnswerWriter::refusal) has that of any protocol.
    #[must_use]
    pub fn to_body(&self) -> String {
        let param = (!self.place.is_empty()).then_some(&self.place);
        let kind = "invalid_request_error";
        json!({ "error": { "message": self.to_string(), "type": kind, "param": param, "code": null } })
            .to_string()
    }

    /// Returns the problem with its place inside another one.
    pub(crate) fn in_place(self, outer: &str) -> Self {
        let place = if self.place.is_empty() {
            outer.to_owned()
        } else {
            format!("{outer}.{}", self.place)
        };
        Self { place, ..self }
    }
}

/// Returns the text, cut if it is long.
fn short(mut text: String) -> String {
    if text.len() > MAX_BYTES {
        text.truncate(text.floor_char_boundary(MAX_BYTES));
        text.push('…');
    }
    text
}
