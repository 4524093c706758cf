//! The schema of an answer, and the request that asks for it.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ProviderError, Request, ResponseFormat, SchemaRules, Thinking, ToolChoice, ToolSpec};
use forgeline_types::{ModelInfo, Text, setters};

/// The JSON schema of an answer.
///
/// # Examples
///
/// ```
/// use forgeline::llm::AnswerSchema;
/// use serde_json::json;
///
/// let schema = AnswerSchema::new(json!({
///     "type": "object",
///     "properties": { "city": { "type": "string" } },
///     "required": ["city"],
///     "additionalProperties": false,
/// }));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "what is asked for, and where it comes from")]
pub struct AnswerSchema {
    pub(crate) name: Text,
    pub(crate) schema: Value,
    strict: bool,
    method: Option<StructuredMethod>,
    /// `true` if the answer is read into the type that the schema was made from.
    is_of_type: bool,
    pub(crate) answer_repairs: u32,
}

/// The method that binds an answer to a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StructuredMethod {
    /// The provider enforces the schema.
    Native,
    /// The model must call a tool whose arguments are the answer. The request's own tools are not
    /// offered in that turn: run them in earlier turns.
    ForcedTool,
    /// The prompt asks for the format; nothing enforces it.
    Prompt,
}

impl AnswerSchema {
    /// Creates the schema of answers under the name `structured_response`, strictly enforced.
    ///
    /// The schema is sent unchanged: a feature that the provider does not honor is an error.
    #[must_use]
    pub fn new(schema: Value) -> Self {
        let name = Text::from("structured_response");
        Self { name, schema, strict: true, method: None, is_of_type: false, answer_repairs: 1 }
    }

    /// Creates the schema of answers that can be read as a `T`. The schema is adapted to what the
    /// provider honors; reading the answer checks the rest.
    #[must_use]
    pub fn of<T: JsonSchema>() -> Self {
        Self { is_of_type: true, ..Self::new(schema_of::<T>()) }
    }

    setters! {
        AnswerSchema:
        /// Sets the name that the provider sees.
        name(into Text),
        /// Sets whether the provider must enforce the schema. Default: `true`.
        strict(bool),
        /// Sets the method that binds the answer to the schema. Default: native if the provider can enforce it,
        /// otherwise a forced tool, otherwise the prompt.
        method(some StructuredMethod),
        /// Sets how often a model is asked again for an answer that does not match; it reads why. An agent has
        /// a limit of its own, `AgentConfig::answer_repairs`. Default: 1.
        answer_repairs(u32),
    }

    /// Returns the method to use with `model`.
    pub(crate) fn method_for(&self, model: &ModelInfo) -> StructuredMethod {
        let able = model.capabilities;
        self.method.unwrap_or(if able.structured_output {
            StructuredMethod::Native
        } else if able.tools {
            StructuredMethod::ForcedTool
        } else {
            StructuredMethod::Prompt
        })
    }

    /// Returns `true` if an answer may have a top-level member `input`.
    pub(crate) fn may_have_input(&self) -> bool {
        let properties = self.schema.get("properties");
        properties.is_none_or(|properties| properties.get("input").is_some())
    }

    /// Returns the request for an answer that matches the schema, and the method used.
    ///
    /// # Errors
    ///
    /// [`ProviderError::SchemaUnsupported`] if the provider does not honor a feature of the schema.
    pub(crate) fn apply(
        self,
        mut request: Request,
        model: &ModelInfo,
        rules: SchemaRules,
    ) -> Result<(Request, StructuredMethod), ProviderError> {
        let method = self.method_for(model);
        let is_bound = method == StructuredMethod::Native && self.strict;
        let schema =
            if self.is_of_type && is_bound { rules.adapt(self.schema) } else { self.schema };
        if is_bound {
            rules.check(&schema)?;
        }
        match method {
            StructuredMethod::Native => {
                let (name, strict) = (self.name, self.strict);
                request.response_format = Some(ResponseFormat::JsonSchema { name, schema, strict });
            }
            StructuredMethod::ForcedTool => {
                let description =
                    "Takes the answer. Call it once, with the whole answer as its arguments.";
                request.tools = vec![ToolSpec::new(self.name.clone(), description, schema)].into();
                request.tool_choice = Some(ToolChoice::Tool(self.name));
                // Other providers cannot express this; a second call is ignored.
                let can_say_one = ["openai", "openai-responses", "anthropic"];
                if can_say_one.contains(&model.provider.as_str()) {
                    request.parallel_tool_calls = Some(false);
                }
                // A model that must call a tool cannot think first.
                if request.thinking.is_some() {
                    request.thinking = Some(Thinking::Off);
                    request.reasoning_effort = None;
                }
            }
            StructuredMethod::Prompt => {
                let instruction = format!(
                    "Answer with one JSON value that obeys the JSON Schema below. Write nothing before or \
                     after it, and no code fence around it.\n\n{schema}"
                );
                request.system = Some(match request.system {
                    Some(system) => format!("{instruction}\n\n{system}").into(),
                    None => instruction.into(),
                });
            }
        }
        Ok((request, method))
    }
}

/// Returns the JSON schema of `A`, with subschemas inlined and without titles, which are of no use to a
/// model.
pub fn schema_of<A: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<A>().to_value();
    if let Value::Object(fields) = &mut schema {
        fields.shift_remove("title");
    }
    schema
}
