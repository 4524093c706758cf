//! The reasons why a tool is left out.

/// The reason why a schema cannot be sent to a provider.
///
/// # Examples
///
/// ```
/// use forgeline::llm::ToolSchemaRules;
/// use serde_json::json;
///
/// let error = ToolSchemaRules::OPENAI.fit(&json!({ "type": "string" })).unwrap_err();
/// assert_eq!(error.to_string(), "does not describe an object; arguments must be an object");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnfitSchema {
    /// The value is not a schema.
    #[error("is not a JSON Schema but {0}; give an object")]
    NoSchema(&'static str),
    /// The schema allows no object.
    #[error("does not describe an object; arguments must be an object")]
    NoObject,
    /// A required argument has a name that is not accepted.
    #[error(
        "requires the argument `{0}`, but names may have at most 64 letters, digits, `_`, `.` and `-`"
    )]
    Name(String),
    /// The schema is nested too deeply.
    #[error("is deeper than {0} levels; flatten it")]
    TooDeep(usize),
    /// The schema is too large once its references are inlined.
    #[error(
        "has more than {0} parts once its references are written out; shorten it, or refer to fewer definitions"
    )]
    TooLarge(usize),
}
