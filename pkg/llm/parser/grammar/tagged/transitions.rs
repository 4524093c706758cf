//! The effect of each text and each mark on a call.

use std::mem;

use super::{
    call::{NO_OBJECT, ParamsCall},
    inner_call::{NOT_ENDED, TAG_IN_KEY},
    piece::{PieceOrigin, TextPiece},
    tag::TagAttributes,
    tag_match::{TagMark, TagPhase},
    tags::ValueFraming,
    want::WrittenForm,
};
use crate::ahead::name_check::NameCheck;
use crate::grammar::line_end::LineEnd;
use crate::grammar::reader::{
    LONG_NAME, MAX_NAME_BYTES, NO_NAME, NO_TOOL_NAME, PayloadFault, PayloadOut, PayloadReader as _,
    PayloadSink, give_source, is_blank, is_name, json_to,
};
use forgeline_json::slice;
use forgeline_types::Repair;

/// Maximum length of the name of a type, in bytes.
const MAX_KIND_BYTES: usize = 16;

impl ParamsCall {
    /// Processes text up to `piece.end` that is not a mark.
    pub(super) fn text(&mut self, piece: &mut TextPiece<'_>, out: &mut PayloadSink<'_>) {
        let text = piece.current();
        let place = self.place(piece);
        match self.state {
            TagPhase::ValueStart => {
                let is_framed = self.marks.tags().framing == ValueFraming::LineEnds;
                let skipped = match text.as_bytes() {
                    [b'\n', ..] if is_framed => 1,
                    [b'\r', b'\n', ..] if is_framed => 2,
                    b"\r" if is_framed => {
                        self.state = TagPhase::Value(LineEnd::FirstReturn);
                        return;
                    }
                    _ => 0,
                };
                self.state = TagPhase::Value(LineEnd::None);
                let text = slice(text, skipped..);
                self.value(text, LineEnd::None, place + skipped, &mut json_to(out));
            }
            TagPhase::Value(line_end) => self.value(text, line_end, place, &mut json_to(out)),
            TagPhase::Cdata | TagPhase::Object => {
                self.arguments.text(text, place, &mut json_to(out));
            }
            TagPhase::Name if text == "\n" => {
                if !self.is_nameless() {
                    self.end_name(piece.fed(piece.end), place, out);
                    piece.source = piece.end;
                }
            }
            TagPhase::Name if let Some(end) = text.find(ends_name) => {
                self.name.push_str(slice(text, ..end));
                piece.at += end;
                if self.is_nameless() {
                    return self.fail(NO_NAME, piece, out);
                }
                let told = self.marks.told_by(self.state, false, piece.rest());
                self.end_name(piece.fed(piece.at + told), place + end, out);
                piece.source = piece.at;
                self.text(piece, out);
            }
            TagPhase::Name | TagPhase::Key => {
                self.marks.is_fresh = false;
                let room = text.floor_char_boundary(MAX_NAME_BYTES - self.name.len());
                self.name.push_str(slice(text, ..room));
                if room < text.len() {
                    piece.at += room;
                    self.fail(LONG_NAME, piece, out);
                }
            }
            TagPhase::Kind => {
                self.marks.is_fresh = false;
                let room = text.floor_char_boundary(MAX_KIND_BYTES - self.kind.len());
                self.kind.push_str(slice(text, ..room));
            }
            TagPhase::Done => {
                if text.contains(|letter| !is_blank(letter)) {
                    self.repairs.insert(Repair::TrailingText);
                }
            }
            TagPhase::Start if self.may_be_behind_name => {}
            TagPhase::Start
            | TagPhase::Between
            | TagPhase::Gap
            | TagPhase::CdataDone
            | TagPhase::ObjectStart => {
                if let Some(stray) = text.find(|letter| !is_blank(letter)) {
                    piece.at += stray;
                    self.stray_text(piece, out);
                }
            }
            TagPhase::Ended | TagPhase::Lost | TagPhase::Failed => {}
        }
    }

    /// Processes text where only whitespace is expected: an object that contains all arguments, or a mistake.
    fn stray_text(&mut self, piece: &mut TextPiece<'_>, out: &mut PayloadSink<'_>) {
        let may_be_object = self.state == TagPhase::ObjectStart
            || (self.state == TagPhase::Between && self.arguments.are_empty());
        if may_be_object && piece.current().starts_with('{') {
            self.arguments.begin_object(self.place(piece));
            self.state = TagPhase::Object;
            return self.text(piece, out);
        }
        let reason = if self.state == TagPhase::Start {
            "the payload begins with no function"
        } else if self.state == TagPhase::Gap {
            "a key has no value"
        } else if self.state == TagPhase::CdataDone {
            "text stands behind a CDATA section"
        } else if self.state == TagPhase::ObjectStart {
            NO_OBJECT
        } else {
            NO_PARAMETER
        };
        self.fail(reason, piece, out);
    }

    /// Processes a piece that is only the content of a value.
    #[inline]
    pub(super) fn pass_value(&mut self, text: &str, out: &mut PayloadSink<'_>) {
        let TagPhase::Value(line_end) = self.state else { return };
        self.value(text, line_end, self.taken, &mut json_to(out));
        give_source(text, out);
        self.taken += text.len();
    }

    /// Processes text of a value; a line end at its end is held, because it may be framing.
    pub(super) fn value(
        &mut self,
        text: &str,
        before: LineEnd,
        place: usize,
        json: &mut impl FnMut(&str),
    ) {
        if text.is_empty() {
            return;
        }
        let mut end = LineEnd::at_end_of(text);
        let mut body = slice(text, ..text.len() - end.text().len());
        match (before, text.strip_prefix('\n')) {
            (LineEnd::None, _) => {}
            // The framing after the opening tag.
            (LineEnd::FirstReturn, Some("")) => end = LineEnd::None,
            (LineEnd::FirstReturn, Some(_)) => body = slice(body, 1..),
            (LineEnd::Return, Some("")) => end = LineEnd::Both,
            (LineEnd::FirstReturn | LineEnd::Return | LineEnd::Feed | LineEnd::Both, _) => {
                let before = before.text();
                self.arguments.text(before, place.saturating_sub(before.len()), json);
            }
        }
        if !body.is_empty() {
            self.marks.is_fresh = false;
            let place = place + text.len() - end.text().len().min(text.len()) - body.len();
            self.arguments.text(body, place, json);
        }
        self.state = TagPhase::Value(end);
    }

    /// Processes the mark from `piece.at` to `piece.end`.
    pub(super) fn mark(
        &mut self,
        mark: TagMark,
        piece: &mut TextPiece<'_>,
        out: &mut PayloadSink<'_>,
    ) {
        match mark {
            TagMark::Function => {
                if self.state == TagPhase::Done {
                    let repairs = mem::take(&mut self.repairs);
                    out(PayloadOut::NextCall { at: piece.fed(piece.end), repairs, fault: None });
                }
                if self.marks.are_in_attributes(mark, piece.current()) {
                    return self.fail(TAG_IN_KEY, piece, out);
                }
                let attributes = self.marks.attributes(mark, piece.current());
                self.name.clear();
                self.name.push_str(&attributes.name);
                self.end_name_at(piece, out);
                piece.source = piece.end;
                if attributes.is_closed && self.state == TagPhase::Between {
                    self.end_function(out);
                }
            }
            TagMark::NameEnd => {
                self.end_name_at(piece, out);
                piece.source = piece.end;
            }
            TagMark::KeyEnd if self.state == TagPhase::Name => self.split_name(piece, out),
            TagMark::ParameterEnd if self.state == TagPhase::Name => {
                self.end_name_at(piece, out);
                self.repairs.insert(Repair::DuplicateTag);
                piece.source = piece.end;
            }
            TagMark::FunctionEnd => {
                self.give_source(piece, out);
                self.end_function(out);
                piece.source = piece.end;
            }
            TagMark::Parameter => {
                if self.state == TagPhase::Name {
                    self.end_name_at(piece, out);
                    piece.source = piece.at;
                }
                self.begin_parameter(piece, out);
            }
            TagMark::ParameterEnd => {
                self.end_value(self.marks.tags().framing != ValueFraming::LineEnds, out);
            }
            TagMark::KeyEnd if self.unsure_key.take().is_some() && !self.is_known_key() => {
                self.fail("a key does not begin", piece, out);
            }
            TagMark::KeyEnd => {
                self.kind.clear();
                self.state = TagPhase::Gap;
                if self.marks.tags().value_start.is_empty() {
                    self.begin_pair(piece, out);
                }
            }
            TagMark::KindStart => self.state = TagPhase::Kind,
            TagMark::KindEnd => self.state = TagPhase::Gap,
            TagMark::ValueStart => self.begin_pair(piece, out),
            TagMark::CdataStart => self.state = TagPhase::Cdata,
            TagMark::CdataEnd => self.state = TagPhase::CdataDone,
            TagMark::ObjectStart if self.arguments.are_empty() => {
                self.state = TagPhase::ObjectStart;
            }
            TagMark::ObjectStart => self.fail(MIXED, piece, out),
            TagMark::ObjectEnd => self.end_value(false, out),
        }
    }

    /// Returns `true` before the first letter of a name.
    pub(super) fn is_nameless(&self) -> bool {
        self.name.trim().is_empty() && self.state == TagPhase::Name
    }

    /// Ends the name at the current mark.
    fn end_name_at(&mut self, piece: &mut TextPiece<'_>, out: &mut PayloadSink<'_>) {
        if self.name.trim().is_empty() {
            return self.fail(NO_NAME, piece, out);
        }
        self.end_name(piece.fed(piece.end), self.place(piece), out);
    }

    /// Ends a name that runs into the key of its first parameter, whose opener was lost: the offered tool
    /// with such a parameter is the one that is called.
    fn split_name(&mut self, piece: &mut TextPiece<'_>, out: &mut PayloadSink<'_>) {
        let Some(end) = self.tools.split(self.name.trim()) else {
            self.end_name_at(piece, out);
            piece.source = piece.at;
            return self.fail("a key does not begin", piece, out);
        };
        let key = slice(self.name.trim(), end..).into();
        self.name.truncate(self.name.len() - self.name.trim_start().len() + end);
        self.end_name_at(piece, out);
        self.name = key;
        piece.source = piece.end;
        self.mark(TagMark::KeyEnd, piece, out);
    }

    /// Returns the length of a key of the tool that is followed by `=` and its value, where the end of the value begins
    /// `text`: the tags between them were lost.
    pub(super) fn end_of_key(&self, text: &str) -> Option<usize> {
        let end = self.name.find('=').filter(|_| self.marks.begins_with_value_end(text))?;
        let key = slice(&self.name, ..end).trim();
        self.tools.schema().properties()?.contains_key(key).then_some(end)
    }

    /// Ends a pair whose key has this length.
    pub(super) fn split_pair(
        &mut self,
        end: usize,
        piece: &mut TextPiece<'_>,
        out: &mut PayloadSink<'_>,
    ) {
        let pair = mem::take(&mut self.name);
        self.name.push_str(slice(&pair, ..end));
        let value = slice(&pair, end + 1..);
        let place = self.place(piece).saturating_sub(value.len());
        self.begin_pair(piece, out);
        self.state = TagPhase::Value(LineEnd::None);
        self.arguments.text(value, place, &mut json_to(out));
        self.end_value(true, out);
        self.repairs.insert(Repair::ImplicitClose);
    }

    /// Emits the name, whose end was found at `place` and before byte `at` of the fed piece.
    pub(super) fn end_name(&mut self, at: usize, place: usize, out: &mut PayloadSink<'_>) {
        let name = self.name.trim();
        if !is_name(name) && !self.tools.counts(name, NameCheck::Always) {
            self.fault.get_or_insert((NO_TOOL_NAME, place));
        }
        out(PayloadOut::Name { name, at });
        self.tools.call(name);
        self.state = TagPhase::Between;
    }

    fn begin_parameter(&mut self, piece: &mut TextPiece<'_>, out: &mut PayloadSink<'_>) {
        if self.state == TagPhase::Failed {
            return;
        }
        if self.arguments.are_object() {
            return self.fail(MIXED, piece, out);
        }
        self.end_value_without_tag(out);
        if self.marks.has_text_keys() {
            self.name.clear();
            self.state = TagPhase::Key;
            return;
        }
        if self.marks.are_in_attributes(TagMark::Parameter, piece.current()) {
            return self.fail(TAG_IN_KEY, piece, out);
        }
        let attributes = self.marks.attributes(TagMark::Parameter, piece.current());
        self.begin_value(&attributes, piece, out);
    }

    /// Begins the value of a text key.
    fn begin_pair(&mut self, piece: &mut TextPiece<'_>, out: &mut PayloadSink<'_>) {
        let (name, kind) = (mem::take(&mut self.name), mem::take(&mut self.kind));
        let attributes = TagAttributes {
            name: name.trim().into(),
            is_named: !name.trim().is_empty(),
            kind: Some(kind.trim()),
            string: self.marks.tags().is_json.then_some(false),
            ..TagAttributes::default()
        };
        self.begin_value(&attributes, piece, out);
    }

    fn begin_value(
        &mut self,
        attributes: &TagAttributes<'_>,
        piece: &mut TextPiece<'_>,
        out: &mut PayloadSink<'_>,
    ) {
        if !attributes.is_named {
            return self.fail("a parameter has no name", piece, out);
        }
        if self.marks.are_in(&attributes.name) {
            return self.fail(TAG_IN_KEY, piece, out);
        }
        let schema = self.tools.schema();
        let want = WrittenForm::of(attributes, || schema.member(&attributes.name));
        let name = &attributes.name;
        if !self.arguments.begin_wrapped(name, want, schema)
            && !self.arguments.begin(name, want, schema, &mut json_to(out))
        {
            self.fault.get_or_insert(("duplicate_argument", self.place(piece)));
        }
        self.state = TagPhase::ValueStart;
        (self.inner_end, self.opener) = (None, None);
        self.marks.holds_opener = false;
        self.has_broken_string = false;
        if attributes.is_closed {
            self.end_value(false, out);
        }
    }

    /// Ends a value without a tag of its own, where the next part begins.
    pub(super) fn end_value_without_tag(&mut self, out: &mut PayloadSink<'_>) {
        if self.is_in_value() {
            if self.begin_next_call(0, out) {
                return;
            }
            match (self.opener, self.inner_end) {
                (None, None) => self.repairs.insert(Repair::ImplicitClose),
                (Some(place), _) => _ = self.fault.get_or_insert((NOT_ENDED, place)),
                (None, Some(place)) => _ = self.fault.get_or_insert((NO_PARAMETER, place)),
            }
        }
        if self.is_in_value() || self.state == TagPhase::Object {
            self.end_value(false, out);
        }
    }

    /// Ends the value; a line end at its end belongs to it if `keeps_line_end`, and is framing otherwise.
    fn end_value(&mut self, keeps_line_end: bool, out: &mut PayloadSink<'_>) {
        let json = &mut json_to(out);
        if let TagPhase::Value(line_end) = self.state
            && (keeps_line_end || !line_end.is_whole())
            && line_end != LineEnd::None
        {
            self.arguments.text(line_end.text(), self.taken, json);
        }
        match self.arguments.end(json) {
            Ok(repairs) if self.fault.is_none() => self.repairs.extend(repairs),
            Ok(_) => {}
            Err(fault) => {
                self.fault.get_or_insert(fault);
            }
        }
        self.state = TagPhase::Between;
    }

    /// Ends the arguments of a function, which `is_closed` by its own tag or has none.
    fn finish_arguments(&mut self, is_closed: bool, out: &mut PayloadSink<'_>) {
        self.end_value_without_tag(out);
        let json = &mut json_to(out);
        self.repairs.extend(self.arguments.unwrap(self.tools.schema(), json));
        self.check_strays(is_closed);
        self.arguments.finish(json);
    }

    fn end_function(&mut self, out: &mut PayloadSink<'_>) {
        if self.state != TagPhase::Lost {
            self.finish_arguments(true, out);
        }
        self.state = match (self.marks.tags().ends_itself, self.fault) {
            (true, _) => TagPhase::Ended,
            (false, None) => TagPhase::Done,
            (false, Some(_)) => TagPhase::Failed,
        };
    }

    /// Processes the held text at the end of the payload, where no mark can follow any more.
    pub(super) fn settle_held(&mut self, out: &mut PayloadSink<'_>) {
        self.break_string(out);
        let held = mem::take(&mut self.held);
        if held.is_empty() {
            return;
        }
        let mut piece = TextPiece::new(&held, PieceOrigin::before(&held), 0);
        if let Some(bytes) = self.marks.value_end(&held).filter(|_| self.is_in_value()) {
            piece.end = held.trim_end_matches(is_blank).len();
            if bytes < piece.end {
                self.repairs.insert(Repair::DuplicateTag);
            }
            self.mark(TagMark::ParameterEnd, &mut piece, out);
            piece.at = piece.end;
        } else if self.is_in_value() && self.marks.begins_with_value_end(&held) {
            self.inner_end.get_or_insert(self.taken.saturating_sub(held.len()));
        }
        piece.end = held.len();
        self.text(&mut piece, out);
        piece.at = held.len();
        self.give_source(&mut piece, out);
    }

    /// Ends the call after a name or complete parameters.
    pub(super) fn close_function(&mut self, out: &mut PayloadSink<'_>) -> Result<(), PayloadFault> {
        if self.state == TagPhase::Name {
            self.end_name(0, self.taken, out);
        }
        let has_end = !self.marks.tags().function_end.is_empty();
        let is_closed = !has_end && !self.lacks_closer;
        if has_end {
            self.repairs.insert(Repair::ImplicitClose);
        }
        self.finish_arguments(is_closed, out);
        self.state = TagPhase::Done;
        self.fault.map_or(Ok(()), Err)
    }
}

/// Returns `true` for a letter that no name contains, and at which it ends.
fn ends_name(letter: char) -> bool {
    "<>{(\"'".contains(letter)
}

/// The fault of text between parameters.
const NO_PARAMETER: &str = "text stands where only parameters can";

/// The fault of parameters next to an object that contains all of them.
const MIXED: &str = "parameters stand beside an object that holds all of them";
