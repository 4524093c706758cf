//! Audit rows in memory.

use std::collections::{HashMap, VecDeque};

use crate::{
    AuditEvent, AuditHead, AuditPage, AuditQuery, AuditRow, EraseMode, StoreError,
    audit::{AuditCursor, is_theirs},
};
use forgeline_types::Text;

/// Maximum number of scopes whose rows are kept.
pub(super) const MAX_SCOPES: usize = 1_000;

/// Maximum number of rows kept per scope; the oldest are cut.
const MAX_ROWS: usize = 10_000;

/// Maximum number of rows that a cut removes.
const MAX_CUT: u64 = 1_000;

/// The chain of a scope.
#[derive(Debug, Default)]
pub(super) struct ScopeAudit {
    rows: VecDeque<AuditRow>,
    pub(super) head: AuditHead,
    /// The numbers of the rows that are kept, by the ids of their events.
    ids: HashMap<Text, u64>,
}

impl ScopeAudit {
    /// Returns the time of the row that was added last.
    pub(super) fn used_ms(&self) -> u64 {
        self.rows.back().map_or(0, |row| row.event.at_ms)
    }

    pub(super) fn append(&mut self, scope: &str, event: AuditEvent) -> Result<u64, StoreError> {
        let earlier = self.ids.get(&event.id).and_then(|seq| self.row(*seq));
        if let Some(earlier) = earlier {
            let is_same = earlier.seal == event.seal();
            let other = || StoreError::exists("audit event", event.id.clone());
            return is_same.then_some(earlier.seq).ok_or_else(other);
        }
        let row = AuditRow::new(scope, self.head.next, &self.head.hash, event);
        self.head = self.head.and(&row);
        self.ids.insert(row.event.id.clone(), row.seq);
        let seq = row.seq;
        self.rows.push_back(row);
        if self.rows.len() > MAX_ROWS {
            self.drop_first();
        }
        Ok(seq)
    }

    fn row(&self, seq: u64) -> Option<&AuditRow> {
        let at = seq.checked_sub(self.head.first)?;
        self.rows.get(usize::try_from(at).ok()?)
    }

    /// Removes the oldest row.
    fn drop_first(&mut self) {
        if let Some(row) = self.rows.pop_front() {
            self.ids.remove(&row.event.id);
            (self.head.first, self.head.anchor) = (row.seq + 1, row.hash);
        }
    }

    pub(super) fn read(&self, query: &AuditQuery) -> Result<AuditPage, StoreError> {
        let after = AuditCursor::read(query.after.as_ref())?;
        let is_behind = |row: &&AuditRow| after.is_none_or(|after| AuditCursor::of(row) < after);
        let found = self.rows.iter().filter(|row| query.takes(row)).filter(is_behind);
        let mut found: Vec<_> = found.collect();
        found.sort_by_key(|row| std::cmp::Reverse(AuditCursor::of(row)));
        found.truncate(query.most.saturating_add(1));
        Ok(AuditPage::of(found.into_iter().cloned().collect(), query.most))
    }

    pub(super) fn chain(&self, from: u64, most: usize) -> Vec<AuditRow> {
        self.rows.iter().filter(|row| row.seq >= from).take(most).cloned().collect()
    }

    pub(super) fn cut(&mut self, before_ms: u64, keep: u64) -> u64 {
        let mut count = 0;
        while let Some(oldest) = self.rows.front()
            && count < MAX_CUT
            && (oldest.event.at_ms < before_ms || self.rows.len() as u64 > keep)
        {
            self.drop_first();
            count += 1;
        }
        count
    }

    pub(super) fn erase(&mut self, owner: &str, mode: EraseMode) -> u64 {
        let theirs = self.rows.iter_mut().filter(|row| is_theirs(&row.event, owner));
        let mut count = 0;
        for row in theirs {
            count += 1;
            if !mode.is_dry_run() {
                row.erase();
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AuditChain;

    #[test]
    fn a_scope_has_a_bound_of_rows_and_its_chain_goes_on_from_there() {
        let mut audit = ScopeAudit::default();
        for at in 0..MAX_ROWS as u64 + 5 {
            audit.append("team-a", AuditEvent::new("kind", "host", "ann", at)).unwrap();
        }
        assert_eq!((audit.rows.len(), audit.head.first, audit.ids.len()), (MAX_ROWS, 5, MAX_ROWS));
        let mut chain = AuditChain::new(&audit.head);
        audit.rows.iter().try_for_each(|row| chain.add(row)).unwrap();
        chain.end(&audit.head).unwrap();
    }
}
