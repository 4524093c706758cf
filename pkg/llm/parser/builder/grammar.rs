//! What may stand between the markers of a call, as users choose it.

use super::{check::MAX_MARKER_BYTES, error::DialectError};
use crate::llm::parser::{
    description::{Grammar, JsonShape, Markup, Textual},
    grammar::HeaderStyle,
    grammar::Tags,
};

/// What stands between the markers of a call.
///
/// In each of them the arguments stream as JSON, whatever the model wrote, and mistakes that have one
/// sensible reading are mended and named.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "a few of them are made, once a dialect")]
pub enum PayloadGrammar {
    /// One JSON object with a name and arguments, such as `{"name":…,"arguments":{…}}`, or an array
    /// of such; the keys may be `tool_name`, `tool`, `function` and `args`, `parameters`, `input`
    /// too.
    Json,
    /// An array of objects whose one key is the name: `[{"NAME":{…arguments…}}]`.
    KeyedJson,
    /// The name, then the separator, then the arguments as one JSON object.
    NameThenJson {
        /// What stands between the two; not empty. Blanks around the name are no part of it.
        separator: &'static str,
    },
    /// A function and its parameters in tags, each of at most 96 bytes.
    ///
    /// A closer of the call that stands inside a value is data when the tag that ends the value
    /// ends with `>`; with other tags such a call is malformed.
    Tags(Tags),
    /// `call:NAME{key:value,…}`, with bare numbers and truth values.
    CallSyntax {
        /// What stands on both sides of a string: ASCII of 2 to 96 bytes, the first of which is one
        /// of `<>|@$%^&=!?*;` and does not come again.
        quote: &'static str,
    },
    /// Calls as Python writes them: `[name(key="value")]`, or without the brackets.
    Python,
    /// What Forge asks of models: JSON as [`Json`](Self::Json), or XML with `<tool_name>` and
    /// `<arguments>`.
    Forge,
}

impl PayloadGrammar {
    /// The grammar of what `opener` opens, where no closer follows if `ends_itself`.
    pub(super) fn checked(self, opener: &str, ends_itself: bool) -> Result<Grammar, DialectError> {
        if let Some(part) = self.lacks() {
            return Err(DialectError::Part { opener: opener.to_owned(), part });
        }
        if ends_itself && !self.can_end_itself() {
            return Err(DialectError::NoEnd { opener: opener.to_owned() });
        }
        Ok(match self {
            Self::Json => Grammar::JSON,
            Self::KeyedJson => Grammar { json: Some(JsonShape::Keyed), ..Grammar::NONE },
            Self::NameThenJson { separator } => {
                Grammar::text(Textual::Named(HeaderStyle::before(separator)))
            }
            Self::Tags(tags) => {
                let tags = if ends_itself { tags.ends_itself() } else { tags };
                let is_named_by_text = tags.function.is_empty();
                if is_named_by_text {
                    Grammar::text(Textual::Tags(tags))
                } else {
                    Grammar::tags(tags)
                }
            }
            Self::CallSyntax { quote } => Grammar::text(Textual::Syntax { quote }),
            Self::Python => Grammar::text(Textual::Python),
            Self::Forge => Grammar { markup: Some(Markup::Forge), ..Grammar::JSON },
        })
    }

    /// Whether brackets structure the payload.
    pub(super) fn has_brackets(&self) -> bool {
        !matches!(self, Self::Tags(_))
    }

    /// What a payload may end with.
    pub(super) fn ends(&self) -> [&str; 2] {
        match self {
            Self::Json | Self::NameThenJson { .. } | Self::KeyedJson => ["}", "]"],
            Self::CallSyntax { .. } => ["}", "}"],
            Self::Python => [")", "]"],
            Self::Forge => ["}", ">"],
            Self::Tags(tags) => [tags.function_end, tags.parameter_end],
        }
    }

    /// Whether the grammar says where a call ends.
    fn can_end_itself(&self) -> bool {
        match self {
            Self::Json | Self::KeyedJson | Self::NameThenJson { .. } | Self::Python => true,
            Self::Tags(tags) => !tags.function.is_empty() && !tags.function_end.is_empty(),
            Self::CallSyntax { .. } | Self::Forge => false,
        }
    }

    /// The part that is not there, or cannot be used.
    fn lacks(&self) -> Option<&'static str> {
        match self {
            Self::NameThenJson { separator } => separator.is_empty().then_some("separator"),
            Self::CallSyntax { quote } => (!is_quote(quote)).then_some("quote that can be told"),
            Self::Tags(tags) => missing_tag(tags),
            Self::Json | Self::KeyedJson | Self::Python | Self::Forge => None,
        }
    }
}

/// Whether text between such quotes is read with one look ahead, and never taken for JSON.
fn is_quote(quote: &str) -> bool {
    let Some((first, rest)) = quote.as_bytes().split_first() else { return false };
    let has_length = (2..=MAX_MARKER_BYTES).contains(&quote.len());
    has_length && quote.is_ascii() && b"<>|@$%^&=!?*;".contains(first) && !rest.contains(first)
}

fn missing_tag(tags: &Tags) -> Option<&'static str> {
    let named_in_tag = !tags.function.is_empty() || tags.key_end.is_empty();
    let is_long = tags.all().any(|tag| tag.len() > MAX_MARKER_BYTES);
    [
        (is_long, "tags of at most 96 bytes"),
        (tags.parameter.is_empty(), "start of a parameter"),
        (tags.parameter_end.is_empty(), "end of a value"),
        (named_in_tag && tags.tag_end.is_empty(), "end of a tag"),
        (tags.kind[0].is_empty() != tags.kind[1].is_empty(), "both tags around a type"),
        (tags.object[0].is_empty() != tags.object[1].is_empty(), "both tags around an object"),
    ]
    .into_iter()
    .find_map(|(is_missing, part)| is_missing.then_some(part))
}
