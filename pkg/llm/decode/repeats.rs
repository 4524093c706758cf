//! Events that equal the previous delta except for their text, which are compared instead of parsed again.

use std::{mem, ops::Range};

use crate::{ContentType, StreamChunk, ToolCallDelta};
use forgeline_json::{Unescape, find_special, is_simple_escape, slice, subslice};
use forgeline_types::Text;

/// Maximum size of an event that others are compared with, in bytes.
const MAX_EVENT_BYTES: usize = 4096;

/// Maximum number of strings and numbers in such an event.
const MAX_VALUES: usize = 64;

/// The number of deltas in a row without a common shape after which comparing is given up.
const MAX_MISSES: u32 = 32;

/// The common shape of the last deltas.
///
/// Two consecutive parsed deltas that differ in nothing but their text show where the text is.
/// As long as the following events equal them elsewhere, byte for byte, they mean the same: the
/// reader has already seen everything but their text, and a text does not change its state.
#[derive(Debug, Default)]
pub(super) struct RepeatedEvents {
    shape: EventShape,
    /// `true` if the last event was a delta of this shape.
    is_armed: bool,
    last: ParsedDelta,
    misses: u32,
}

/// A parsed event, and the text that it produced.
#[derive(Debug, Default)]
struct ParsedDelta {
    name: String,
    data: String,
    kind: DeltaPlace,
    text: Text,
}

/// The place of a delta's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeltaPlace {
    Content(ContentType),
    /// The arguments of the call with this index.
    Arguments(u32),
}

impl Default for DeltaPlace {
    fn default() -> Self {
        Self::Content(ContentType::default())
    }
}

impl DeltaPlace {
    fn chunk(self, text: Text) -> StreamChunk {
        match self {
            Self::Content(kind) => {
                StreamChunk { content: text, content_type: kind, ..StreamChunk::default() }
            }
            Self::Arguments(index) => {
                StreamChunk::calls([ToolCallDelta::new(index).arguments(text)])
            }
        }
    }
}

/// An event without the values that vary.
#[derive(Debug, Default)]
struct EventShape {
    name: String,
    kind: DeltaPlace,
    /// The bytes that stay the same.
    same: String,
    /// The range of the bytes before each varying value, and the kind of the value.
    changing: Vec<(Range<usize>, VaryingValue)>,
    /// The offset of the bytes after the last varying value.
    tail: usize,
}

/// A value that varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VaryingValue {
    /// The text of the delta.
    Text,
    /// A string or an integer without meaning.
    Padding,
    Number,
}

/// The chunks that one event produced.
#[derive(Debug, Default)]
pub(super) enum EventChunks {
    #[default]
    Nothing,
    /// One piece of text and nothing else.
    Text(DeltaPlace, Text),
    More,
}

impl EventChunks {
    /// Adds the next chunk.
    pub(super) fn add(&mut self, chunk: &StreamChunk) {
        let (kind, text) = match &*chunk.tool_calls {
            [call] => (DeltaPlace::Arguments(call.index), &call.arguments),
            _ => (DeltaPlace::Content(chunk.content_type), &chunk.content),
        };
        let is_first = matches!(self, Self::Nothing);
        let is_text = is_first && !text.is_empty() && *chunk == kind.chunk(text.clone());
        *self = if is_text { Self::Text(kind, text.clone()) } else { Self::More };
    }
}

impl RepeatedEvents {
    /// Returns the chunk of an event that equals the previous one except for its text; `None` if it must be parsed.
    #[inline]
    pub(super) fn repeated_chunk(&self, name: &str, data: &str) -> Option<StreamChunk> {
        if !self.is_armed {
            return None;
        }
        let text = self.shape.text_of(name, data)?;
        Some(self.shape.kind.chunk(text))
    }

    /// Forgets that the last event was a delta: a parsed event may change anything.
    pub(super) fn forget(&mut self) {
        self.is_armed = false;
    }

    /// Records a parsed event and the chunks it `gave`; members named in `padding` have no meaning.
    pub(super) fn parsed(&mut self, name: &str, data: &str, gave: EventChunks, padding: &[&str]) {
        let EventChunks::Text(kind, text) = gave else { return };
        if data.len() > MAX_EVENT_BYTES || self.misses > MAX_MISSES {
            return;
        }
        if kind == self.shape.kind && self.shape.text_of(name, data).is_some_and(|it| it == text) {
            self.is_armed = true;
            return;
        }
        let before = mem::take(&mut self.last);
        self.last = ParsedDelta { name: name.to_owned(), data: data.to_owned(), kind, text };
        if let Some(shape) = EventShape::between(&before, &self.last, padding) {
            (self.shape, self.is_armed, self.misses) = (shape, true, 0);
        } else {
            self.misses += 1;
        }
    }
}

impl EventShape {
    /// Returns the common shape of two deltas, in which members named in `padding` have no meaning.
    fn between(one: &ParsedDelta, other: &ParsedDelta, padding: &[&str]) -> Option<Self> {
        if (&one.name, one.kind) != (&other.name, other.kind) {
            return None;
        }
        let (ones, others) = (values(&one.data, padding)?, values(&other.data, padding)?);
        if ones.len() != others.len() {
            return None;
        }
        let mut shape = Self { name: other.name.clone(), kind: other.kind, ..Self::default() };
        let (mut one_at, mut at, mut has_text) = (0, 0, false);
        for (a, b) in ones.into_iter().zip(others) {
            let same = slice(&other.data, at..b.range.start);
            if same != slice(&one.data, one_at..a.range.start) || a.value != b.value {
                return None;
            }
            shape.same.push_str(same);
            (one_at, at) = (a.range.end, b.range.end);
            let (a_text, b_text) = (slice(&one.data, a.range), slice(&other.data, b.range));
            let value = match b.value {
                value if b.is_padding => value,
                _ if a_text == b_text => {
                    shape.same.push_str(b_text);
                    continue;
                }
                VaryingValue::Number => return None,
                _ if has_text || decoded(a_text) != one.text || decoded(b_text) != other.text => {
                    return None;
                }
                VaryingValue::Text | VaryingValue::Padding => VaryingValue::Text,
            };
            has_text |= value == VaryingValue::Text;
            shape.changing.push((shape.tail..shape.same.len(), value));
            shape.tail = shape.same.len();
        }
        let same = slice(&other.data, at..);
        shape.same.push_str(same);
        (has_text && same == slice(&one.data, one_at..)).then_some(shape)
    }

    /// Returns the text of an event of this shape; `None` if it has another shape or no text.
    #[inline]
    fn text_of(&self, name: &str, data: &str) -> Option<Text> {
        if name != self.name {
            return None;
        }
        let (bytes, same) = (data.as_bytes(), self.same.as_bytes());
        let (mut at, mut text) = (0, None);
        for (before, value) in &self.changing {
            let before = subslice(same, before.clone());
            let rest = subslice(bytes, at..).strip_prefix(before)?;
            at += before.len();
            let length = match value {
                VaryingValue::Text => string_bytes(rest, true)?,
                VaryingValue::Padding => string_bytes(rest, false)?,
                VaryingValue::Number => number_bytes(rest)?,
            };
            if *value == VaryingValue::Text {
                text = Some(slice(data, at..at + length));
            }
            at += length;
        }
        let text = text.filter(|text| {
            !text.is_empty() && subslice(bytes, at..) == subslice(same, self.tail..)
        })?;
        Some(decoded(text))
    }
}

/// Returns the length of the JSON string content that `json` begins with; `None` if it must be parsed because
/// it is invalid, contains half a character or, unless it `may_escape`, an escape.
#[inline]
fn string_bytes(json: &[u8], may_escape: bool) -> Option<usize> {
    let mut at = 0;
    loop {
        at += find_special(subslice(json, at..), b'"');
        match (json.get(at)?, json.get(at + 1)?) {
            (b'"', _) => return Some(at),
            (b'\\', b'u') if may_escape => {
                let digits = json.get(at + 2..at + 6)?;
                let is_half =
                    matches!(digits, [b'd' | b'D', b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F', ..]);
                if is_half || !digits.iter().all(u8::is_ascii_hexdigit) {
                    return None;
                }
                at += 6;
            }
            (b'\\', next) if may_escape && is_simple_escape(*next) => at += 2,
            _ => return None,
        }
    }
}

/// Returns the length of the integer that `json` begins with.
fn number_bytes(json: &[u8]) -> Option<usize> {
    let length = json.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_number = length == 1 || (length > 1 && json.first() != Some(&b'0'));
    is_number.then_some(length)
}

/// Returns the text of JSON string content.
#[inline]
fn decoded(json: &str) -> Text {
    if !json.contains('\\') {
        return Text::from(json);
    }
    let mut text = Text::default();
    Unescape::default().feed(json, &mut |piece| text.push_str(piece));
    text
}

/// A string or a number in an event.
struct VaryingToken {
    range: Range<usize>,
    value: VaryingValue,
    is_padding: bool,
}

/// Returns the values of valid JSON that are strings or numbers, without the keys; `None` if there are too many.
fn values(json: &str, padding: &[&str]) -> Option<Vec<VaryingToken>> {
    let bytes = json.as_bytes();
    let (mut at, mut depth, mut found) = (0, 0_usize, Vec::new());
    // The value of the last top-level key is padding, with everything inside it.
    let mut pads = false;
    while let Some(byte) = bytes.get(at) {
        let (range, value) = match byte {
            b'"' => {
                let start = at + 1;
                let end = start + end_of_string(subslice(bytes, start..));
                at = end + 1;
                let rest = subslice(bytes, at.min(bytes.len())..);
                if rest.trim_ascii_start().first() == Some(&b':') {
                    if depth == 1 {
                        pads = padding.contains(&slice(json, start..end));
                    }
                    continue;
                }
                (start..end, VaryingValue::Padding)
            }
            b'-' | b'0'..=b'9' => {
                let start = at;
                let rest = subslice(bytes, at..).iter();
                at += rest
                    .take_while(|byte| {
                        matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')
                    })
                    .count();
                (start..at, VaryingValue::Number)
            }
            b'{' | b'[' => {
                depth += 1;
                at += 1;
                continue;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                at += 1;
                continue;
            }
            _ => {
                at += 1;
                continue;
            }
        };
        let is_whole = value == VaryingValue::Padding
            || number_bytes(subslice(bytes, range.clone())) == Some(range.len());
        let is_padding = pads && is_whole;
        found.push(VaryingToken { range, value, is_padding });
        if found.len() > MAX_VALUES {
            return None;
        }
    }
    Some(found)
}

/// Returns the length of a valid string's content.
fn end_of_string(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}
