//! The effect of each marker of the dialect: a call begins, or framing is skipped.

use super::{ToolCallParser, UnwrappedCall};
use crate::{
    ahead::name_check::NameCheck,
    builder::{WrapperContent, role::MarkerRole},
    content::parsed::{ContentSink, ParsedContent},
    scan::code_spans::CodeSpans,
};

impl ToolCallParser {
    /// Processes the marker found last, number `which`, which ends at byte `at` of the piece.
    pub(super) fn take_marker(
        &mut self,
        which: usize,
        at: usize,
        hides_calls: bool,
        out: &mut ContentSink<'_>,
    ) {
        let compiled = self.dialect.compiled();
        let role = compiled.role(which);
        let offset = self.taken + at as u64;
        if self.is_in_prose && role.is_of_calls() {
            return self.pass_found(out);
        }
        if let MarkerRole::Call(form) = role
            && compiled.form(form).offered != NameCheck::Any
        {
            return self.enter_offered(form, offset, out);
        }
        let is_alone =
            || self.scan.found().rfind('<') == Some(0) && self.scan.found().ends_with('>');
        if role == MarkerRole::WrapperOpener(WrapperContent::Text)
            && compiled.is_joint
            && !self.is_before_text
            && is_alone()
        {
            return self.pass_found(out);
        }
        let is_typeable = compiled.text.is_typeable(which);
        let is_opener = which < compiled.openers && compiled.text.is_hidable(which);
        if hides_calls && is_opener && self.code.hides_next() {
            return self.opener_in_code(role, out);
        }
        let is_closer = match role {
            MarkerRole::WrapperCloser(_) => {
                !is_typeable || self.is_in_wrapper || self.is_behind_call
            }
            MarkerRole::CallCloser => {
                self.is_behind_call || (!is_typeable && compiled.drops_strays())
            }
            MarkerRole::Call(_)
            | MarkerRole::WrapperOpener(_)
            | MarkerRole::TurnEnd { .. }
            | MarkerRole::Inline
            | MarkerRole::Stray => true,
        };
        let closes = matches!(role, MarkerRole::WrapperCloser(_) | MarkerRole::CallCloser);
        let is_mentioned = closes && !self.may_unwrap && self.mentions > 0;
        if !is_closer || is_mentioned {
            self.mentions -= u8::from(is_mentioned);
            if role == MarkerRole::CallCloser && !is_mentioned {
                return self.pass_front(out);
            }
            return self.pass_found(out);
        }
        if let MarkerRole::Call(form) = role
            && compiled.form(form).is_unwrapped
            && !std::mem::take(&mut self.is_certain)
            && !(self.is_before_text || self.is_behind_call || self.is_in_wrapper)
        {
            let call = UnwrappedCall::new(self.scan.found(), &self.dialect);
            self.unwrapped = Some(Box::new(call));
            return;
        }
        if role == MarkerRole::Inline {
            return out(ParsedContent::Inline(self.scan.found()));
        }
        if role == MarkerRole::Stray || role == MarkerRole::CallCloser && !self.is_behind_call {
            return out(ParsedContent::Marker(self.scan.found()));
        }
        self.may_unwrap = true;
        self.code = CodeSpans::START;
        if let MarkerRole::Call(form) = role {
            self.enter_call(form, offset, out);
        } else {
            self.pass_framing(role, out);
        }
    }

    /// Emits the first character of a closer that is not one, because there is text between it and the call: the
    /// rest may begin a marker, as it may where closers are not searched for.
    fn pass_front(&mut self, out: &mut ContentSink<'_>) {
        let found = self.scan.found();
        let front = found.chars().next().map_or(0, char::len_utf8);
        let (front, rest) = found.split_at_checked(front).unwrap_or_default();
        self.code.pass(front.as_bytes());
        self.is_behind_call = false;
        out(ParsedContent::Text(front));
        self.pending.insert_str(0, rest);
    }

    /// Begins a call after the marker that was found.
    fn enter_call(&mut self, form: usize, offset: u64, out: &mut ContentSink<'_>) {
        if !self.dialect.compiled().form(form).opener_is_payload {
            out(ParsedContent::Marker(self.scan.found()));
            return self.begin_call(form, offset);
        }
        self.begin_call(form, offset);
        if let Some(region) = &mut self.region {
            region.pass(self.scan.found(), out);
        }
    }

    /// Emits the last marker, which is framing.
    fn pass_framing(&mut self, role: MarkerRole, out: &mut ContentSink<'_>) {
        if let MarkerRole::WrapperOpener(_) | MarkerRole::WrapperCloser(_) = role {
            self.is_in_wrapper = matches!(role, MarkerRole::WrapperOpener(_));
            self.is_in_block = role == MarkerRole::WrapperOpener(WrapperContent::Calls);
            self.is_before_text = true;
        }
        self.is_in_prose = role == MarkerRole::WrapperOpener(WrapperContent::Prose);
        out(ParsedContent::Marker(self.scan.found()));
    }

    /// Returns `true` if a call of `form` that begins with `text` counts.
    pub(super) fn counts(&self, form: usize, text: &str) -> bool {
        let offered = self.dialect.compiled().form(form).offered;
        let text = text.trim_start();
        let name = ["call:", "<call>"].iter().find_map(|word| text.strip_prefix(word));
        // A name alone is evidence only if it is an offered one.
        let check = if name.is_some() { offered } else { NameCheck::Always };
        let name = name.unwrap_or(text).split(['{', '(']).next().unwrap_or_default();
        offered == NameCheck::Any || self.tools.counts(name, check)
    }

    /// Processes an opener of `form` that contains the name, possibly after the end of the previous line.
    pub(super) fn enter_offered(&mut self, form: usize, offset: u64, out: &mut ContentSink<'_>) {
        let found = self.scan.found();
        let (line_end, call) = found.split_at(usize::from(found.starts_with('\n')));
        let is_hidden = self.code.after_all(line_end.as_bytes()).hides_next();
        if is_hidden || !self.counts(form, call) {
            return self.pass_found(out);
        }
        if !line_end.is_empty() {
            out(ParsedContent::Text(line_end));
        }
        self.begin_call(form, offset);
        let found = self.scan.found();
        if let Some(region) = &mut self.region {
            region.pass(found.trim_start_matches('\n'), out);
        }
    }
}
