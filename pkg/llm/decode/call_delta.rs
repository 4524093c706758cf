//! Deltas of calls, as in Chat Completions.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{
    JsonEntries,
    lax_json::{LaxNumber, LaxObject, LaxText, LaxWord, arguments},
    wire_struct::{by_filling, in_place},
};
use forgeline_types::Text;

/// One call, or a part of one.
#[derive(Debug, Default)]
pub(crate) struct CallDelta<'a> {
    pub(crate) index: LaxNumber,
    pub(crate) id: LaxText,
    pub(crate) kind: LaxWord<'a>,
    pub(crate) function: LaxObject<FunctionDelta<'a>>,
    pub(crate) custom: LaxObject<CustomDelta>,
    /// Google's member for the signature, which is sent back with the call.
    pub(crate) extra_content: Option<&'a RawValue>,
    /// `LiteLLM`'s member for the same.
    pub(crate) provider_specific_fields: Option<&'a RawValue>,
    /// All other members.
    pub(crate) rest: JsonEntries<'a>,
}

in_place! { CallDelta<'a> as call, map, ignoring [bool number null string seq];
    Index => call.index = map.next_value()?,
    Id => call.id = map.next_value()?,
    Type => call.kind = map.next_value()?,
    Function => call.function = map.next_value()?,
    Custom => call.custom = map.next_value()?,
    ExtraContent => call.extra_content = map.next_value()?,
    ProviderSpecificFields => call.provider_specific_fields = map.next_value()?,
    ; else name => call.rest.push(name.0, map.next_value()?)
}

by_filling!(CallDelta);

impl<'a> CallDelta<'a> {
    /// Converts the single function call of the API's original form.
    pub(crate) fn legacy(function: FunctionDelta<'a>) -> Self {
        let function = LaxObject(Some(function));
        Self { index: LaxNumber(Some(0)), function, ..Self::default() }
    }

    /// Returns `true` for a call of a kind that is not for the agent, without the members of one.
    pub(crate) fn is_foreign(&self) -> bool {
        self.function.0.is_none()
            && self.custom.0.is_none()
            && !matches!(&*self.kind.0, "" | "function" | "custom")
    }
}

/// The name and a piece of the arguments.
#[derive(Debug, Default)]
pub(crate) struct FunctionDelta<'a> {
    pub(crate) name: LaxText,
    pub(crate) arguments: CallArguments,
    /// All other members.
    pub(crate) rest: JsonEntries<'a>,
}

in_place! { FunctionDelta<'a> as function, map, ignoring [bool number null string seq];
    Name => function.name = map.next_value()?,
    Arguments => function.arguments = map.next_value()?,
    ; else name => function.rest.push(name.0, map.next_value()?)
}

by_filling!(FunctionDelta);

/// The name and a piece of the input of a call whose arguments are plain text.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CustomDelta {
    pub(crate) name: LaxText,
    pub(crate) input: LaxText,
}

/// The arguments of a call: a string, or the JSON text of an object.
#[derive(Debug, Default)]
pub(crate) struct CallArguments(pub(crate) Text);

impl<'de> Deserialize<'de> for CallArguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw: &RawValue = Deserialize::deserialize(deserializer)?;
        Ok(Self(arguments(Some(raw.get()))))
    }
}
