//! The set of repairs of one call.

use crate::types::Repair;

/// Every repair, in the order in which they are reported.
const ALL: [Repair; 13] = [
    Repair::UnquotedKey,
    Repair::SingleQuotes,
    Repair::ExtraComma,
    Repair::Comment,
    Repair::PythonLiteral,
    Repair::RawControl,
    Repair::InvalidEscape,
    Repair::MissingBracket,
    Repair::TrailingText,
    Repair::Fence,
    Repair::StringArguments,
    Repair::ImplicitClose,
    Repair::RecoveredFromThinking,
];

/// What was repaired in one call: a set of [`Repair`]s that needs no allocation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RepairSet(u16);

impl RepairSet {
    /// Adds `repair`.
    pub fn insert(&mut self, repair: Repair) {
        self.0 |= 1 << repair as u16;
    }

    /// Adds all of `others`.
    pub fn extend(&mut self, others: Self) {
        self.0 |= others.0;
    }

    /// Returns the set without `repair`.
    #[must_use]
    pub fn without(self, repair: Repair) -> Self {
        Self(self.0 & !(1 << repair as u16))
    }

    /// Returns `true` when nothing was repaired.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the repairs in a fixed order.
    pub fn iter(self) -> impl Iterator<Item = Repair> {
        ALL.into_iter().filter(move |repair| self.0 & (1 << *repair as u16) != 0)
    }

    /// Returns the repairs as a list; empty lists do not allocate.
    #[must_use]
    pub fn to_vec(self) -> Vec<Repair> {
        self.iter().collect()
    }
}
