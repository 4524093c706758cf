//! The members of an object, looked up by path: rare members are found this way instead of having a
//! struct of their own.

use std::borrow::Cow;

use serde::de::MapAccess;
use serde_json::value::RawValue;

use super::lax_json::{LaxCount, LaxNumber, LaxWord, lax, text, value};
use forgeline_types::{Citation, Text, UsageInfo};

/// Maximum number of members of an object that are kept; lookups are linear. No server
/// sends this many.
const MAX_ENTRIES: usize = 256;

/// The first members of an object; a null member counts as absent.
///
/// A path is a name, or several names that lead through nested objects, such as `document.url`.
#[derive(Debug, Default)]
pub(crate) struct JsonEntries<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

lax! { ['de: 'a, 'a] JsonEntries<'a>, ignoring bool number null string seq;
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonEntries<'a>, A::Error> {
        let mut entries = JsonEntries::default();
        while let Some((LaxWord(name), value)) = map.next_entry::<LaxWord<'a>, &'a RawValue>()? {
            if entries.0.len() < MAX_ENTRIES {
                entries.0.push((name, value));
            }
        }
        Ok(entries)
    }
}

impl<'a> JsonEntries<'a> {
    /// Reads an object; anything else has no members.
    pub(crate) fn parse(json: &'a str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    /// Reads an object that may be absent.
    pub(crate) fn from_raw(raw: Option<&'a RawValue>) -> Self {
        raw.map(value).unwrap_or_default()
    }

    /// Adds a member, unless its value is null.
    pub(crate) fn push(&mut self, name: &'a str, value: &'a RawValue) {
        if self.0.len() < MAX_ENTRIES && says(value) {
            self.0.push((Cow::Borrowed(name), value));
        }
    }

    /// Returns `true` if there are no members.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the members whose values are neither null nor empty.
    pub(crate) fn present_members(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (&**name, *value)).filter(|(_, value)| says(value))
    }

    /// Returns the names of the members.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }

    /// Returns the member of this name as written, which may be null.
    pub(crate) fn written(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// Returns the member at `path`.
    pub(crate) fn get(&self, path: &str) -> Option<&'a RawValue> {
        let (name, rest) = path.split_once('.').unwrap_or((path, ""));
        let value = self.written(name).filter(|value| value.get() != "null")?;
        if rest.is_empty() { Some(value) } else { JsonEntries::from_raw(Some(value)).get(rest) }
    }

    /// Returns the string at `path`; anything else becomes the empty text.
    pub(crate) fn text(&self, path: &str) -> Text {
        text(self.get(path))
    }

    /// Returns the first string that is not empty.
    pub(crate) fn first_text(&self, paths: &[&str]) -> Option<Text> {
        paths.iter().map(|path| self.text(path)).find(|text| !text.is_empty())
    }

    /// Returns the integer at `path`.
    pub(crate) fn count(&self, path: &str) -> Option<u64> {
        value::<LaxCount>(self.get(path)?).0
    }

    /// Returns the small integer at `path`.
    pub(crate) fn number(&self, path: &str) -> Option<u32> {
        value::<LaxNumber>(self.get(path)?).0
    }
}

/// Returns `true` for a value that is neither null nor empty.
pub(crate) fn says(value: &RawValue) -> bool {
    !matches!(value.get(), "null" | "\"\"" | "[]" | "{}")
}

/// The paths of the counts in a vendor's usage object. The first path that is present counts;
/// paths joined by `+` are added up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UsagePaths {
    pub(crate) input: &'static [&'static str],
    pub(crate) output: &'static [&'static str],
    pub(crate) cache_read: &'static [&'static str],
    pub(crate) cache_write: &'static [&'static str],
    pub(crate) reasoning: &'static [&'static str],
}

impl UsagePaths {
    /// Parses a usage object.
    pub(crate) fn read_usage(&self, json: &str) -> UsageInfo {
        let usage = JsonEntries::parse(json);
        let sum = |paths: &&str| {
            paths.split('+').filter_map(|path| usage.count(path)).reduce(u64::saturating_add)
        };
        let first = |paths: &[&str]| paths.iter().find_map(sum);
        let mut usage = UsageInfo::default();
        usage.input_tokens = first(self.input);
        usage.output_tokens = first(self.output);
        usage.cache_read_tokens = first(self.cache_read);
        usage.cache_write_tokens = first(self.cache_write);
        usage.reasoning_tokens = first(self.reasoning);
        usage
    }
}

/// The paths of a source in a vendor's object, of which the first that is present counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CitationPaths {
    pub(crate) url: &'static [&'static str],
    pub(crate) title: &'static [&'static str],
    pub(crate) cited_text: &'static [&'static str],
    pub(crate) start: &'static str,
    pub(crate) end: &'static str,
}

impl CitationPaths {
    /// Parses a source.
    pub(crate) fn read_citation(&self, source: &JsonEntries<'_>) -> Citation {
        let mut citation = Citation::default();
        citation.url = source.first_text(self.url);
        citation.title = source.first_text(self.title);
        citation.cited_text = source.first_text(self.cited_text).map(Text::into_string);
        citation.start = source.count(self.start);
        citation.end = source.count(self.end);
        citation
    }
}
