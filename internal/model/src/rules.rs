//! The rules of the protocol, each of which can be taken out.

/// A rule whose absence the search must notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The epoch is compared in the statement that writes, under the lock of the row; without it, it is read first.
    EpochUnderLock,
    /// A write is one autocommitted statement; without it, a transaction holds the row while the client thinks.
    OneStatement,
    /// A reaper whose own session is younger than 10 s reaps nothing.
    SettledReaper,
    /// A reader listens before it reads.
    ListenFirst,
    /// Followed runs and commands are looked at each second, notified or not.
    Backstop,
    /// A command is answered under the epoch and the expected head.
    AnswerUnderEpoch,
    /// The key of a command is unique in its run.
    UniqueKey,
    /// A write states the head that it expects.
    ExpectedHead,
    /// A claim looks and takes in one statement, of a run that is free.
    ClaimCondition,
    /// A claim is a statement of the session that holds the node's lock, and takes nothing if the beat is older than 2 s.
    ClaimAlive,
    /// A tool without `idempotent` that an earlier owner may have started is not started again.
    ToolOnce,
    /// Times are those of the database's clock.
    DatabaseClock,
    /// A node frees the runs that it owns in the database and does not hold in memory.
    ReleaseUnheld,
    /// A node drops the runs that it holds in memory under an epoch that is over, though it has nothing to write.
    DropLost,
    /// A reader on the owner's node gets an event after it is committed.
    ShowAfterCommit,
    /// A hand-over moves the epoch.
    HandOverEpoch,
    /// After an unknown outcome the journal is read, not the head alone.
    ReadJournal,
}

impl Rule {
    /// All rules, in the order of their declaration.
    pub const ALL: [Self; 17] = [
        Self::EpochUnderLock,
        Self::OneStatement,
        Self::SettledReaper,
        Self::ListenFirst,
        Self::Backstop,
        Self::AnswerUnderEpoch,
        Self::UniqueKey,
        Self::ExpectedHead,
        Self::ClaimCondition,
        Self::ClaimAlive,
        Self::ToolOnce,
        Self::DatabaseClock,
        Self::ReleaseUnheld,
        Self::DropLost,
        Self::ShowAfterCommit,
        Self::HandOverEpoch,
        Self::ReadJournal,
    ];
}

/// The rules in force, a switch each.
#[derive(Debug, Clone, Copy)]
pub struct Rules(u32);

impl Rules {
    /// All rules of the protocol.
    pub const ALL: Self = Self(u32::MAX);

    /// Takes `rule` out.
    #[must_use]
    pub const fn without(self, rule: Rule) -> Self {
        Self(self.0 & !(1 << rule as u32))
    }

    /// Returns `true` if `rule` is in force.
    #[must_use]
    pub const fn has(self, rule: Rule) -> bool {
        self.0 & (1 << rule as u32) != 0
    }
}
