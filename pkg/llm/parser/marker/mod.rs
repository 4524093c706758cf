//! The literal texts that open and close structures, and their recognition at the beginning of text.

mod form;
pub(crate) mod function_tag;
pub(crate) mod lookahead;
#[cfg(test)]
mod tests;

use std::hash::{Hash, Hasher};

use self::form::MarkerForm;
use crate::{
    ahead::{
        found::{MarkerMatch, TextAhead},
        payload_front::check_calls,
        shape::{ChannelHeader, check_ahead, is_name_byte, rest_of},
    },
    bytes::byteset::ByteSet,
    marker::{function_tag::FunctionTag, lookahead::Lookahead},
};
use forgeline_json::subslice;

/// A literal text with which a model marks where something begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marker<'a> {
    /// The text; for tags, without the `>`.
    text: &'a str,
    form: MarkerForm,
    next: NextByte,
}

impl Hash for Marker<'_> {
    // The text alone distinguishes almost all markers.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

/// The text that must follow a marker, and is not part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextByte {
    /// Anything.
    Any,
    /// One of these bytes, after whitespace.
    OneOf(&'static [u8]),
    /// One of these texts, after whitespace; otherwise the marker is only mentioned. Zeros are
    /// ignored.
    Calls([[u8; FRONT_BYTES]; MAX_FRONTS]),
    /// The payload of a call; otherwise the marker is only mentioned.
    Payload(Lookahead),
    /// The rest of a function's tag and the text that may follow it; otherwise the marker is only mentioned.
    Function(FunctionTag),
}

/// The maximum number of different texts with which the calls in a wrapper begin, and their length in bytes.
const MAX_FRONTS: usize = 6;
const FRONT_BYTES: usize = 8;

impl<'a> Marker<'a> {
    const fn new(text: &'a str, form: MarkerForm) -> Self {
        Self { text, form, next: NextByte::Any }
    }

    /// Matches exactly this text.
    pub(super) const fn exact(text: &'a str) -> Self {
        Self::new(text, MarkerForm::Exact)
    }

    /// Matches exactly this text, if an object or an array of objects follows.
    pub(super) const fn before_list(text: &'a str) -> Self {
        Self::new(text, MarkerForm::BeforeList)
    }

    /// Matches a tag in any ASCII case, with whitespace allowed before its `>`. `text` must not include the
    /// `>`.
    pub(super) const fn tag(text: &'a str) -> Self {
        Self::new(text, MarkerForm::Tag)
    }

    /// Matches a tag like [`tag`](Self::tag), with attributes of at most 256 bytes allowed.
    pub(super) const fn tag_with_attributes(text: &'a str) -> Self {
        Self::new(text, MarkerForm::TagWithAttributes)
    }

    /// Matches a tag like [`tag`](Self::tag), or one with a colon and at most 64 bytes before its `>`.
    pub(super) const fn suffixed_tag(text: &'a str) -> Self {
        Self::new(text, MarkerForm::SuffixedTag { is_optional: true })
    }

    /// Matches a tag like [`suffixed_tag`](Self::suffixed_tag), but only with a suffix.
    pub(super) const fn only_suffixed_tag(text: &'a str) -> Self {
        Self::new(text, MarkerForm::SuffixedTag { is_optional: false })
    }

    /// Matches a tag in any ASCII case, with a colon and lists of numbers allowed before its `>`.
    pub(super) const fn numbered_tag(text: &'a str) -> Self {
        Self::new(text, MarkerForm::NumberedTag)
    }

    /// Matches exactly this text, then whitespace and any tag, with at most 256 bytes in between.
    pub(super) const fn before_tag(text: &'a str) -> Self {
        Self::new(text, MarkerForm::BeforeTag)
    }

    /// Matches exactly this text and a name, if a curly bracket follows, which is not part of the marker.
    pub(super) const fn call(text: &'a str) -> Self {
        Self::new(text, MarkerForm::Call)
    }

    /// Matches a header from `start` to `end`, with at most 256 bytes in between.
    pub(super) const fn header(start: &'a str, end: &'static str, kind: ChannelHeader) -> Self {
        Self::new(start, MarkerForm::Header { end, kind })
    }

    /// Matches only if whitespace and one of `next` follow.
    pub(super) const fn before(mut self, next: &'static [u8]) -> Self {
        self.next = NextByte::OneOf(next);
        self
    }

    /// Counts only if a payload that begins with `lead` may follow; otherwise the marker is mentioned.
    pub(super) fn before_payload(mut self, lead: Lookahead) -> Self {
        if self.may_be_mention() {
            self.next = NextByte::Payload(Lookahead { is_typed: !self.is_special(), ..lead });
        }
        self
    }

    /// Counts only as the beginning of `tag`; otherwise the marker is mentioned.
    pub(super) fn before_function(mut self, tag: FunctionTag) -> Self {
        if self.may_be_mention() {
            self.next = NextByte::Function(tag);
        }
        self
    }

    /// Counts only if one of `markers` may follow; otherwise the marker is mentioned.
    pub(super) fn before_calls<'m>(mut self, markers: impl Iterator<Item = Marker<'m>>) -> Self {
        let mut fronts = [[0; FRONT_BYTES]; MAX_FRONTS];
        for marker in markers {
            // A special token may be followed by others.
            let length = if self.is_special() { 1 } else { FRONT_BYTES };
            let mut front = [0; FRONT_BYTES];
            for (place, byte) in front.iter_mut().take(length).zip(marker.text.bytes()) {
                *place = byte;
            }
            if !fronts.contains(&front) {
                let Some(place) = fronts.iter_mut().find(|front| **front == [0; FRONT_BYTES])
                else {
                    return self;
                };
                *place = front;
            }
        }
        if self.may_be_mention() {
            self.next = NextByte::Calls(fronts);
        }
        self
    }

    /// Returns `true` if the text that follows may show that the marker is only mentioned.
    fn may_be_mention(&self) -> bool {
        match self.next {
            NextByte::Any => !self.is_header(),
            NextByte::OneOf(_) => !self.is_header() && !self.is_special(),
            NextByte::Calls(_) | NextByte::Payload(_) | NextByte::Function(_) => false,
        }
    }

    /// Returns the end of a header that consists of a name only.
    pub(super) fn end_of_name(&self) -> Option<&'static str> {
        if let MarkerForm::Header { end, kind: ChannelHeader::Name } = self.form {
            Some(end)
        } else {
            None
        }
    }

    fn is_header(&self) -> bool {
        matches!(self.form, MarkerForm::Header { .. } | MarkerForm::BeforeList)
    }

    /// Returns `true` for a special token, the header of a channel and a numbered tag, which people do
    /// not type.
    pub(super) fn is_special(&self) -> bool {
        let text = self.text.trim_ascii_start();
        let is_header = matches!(self.form, MarkerForm::Header { .. } | MarkerForm::NumberedTag);
        is_header
            || match text.as_bytes() {
                [b'<' | b']', ..] => text.contains(['|', '｜']) || text.starts_with("]<]"),
                [b'[', b'/', first, ..] | [b'[', first, ..] => first.is_ascii_uppercase(),
                _ => text.starts_with('◁'),
            }
    }

    /// Returns the special token with this spelling, whatever follows it; `None` for anything but a complete one,
    /// and for quotes.
    pub(super) fn token(self) -> Option<Self> {
        let is_whole = self.form == MarkerForm::Exact
            && self.text.starts_with('<')
            && self.text.ends_with('>')
            && self.text != "<|\"|>";
        (is_whole && self.is_special()).then(|| Self::exact(self.text))
    }

    /// Returns the marker as a model writes it; `None` for one that contains more than its text.
    fn written(&self) -> Option<String> {
        match self.form {
            MarkerForm::Exact => Some(self.text.to_owned()),
            MarkerForm::Tag
            | MarkerForm::TagWithAttributes
            | MarkerForm::SuffixedTag { is_optional: true } => Some(format!("{}>", self.text)),
            MarkerForm::SuffixedTag { is_optional: false }
            | MarkerForm::NumberedTag
            | MarkerForm::BeforeList
            | MarkerForm::BeforeTag
            | MarkerForm::Call
            | MarkerForm::Header { .. } => None,
        }
    }

    /// Matches a user's spelling: a tag if it has the form `<name>` or `</name>`, otherwise exactly the
    /// text.
    pub(super) const fn spelled(text: &'a str) -> Self {
        let ([b'<', b'/', name @ .., b'>'] | [b'<', name @ .., b'>']) = text.as_bytes() else {
            return Self::exact(text);
        };
        let mut rest = name;
        while let [first, tail @ ..] = rest {
            if !is_name_byte(*first) {
                return Self::exact(text);
            }
            rest = tail;
        }
        let front = text.split_at(text.len() - 1).0;
        if name.is_empty() { Self::exact(text) } else { Self::tag(front) }
    }

    /// Returns the text in the form that [`spelled`](Self::spelled) takes.
    pub(super) fn spelling(&self) -> String {
        format!("{}{}", self.text, if self.form.is_tag() { ">" } else { "" })
    }

    /// Returns `true` if the beginning of `text` reads as this marker, in any case and whatever follows
    /// it, except the rest of a longer name.
    fn resembles(&self, text: &[u8]) -> bool {
        if self.form == MarkerForm::Call {
            return self.check(text, TextAhead::Nothing) != MarkerMatch::No;
        }
        let Some((front, rest)) = text.split_at_checked(self.text.len()) else { return false };
        let goes_on = |byte: &u8| is_name_byte(*byte) && *byte != b':';
        front.eq_ignore_ascii_case(self.text.as_bytes())
            && !(self.form.is_tag() && rest.first().is_some_and(goes_on))
    }

    /// Returns the text; for a tag, without the `>`.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// Returns the byte that the marker begins with.
    pub(super) fn first(&self) -> u8 {
        self.text.as_bytes().first().copied().unwrap_or(b'<')
    }

    /// Returns the possible second bytes.
    fn seconds(&self) -> impl Iterator<Item = u8> + use<> {
        let second = self.text.as_bytes().get(1).copied();
        let is_tag = self.form.is_tag();
        let other = second.filter(|byte| is_tag && byte.is_ascii_alphabetic());
        let other = other.map(|byte| byte ^ 0x20);
        second.into_iter().chain(other)
    }

    /// Matches the beginning of `text`, which is followed by `ahead`.
    pub(super) fn check(&self, text: &[u8], ahead: TextAhead) -> MarkerMatch {
        let found = self.form.check_text(self.text, text);
        found.and_then(|length| self.check_behind(length, text, ahead))
    }

    /// Checks the part of `text` after the marker's own `length` bytes.
    fn check_behind(&self, length: usize, text: &[u8], ahead: TextAhead) -> MarkerMatch {
        let rest = subslice(text, length..);
        let tail = self.form.check_rest(rest);
        let MarkerMatch::Yes(end) = tail else { return tail };
        let is_last = ahead == TextAhead::Nothing;
        let found = match self.next {
            NextByte::Calls(_) | NextByte::Payload(_) | NextByte::Function(_)
                if ahead == TextAhead::Any =>
            {
                MarkerMatch::Yes(end)
            }
            NextByte::Any => MarkerMatch::Yes(end),
            NextByte::OneOf(next) => check_ahead(rest, end, next),
            NextByte::Calls(fronts) => {
                or_mention(check_calls(rest_of(rest, end), &fronts, is_last))
            }
            NextByte::Payload(lead) => {
                let is_loose = !text.starts_with(self.text.as_bytes());
                let rest = rest_of(rest, end);
                or_mention(lead.check(self.text, rest, is_loose, is_last))
            }
            NextByte::Function(tag) => {
                let is_in_block = ahead == TextAhead::Block;
                let opener = (self.text, !self.is_special());
                or_mention(tag.check_behind(opener, text, is_in_block, is_last))
            }
        };
        match found {
            MarkerMatch::Yes(_) => MarkerMatch::Yes(length + end),
            MarkerMatch::Mention(_) => MarkerMatch::Mention(length + end),
            MarkerMatch::Maybe if ahead == TextAhead::Break => MarkerMatch::Mention(length + end),
            MarkerMatch::No | MarkerMatch::Maybe => found,
        }
    }
}

/// Markers that are searched for together.
#[derive(Debug, Clone)]
pub(crate) struct MarkerSet {
    markers: Vec<OwnedMarker>,
    firsts: ByteSet,
    /// The markers by their second byte: those of byte `b` are `by_second[starts[b]..starts[b + 1]]`.
    by_second: Vec<u8>,
    starts: Box<[u16; 257]>,
}

/// A marker of a set, which keeps its text.
#[derive(Debug, Clone)]
struct OwnedMarker {
    text: Box<str>,
    form: MarkerForm,
    next: NextByte,
    is_special: bool,
}

impl OwnedMarker {
    #[inline]
    fn get(&self) -> Marker<'_> {
        Marker { text: &self.text, form: self.form, next: self.next }
    }

    #[inline]
    fn check(&self, text: &[u8], ahead: TextAhead) -> MarkerMatch {
        let found = self.form.check_text(&self.text, text);
        found.and_then(|length| self.get().check_behind(length, text, ahead))
    }

    fn is_closer(&self) -> bool {
        self.text.trim_ascii_start().starts_with("</")
    }
}

impl MarkerSet {
    /// Creates a set of at most 255 markers.
    pub(super) fn new<'a>(markers: impl IntoIterator<Item = Marker<'a>>) -> Self {
        let own = |marker: Marker<'_>| {
            let (is_special, Marker { text, form, next }) = (marker.is_special(), marker);
            OwnedMarker { text: Box::from(text), form, next, is_special }
        };
        let markers: Vec<_> = markers.into_iter().map(own).collect();
        let firsts = ByteSet::new(markers.iter().map(|marker| marker.get().first()));
        let seconds = (0_u8..)
            .zip(&markers)
            .flat_map(|(which, marker)| marker.get().seconds().map(move |second| (second, which)));
        let mut seconds: Vec<_> = seconds.collect();
        // Markers with the same second byte keep their order in the list.
        seconds.sort_unstable();
        let mut starts = Box::new([0; 257]);
        for (second, _) in &seconds {
            if let Some(next) = starts.get_mut(usize::from(*second) + 1) {
                *next += 1;
            }
        }
        let mut sum = 0;
        for start in starts.iter_mut() {
            sum += *start;
            *start = sum;
        }
        let by_second = seconds.into_iter().map(|(_, which)| which).collect();
        Self { markers, firsts, by_second, starts }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.markers.is_empty()
    }

    /// Returns the number of markers.
    pub(super) fn len(&self) -> usize {
        self.markers.len()
    }

    /// Returns the texts that the markers begin with.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.markers.iter().map(|marker| &*marker.text)
    }

    /// Returns the first marker as a model writes it; `None` for one that contains more than its text.
    pub(super) fn written(&self) -> Option<String> {
        self.markers.first().and_then(|marker| marker.get().written())
    }

    /// Returns the possible second bytes.
    pub(super) fn seconds(&self) -> impl Iterator<Item = u8> {
        self.markers.iter().flat_map(|marker| marker.get().seconds())
    }

    /// Returns `true` if the beginning of `text` reads as one of the markers, in any case.
    pub(super) fn resembles(&self, text: &[u8]) -> bool {
        let Some(first) = text.first() else { return false };
        let mut markers = self.markers.iter().filter(|marker| {
            marker.text.as_bytes().first().is_none_or(|own| own.eq_ignore_ascii_case(first))
        });
        markers.any(|marker| marker.get().resembles(text))
    }

    /// Returns the bytes that markers begin with.
    pub(super) fn firsts(&self) -> &ByteSet {
        &self.firsts
    }

    /// Returns `true` for a marker that a person could type: not a special token or the header of a
    /// channel.
    pub(super) fn is_typeable(&self, which: usize) -> bool {
        self.markers.get(which).is_some_and(|marker| !marker.is_special)
    }

    /// Returns `true` for a marker that prose may mention: not for closers and headers.
    pub(super) fn may_be_mention(&self, which: usize) -> bool {
        let marker = self.markers.get(which);
        marker.is_some_and(|marker| !marker.get().is_header() && !marker.is_closer())
    }

    /// Returns `true` for a marker that code hides: not for closers.
    pub(super) fn is_hidable(&self, which: usize) -> bool {
        self.markers.get(which).is_some_and(|marker| !marker.is_special && !marker.is_closer())
    }

    /// Returns `true` for the beginning of a special token, at least two bytes long.
    pub(super) fn is_cut_token(&self, text: &[u8]) -> bool {
        let has_bar = memchr::memchr(b'|', text).is_some()
            || ["<｜", "</｜"].iter().any(|front| text.starts_with(front.as_bytes()));
        let is_front =
            |marker: &&OwnedMarker| marker.check(text, TextAhead::More) == MarkerMatch::Maybe;
        has_bar && self.markers.iter().filter(|marker| marker.is_special).any(|it| is_front(&it))
    }

    /// Matches the beginning of `text` and returns the marker's position in the list. If several
    /// markers match, the first in the list counts.
    #[inline]
    pub(super) fn check(&self, text: &[u8]) -> (MarkerMatch, usize) {
        self.check_below(self.markers.len(), text, TextAhead::More)
    }

    /// Returns the same for the markers below number `end`; if nothing is `ahead`, nothing may
    /// still become a marker.
    #[inline]
    pub(super) fn check_below(
        &self,
        end: usize,
        text: &[u8],
        ahead: TextAhead,
    ) -> (MarkerMatch, usize) {
        let is_last = matches!(ahead, TextAhead::Nothing | TextAhead::Break);
        let Some(&second) = text.get(1) else {
            let may_begin = !is_last && text.first().is_some_and(|first| self.firsts.holds(*first));
            return (if may_begin { MarkerMatch::Maybe } else { MarkerMatch::No }, 0);
        };
        // The second byte rules out most text that starts like a marker.
        let place = usize::from(second);
        let (Some(&start), Some(&stop)) = (self.starts.get(place), self.starts.get(place + 1))
        else {
            return (MarkerMatch::No, 0);
        };
        if start == stop {
            return (MarkerMatch::No, 0);
        }
        let candidates = self.by_second.get(usize::from(start)..usize::from(stop));
        let mut mention = (MarkerMatch::No, 0);
        for &which in candidates.unwrap_or_default() {
            let which = usize::from(which);
            let Some(marker) = self.markers.get(which).filter(|_| which < end) else { continue };
            match marker.check(text, ahead) {
                MarkerMatch::No => {}
                MarkerMatch::Maybe if is_last => {}
                found @ MarkerMatch::Mention(_) => mention = (found, which),
                found @ (MarkerMatch::Maybe | MarkerMatch::Yes(_)) => return (found, which),
            }
        }
        mention
    }
}

/// Returns a mention for text that is not a payload.
fn or_mention(found: MarkerMatch) -> MarkerMatch {
    if found == MarkerMatch::No { MarkerMatch::Mention(0) } else { found }
}
