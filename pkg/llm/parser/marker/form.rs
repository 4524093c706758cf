//! The forms of markers: how strictly their text is compared, and the text between it and their end.

use crate::ahead::{
    found::MarkerMatch,
    shape::{
        ChannelHeader, check_ahead, check_any_tag, check_attributes, check_blanks, check_header,
        check_name, check_numbers, check_suffix,
    },
};
use forgeline_json::subslice;

/// The strictness of comparing the text, and the text that may follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkerForm {
    /// Exactly the text.
    Exact,
    /// Exactly the text, if an object or an array of objects follows, which is not part of the marker.
    BeforeList,
    /// The text in any ASCII case, then whitespace, then `>`.
    Tag,
    /// A tag with a suffix, such as `:x` in `<tag:x>`; it may be optional.
    SuffixedTag { is_optional: bool },
    /// A tag with `name="value"` pairs before the `>`.
    TagWithAttributes,
    /// A tag with nothing or a colon and lists of numbers before the `>`.
    NumberedTag,
    /// Exactly the text, then whitespace, then any tag.
    BeforeTag,
    /// Exactly the text, then a name, if a curly bracket follows.
    Call,
    /// Exactly the text, then a header that ends with `end`.
    Header { end: &'static str, kind: ChannelHeader },
}

impl MarkerForm {
    /// Returns `true` for the text of a tag, in any case.
    pub(super) fn is_tag(self) -> bool {
        match self {
            Self::Tag | Self::TagWithAttributes | Self::SuffixedTag { .. } | Self::NumberedTag => {
                true
            }
            Self::Exact | Self::BeforeList | Self::BeforeTag | Self::Call | Self::Header { .. } => {
                false
            }
        }
    }

    /// Checks that `text` begins with `literal`, the text of a marker of this form.
    #[inline]
    pub(super) fn check_text(self, literal: &str, text: &[u8]) -> MarkerMatch {
        let length = literal.len().min(text.len());
        let (front, same) = (subslice(text, ..length), subslice(literal.as_bytes(), ..length));
        if front != same && !(self.is_tag() && front.eq_ignore_ascii_case(same)) {
            MarkerMatch::No
        } else if length < literal.len() {
            MarkerMatch::Maybe
        } else {
            MarkerMatch::Yes(length)
        }
    }

    /// Checks the text after that of the marker, up to the marker's end.
    pub(super) fn check_rest(self, rest: &[u8]) -> MarkerMatch {
        match self {
            Self::Exact => MarkerMatch::Yes(0),
            Self::BeforeList => match rest.first() {
                None => MarkerMatch::Maybe,
                Some(first @ (b'[' | b'{')) => {
                    let next = if *first == b'[' { b"{" } else { b"\"" };
                    check_ahead(rest, 1, next).and_then(|_| MarkerMatch::Yes(0))
                }
                Some(_) => MarkerMatch::No,
            },
            Self::Tag => check_blanks(rest),
            Self::SuffixedTag { is_optional: false } if rest.is_empty() => MarkerMatch::Maybe,
            Self::SuffixedTag { is_optional: false } if rest.first() != Some(&b':') => {
                MarkerMatch::No
            }
            Self::SuffixedTag { .. } => check_suffix(rest),
            Self::TagWithAttributes => check_attributes(rest),
            Self::NumberedTag => check_numbers(rest),
            Self::BeforeTag => check_any_tag(rest),
            Self::Call => check_name(rest, b"{").and_then(|end| MarkerMatch::Yes(end - 1)),
            Self::Header { end, kind } => check_header(rest, end, kind),
        }
    }
}
