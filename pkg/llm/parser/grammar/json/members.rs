//! The members of a call: the beginnings of its arguments' values, and the end of each value.

use super::{
    call::Call,
    role::{Role, Seen},
    value::{Inner, TOO_LONG},
};
use crate::grammar::reader::{LONG_NAME, PayloadOut, Sink, give_source, json_to};
use forgeline_json::{Kind, slice};
use forgeline_types::Repair;

impl Call {
    /// Begins the value of the arguments.
    pub(super) fn begin_arguments(&mut self, kind: Kind, at: usize) {
        self.text.clear();
        self.source = Some(at);
        self.role = match kind {
            Kind::Object => {
                self.seen = Seen::Arguments;
                Role::Arguments
            }
            Kind::String => {
                self.inner = Some(Box::new(Inner::new()));
                Role::StringArguments
            }
            Kind::Word => Role::WordArguments,
            Kind::Array | Kind::Number => {
                self.fail("the arguments are not a JSON object");
                Role::WordArguments
            }
        };
    }

    #[inline(never)]
    pub(super) fn value_end(&mut self, depth: u32, at: usize, piece: &str, out: &mut Sink<'_>) {
        self.is_in_item &= depth > 1;
        if self.is_wrapped() && depth == self.outer_depth {
            if self.rest_is_arguments {
                self.rest_is_arguments = false;
                self.role = Role::Other;
                self.end_source(at, piece, out);
            }
            if !self.is_in_arguments() {
                self.depth -= 1;
                return;
            }
        }
        if depth != self.depth || (self.rest_is_arguments && self.role == Role::Arguments) {
            return;
        }
        self.end_source(at, piece, out);
        match self.role {
            Role::Name | Role::Id | Role::Server if self.text.ends_with(TOO_LONG) => {
                self.fail(LONG_NAME);
            }
            Role::Name => {
                let name = self.name_text();
                let has_name = name.is_some();
                if let Some(name) = name {
                    out(PayloadOut::Name { name: name.trim(), at });
                }
                self.has_name = has_name;
            }
            Role::Server | Role::Id => {
                if let Some(text) = self.name_text() {
                    let (text, is_id) = (text.trim(), self.role == Role::Id);
                    out(if is_id {
                        PayloadOut::Id { id: text, at }
                    } else {
                        PayloadOut::Server { name: text, at }
                    });
                }
            }
            Role::WordArguments if self.text == "null" => self.seen = Seen::Empty,
            Role::WordArguments => self.fail("the arguments are not a JSON object"),
            Role::StringArguments => self.end_string_arguments(out),
            Role::Other | Role::Key | Role::Arguments => {}
        }
        self.role = Role::Other;
    }

    /// Ends the source of the arguments before byte `at`.
    fn end_source(&mut self, at: usize, piece: &str, out: &mut Sink<'_>) {
        if let Some(start) = self.source.take() {
            give_source(slice(piece, start..at), out);
        }
    }

    fn end_string_arguments(&mut self, out: &mut Sink<'_>) {
        let Some(mut inner) = self.inner.take() else { return };
        if !inner.is_object {
            self.seen = Seen::Empty;
            if !matches!(inner.other.trim(), "" | "null") {
                self.fail("the arguments are a string that holds no JSON object");
            }
            return;
        }
        self.seen = Seen::Arguments;
        let closed = inner.json.close(&mut json_to(out));
        self.repairs.extend(inner.json.repairs());
        self.repairs.insert(Repair::StringArguments);
        if closed.is_err() {
            self.fail("the arguments are a string that holds no JSON object");
        }
    }
}
