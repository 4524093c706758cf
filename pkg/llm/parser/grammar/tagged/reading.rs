//! The recognition of marks in the text of a payload that arrives in pieces.

use std::mem;

use super::{
    call::ParamsCall,
    inner_call::TAG_IN_KEY,
    piece::{PieceOrigin, TextPiece},
    read_part::ReadPart,
    suspect_tag::{SuspectPlace, SuspectTag},
    tag_match::{TagClass, TagMark, TagPhase},
};
use crate::grammar::reader::{PayloadReader as _, PayloadSink};
use forgeline_json::slice;
use forgeline_types::Repair;

/// The maximum number of bytes by which withheld text grows before it is read again.
const STEP_BYTES: usize = 64;

impl ParamsCall {
    /// Reads the part of the piece that is certain.
    fn read_part(&mut self, piece: &mut TextPiece<'_>, out: &mut PayloadSink<'_>) -> ReadPart {
        // The call cannot end before the byte that revealed a mistake: the text before it may have
        // arrived, and been emitted, in an earlier piece.
        let mut known = 0;
        loop {
            let plain = self.marks.find_in(self.state, piece.rest().as_bytes());
            if plain > 0 {
                let text = slice(piece.rest(), ..plain);
                self.inner = self.inner.take().and_then(|inner| inner.with(text));
                self.text_to(piece.at + plain, piece, out);
            }
            let rest = piece.rest();
            let Some(first) = rest.chars().next() else { break };
            let begin = (piece.at, self.state, self.inner.is_some());
            let is_quoted =
                self.state == TagPhase::Object && self.arguments.string_quote().is_some();
            let class = (!is_quoted).then(|| self.marks.classify(begin.1, begin.2, rest));
            match class.unwrap_or(TagClass::Nothing) {
                TagClass::Mark(..) if let Some(quote) = self.value_quote() => {
                    self.give_source(piece, out);
                    return ReadPart::Suspect(piece.at, SuspectPlace::string(quote));
                }
                TagClass::Mark(TagMark::Parameter, _)
                    if self.inner.as_ref().is_some_and(|inner| inner.called().is_some()) =>
                {
                    self.give_source(piece, out);
                    let end = self.marks.tags().function_end;
                    return ReadPart::Suspect(piece.at, SuspectPlace::Call { end });
                }
                TagClass::Inner(bytes) => {
                    let tag = slice(rest, ..bytes);
                    let name = self.marks.attributes(TagMark::Function, tag).name.into();
                    self.begin_inner(name, self.place(piece));
                    self.text_to(piece.at + bytes, piece, out);
                }
                TagClass::Opener(bytes) => {
                    self.stray.get_or_insert(self.place(piece));
                    self.marks.holds_opener = true;
                    self.inner = None;
                    self.text_to(piece.at + bytes, piece, out);
                }
                TagClass::Spare(bytes) => {
                    self.repairs.insert(Repair::DuplicateTag);
                    piece.at += bytes;
                    if let TagPhase::Value(_) = self.state {
                        self.state = TagPhase::ValueStart;
                    }
                }
                TagClass::Misplaced(bytes) => {
                    let is_next =
                        self.unsure_key.is_some() && self.marks.begins_with_parameter(rest);
                    if is_next {
                        // It was the opener of a call after all, whose name the key is.
                        self.give_source(piece, out);
                        self.begin_call_of_key(piece.fed(piece.at + bytes), out);
                    } else if let Some(end) = self.end_of_key(rest) {
                        piece.end = piece.at + bytes;
                        self.marks.note(slice(rest, ..bytes));
                        self.split_pair(end, piece, out);
                        piece.at = piece.end;
                    } else {
                        self.fail(TAG_IN_KEY, piece, out);
                    }
                }
                TagClass::Mark(mark, bytes) => {
                    self.inner = None;
                    let end = piece.at + bytes;
                    piece.end = end;
                    self.marks.note(slice(rest, ..bytes));
                    self.mark(mark, piece, out);
                    piece.at = end;
                    if self.state == TagPhase::Ended {
                        return ReadPart::Ended(end.max(known));
                    }
                }
                TagClass::Maybe => {
                    self.give_source(piece, out);
                    return ReadPart::Upto(piece.at);
                }
                TagClass::TooLong => self.fail("a tag is longer than 512 bytes", piece, out),
                TagClass::Nothing => {
                    if self.is_in_value()
                        && self.value_quote().is_none()
                        && self.marks.begins_with_value_end(rest)
                    {
                        let place = *self.inner_end.get_or_insert(self.place(piece));
                        self.stray.get_or_insert(place);
                    }
                    let letter = slice(rest, ..first.len_utf8());
                    self.inner = self.inner.take().and_then(|inner| inner.with_name_end(letter));
                    self.text_to(piece.at + letter.len(), piece, out);
                }
            }
            if self.state == TagPhase::Lost && begin.1 != TagPhase::Lost {
                known = begin.0 + self.marks.told_by(begin.1, begin.2, rest);
            }
            if self.has_failed() && self.marks.tags().ends_itself {
                // The reader of the call looks for the next one after the mistake.
                return ReadPart::Ended(piece.at);
            }
        }
        self.give_source(piece, out);
        ReadPart::All
    }

    /// Reads the text at `place`; returns the byte of the fed piece at which the call ended, if it
    /// did.
    pub(super) fn read_all(
        &mut self,
        text: &str,
        place: PieceOrigin,
        out: &mut PayloadSink<'_>,
    ) -> Option<usize> {
        let mut at = 0;
        while at < text.len() {
            if let Some(suspect) = &mut self.suspect {
                let is_data = suspect.feed(text, &mut at)?;
                self.settle_suspect(is_data, place.of_held(0, at), out);
            } else if self.held.is_empty() {
                match self.read_part(&mut TextPiece::new(text, place, at), out) {
                    ReadPart::All => return None,
                    ReadPart::Upto(upto) => {
                        self.held.push_str(slice(text, upto..));
                        return None;
                    }
                    ReadPart::Suspect(upto, place) => {
                        self.suspect = Some(SuspectTag::new(place));
                        at = upto;
                    }
                    ReadPart::Ended(end) => return Some(place.fed(end)),
                }
            } else {
                // Text that an earlier piece left undecided grows until it is decided, usually at the end of
                // the tag.
                let rest = slice(text, at..);
                let next = memchr::memchr(b'>', rest.as_bytes()).map_or(rest.len(), |end| end + 1);
                let next = slice(rest, ..rest.ceil_char_boundary(next.min(STEP_BYTES)));
                at += next.len();
                let mut held = mem::take(&mut self.held);
                held.push_str(next);
                let place = place.of_held(held.len(), at);
                match self.read_part(&mut TextPiece::new(&held, place, 0), out) {
                    ReadPart::All => held.clear(),
                    ReadPart::Upto(upto) => drop(held.drain(..upto)),
                    ReadPart::Suspect(upto, stands_in) => {
                        self.suspect = Some(SuspectTag::new(stands_in));
                        let place = place.of_held(0, upto);
                        let ended = self.read_all(slice(&held, upto..), place, out);
                        if ended.is_some() {
                            return ended;
                        }
                        continue;
                    }
                    // The text that revealed the end of the payload is not part of it.
                    ReadPart::Ended(end) => return Some(place.fed(end)),
                }
                self.held = held;
            }
        }
        None
    }
}
