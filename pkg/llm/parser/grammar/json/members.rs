//! The members of a call: the beginnings of its arguments' values, and the end of each value.

use super::{
    current_call::CurrentCall,
    role::{ArgumentsProgress, ValueRole},
    value::{StringArguments, TOO_LONG},
};
use crate::grammar::reader::{LONG_NAME, PayloadOut, PayloadSink, give_source, json_to};
use forgeline_json::{Kind, slice};
use forgeline_types::Repair;

impl CurrentCall {
    /// Begins the value of the arguments.
    pub(super) fn begin_arguments(&mut self, kind: Kind, at: usize) {
        self.text.clear();
        self.source = Some(at);
        self.role = match kind {
            Kind::Object => {
                self.seen = ArgumentsProgress::Arguments;
                ValueRole::Arguments
            }
            Kind::String => {
                self.inner = Some(Box::new(StringArguments::new()));
                ValueRole::StringArguments
            }
            Kind::Word => ValueRole::WordArguments,
            Kind::Array | Kind::Number => {
                self.fail("the arguments are not a JSON object");
                ValueRole::WordArguments
            }
        };
    }

    #[inline(never)]
    pub(super) fn value_end(
        &mut self,
        depth: u32,
        at: usize,
        piece: &str,
        out: &mut PayloadSink<'_>,
    ) {
        self.is_in_item &= depth > 1;
        if self.is_wrapped() && depth == self.outer_depth {
            if self.rest_is_arguments {
                self.rest_is_arguments = false;
                self.role = ValueRole::Other;
                self.end_source(at, piece, out);
            }
            if !self.is_in_arguments() {
                self.depth -= 1;
                return;
            }
        }
        if depth != self.depth || (self.rest_is_arguments && self.role == ValueRole::Arguments) {
            return;
        }
        self.end_source(at, piece, out);
        match self.role {
            ValueRole::Name | ValueRole::Id | ValueRole::Server
                if self.text.ends_with(TOO_LONG) =>
            {
                self.fail(LONG_NAME);
            }
            ValueRole::Name => {
                let name = self.name_text();
                let has_name = name.is_some();
                if let Some(name) = name {
                    out(PayloadOut::Name { name: name.trim(), at });
                }
                self.has_name = has_name;
            }
            ValueRole::Server | ValueRole::Id => {
                if let Some(text) = self.name_text() {
                    let (text, is_id) = (text.trim(), self.role == ValueRole::Id);
                    out(if is_id {
                        PayloadOut::Id { id: text, at }
                    } else {
                        PayloadOut::Server { name: text, at }
                    });
                }
            }
            ValueRole::WordArguments if self.text == "null" => self.seen = ArgumentsProgress::Empty,
            ValueRole::WordArguments => self.fail("the arguments are not a JSON object"),
            ValueRole::StringArguments => self.end_string_arguments(out),
            ValueRole::Other | ValueRole::Key | ValueRole::Arguments => {}
        }
        self.role = ValueRole::Other;
    }

    /// Ends the source of the arguments before byte `at`.
    fn end_source(&mut self, at: usize, piece: &str, out: &mut PayloadSink<'_>) {
        if let Some(start) = self.source.take() {
            give_source(slice(piece, start..at), out);
        }
    }

    fn end_string_arguments(&mut self, out: &mut PayloadSink<'_>) {
        let Some(mut inner) = self.inner.take() else { return };
        if !inner.is_object {
            self.seen = ArgumentsProgress::Empty;
            if !matches!(inner.other.trim(), "" | "null") {
                self.fail("the arguments are a string that holds no JSON object");
            }
            return;
        }
        self.seen = ArgumentsProgress::Arguments;
        let closed = inner.json.close(&mut json_to(out));
        self.repairs.extend(inner.json.repairs());
        self.repairs.insert(Repair::StringArguments);
        if closed.is_err() {
            self.fail("the arguments are a string that holds no JSON object");
        }
    }
}
