//! Tags of calls inside a value: data, or the beginning of the next call, whose predecessor was not ended.

use std::mem;

use compact_str::CompactString;

use super::{
    call::ParamsCall,
    inner_call::{InnerCall, NOT_ENDED},
    piece::{PieceOrigin, TextPiece},
    tag_match::TagPhase,
};
use forgeline_types::Repair;

use crate::{
    ahead::name_check::NameCheck,
    grammar::reader::{PayloadOut, PayloadSink, json_to},
};

impl ParamsCall {
    /// Records the beginning of another call in a value.
    pub(super) fn begin_inner(&mut self, name: CompactString, place: usize) {
        let is_sure = name.is_empty()
            || !self.marks.is_typed()
            || self.marks.is_fresh
            || matches!(self.state, TagPhase::Value(end) if end.is_whole());
        let tags = self.marks.tags();
        let name_end = if tags.function.is_empty() { tags.tag_end } else { "" };
        self.inner = Some(InnerCall { name, is_sure, name_end, ..InnerCall::default() });
        self.opener.get_or_insert(place);
    }

    /// Processes the text held from a tag in a string on: as data, or as it reads outside a string. It comes
    /// before `place`.
    pub(super) fn settle_suspect(
        &mut self,
        is_data: bool,
        place: PieceOrigin,
        out: &mut PayloadSink<'_>,
    ) {
        let Some(suspect) = self.suspect.take() else { return };
        let is_of_call = suspect.is_of_call();
        let held = suspect.into_text();
        if !is_data && is_of_call {
            self.begin_next_call(place.fed(0), out);
        }
        self.inner = None;
        let place = place.of_held(held.len(), 0);
        if is_data {
            let mut piece = TextPiece::new(&held, place, 0);
            self.text_to(held.len(), &mut piece, out);
            self.give_source(&mut piece, out);
        } else {
            self.has_broken_string |= !is_of_call;
            self.read_all(&held, place, out);
        }
    }

    /// Ends the current call with a fault and begins the one inside its open value; what reveals this
    /// ends before byte `at` of the fed piece. Returns `false` if none begins there.
    pub(super) fn begin_next_call(&mut self, at: usize, out: &mut PayloadSink<'_>) -> bool {
        let inner = self.inner.take().unwrap_or_default();
        let may_begin = |name: &&str| inner.is_sure || self.tools.counts(name, NameCheck::Always);
        let Some(name) = inner.called().filter(may_begin) else { return false };
        let fault = self.fault.take().or(Some((NOT_ENDED, self.opener.unwrap_or_default())));
        out(PayloadOut::NextCall { at, repairs: mem::take(&mut self.repairs), fault });
        self.arguments.restart();
        (self.opener, self.inner_end, self.stray) = (None, None, None);
        self.has_broken_string = false;
        self.name = name.into();
        self.state = TagPhase::Name;
        self.end_name(at, self.taken, out);
        true
    }

    /// Returns `true` if the key is one of the tool; its opener was lost, and that of a call takes its place.
    pub(super) fn is_known_key(&mut self) -> bool {
        let properties = self.tools.schema().properties();
        let is_known = properties.is_some_and(|all| all.contains_key(self.name.trim()));
        if is_known {
            self.repairs.insert(Repair::DuplicateTag);
        }
        is_known
    }

    /// Ends the current call, which has no arguments, and begins the one whose name was read as a key; what reveals this
    /// ends before byte `at` of the fed piece.
    pub(super) fn begin_call_of_key(&mut self, at: usize, out: &mut PayloadSink<'_>) {
        let place = self.unsure_key.take().unwrap_or_default();
        let lacks_required = self.arguments.lack_required(self.tools.schema());
        let fault = lacks_required.then_some((NOT_ENDED, place));
        self.arguments.finish(&mut json_to(out));
        self.repairs.insert(Repair::ImplicitClose);
        out(PayloadOut::NextCall { at, repairs: mem::take(&mut self.repairs), fault });
        self.state = TagPhase::Name;
    }

    /// Checks arguments with a tag of the grammar in a value: it is data of a call that is complete otherwise.
    pub(super) fn check_strays(&mut self, is_closed: bool) {
        let Some(place) = self.stray.take() else { return };
        if !is_closed || self.arguments.lack_required(self.tools.schema()) {
            self.fault.get_or_insert(("a value holds a tag of the call", place));
        }
    }
}
