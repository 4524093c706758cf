//! The payload grammars that users can choose.

use crate::{
    builder::description::{CallGrammar, MarkupRules, TextRules},
    grammar::{HeaderStyle, JsonShape, Tags},
};

/// The grammar of the payload between the markers of a call.
///
/// With every grammar, the arguments stream as JSON, whatever the model wrote, and mistakes with only one
/// sensible interpretation are repaired and reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PayloadGrammar {
    /// One JSON object with a name and arguments, such as `{"name":…,"arguments":{…}}`, or an array
    /// of them; the keys may also be `tool_name`, `tool`, `function` and `args`, `parameters`,
    /// `input`.
    Json,
    /// An array of objects whose only key is the name: `[{"NAME":{…arguments…}}]`.
    KeyedJson,
    /// The name, then the separator, then the arguments as one JSON object.
    #[non_exhaustive]
    NameThenJson {
        /// The text between the two; not empty. Whitespace around the name is not part of it.
        separator: &'static str,
    },
    /// A function and its parameters in tags, each of at most 96 bytes.
    ///
    /// A closer of the call inside a value is data if the tag that ends the value
    /// ends with `>`; with other tags, such a call is malformed.
    Tags(Tags),
    /// `call:NAME{key:value,…}`, with unquoted numbers and booleans.
    #[non_exhaustive]
    CallSyntax {
        /// The text on both sides of a string: 2 to 96 bytes of ASCII, the first of which is one
        /// of `<>|@$%^&=!?*;` and does not occur again.
        quote: &'static str,
    },
    /// Calls as Python writes them: `[name(key="value")]`, or without the brackets.
    Python,
    /// The form that Forge asks models to use: JSON as in [`Json`](Self::Json), or XML with `<tool_name>`
    /// and `<arguments>`.
    Forge,
}

impl PayloadGrammar {
    /// Creates the grammar of a name, this separator, and the arguments as JSON.
    #[inline]
    #[must_use]
    pub const fn name_then_json(separator: &'static str) -> Self {
        Self::NameThenJson { separator }
    }

    /// Creates the grammar of a call like that of a function, with strings in this quote.
    #[inline]
    #[must_use]
    pub const fn call_syntax(quote: &'static str) -> Self {
        Self::CallSyntax { quote }
    }
}

impl PayloadGrammar {
    /// Returns the grammar in the parser's own form.
    pub(crate) const fn grammar(self) -> CallGrammar {
        match self {
            Self::Json => CallGrammar::JSON,
            Self::KeyedJson => CallGrammar::json(JsonShape::Keyed),
            Self::NameThenJson { separator } => {
                CallGrammar::text(TextRules::Named(HeaderStyle::before(separator)))
            }
            Self::Tags(tags) if tags.function.is_empty() => {
                CallGrammar::text(TextRules::Tags(tags))
            }
            Self::Tags(tags) => CallGrammar::tags(tags),
            Self::CallSyntax { quote } => CallGrammar::text(TextRules::Syntax { quote }),
            Self::Python => CallGrammar::text(TextRules::Python),
            Self::Forge => CallGrammar::JSON.or_markup(MarkupRules::Forge),
        }
    }

    /// Returns the grammar of a call without a closer.
    pub(super) const fn ending_itself(self) -> Self {
        if let Self::Tags(tags) = self { Self::Tags(tags.ends_itself()) } else { self }
    }
}
