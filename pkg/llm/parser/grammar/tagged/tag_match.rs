//! The marks that may occur in a payload, and the recognition of marks at the beginning of a text.

use super::{
    tag::{TagAttributes, TagMatch, ends_in_attribute, match_exact, match_named, match_suffixed},
    tags::{Tags, ValueFraming},
};
use crate::grammar::line_end::LineEnd;
use crate::grammar::reader::{ValueTag, is_blank};
use forgeline_json::{ByteKind, Finder, slice};

/// Maximum length of a text key before which the end of the previous value may be missing, in bytes.
const MAX_KEY_IN_VALUE: usize = 256;

/// The maximum number of ends of a value in a row that are one.
const MAX_REPEATED: usize = 3;

/// Maximum length of the whitespace that is checked after the end of a value, in bytes.
const MAX_BLANKS_BEHIND: usize = 64;

/// The part that was read last, which determines what may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagPhase {
    /// Nothing: a function tag follows.
    Start,
    /// The beginning of a payload that starts with a plain name: more of the name, or its end, follows.
    Name,
    /// A function's name, or a complete parameter: a parameter, or the end of the function, follows.
    Between,
    /// The beginning of a text key.
    Key,
    /// A key, or the type of its value: the start of the value follows.
    Gap,
    /// The beginning of a value's type.
    Kind,
    /// The start of a value, of which nothing has been read.
    ValueStart,
    /// Part of a value, possibly ending with a line end that may be framing.
    Value(LineEnd),
    /// The start of a CDATA section that is a value.
    Cdata,
    /// The end of a CDATA section: the end of the value follows.
    CdataDone,
    /// The tag of an object that contains all arguments: the object follows.
    ObjectStart,
    /// The start of an object that contains all arguments.
    Object,
    /// The end of a function: another one may follow.
    Done,
    /// The end of the function that ends the call.
    Ended,
    /// A mistake in a function whose end ends the call: that end follows.
    Lost,
    /// A mistake that cannot be repaired.
    Failed,
}

/// A text that structures a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagMark {
    Function,
    /// The end of a name that is plain text.
    NameEnd,
    FunctionEnd,
    Parameter,
    ParameterEnd,
    KeyEnd,
    /// The tags around the type of a value.
    KindStart,
    KindEnd,
    ValueStart,
    /// The tags around a value that is a CDATA section.
    CdataStart,
    CdataEnd,
    /// The tags around one object that contains all arguments.
    ObjectStart,
    ObjectEnd,
}

const CDATA_START: &str = "<![CDATA[";
const CDATA_END: &str = "]]>";

/// The classification of the beginning of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagClass {
    /// Not a mark that counts here.
    Nothing,
    /// More text decides.
    Maybe,
    /// A mark of this number of bytes.
    Mark(TagMark, usize),
    /// In a value, the tag of a function, of this number of bytes, which is data.
    Inner(usize),
    /// In a value, the tag of a parameter, of this number of bytes, which is data.
    Opener(usize),
    /// A tag of this number of bytes that repeats the one before it, or ends nothing.
    Spare(usize),
    /// A tag of this number of bytes that cannot be here.
    Misplaced(usize),
    /// A tag without an end.
    TooLong,
}

impl TagClass {
    /// Returns the class of a text with this tag at its beginning.
    fn of(found: TagMatch, class: impl FnOnce(usize) -> Self) -> Self {
        match found {
            TagMatch::Yes(bytes) => class(bytes),
            TagMatch::Maybe => Self::Maybe,
            TagMatch::No | TagMatch::TooLong => Self::Nothing,
        }
    }

    fn or_else(self, other: impl FnOnce() -> Self) -> Self {
        if self == Self::Nothing { other() } else { self }
    }
}

/// The marks of one dialect.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub(super) struct TagMarks {
    tags: Tags,
    /// The first byte of all marks, if they share one.
    first: Option<u8>,
    /// The mark read last, and `true` if only whitespace has followed: models write some twice.
    last: String,
    pub(super) is_fresh: bool,
    /// `true` if a tag of the grammar that opens something is data of the current value.
    pub(super) holds_opener: bool,
}

impl TagMarks {
    pub(super) fn new(tags: Tags) -> Self {
        let mut firsts = tags.all().filter_map(|tag| tag.bytes().next());
        let first = firsts.next();
        let is_one = firsts.all(|other| Some(other) == first);
        let first = first.filter(|_| is_one);
        drop(firsts);
        Self { tags, first, last: String::new(), is_fresh: false, holds_opener: false }
    }

    /// Records the mark that was read.
    pub(super) fn note(&mut self, mark: &str) {
        self.last.clear();
        self.last.push_str(mark);
        self.is_fresh = true;
    }

    pub(super) fn tags(&self) -> &Tags {
        &self.tags
    }

    /// Returns `true` if every mark begins with `<`.
    pub(super) fn begin_with_angle(&self) -> bool {
        self.first == Some(b'<')
    }

    /// Returns `true` if keys are text between two marks.
    pub(super) fn has_text_keys(&self) -> bool {
        !self.tags.key_end.is_empty()
    }

    /// Returns the position at which a mark of `state` may begin, or else the length.
    pub(super) fn find_in(&self, state: TagPhase, text: &[u8]) -> usize {
        if state == TagPhase::Cdata {
            return memchr::memchr(b']', text).unwrap_or(text.len());
        }
        let first = self.find_first(text);
        if state != TagPhase::Name {
            return first;
        }
        // A line end ends the name.
        memchr::memchr(b'\n', text).map_or(first, |line| first.min(line))
    }

    /// Returns the position at which any mark may begin, or else the length.
    #[inline]
    pub(super) fn find_first(&self, text: &[u8]) -> usize {
        if let Some(first) = self.first {
            return Finder::new([ByteKind::of(first)]).find(text);
        }
        let begins = |byte: &u8| self.tags.all().any(|tag| tag.bytes().next() == Some(*byte));
        text.iter().position(begins).unwrap_or(text.len())
    }

    /// Returns `true` if a mark may begin in `text`, the next text of a value.
    pub(super) fn may_begin_in_value(&self, text: &str) -> bool {
        let angles = memchr::memchr_iter(b'<', text.as_bytes());
        angles.map(|at| text.split_at_checked(at).unwrap_or_default()).any(|(before, rest)| {
            let goes_on = |tag: &str| {
                let second = rest.as_bytes().get(1);
                second.is_none() || second == tag.as_bytes().get(1)
            };
            self.tags.all().any(goes_on)
                && (self.classify(TagPhase::Value(LineEnd::at_end_of(before)), false, rest)
                    != TagClass::Nothing
                    || self.begins_with_value_end(rest))
        })
    }

    /// Returns `true` if a tag is part of `name`.
    pub(super) fn are_in(&self, name: &str) -> bool {
        self.find_first(name.as_bytes()) < name.len()
            && self.tags.all().any(|tag| name.contains(tag))
    }

    /// Returns `true` if another tag is part of the attributes of `tag`, whose own end was lost.
    pub(super) fn are_in_attributes(&self, mark: TagMark, tag: &str) -> bool {
        self.are_in(self.inside(mark, tag))
    }

    /// Reads the attributes of `tag`.
    pub(super) fn attributes<'t>(&self, mark: TagMark, tag: &'t str) -> TagAttributes<'t> {
        let inside = self.inside(mark, tag);
        if self.tags.has_entities {
            TagAttributes::read_exact(inside).unescaped()
        } else {
            TagAttributes::parse(inside)
        }
    }

    /// Returns the text between the beginning and the end of `tag`.
    fn inside<'t>(&self, mark: TagMark, tag: &'t str) -> &'t str {
        let open = if mark == TagMark::Function { self.tags.function } else { self.tags.parameter };
        let inside = tag.strip_prefix(open).unwrap_or_default();
        inside.strip_suffix(self.tags.tag_end).unwrap_or(inside)
    }

    /// Returns `true` if `text`, which may become a tag, ends inside a quoted attribute.
    pub(super) fn is_attribute(&self, text: &str) -> bool {
        [self.tags.function, self.tags.parameter]
            .into_iter()
            .any(|open| !open.is_empty() && ends_in_attribute(open, text))
    }

    /// Returns the mark at the beginning of `text`, among those that count in `state`; after the tag of a
    /// function in a value, a parameter may begin anywhere.
    pub(super) fn classify(&self, state: TagPhase, is_behind_inner: bool, text: &str) -> TagClass {
        let expected: &[TagMark] = match state {
            TagPhase::Start | TagPhase::Done => &[TagMark::Function],
            TagPhase::Name => {
                &[TagMark::Parameter, TagMark::NameEnd, TagMark::KeyEnd, TagMark::ParameterEnd]
            }
            TagPhase::Between => &[TagMark::Parameter, TagMark::FunctionEnd, TagMark::ObjectStart],
            TagPhase::Key => &[TagMark::KeyEnd],
            TagPhase::Gap => &[TagMark::ValueStart, TagMark::KindStart],
            TagPhase::Kind => &[TagMark::KindEnd],
            TagPhase::ValueStart if self.tags.framing == ValueFraming::Cdata => {
                &[TagMark::ParameterEnd, TagMark::Parameter, TagMark::CdataStart]
            }
            TagPhase::Value(line_end)
                if self.is_typed() && !line_end.is_whole() && !is_behind_inner =>
            {
                &[TagMark::ParameterEnd]
            }
            TagPhase::ValueStart | TagPhase::Value(_) => {
                &[TagMark::ParameterEnd, TagMark::Parameter]
            }
            TagPhase::CdataDone => {
                &[TagMark::ParameterEnd, TagMark::Parameter, TagMark::FunctionEnd]
            }
            TagPhase::Cdata => &[TagMark::CdataEnd],
            TagPhase::ObjectStart => &[TagMark::ObjectEnd],
            TagPhase::Object => &[TagMark::ObjectEnd, TagMark::FunctionEnd, TagMark::Parameter],
            TagPhase::Lost => &[TagMark::FunctionEnd],
            TagPhase::Ended | TagPhase::Failed => &[],
        };
        let is_value = matches!(state, TagPhase::ValueStart | TagPhase::Value(_));
        let mut class = TagClass::Nothing;
        if self.is_fresh {
            class = TagClass::of(match_exact(&self.last, text), TagClass::Spare);
            if let TagClass::Spare(_) = class {
                return class;
            }
        }
        for &mark in expected {
            match self.match_mark(mark, is_value, text) {
                TagMatch::Yes(bytes) => return TagClass::Mark(mark, bytes),
                TagMatch::Maybe => class = TagClass::Maybe,
                // In a value it only looks like a tag.
                TagMatch::TooLong if !is_value => class = TagClass::TooLong,
                TagMatch::No | TagMatch::TooLong => {}
            }
        }
        if is_value {
            let opener = || self.match_mark(TagMark::Parameter, true, text);
            return class
                .or_else(|| self.inner_function(text))
                .or_else(|| TagClass::of(opener(), TagClass::Opener));
        }
        let Tags { parameter, value_start, parameter_end, tag_end, .. } = self.tags;
        let class_of =
            |tag: &str, class: fn(usize) -> _| TagClass::of(self.match_whole(tag, text), class);
        if state == TagPhase::Between {
            return class.or_else(|| class_of(parameter_end, TagClass::Spare));
        }
        let others = [parameter, value_start, parameter_end, tag_end];
        let others = others.iter().filter(|_| state == TagPhase::Key);
        others.fold(class, |class, tag| class.or_else(|| class_of(tag, TagClass::Misplaced)))
    }

    /// Returns the position of the byte that determines the classification of `text`.
    pub(super) fn told_by(&self, state: TagPhase, is_behind_inner: bool, text: &str) -> usize {
        let is_told = |end: usize| {
            let front = slice(text, ..text.ceil_char_boundary(end));
            self.classify(state, is_behind_inner, front) != TagClass::Maybe
        };
        // The result for a few bytes also holds for more of them.
        let mut most = 1;
        while most < text.len() && !is_told(most) {
            most *= 2;
        }
        let (mut least, mut most) = (most / 2, most.min(text.len()));
        while least + 1 < most {
            let middle = usize::midpoint(least, most);
            if is_told(middle) { most = middle } else { least = middle }
        }
        if is_told(most) { text.floor_char_boundary(most.saturating_sub(1)) } else { 0 }
    }

    /// Returns `Inner` for the complete tag of a function inside a value.
    fn inner_function(&self, text: &str) -> TagClass {
        match self.match_mark(TagMark::Function, false, text) {
            TagMatch::Yes(bytes)
                if self.attributes(TagMark::Function, slice(text, ..bytes)).is_named =>
            {
                TagClass::Inner(bytes)
            }
            TagMatch::Maybe => TagClass::Maybe,
            TagMatch::Yes(_) | TagMatch::No | TagMatch::TooLong => TagClass::Nothing,
        }
    }

    fn match_mark(&self, mark: TagMark, is_value: bool, text: &str) -> TagMatch {
        let tags = &self.tags;
        let exact: &str = match mark {
            TagMark::Function if tags.function.is_empty() => return TagMatch::No,
            TagMark::Function => return match_named(tags.function, tags.tag_end, text),
            TagMark::Parameter if !self.has_text_keys() => {
                let found = match_named(tags.parameter, tags.tag_end, text);
                return if is_value { self.named_only(found, text) } else { found };
            }
            TagMark::ParameterEnd if is_value => return self.match_value_end(text),
            TagMark::Parameter if is_value => return self.match_key(text),
            TagMark::Parameter => tags.parameter,
            TagMark::NameEnd => tags.tag_end,
            TagMark::FunctionEnd => tags.function_end,
            TagMark::ParameterEnd => tags.parameter_end,
            TagMark::KeyEnd => tags.key_end,
            TagMark::KindStart => tags.kind[0],
            TagMark::KindEnd => tags.kind[1],
            TagMark::ValueStart => tags.value_start,
            TagMark::ObjectStart if tags.object[0].is_empty() => return TagMatch::No,
            TagMark::ObjectStart => return match_named(tags.object[0], tags.tag_end, text),
            TagMark::ObjectEnd => tags.object[1],
            TagMark::CdataStart => return match_exact(CDATA_START, text),
            TagMark::CdataEnd => return match_exact(CDATA_END, text),
        };
        self.match_whole(exact, text)
    }

    /// Rejects a parameter's tag without a name in a value, where it only looks like a tag.
    fn named_only(&self, found: TagMatch, text: &str) -> TagMatch {
        let TagMatch::Yes(bytes) = found else { return found };
        let tag = slice(text, ..bytes);
        if self.attributes(TagMark::Parameter, tag).is_named { found } else { TagMatch::No }
    }

    /// Matches the beginning of a text key in a value: it counts if a complete key follows.
    fn match_key(&self, text: &str) -> TagMatch {
        let found = self.match_whole(self.tags.parameter, text);
        let TagMatch::Yes(bytes) = found else { return found };
        let key = slice(text, bytes..);
        let first = self.tags.key_end.chars().next().unwrap_or_default();
        let end = key.find(first);
        if end.unwrap_or(key.len()) > MAX_KEY_IN_VALUE {
            return TagMatch::No;
        }
        match end.map(|end| self.match_whole(self.tags.key_end, slice(key, end..))) {
            Some(TagMatch::Yes(_)) => found,
            Some(TagMatch::No | TagMatch::TooLong) => TagMatch::No,
            Some(TagMatch::Maybe) | None => TagMatch::Maybe,
        }
    }

    /// Returns `true` if people type such tags: in a value, the next parameter then begins only at the
    /// start of a line.
    pub(super) fn is_typed(&self) -> bool {
        let mut first = self.tags.parameter.bytes();
        first.next() == Some(b'<') && first.next().is_some_and(|byte| byte.is_ascii_alphabetic())
    }

    /// Matches the tag of a mark that is spelled completely.
    fn match_whole(&self, tag: &str, text: &str) -> TagMatch {
        match tag.strip_suffix('>') {
            _ if tag.is_empty() => TagMatch::No,
            Some(open) if self.tags.suffixes => match_suffixed(open, text),
            Some(_) | None => match_exact(tag, text),
        }
    }

    /// Matches the end of a value: it counts if the text after it can follow a value. The reader of the
    /// call knows what else can: its closer, and nothing.
    fn match_value_end(&self, text: &str) -> TagMatch {
        let tag = self.match_whole(self.tags.parameter_end, text);
        let TagMatch::Yes(bytes) = tag else { return tag };
        let Some(rest) = self.behind_repeated(slice(text, bytes..)).filter(|_| !self.is_fresh)
        else {
            return tag;
        };
        let mut found = if rest.is_empty() { TagMatch::Maybe } else { self.match_bare_key(rest) };
        if let TagMatch::Yes(_) = found {
            return tag;
        }
        if !self.holds_opener && self.match_whole(self.tags.parameter_end, rest) == TagMatch::Maybe
        {
            found = TagMatch::Maybe;
        }
        for mark in [TagMark::Parameter, TagMark::FunctionEnd, TagMark::Function] {
            match self.match_mark(mark, false, rest) {
                TagMatch::Yes(_) => return tag,
                TagMatch::Maybe => found = TagMatch::Maybe,
                TagMatch::No | TagMatch::TooLong => {}
            }
        }
        found
    }

    /// Returns the text after the end of a value, whitespace and repeated ends; `None` after more whitespace
    /// than is checked.
    fn behind_repeated<'t>(&self, mut text: &'t str) -> Option<&'t str> {
        for _ in 0..=MAX_REPEATED {
            let rest = text.trim_start_matches(is_blank);
            if text.len() - rest.len() > MAX_BLANKS_BEHIND {
                return None;
            }
            text = rest;
            match self.match_whole(self.tags.parameter_end, text) {
                TagMatch::Yes(bytes) if !self.holds_opener => text = slice(text, bytes..),
                TagMatch::Yes(_) | TagMatch::No | TagMatch::Maybe | TagMatch::TooLong => break,
            }
        }
        Some(text)
    }

    /// Matches a key after the end of a value whose own opener was lost.
    fn match_bare_key(&self, text: &str) -> TagMatch {
        let end = text.find(|letter| letter == '<' || is_blank(letter)).unwrap_or(text.len());
        if !self.has_text_keys() || !(1..=MAX_KEY_IN_VALUE).contains(&end) {
            return TagMatch::No;
        }
        if end == text.len() {
            TagMatch::Maybe
        } else {
            self.match_whole(self.tags.key_end, slice(text, end..))
        }
    }

    /// Returns `true` if `text` begins with the opener of a key.
    pub(super) fn begins_with_parameter(&self, text: &str) -> bool {
        matches!(self.match_whole(self.tags.parameter, text), TagMatch::Yes(_))
    }

    /// Returns `true` if `text` begins with the end of a value, whatever follows.
    pub(super) fn begins_with_value_end(&self, text: &str) -> bool {
        matches!(self.match_whole(self.tags.parameter_end, text), TagMatch::Yes(_))
    }

    /// Returns the length of the end of a value at the beginning of `text`, withheld in a value, which it is unless
    /// the following text shows otherwise.
    pub(super) fn value_end(&self, text: &str) -> Option<usize> {
        let tag = self.match_whole(self.tags.parameter_end, text);
        let TagMatch::Yes(bytes) = tag else { return None };
        let is_end = self.behind_repeated(slice(text, bytes..)).is_some_and(str::is_empty);
        is_end.then_some(bytes)
    }

    /// Returns the mark in `text` that ends a value: its end, or the next parameter, at the start of a
    /// line or `anywhere`.
    pub(super) fn value_tag(&self, text: &str, anywhere: bool) -> Option<ValueTag> {
        let mut at = 0;
        loop {
            let before = at;
            at += self.find_first(slice(text, at..).as_bytes());
            let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
            if self.begins_with_value_end(rest) {
                return Some(ValueTag::End);
            }
            let may_begin = anywhere || !self.is_typed() || slice(text, before..at).ends_with('\n');
            if may_begin && let TagMatch::Yes(_) = self.match_mark(TagMark::Parameter, true, rest) {
                return Some(ValueTag::Next);
            }
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, fs, path::Path};

    use serde_json::Value;

    use super::*;
    use crate::{
        builder::description::{MarkupRules, TextRules},
        families,
    };

    const STATES: [TagPhase; 16] = [
        TagPhase::Start,
        TagPhase::Name,
        TagPhase::Between,
        TagPhase::Key,
        TagPhase::Gap,
        TagPhase::Kind,
        TagPhase::ValueStart,
        TagPhase::Value(LineEnd::None),
        TagPhase::Value(LineEnd::Feed),
        TagPhase::Cdata,
        TagPhase::CdataDone,
        TagPhase::ObjectStart,
        TagPhase::Object,
        TagPhase::Done,
        TagPhase::Lost,
        TagPhase::Failed,
    ];

    /// Checks that what a front of `text` tells, a longer one tells too, and that the first is found.
    fn check(marks: &TagMarks, text: &str) {
        let is_value = |state| matches!(state, TagPhase::ValueStart | TagPhase::Value(_));
        let states = STATES.map(|state| (state, false)).into_iter();
        let behind_inner = STATES.map(|state| (state, true)).into_iter();
        for (state, is_inner) in states.chain(behind_inner.filter(|(state, _)| is_value(*state))) {
            let is_told = |(at, first): &(usize, char)| {
                let front = slice(text, ..at + first.len_utf8());
                marks.classify(state, is_inner, front) != TagClass::Maybe
            };
            let first = text.char_indices().find(is_told).map_or(text.len(), |(at, _)| at);
            let rest = text.char_indices().skip_while(|(at, _)| *at < first);
            assert!(rest.clone().all(|front| is_told(&front)), "{state:?}: {text:?}");
            let told = if rest.count() == 0 { 0 } else { first };
            assert_eq!(marks.told_by(state, is_inner, text), told, "{state:?}: {text:?}");
        }
    }

    /// Texts of the dialect's fixtures, and its example.
    fn texts(dialect: &str, example: &str) -> Vec<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/dialects");
        let fixtures = fs::read_to_string(root.join(format!("{dialect}.json"))).unwrap_or_default();
        let fixtures: Value = serde_json::from_str(&fixtures).unwrap_or_default();
        let fixtures = fixtures["fixtures"].as_array().cloned().unwrap_or_default();
        let texts = fixtures.iter().filter_map(|fixture| fixture["text"].as_str());
        texts.map(str::to_owned).chain([example.to_owned()]).collect()
    }

    #[test]
    fn what_the_front_of_a_tag_tells_more_of_it_tells_too() {
        let mut checked = 0;
        for tools in families::all().filter_map(|family| family.tools) {
            for call in tools.calls {
                let ((Some(MarkupRules::Tags(tags)), _) | (_, Some(TextRules::Tags(tags)))) =
                    (call.grammar.markup, call.grammar.text)
                else {
                    continue;
                };
                let (marks, mut seen) = (TagMarks::new(tags), HashSet::new());
                for text in texts(tools.name, tools.example) {
                    let first = text
                        .bytes()
                        .enumerate()
                        .filter(|(_, byte)| marks.first.is_none_or(|first| first == *byte));
                    for (at, _) in first.filter(|(at, _)| text.is_char_boundary(*at)) {
                        let tag =
                            slice(&text, at..text.floor_char_boundary(text.len().min(at + 60)));
                        // The tag, what is left where one character is lost, and where one came in.
                        if !seen.insert(tag.to_owned()) {
                            continue;
                        }
                        check(&marks, tag);
                        let cuts = [2, tag.len() / 2, tag.len().saturating_sub(2)];
                        for (cut, lost) in tag.char_indices().filter(|(cut, _)| cuts.contains(cut))
                        {
                            let (head, tail) = tag.split_at(cut);
                            check(&marks, &format!("{head}{}", slice(tail, lost.len_utf8()..)));
                            check(&marks, &format!("{head}\"{tail}"));
                        }
                        checked += 1;
                    }
                }
            }
        }
        assert!(checked > 500, "{checked} tags");
    }

    #[test]
    fn what_never_ends_is_told_by_its_first_byte_too_many() {
        let marks = TagMarks::new(Tags::new(["<run", "</run>"], ["<with", "</with>"], ">"));
        for text in ["<with name=\"é", "<with x"] {
            check(&marks, &format!("{text}{}", "é".repeat(300)));
        }
    }
}
