//! The answer as a typed value.

use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, value::RawValue};

use crate::{AnswerSchema, ProviderError, StructuredMethod};
use forgeline_json::{locate_mismatch, slice};
use forgeline_types::{Completion, FinishReason, Json, Repair, Text};

/// An answer bound to a schema.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Structured<T> {
    /// The answer.
    pub value: T,
    /// The answer's JSON as the model wrote it, with its order of keys and spelling of numbers.
    pub json: Json,
    /// The method that bound the answer to the schema.
    pub method: StructuredMethod,
    /// The repairs needed to find the answer: [`Repair::RecoveredFromThinking`] if a server sent
    /// it as reasoning, [`Repair::TrailingText`] if there was text around it.
    pub repairs: Vec<Repair>,
    /// The completion, with usage, reasoning and finish reason.
    pub completion: Completion,
}

impl<T: DeserializeOwned> Structured<T> {
    /// Reads the answer from a completion.
    ///
    /// # Errors
    ///
    /// [`ProviderError::InvalidAnswer`], with the completion, if the answer is empty, truncated, refused, not JSON, or
    /// not a `T`. Such an error is not retryable by itself.
    pub(super) fn from_completion(
        completion: Completion,
        method: StructuredMethod,
        may_have_input: bool,
    ) -> Result<Self, ProviderError> {
        match read(&completion, method, may_have_input) {
            Ok((value, json, repairs)) => Ok(Self { value, json, method, repairs, completion }),
            Err(problem) => {
                let (problem, completion) = (Text::from(problem), Box::new(completion));
                Err(ProviderError::InvalidAnswer { problem, completion })
            }
        }
    }
}

/// Reads the value of an answer, or returns what is wrong with it.
fn read<T: DeserializeOwned>(
    completion: &Completion,
    method: StructuredMethod,
    may_have_input: bool,
) -> Result<(T, Json, Vec<Repair>), String> {
    if completion.finish_reason == Some(FinishReason::Length) {
        return Err("the answer was truncated at the limit of tokens; raise max_tokens".to_owned());
    }
    if !completion.refusal.is_empty() {
        return Err(format!("the model refused: {}", completion.refusal));
    }
    let json = match method {
        StructuredMethod::ForcedTool => of_call(completion, may_have_input),
        StructuredMethod::Native | StructuredMethod::Prompt => of_text(&completion.text),
    };
    let read = json.and_then(|json| {
        let unlike = |error: serde_json::Error| {
            let problem = locate_mismatch(json.as_str(), &error);
            format!("the answer does not match its schema: {problem}")
        };
        json.read().map_err(unlike).map(|value| (value, json))
    });
    match read {
        Ok((value, json)) => Ok((value, json, Vec::new())),
        Err(problem) => {
            let (json, value, repair) = recovered(completion).ok_or(problem)?;
            Ok((value, json, vec![repair]))
        }
    }
}

impl AnswerSchema {
    /// Reads the answer from a completion that was bound to this schema, by any method.
    ///
    /// # Errors
    ///
    /// The errors of [`Structured::from_completion`].
    #[doc(hidden)]
    pub fn read_answer(&self, completion: Completion) -> Result<Json, ProviderError> {
        // If there is no call, the answer is looked for in the text.
        let method = StructuredMethod::ForcedTool;
        Structured::<IgnoredAny>::from_completion(completion, method, self.may_have_input())
            .map(|it| it.json)
    }

    /// Returns the schema as JSON.
    #[doc(hidden)]
    pub fn as_value(&self) -> &Value {
        &self.schema
    }
}

fn of_text(text: &str) -> Result<Json, String> {
    let text = without_fence(text.trim());
    if text.is_empty() {
        return Err("the answer is empty".to_owned());
    }
    Json::parse(text).map_err(|error| format!("the answer is not JSON: {error}"))
}

/// Returns the content of the code fence, if `text` is one; otherwise `text`.
pub(super) fn without_fence(text: &str) -> &str {
    let inside = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    let inside = inside.and_then(|text| text.split_once('\n')).map(|(_, text)| text.trim());
    inside.unwrap_or(text)
}

/// Maximum number of places in a text at which a value is looked for.
const MAX_STARTS: usize = 256;

/// Finds the answer in the middle of other text, or in the reasoning if there is no text: a server that enforces a
/// schema may mistake the model's answer for reasoning.
fn recovered<T: DeserializeOwned>(completion: &Completion) -> Option<(Json, T, Repair)> {
    let fits = |(_, json): (bool, Json)| Some((json.read().ok()?, json));
    let found = |text: &str, must_be_last: bool| {
        let mut values = values(text);
        values.retain(|(is_last, _)| *is_last || !must_be_last);
        // A value at the end of the text is preferred, then the longest one.
        values.sort_by_key(|(is_last, json)| (!is_last, std::cmp::Reverse(json.as_str().len())));
        values.into_iter().find_map(fits)
    };
    if let Some((value, json)) = found(&completion.text, false) {
        return Some((json, value, Repair::TrailingText));
    }
    let is_silent = completion.text.trim().is_empty();
    let (value, json) = found(&completion.thinking, true).filter(|_| is_silent)?;
    Some((json, value, Repair::RecoveredFromThinking))
}

/// Returns the outermost objects and lists in a text, each with `true` if nothing follows.
fn values(text: &str) -> Vec<(bool, Json)> {
    let (mut values, mut rest) = (Vec::new(), text);
    for _ in 0..MAX_STARTS {
        let Some(start) = rest.find(['{', '[']) else { break };
        rest = slice(rest, start..);
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        match stream.next() {
            Some(Ok(raw)) => {
                rest = slice(rest, raw.get().len()..);
                let is_last = rest.trim().trim_end_matches('`').is_empty();
                values.extend(Json::parse(raw.get()).ok().map(|json| (is_last, json)));
            }
            // The answer was truncated: values inside it are only parts.
            Some(Err(error)) if error.is_eof() => break,
            _ => rest = slice(rest, 1..),
        }
    }
    values
}

fn of_call(completion: &Completion, may_have_input: bool) -> Result<Json, String> {
    let call = completion.tool_calls.iter().find(|call| call.is_complete());
    if let Some(arguments) = call.and_then(|call| call.arguments.clone()) {
        let inner = if may_have_input { None } else { unwrapped(&arguments) };
        return Ok(inner.unwrap_or(arguments));
    }
    // Some models write the arguments as a string that contains JSON.
    let quoted = completion.tool_calls.iter().find_map(|call| {
        let text: String = serde_json::from_str(&call.arguments_raw).ok()?;
        Json::parse(&text).ok()
    });
    // A server that ignores a forced tool may have answered as text.
    quoted.map_or_else(|| of_text(&completion.text), Ok)
}

/// Unwraps the object with a single member `input` into which some models put the answer, some as a string
/// that contains JSON.
fn unwrapped(arguments: &Json) -> Option<Json> {
    let value = arguments.to_value();
    let fields = value.as_object().filter(|fields| fields.len() == 1)?;
    let inner = fields.get("input")?;
    match inner.as_str() {
        Some(text) => Json::parse(text).ok().filter(|json| json.as_str().starts_with(['{', '['])),
        None => (inner.is_object() || inner.is_array()).then(|| Json::from(inner)),
    }
}
