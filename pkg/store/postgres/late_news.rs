//! Records that readers got by a look, because no notification named them.

use std::collections::BTreeMap;

/// The logs that the last look found grown, and that no notification has named since. One that comes a moment after the look is not late.
#[derive(Default)]
pub(super) struct UnheardLogs(BTreeMap<i64, UnheardGrowth>);

struct UnheardGrowth {
    head: u64,
    records: u64,
}

impl UnheardLogs {
    /// Records that a look found a log to end at `head`, where `seen` was its end before.
    pub(super) fn found(&mut self, no: i64, seen: u64, head: u64) {
        self.0.insert(no, UnheardGrowth { head, records: head.saturating_sub(seen) });
    }

    /// Records a notification that a log ends at `head`.
    pub(super) fn heard(&mut self, no: i64, head: u64) {
        if self.0.get(&no).is_some_and(|found| found.head <= head) {
            self.0.remove(&no);
        }
    }

    /// Returns the number of records that no notification has named until now, and forgets them.
    pub(super) fn take(&mut self) -> u64 {
        std::mem::take(&mut self.0).into_values().map(|found| found.records).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_that_comes_after_the_look_is_not_late() {
        let mut logs = UnheardLogs::default();
        for no in 0..3 {
            logs.found(no, 4, 6);
        }
        logs.heard(0, 6);
        logs.heard(1, 5);
        logs.heard(7, 9);
        assert_eq!(logs.take(), 4, "the logs 1 and 2");
        assert_eq!(logs.take(), 0);
    }
}
