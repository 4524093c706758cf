//! One native tool call, put together from its deltas.

use super::parser::JsonTracker;
use crate::types::{CallOutcome, Json, Text};

/// Follows the arguments of one native call without keeping them.
#[derive(Debug, Default)]
pub(crate) struct NativeArguments {
    tracker: JsonTracker,
    /// The first bytes, enough to tell `null` and `"null"`.
    head: Text,
}

/// Longest text that still stands for "no arguments": `"null"` with some blanks.
const EMPTY_FORMS_BYTES: usize = 16;

impl NativeArguments {
    /// Takes the next piece of the arguments.
    pub(crate) fn push(&mut self, piece: &str) {
        if self.head.len() <= EMPTY_FORMS_BYTES {
            self.head.push_str(piece);
        }
        self.tracker.push(piece);
    }

    /// Whether one whole JSON value has arrived.
    pub(crate) fn is_whole(&self) -> bool {
        self.tracker.is_whole()
    }

    /// What became of the call, when its protocol says that it ended (`cut` when it was cut off).
    pub(crate) fn outcome(&self, cut: bool) -> CallOutcome {
        if self.is_absent() || (self.tracker.is_whole() && self.head.trim_start().starts_with('{'))
        {
            return CallOutcome::Complete;
        }
        if self.tracker.is_whole() {
            let reason = "the arguments are no JSON object".into();
            return CallOutcome::Malformed { reason, offset: 0 };
        }
        if cut {
            return CallOutcome::Incomplete;
        }
        let (reason, offset) = self.tracker.fault();
        CallOutcome::Malformed { reason: reason.into(), offset }
    }

    /// The value of the arguments whose whole text is `raw`.
    pub(crate) fn value(&self, raw: &str) -> Option<Json> {
        Json::parse(if self.is_absent() { "{}" } else { raw }).ok()
    }

    /// Whether the arguments are empty, `null` or `"null"`, which all mean `{}`.
    fn is_absent(&self) -> bool {
        matches!(self.head.trim(), "" | "null" | "\"null\"")
    }
}
