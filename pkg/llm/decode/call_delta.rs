//! Deltas of calls, as Chat Completions has them.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::lax_json::{Line, Number, Object, arguments};
use crate::types::Text;

/// One call, or a part of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::llm) struct CallDelta {
    pub(in crate::llm) index: Number,
    pub(in crate::llm) id: Line,
    pub(in crate::llm) function: Object<FunctionDelta>,
    pub(in crate::llm) custom: Object<CustomDelta>,
    /// Google's; its signature goes back with the call.
    pub(in crate::llm) extra_content: Option<Box<RawValue>>,
    /// `LiteLLM`'s place for the same.
    pub(in crate::llm) provider_specific_fields: Option<Box<RawValue>>,
}

impl CallDelta {
    /// Converts the single call of the API's first form.
    pub(in crate::llm) fn legacy(function: FunctionDelta) -> Self {
        let function = Object(Some(function));
        Self { index: Number(Some(0)), function, ..Self::default() }
    }
}

/// The name and a piece of the arguments.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::llm) struct FunctionDelta {
    pub(in crate::llm) name: Line,
    pub(in crate::llm) arguments: Arguments,
}

/// The name and a piece of the text of a call whose arguments are a text.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::llm) struct CustomDelta {
    pub(in crate::llm) name: Line,
    pub(in crate::llm) input: Line,
}

/// The arguments of a call: a text, or the JSON text of an object.
#[derive(Debug, Default)]
pub(in crate::llm) struct Arguments(pub(in crate::llm) Text);

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw: &RawValue = Deserialize::deserialize(deserializer)?;
        Ok(Self(arguments(Some(raw))))
    }
}
