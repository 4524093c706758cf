//! Checks of a description: the properties that the parser relies on.

use super::{
    error::{DialectError, MAX_FRAMING, MAX_MARKERS},
    thinking::ThinkingDialectBuilder,
    tools::{CallForm, ToolDialectBuilder},
};
use crate::{
    builder::description::{CallGrammar, MarkerFraming, Markers, MarkupRules, TextRules},
    grammar::{HeaderStyle, Tags},
    marker::Marker,
};

/// Maximum length of a marker, in bytes. Including the whitespace that may occur in a tag, and the line ends that may
/// precede a closer, it must fit into the buffer for held text.
const MAX_MARKER_BYTES: usize = 96;

impl ToolDialectBuilder<'_> {
    /// Checks everything but the example.
    pub(crate) fn check(&self) -> Result<(), DialectError> {
        if self.calls.is_empty() {
            return Err(DialectError::Empty);
        }
        let mut all = AllMarkers::default();
        for call in self.calls {
            if call.needs_closer {
                all.closers_of(call.opener, call.closers)?;
            }
            all.in_text.push(call.opener.spelling());
        }
        for wrapper in self.wrappers {
            all.in_text.extend([wrapper.opener.spelling(), wrapper.closer.spelling()]);
        }
        all.check()?;
        self.calls.iter().try_for_each(|call| self.check_call(call, &all))
    }

    /// Checks that the grammar of a call is complete, and that no marker may occur in the
    /// payload.
    fn check_call(&self, call: &CallForm<'_>, all: &AllMarkers) -> Result<(), DialectError> {
        let CallForm { opener, closers, grammar, needs_closer, .. } = call;
        let DialectFacts { ends, ends_itself, missing } = facts(grammar);
        if *needs_closer {
            let mut closers = closers.iter().chain(self.wrappers.iter().map(|one| one.closer));
            let overlapping = closers
                .find(|closer| ends.iter().any(|end| overlaps(end, &closer.spelling())))
                .map(|closer| closer.spelling());
            let has_brackets = tags_of(grammar).is_none();
            let in_brackets =
                || all.iter().find(|marker| has_brackets && is_punctuation(marker)).cloned();
            if let Some(marker) = overlapping.or_else(in_brackets) {
                return Err(DialectError::InPayload { marker });
            }
        }
        if let Some(part) = missing {
            return Err(DialectError::Part { opener: opener.spelling(), part });
        }
        if !*needs_closer && !ends_itself {
            return Err(DialectError::NoEnd { opener: opener.spelling() });
        }
        Ok(())
    }
}

impl ThinkingDialectBuilder<'_> {
    pub(crate) fn check(&self) -> Result<(), DialectError> {
        if self.sections.is_empty() {
            return Err(DialectError::Empty);
        }
        let MarkerFraming { after_opener, before_closer, after_closer } = self.framing;
        let count = after_opener.max(before_closer).max(after_closer);
        if count > MAX_FRAMING {
            return Err(DialectError::MarkerFraming { count });
        }
        let mut all = AllMarkers::default();
        for section in self.sections {
            all.closers_of(section.opener, section.closers)?;
            all.in_text.push(section.opener.spelling());
        }
        all.in_text.extend(self.ignored.iter().map(|marker| marker.spelling()));
        all.check()
    }
}

/// The markers of a dialect, as given.
#[derive(Debug, Default)]
struct AllMarkers {
    /// The markers that are searched for in the same text: each must have a single meaning.
    in_text: Vec<String>,
    others: Vec<String>,
}

impl AllMarkers {
    fn closers_of(&mut self, opener: Marker<'_>, closers: Markers<'_>) -> Result<(), DialectError> {
        let before = self.others.len();
        self.others.extend(closers.iter().map(|marker| marker.spelling()));
        if self.others.len() == before {
            return Err(DialectError::NoCloser { opener: opener.spelling() });
        }
        Ok(())
    }

    fn iter(&self) -> impl Iterator<Item = &String> {
        self.in_text.iter().chain(&self.others)
    }

    fn check(&self) -> Result<(), DialectError> {
        let mut seen = Vec::new();
        for marker in &self.in_text {
            let folded = folded(marker);
            if seen.contains(&folded) {
                return Err(DialectError::Repeated { marker: marker.clone() });
            }
            seen.push(folded);
        }
        let count = self.iter().count();
        if count > MAX_MARKERS {
            return Err(DialectError::TooMany { count });
        }
        self.iter().try_for_each(|marker| check_one(marker))?;
        for outer in self.iter() {
            let long = folded(outer);
            let inside =
                |inner: &&String| long.len() > inner.len() && long.contains(&folded(inner));
            if let Some(inner) = self.iter().find(inside) {
                return Err(DialectError::Nested { outer: outer.clone(), inner: inner.clone() });
            }
        }
        Ok(())
    }
}

fn check_one(marker: &str) -> Result<(), DialectError> {
    let cannot_start = |first: char| first.is_whitespace() || matches!(first, '`' | '~');
    if !(2..=MAX_MARKER_BYTES).contains(&marker.len()) {
        return Err(DialectError::Length { marker: marker.to_owned() });
    }
    if marker.starts_with(cannot_start) {
        return Err(DialectError::Start { marker: marker.to_owned() });
    }
    Ok(())
}

/// Returns the marker as it is compared: tags are case-insensitive.
fn folded(marker: &str) -> String {
    marker.to_ascii_lowercase()
}

/// Returns `true` if `marker` may occur outside strings in JSON, a Python call or similar syntax.
fn is_punctuation(marker: &str) -> bool {
    marker.bytes().all(|byte| b"{}[]():,\"'".contains(&byte))
}

/// Returns `true` if the end of a payload may be the beginning of its closer.
fn overlaps(payload_end: &str, closer: &str) -> bool {
    let mut tails = payload_end.char_indices().filter_map(|(at, _)| payload_end.get(at..));
    tails.any(|tail| closer.starts_with(tail))
}

/// Returns the tags of a grammar that consists of nothing else.
fn tags_of(grammar: &CallGrammar) -> Option<&Tags> {
    match grammar {
        CallGrammar { json: None, markup: Some(MarkupRules::Tags(tags)), text: None }
        | CallGrammar { json: None, markup: None, text: Some(TextRules::Tags(tags)) } => Some(tags),
        _ => None,
    }
}

/// The properties of a grammar that decide whether a call can be read.
struct DialectFacts {
    /// The texts that a payload may end with.
    ends: [&'static str; 2],
    /// `true` if the grammar itself determines where a call ends.
    ends_itself: bool,
    /// The part that is missing or does not have the required form.
    missing: Option<&'static str>,
}

fn facts(grammar: &CallGrammar) -> DialectFacts {
    let facts = |ends, ends_itself, missing| DialectFacts { ends, ends_itself, missing };
    match (grammar.text, grammar.markup, tags_of(grammar)) {
        (_, _, Some(tags)) => {
            let ends_itself = !tags.function.is_empty() && !tags.function_end.is_empty();
            facts([tags.function_end, tags.parameter_end], ends_itself, missing_tag(tags))
        }
        (Some(TextRules::Syntax { quote }), ..) => {
            facts(["}", "}"], false, (!is_quote(quote)).then_some("recognizable quote"))
        }
        (Some(TextRules::Python), markup, _) => {
            facts([")", "]"], markup != Some(MarkupRules::Forge), None)
        }
        (Some(TextRules::Named(style)), markup, _) => {
            let missing = (style == HeaderStyle::before("")).then_some("separator");
            facts(["}", markup.map_or("]", |_| ">")], markup != Some(MarkupRules::Forge), missing)
        }
        (_, Some(markup), _) => facts(["}", ">"], markup != MarkupRules::Forge, None),
        _ => facts(["}", "]"], true, None),
    }
}

/// Returns `true` if text between these quotes can be read with one byte of lookahead, and never mistaken for JSON.
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
