//! The text that must follow an opener: if the payload cannot begin with it, the opener is only
//! mentioned.

use crate::{
    ahead::{
        found::MarkerMatch,
        payload_front::{
            MAX_BYTES, begins_with, begins_with_any, behind_notes, check_bracket, check_json,
            is_name_char, name_bytes, window, yes_if,
        },
    },
    marker::function_tag::FunctionTag,
};
use forgeline_json::subslice;

/// The payloads that may follow an opener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub(crate) struct Lookahead {
    /// `true` if the payload may begin with a curly or square bracket, possibly in a fence.
    pub(crate) json: bool,
    pub(crate) tag: Option<TagLead>,
    pub(crate) bare: Option<BareName>,
    /// `true` after an opener that a person could type, also in source code: the text in a bracket is checked.
    pub(crate) is_typed: bool,
}

/// The beginning of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TagLead {
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// A complete tag of a function, if its parameters may follow.
    Function(FunctionTag),
}

/// The text after a name that is not in a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BareName {
    /// A line end, a tag or a bracket.
    Pairs,
    /// A bracket; the name may itself begin with the opener of the next call.
    Syntax,
    /// A bracket; one may also precede the name.
    Python,
    /// One of these texts, or a bracket.
    Separators([&'static str; 2]),
    /// `>` and a line end, then text or a closer. Tags of words alone would be part of prose.
    Lines,
    /// Anything.
    Open,
}

impl Lookahead {
    /// Adds `texts` that may follow the tag of a function.
    pub(crate) fn before<'a>(mut self, texts: impl Iterator<Item = &'a str>) -> Self {
        if let Some(TagLead::Function(tag)) = &mut self.tag {
            *tag = tag.before(texts);
        }
        self
    }

    /// Checks the text after `opener`; `is_loose` if its case differs from the spelling of models.
    /// Nothing follows a text that `is_last`.
    pub(crate) fn check(
        self,
        opener: &str,
        text: &[u8],
        is_loose: bool,
        is_last: bool,
    ) -> MarkerMatch {
        let (text, is_last) = window(text, is_last);
        let undecided = if is_last { MarkerMatch::Yes(0) } else { MarkerMatch::Maybe };
        let blank = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        if blank > MAX_BYTES {
            return MarkerMatch::Yes(0);
        }
        let rest = subslice(text, blank..);
        let Some(&first) = rest.first() else { return undecided };
        if self.json && matches!(first, b'{' | b'[') {
            let is_strict = is_loose || matches!(text.first(), Some(b' ' | b'\t'));
            return match self.is_typed {
                true if is_strict => check_json(rest, is_last),
                true => check_bracket(rest, is_last),
                false => MarkerMatch::Yes(0),
            };
        }
        if self.json && first == b'`' {
            return begins_with(rest, b"```", is_last);
        }
        let found = match &self.tag {
            // Some models write the opener twice.
            Some(TagLead::Function(tag)) => {
                let found = begins_with_any(rest, &[tag.open(), opener], undecided);
                if self.is_typed {
                    found.and_then(|_| tag.check(rest, true, is_last))
                } else {
                    found
                }
            }
            Some(TagLead::OneOf(fronts)) => match behind_notes(rest) {
                Some(rest) => begins_with_any(rest, fronts, undecided),
                None if is_last => MarkerMatch::No,
                None => MarkerMatch::Maybe,
            },
            None => MarkerMatch::No,
        };
        if found != MarkerMatch::No {
            return found;
        }
        match self.bare {
            None => MarkerMatch::No,
            Some(BareName::Python) if first == b'[' => MarkerMatch::Yes(0),
            Some(bare) => bare.check(subslice(text, ..blank), rest, is_last),
        }
    }
}

/// Checks for the end of a tag and of its line, and the text that must follow it.
fn check_lines(text: &[u8], is_last: bool) -> MarkerMatch {
    let undecided = if is_last { MarkerMatch::No } else { MarkerMatch::Maybe };
    let body = match text {
        [] | [b'>'] | [b'>', b'\r'] => return undecided,
        [b'>', b'\n', body @ ..] | [b'>', b'\r', b'\n', body @ ..] => body.trim_ascii_start(),
        _ => return MarkerMatch::No,
    };
    match body {
        [] if is_last => MarkerMatch::Yes(0),
        _ => check_tags(body, undecided),
    }
}

/// Checks that `text` is not what prose has in place of the text of a call: tags of words, and a closer or words
/// beside them.
fn check_tags(mut text: &[u8], undecided: MarkerMatch) -> MarkerMatch {
    let mut name: &[u8] = b"";
    loop {
        let is_apart = !name.is_empty() && text.starts_with(b" ");
        text = match text.trim_ascii_start() {
            [] | [b'<'] => return undecided,
            [b'<', b'/', end @ ..] if end.starts_with(name) => return MarkerMatch::Yes(0),
            [b'<', b'/', end @ ..] if name.starts_with(end) => return undecided,
            [b'<', b'/' | b'|', ..] => return MarkerMatch::No,
            [b'<', tag @ ..] if tag.first().is_some_and(u8::is_ascii_alphabetic) => {
                let end = tag.iter().position(|byte| b"<>=\n".contains(byte));
                let Some(end) = end else { return undecided };
                name = subslice(tag, ..end);
                if tag.get(end) != Some(&b'>') || name.ends_with(b"/") {
                    return MarkerMatch::Yes(0);
                }
                if name.iter().any(u8::is_ascii_whitespace) {
                    return MarkerMatch::No;
                }
                subslice(tag, end + 1..)
            }
            _ => return yes_if(!is_apart),
        };
    }
}

impl BareName {
    /// Returns the texts after a name that one of `separators` ends.
    pub(crate) fn before(separators: [&'static str; 2]) -> Self {
        let can_be_name = |first: char| is_name_char(first) || first.is_whitespace();
        if separators.iter().any(|separator| separator.starts_with(can_be_name)) {
            Self::Open
        } else {
            Self::Separators(separators)
        }
    }

    /// Checks for a name and the text that must follow it, after `before`.
    fn check(self, before: &[u8], text: &[u8], is_last: bool) -> MarkerMatch {
        let text = match text {
            [b'-'] if self == Self::Syntax && !is_last => return MarkerMatch::Maybe,
            [b'-', rest @ ..] if self == Self::Syntax => rest,
            _ => text,
        };
        let name = name_bytes(text);
        if name == 0 {
            return MarkerMatch::No;
        }
        let is_after_line_end = matches!(before.first(), Some(b'\n' | b'\r'));
        let has_blank = before.iter().any(|byte| matches!(byte, b' ' | b'\t'));
        let behind = subslice(text, name..);
        let rest = behind.trim_ascii_start();
        let is_long = text.len() - rest.len() > MAX_BYTES;
        // Checks that need fewer bytes come first.
        match self {
            Self::Syntax if text.starts_with(b"call:") => yes_if(!has_blank),
            Self::Separators(separators) if !is_long => {
                let separators = separators.iter().filter(|separator| !separator.is_empty());
                let mut found =
                    separators.map(|separator| begins_with(rest, separator.as_bytes(), false));
                match found.find(|found| *found != MarkerMatch::No) {
                    Some(MarkerMatch::Maybe) if is_last => yes_if(!has_blank),
                    Some(found) => found,
                    None => yes_if(!has_blank && matches!(rest.first(), Some(b'{' | b'['))),
                }
            }
            Self::Separators(_) => MarkerMatch::Yes(0),
            Self::Lines => check_lines(behind, is_last),
            _ if has_blank && !(is_after_line_end && self == Self::Pairs) => MarkerMatch::No,
            _ if is_long => MarkerMatch::Yes(0),
            Self::Open => MarkerMatch::Yes(0),
            // The name is known where its line ends.
            Self::Pairs if !has_blank && matches!(behind.first(), Some(b'\n' | b'\r')) => {
                MarkerMatch::Yes(0)
            }
            Self::Pairs | Self::Syntax | Self::Python => match (self, rest.first()) {
                (_, None) if !is_last => MarkerMatch::Maybe,
                (_, None) => yes_if(!has_blank),
                (Self::Pairs, Some(next)) => yes_if(matches!(next, b'<' | b'{')),
                (_, Some(next)) => yes_if(matches!(next, b'(' | b'{' | b'=')),
            },
        }
    }
}
