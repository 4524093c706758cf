//! An opener inside an argument that is an XML element: data of a value that is closed, or another call.

use super::{ambiguous_close::CloseVerdict, body::CallBody};
use crate::{
    ahead::found::{MarkerMatch, TextAhead},
    compiled::tools::{BodyRole, CompiledForm},
    grammar::ValueTag,
};
use forgeline_json::slice;

/// Text whose markup has no meaning: how it begins and ends.
const HIDDEN: [(&str, &str); 2] = [("<![CDATA[", "]]>"), ("<!--", "-->")];

/// The markup after such an opener, up to the end of the value around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InnerOpener {
    /// The end of the last tag.
    from: usize,
    /// The number of open elements with the name of the value.
    elements: u32,
    /// The number of calls that are open.
    calls: i32,
    /// The number of openers that were only mentioned.
    mentions: u32,
    /// `true` once the first opener is one of a call.
    has_begun: bool,
    /// The end of the current text without markup.
    hidden: Option<&'static str>,
    front: InnerFront,
}

/// The part of a call behind its opener that is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InnerFront {
    /// A tag or an object.
    First,
    /// The tag of a name.
    Name,
    /// Anything.
    Past,
}

impl InnerOpener {
    /// Begins behind an opener of this length.
    pub(super) fn new(bytes: usize) -> Self {
        Self {
            from: bytes,
            elements: 0,
            calls: 0,
            mentions: 0,
            has_begun: false,
            hidden: None,
            front: InnerFront::First,
        }
    }

    /// Reads the last character of the held text.
    pub(super) fn read(
        &mut self,
        next: char,
        held: &str,
        body: &CallBody,
        form: &CompiledForm,
    ) -> CloseVerdict {
        if self.front == InnerFront::First && !next.is_ascii_whitespace() {
            if next == '<' {
                self.front = InnerFront::Name;
            } else if !self.begin(next == '{') {
                return CloseVerdict::Data;
            }
        }
        if next != '>' {
            return CloseVerdict::Unknown;
        }
        let text = slice(held, self.from..);
        self.from = held.len();
        if self.is_hidden(text) {
            return CloseVerdict::Unknown;
        }
        let tag = slice(text, text.rfind('<').unwrap_or(text.len())..);
        self.tag(tag, body, form)
    }

    /// Counts the opener of a call, or one that was only mentioned; returns `false` if that is the first one.
    fn begin(&mut self, is_call: bool) -> bool {
        self.front = InnerFront::Past;
        self.has_begun |= is_call;
        self.calls += i32::from(is_call);
        self.mentions += u32::from(!is_call);
        self.has_begun
    }

    /// Returns `true` for text up to a `>` without a meaning.
    fn is_hidden(&mut self, text: &str) -> bool {
        let begun = HIDDEN.into_iter().find(|(start, _)| text.contains(start));
        let Some(end) = self.hidden.or(begun.map(|(_, end)| end)) else { return false };
        self.hidden = (!text.ends_with(end)).then_some(end);
        true
    }

    fn tag(&mut self, tag: &str, body: &CallBody, form: &CompiledForm) -> CloseVerdict {
        let meaning = body.value_tag(tag, false);
        if self.front == InnerFront::Name && !self.begin(meaning == Some(ValueTag::Next)) {
            return CloseVerdict::Data;
        }
        match meaning {
            Some(ValueTag::End) if self.elements > 0 => self.elements -= 1,
            // Only a value that contains whole calls is sure to end here.
            Some(ValueTag::End) if self.calls == 0 => return CloseVerdict::Value,
            Some(ValueTag::End) => return CloseVerdict::Broken,
            Some(ValueTag::Begin) => self.elements += 1,
            Some(ValueTag::Next) => {}
            None => self.marker(tag, form),
        }
        CloseVerdict::Unknown
    }

    /// Counts a marker of calls.
    fn marker(&mut self, tag: &str, form: &CompiledForm) {
        let found = form.inside.check_below(usize::MAX, tag.as_bytes(), TextAhead::Any);
        let (MarkerMatch::Yes(_), which) = found else { return };
        match form.role(which) {
            BodyRole::Opener => self.front = InnerFront::First,
            BodyRole::Closer if self.mentions > 0 => self.mentions -= 1,
            BodyRole::Closer => self.calls -= 1,
            BodyRole::BlockCloser | BodyRole::FunctionEnd => {}
        }
    }
}
