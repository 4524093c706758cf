//! The role of a marker in message text.

use crate::builder::WrapperContent;

/// The role of a marker in message text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkerRole {
    /// The opener of a call in this form.
    Call(usize),
    /// The opener of a wrapper around calls or text.
    WrapperOpener(WrapperContent),
    /// The closer of such a wrapper.
    WrapperCloser(WrapperContent),
    /// The closer of a call, while no call is open.
    CallCloser,
    /// The beginning or end of a part of the text.
    Inline,
    /// A special token that opens nothing here.
    Stray,
    /// The end of the turn, unless more text follows. It may also be a closer.
    TurnEnd { closes_wrapper: bool, closes_call: bool, only_behind_call: bool },
}

impl MarkerRole {
    /// Returns `true` for a marker of calls, which has no meaning in prose.
    pub(crate) fn is_of_calls(self) -> bool {
        use MarkerRole::{Call, CallCloser, Inline, Stray, TurnEnd, WrapperCloser, WrapperOpener};
        match self {
            Call(_) | CallCloser => true,
            WrapperOpener(holds) | WrapperCloser(holds) => holds == WrapperContent::Calls,
            TurnEnd { .. } | Inline | Stray => false,
        }
    }
}
