//! The role of a marker in message text.

use super::builder::Holds;

/// The role of a marker in message text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A call of this form.
    Call(usize),
    /// Calls follow, or text.
    WrapperOpener(Holds),
    /// The end of these.
    WrapperCloser(Holds),
    /// The closer of a call, where no call is open.
    CallCloser,
    /// A part of the text begins or ends.
    Inline,
    /// A special token that opens nothing here.
    Stray,
    /// The turn ends, unless more text follows. It may be a closer too.
    TurnEnd { closes_wrapper: bool, closes_call: bool, only_behind_call: bool },
}

impl Role {
    /// Returns `true` for a marker of calls, which means nothing in prose.
    pub(super) fn is_of_calls(self) -> bool {
        use Role::{Call, CallCloser, Inline, Stray, TurnEnd, WrapperCloser, WrapperOpener};
        match self {
            Call(_) | CallCloser => true,
            WrapperOpener(holds) | WrapperCloser(holds) => holds == Holds::Calls,
            TurnEnd { .. } | Inline | Stray => false,
        }
    }
}
