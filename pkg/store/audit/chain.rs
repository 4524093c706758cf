//! The chain of a scope, and its faults.

use serde::{Deserialize, Serialize};

use super::{event::AuditEvent, hash::AuditHash, row::AuditRow};

/// The two ends of a scope's chain, which the store keeps apart from the rows.
///
/// Whoever keeps an earlier head elsewhere finds with it also the changes of a person who could write both rows and head: see
/// [`AuditStore::verify`](super::AuditStore::verify).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuditHead {
    /// The number of the first row that is kept; those before it were cut.
    pub first: u64,
    /// The hash of the row before it; zeros if there was none.
    pub anchor: AuditHash,
    /// The number that the next row will have.
    pub next: u64,
    /// The hash of the last row; zeros if there was none.
    pub hash: AuditHash,
}

impl AuditHead {
    /// Returns the head of a chain.
    #[must_use]
    pub fn new(first: u64, anchor: AuditHash, next: u64, hash: AuditHash) -> Self {
        Self { first, anchor, next, hash }
    }

    /// Returns the head after another row.
    pub(crate) fn and(self, row: &AuditRow) -> Self {
        Self { next: row.seq + 1, hash: row.hash, ..self }
    }
}

/// The first place at which a chain is not what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AuditFault {
    /// The row was changed, or is in the place of another.
    #[error(
        "row {seq} was changed, or comes from another place; check it against an export or a backup"
    )]
    #[non_exhaustive]
    Changed {
        /// The number of the row.
        seq: u64,
    },
    /// The row is missing.
    #[error("row {seq} is missing; restore it from an export or a backup")]
    #[non_exhaustive]
    Missing {
        /// The number of the row.
        seq: u64,
    },
    /// The last row is not the one that the head names: rows were removed or written anew.
    #[error(
        "the chain ends before row {seq} with another hash than its head states; check the last rows against an export or a backup"
    )]
    #[non_exhaustive]
    Ends {
        /// The number of the row that would be next.
        seq: u64,
    },
    /// There is a row after the last one of the head.
    #[error("row {seq} is not part of the chain; check who can write to the store")]
    #[non_exhaustive]
    Extra {
        /// The number of the row.
        seq: u64,
    },
}

/// A check of a chain, row by row, without I/O.
///
/// # Examples
///
/// ```
/// use forgeline::store::{AuditChain, AuditEvent, AuditFault, AuditHead, AuditRow};
///
/// let event = |kind| AuditEvent::new(kind, "host", "ann", 1_000);
/// let first = AuditRow::new("team-a", 0, &AuditHead::default().hash, event("a"));
/// let mut second = AuditRow::new("team-a", 1, &first.hash, event("b"));
/// second.event.kind = "c".into();
///
/// let mut chain = AuditChain::new(&AuditHead::default());
/// chain.add(&first)?;
/// assert!(matches!(chain.add(&second), Err(AuditFault::Changed { seq: 1, .. })));
/// # Ok::<(), AuditFault>(())
/// ```
#[derive(Debug, Clone)]
pub struct AuditChain {
    next: u64,
    hash: AuditHash,
    rows: u64,
    erased: u64,
}

impl AuditChain {
    /// Begins at the first row that is kept.
    #[must_use]
    pub fn new(head: &AuditHead) -> Self {
        Self { next: head.first, hash: head.anchor, rows: 0, erased: 0 }
    }

    /// Begins after the last row of an earlier head.
    #[must_use]
    pub fn after(earlier: &AuditHead) -> Self {
        Self { next: earlier.next, hash: earlier.hash, rows: 0, erased: 0 }
    }

    /// Adds the next row.
    ///
    /// # Errors
    ///
    /// Returns an [`AuditFault`] if it is not the row that was written after the one before.
    pub fn add(&mut self, row: &AuditRow) -> Result<(), AuditFault> {
        if row.seq > self.next {
            return Err(AuditFault::Missing { seq: self.next });
        }
        if row.seq < self.next || row.expected(&self.hash) != Some(row.hash) {
            return Err(AuditFault::Changed { seq: row.seq });
        }
        (self.next, self.hash) = (row.seq + 1, row.hash);
        self.rows += 1;
        self.erased += u64::from(row.is_erased);
        Ok(())
    }

    /// Compares the end of the chain with its head.
    ///
    /// # Errors
    ///
    /// Returns an [`AuditFault`] if rows are missing at the end, or were written anew.
    pub fn end(&self, head: &AuditHead) -> Result<(), AuditFault> {
        if self.next < head.next {
            return Err(AuditFault::Missing { seq: self.next });
        }
        if self.next > head.next || self.hash != head.hash {
            return Err(AuditFault::Ends { seq: head.next });
        }
        Ok(())
    }

    /// Returns the number of the next row.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Returns the number of rows that were added.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the number of those rows whose content was erased.
    #[must_use]
    pub fn erased(&self) -> u64 {
        self.erased
    }
}

/// Returns `true` for an event that an owner did, or that is about data of this owner.
pub(crate) fn is_theirs(event: &AuditEvent, owner: &str) -> bool {
    !owner.is_empty() && (event.actor == *owner || event.owner == *owner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: u64) -> (Vec<AuditRow>, AuditHead) {
        let mut head = AuditHead::default();
        let mut rows = Vec::new();
        for at in 0..count {
            let event = AuditEvent::new("kind", "host", format!("actor{at}"), 1_000 + at);
            let row = AuditRow::new("team-a", head.next, &head.hash, event);
            head = head.and(&row);
            rows.push(row);
        }
        (rows, head)
    }

    fn check(rows: &[AuditRow], head: &AuditHead) -> Result<AuditChain, AuditFault> {
        let mut chain = AuditChain::new(head);
        rows.iter().try_for_each(|row| chain.add(row))?;
        chain.end(head)?;
        Ok(chain)
    }

    /// A change of a row.
    type RowChange = (&'static str, fn(&mut AuditRow));

    #[test]
    fn each_member_of_a_row_is_part_of_the_chain() {
        let (rows, head) = rows(4);
        assert_eq!(check(&rows, &head).map(|chain| chain.rows()), Ok(4));
        let changes: [RowChange; 17] = [
            ("scope", |row| row.scope = "team-b".into()),
            ("id", |row| row.event.id = "x".into()),
            ("kind", |row| row.event.kind = "x".into()),
            ("source", |row| row.event.source = "x".into()),
            ("at_ms", |row| row.event.at_ms += 1),
            ("actor", |row| row.event.actor = "x".into()),
            ("owner", |row| row.event.owner = "x".into()),
            ("run", |row| row.event.subject.run = Some("x".into())),
            ("conversation", |row| row.event.subject.conversation = Some("x".into())),
            ("tool", |row| row.event.subject.tool = Some("x".into())),
            ("request", |row| row.event.subject.request = Some(String::new().into())),
            ("payload", |row| row.event.payload = "{ }".to_owned()),
            ("salt", |row| row.event.salt = "x".into()),
            ("seal", |row| row.seal = AuditHash::default()),
            ("hash", |row| row.hash = AuditHash::default()),
            ("name moved to the next member", |row| {
                (row.event.owner, row.event.actor) = (row.event.actor.clone(), "".into());
            }),
            ("all but the row after it", |row| {
                let event = AuditEvent::new("other", "host", "eve", 1_000);
                *row = AuditRow::new("team-a", row.seq, &AuditHash::default(), event);
            }),
        ];
        for (what, change) in changes {
            for at in [1, 3] {
                let mut tampered = rows.clone();
                change(&mut tampered[at]);
                let fault = check(&tampered, &head).unwrap_err();
                assert_eq!(fault, AuditFault::Changed { seq: at as u64 }, "{what}");
            }
        }
    }

    #[test]
    fn what_was_removed_moved_added_or_written_anew_is_found() {
        let (all, head) = rows(5);
        for at in 0..4 {
            let mut without = all.clone();
            without.remove(at);
            let missing = AuditFault::Missing { seq: at as u64 };
            assert_eq!(check(&without, &head).unwrap_err(), missing);
        }
        assert_eq!(check(&all[..4], &head).unwrap_err(), AuditFault::Missing { seq: 4 });
        assert_eq!(check(&[], &head).unwrap_err(), AuditFault::Missing { seq: 0 });
        let mut moved = all.clone();
        moved.swap(1, 2);
        assert_eq!(check(&moved, &head).unwrap_err(), AuditFault::Missing { seq: 1 });
        (moved[1].seq, moved[2].seq) = (1, 2);
        assert_eq!(check(&moved, &head).unwrap_err(), AuditFault::Changed { seq: 1 });
        let (anew, other) = rows(5);
        assert_eq!(check(&anew, &head).unwrap_err(), AuditFault::Ends { seq: 5 });
        assert!(check(&anew, &other).is_ok());
        let (longer, _) = rows(6);
        assert!(check(&longer, &head).is_err());
    }

    #[test]
    fn an_erased_row_keeps_its_place_and_nothing_else_of_it_can_change() {
        let (mut all, head) = rows(3);
        all[1].erase();
        assert_eq!(check(&all, &head).map(|chain| (chain.rows(), chain.erased())), Ok((3, 1)));
        assert!(all[1].event.actor.is_empty() && all[1].event.salt.is_empty());
        all[1].event.kind = "x".into();
        assert_eq!(check(&all, &head).unwrap_err(), AuditFault::Changed { seq: 1 });
    }

    #[test]
    fn a_row_is_read_from_its_line_as_it_was() {
        let (mut all, head) = rows(2);
        let details = serde_json::json!({ "a": 1.5, "b": "\"<\u{1f600}" });
        let subject = crate::AuditSubject::default().run("r").tool("t");
        let event = AuditEvent::new("kind", "host", "ann", 7).owner("bob").subject(subject);
        let event = event.details(details.as_object().unwrap());
        all.push(AuditRow::new("team-a", 2, &head.hash, event));
        all[0].erase();
        let lines = all.iter().map(|row| serde_json::to_string(row).unwrap());
        let read: Vec<AuditRow> = lines.map(|line| serde_json::from_str(&line).unwrap()).collect();
        assert_eq!(read, all);
        assert!(check(&read, &head.and(&all[2])).is_ok());
    }
}
