//! The effect of each text and each mark on a call.

use std::mem;

use super::{
    call::{NO_OBJECT, ParamsCall},
    line_end::LineEnd,
    piece::{Piece, Place},
    tag::Attributes,
    tag_match::{Mark, State},
    tags::ValueFraming,
    want::Want,
};
use crate::{
    ahead::name_check::NameCheck,
    grammar::reader::{
        Fault, LONG_NAME, MAX_NAME_BYTES, NO_NAME, PayloadOut, Reader as _, Sink, give_source,
        is_blank, json_to,
    },
};
use forgeline_json::slice;
use forgeline_types::Repair;

/// Maximum length of the name of a type, in bytes.
const MAX_KIND_BYTES: usize = 16;

impl ParamsCall {
    /// Processes text up to `piece.end` that is not a mark.
    pub(super) fn text(&mut self, piece: &mut Piece<'_>, out: &mut Sink<'_>) {
        let text = piece.current();
        let place = self.place(piece);
        match self.state {
            State::ValueStart => {
                let is_framed = self.marks.tags().framing == ValueFraming::LineEnds;
                let skipped = match text.as_bytes() {
                    [b'\n', ..] if is_framed => 1,
                    [b'\r', b'\n', ..] if is_framed => 2,
                    b"\r" if is_framed => {
                        self.state = State::Value(LineEnd::FirstReturn);
                        return;
                    }
                    _ => 0,
                };
                self.state = State::Value(LineEnd::None);
                let text = slice(text, skipped..);
                self.value(text, LineEnd::None, place + skipped, &mut json_to(out));
            }
            State::Value(line_end) => self.value(text, line_end, place, &mut json_to(out)),
            State::Cdata | State::Object => self.arguments.text(text, place, &mut json_to(out)),
            State::Name if text == "\n" => {
                if !self.is_nameless() {
                    self.announce(piece.fed(piece.end), out);
                    piece.source = piece.end;
                }
            }
            State::Name | State::Key => {
                let room = text.floor_char_boundary(MAX_NAME_BYTES - self.name.len());
                self.name.push_str(slice(text, ..room));
                if room < text.len() {
                    piece.at += room;
                    self.fail(LONG_NAME, piece, out);
                }
            }
            State::Kind => {
                let room = text.floor_char_boundary(MAX_KIND_BYTES - self.kind.len());
                self.kind.push_str(slice(text, ..room));
            }
            State::Done => {
                if text.contains(|letter| !is_blank(letter)) {
                    self.repairs.insert(Repair::TrailingText);
                }
            }
            State::Start if self.may_be_behind_name => {}
            State::Start | State::Between | State::Gap | State::CdataDone | State::ObjectStart => {
                if let Some(stray) = text.find(|letter| !is_blank(letter)) {
                    piece.at += stray;
                    self.stray_text(piece, out);
                }
            }
            State::Ended | State::Lost | State::Failed => {}
        }
    }

    /// Processes text where only whitespace is expected: an object that contains all arguments, or a mistake.
    fn stray_text(&mut self, piece: &mut Piece<'_>, out: &mut Sink<'_>) {
        let may_be_object = self.state == State::ObjectStart
            || (self.state == State::Between && self.arguments.are_empty());
        if may_be_object && piece.current().starts_with('{') {
            self.arguments.begin_object(self.place(piece));
            self.state = State::Object;
            return self.text(piece, out);
        }
        let reason = if self.state == State::Start {
            "the payload begins with no function"
        } else if self.state == State::Gap {
            "a key has no value"
        } else if self.state == State::CdataDone {
            "text stands behind a CDATA section"
        } else if self.state == State::ObjectStart {
            NO_OBJECT
        } else {
            "text stands where only parameters can"
        };
        self.fail(reason, piece, out);
    }

    /// Processes a piece that is only the content of a value.
    #[inline]
    pub(super) fn pass_value(&mut self, text: &str, out: &mut Sink<'_>) {
        let State::Value(line_end) = self.state else { return };
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
        let mut end = LineEnd::of(text);
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
            let place = place + text.len() - end.text().len().min(text.len()) - body.len();
            self.arguments.text(body, place, json);
        }
        self.state = State::Value(end);
    }

    /// Processes the mark from `piece.at` to `piece.end`.
    pub(super) fn mark(&mut self, mark: Mark, piece: &mut Piece<'_>, out: &mut Sink<'_>) {
        match mark {
            Mark::Function => {
                if self.state == State::Done {
                    let repairs = mem::take(&mut self.repairs);
                    out(PayloadOut::NextCall { at: piece.fed(piece.end), repairs, fault: None });
                }
                let attributes = self.marks.attributes(mark, piece.current());
                self.name.clear();
                self.name.push_str(&attributes.name);
                self.end_name(piece, out);
                piece.source = piece.end;
                if attributes.is_closed && self.state == State::Between {
                    self.end_function(out);
                }
            }
            Mark::NameEnd => {
                self.end_name(piece, out);
                piece.source = piece.end;
            }
            Mark::FunctionEnd => {
                self.give_source(piece, out);
                self.end_function(out);
                piece.source = piece.end;
            }
            Mark::Parameter => {
                if self.state == State::Name {
                    self.end_name(piece, out);
                    piece.source = piece.at;
                }
                self.begin_parameter(piece, out);
            }
            Mark::ParameterEnd => {
                self.end_value(self.marks.tags().framing != ValueFraming::LineEnds, out);
            }
            Mark::KeyEnd => {
                self.kind.clear();
                self.state = State::Gap;
                if self.marks.tags().value_start.is_empty() {
                    self.begin_pair(piece, out);
                }
            }
            Mark::KindStart => self.state = State::Kind,
            Mark::KindEnd => self.state = State::Gap,
            Mark::ValueStart => self.begin_pair(piece, out),
            Mark::CdataStart => self.state = State::Cdata,
            Mark::CdataEnd => self.state = State::CdataDone,
            Mark::ObjectStart if self.arguments.are_empty() => self.state = State::ObjectStart,
            Mark::ObjectStart => self.fail(MIXED, piece, out),
            Mark::ObjectEnd => self.end_value(false, out),
        }
    }

    /// Returns `true` before the first letter of a name.
    pub(super) fn is_nameless(&self) -> bool {
        self.name.trim().is_empty() && self.state == State::Name
    }

    /// Ends the name at the current mark.
    fn end_name(&mut self, piece: &mut Piece<'_>, out: &mut Sink<'_>) {
        if self.name.trim().is_empty() {
            return self.fail(NO_NAME, piece, out);
        }
        let (name, place) = (self.name.trim(), self.place(piece));
        if !is_name(name) && !self.tools.counts(name, NameCheck::Always) {
            self.fault.get_or_insert(("the name of the tool is not one", place));
        }
        self.announce(piece.fed(piece.end), out);
    }

    /// Emits the name, whose end was found before byte `at` of the fed piece.
    fn announce(&mut self, at: usize, out: &mut Sink<'_>) {
        let name = self.name.trim();
        out(PayloadOut::Name { name, at });
        self.tools.call(name);
        self.state = State::Between;
    }

    fn begin_parameter(&mut self, piece: &mut Piece<'_>, out: &mut Sink<'_>) {
        if self.state == State::Failed {
            return;
        }
        if self.arguments.are_object() {
            return self.fail(MIXED, piece, out);
        }
        self.end_value_without_tag(out);
        if self.marks.has_text_keys() {
            self.name.clear();
            self.state = State::Key;
            return;
        }
        let attributes = self.marks.attributes(Mark::Parameter, piece.current());
        self.begin_value(&attributes, piece, out);
    }

    /// Begins the value of a text key.
    fn begin_pair(&mut self, piece: &mut Piece<'_>, out: &mut Sink<'_>) {
        let (name, kind) = (mem::take(&mut self.name), mem::take(&mut self.kind));
        let attributes = Attributes {
            name: name.trim().into(),
            is_named: !name.trim().is_empty(),
            kind: Some(kind.trim()),
            string: self.marks.tags().is_json.then_some(false),
            ..Attributes::default()
        };
        self.begin_value(&attributes, piece, out);
    }

    fn begin_value(
        &mut self,
        attributes: &Attributes<'_>,
        piece: &mut Piece<'_>,
        out: &mut Sink<'_>,
    ) {
        if !attributes.is_named {
            return self.fail("a parameter has no name", piece, out);
        }
        let schema = self.tools.schema();
        let want = Want::of(attributes, || schema.member(&attributes.name));
        let name = &attributes.name;
        if !self.arguments.begin_wrapped(name, want, schema)
            && !self.arguments.begin(name, want, schema, &mut json_to(out))
        {
            self.fault.get_or_insert(("duplicate_argument", self.place(piece)));
        }
        self.state = State::ValueStart;
        self.inner_end = None;
        self.has_broken_string = false;
        if attributes.is_closed {
            self.end_value(false, out);
        }
    }

    /// Ends a value without a tag of its own, where the next part begins.
    pub(super) fn end_value_without_tag(&mut self, out: &mut Sink<'_>) {
        if self.is_in_value() {
            match self.inner_end {
                None => self.repairs.insert(Repair::ImplicitClose),
                Some(place) => {
                    self.fault.get_or_insert(("text stands where only parameters can", place));
                }
            }
        }
        if self.is_in_value() || self.state == State::Object {
            self.end_value(false, out);
        }
    }

    /// Ends the value; a line end at its end belongs to it if `keeps_line_end`, and is framing otherwise.
    fn end_value(&mut self, keeps_line_end: bool, out: &mut Sink<'_>) {
        let json = &mut json_to(out);
        if let State::Value(line_end) = self.state
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
        self.state = State::Between;
    }

    fn finish_arguments(&mut self, out: &mut Sink<'_>) {
        self.end_value_without_tag(out);
        let json = &mut json_to(out);
        self.repairs.extend(self.arguments.unwrap(self.tools.schema(), json));
        self.arguments.finish(json);
    }

    fn end_function(&mut self, out: &mut Sink<'_>) {
        if self.state != State::Lost {
            self.finish_arguments(out);
        }
        self.state = match (self.marks.tags().ends_itself, self.fault) {
            (true, _) => State::Ended,
            (false, None) => State::Done,
            (false, Some(_)) => State::Failed,
        };
    }

    /// Processes the held text at the end of the payload, where no mark can follow any more.
    pub(super) fn settle_held(&mut self, out: &mut Sink<'_>) {
        self.break_string(out);
        let held = mem::take(&mut self.held);
        if held.is_empty() {
            return;
        }
        let mut piece = Piece::new(&held, Place::before(&held), 0);
        if self.is_in_value() && self.marks.is_value_end(&held) {
            piece.end = held.trim_end_matches(is_blank).len();
            self.mark(Mark::ParameterEnd, &mut piece, out);
            piece.at = piece.end;
        }
        piece.end = held.len();
        self.text(&mut piece, out);
        piece.at = held.len();
        self.give_source(&mut piece, out);
    }

    /// Ends the call after a name or complete parameters.
    pub(super) fn close_function(&mut self, out: &mut Sink<'_>) -> Result<(), Fault> {
        if self.state == State::Name {
            self.announce(0, out);
        }
        if !self.marks.tags().function_end.is_empty() {
            self.repairs.insert(Repair::ImplicitClose);
        }
        self.finish_arguments(out);
        self.state = State::Done;
        self.fault.map_or(Ok(()), Err)
    }
}

/// Returns `false` for text that templates and code contain in place of a name.
fn is_name(name: &str) -> bool {
    !name.contains(|letter: char| letter.is_whitespace() || "(){}[]<>=\"',".contains(letter))
}

/// The fault of parameters next to an object that contains all of them.
const MIXED: &str = "parameters stand beside an object that holds all of them";
