//! The messages of a conversation that were taken back: they stay in its list, but models no longer read them.

use std::ops::Range;

use forgeline_agent::journal::{JournalLine, JournalStep};
use forgeline_store::{ConversationKey, ConversationStore, StoreError};
use forgeline_types::Text;

/// Maximum number of lines read at a time.
const PAGE: usize = 256;

/// The numbers of messages that were taken back, according to the journal.
#[derive(Debug, Clone, Default)]
pub(crate) struct TakenBack {
    /// The numbers of entries and messages so far.
    entries: u64,
    messages: u64,
    /// The run whose lines follow, until it has a message.
    began: Option<Text>,
    /// The runs with messages, each with the number of its first message.
    begins: Vec<(Text, u64)>,
    ranges: Vec<Range<u64>>,
}

impl TakenBack {
    /// Reads the lines added since the last call.
    pub(crate) async fn read(
        &mut self,
        store: &dyn ConversationStore,
        key: &ConversationKey,
    ) -> Result<(), StoreError> {
        loop {
            let page = store.lines(key, self.entries, PAGE).await?;
            for (number, line) in &page {
                self.note(*number, line);
            }
            if page.len() < PAGE {
                return Ok(());
            }
        }
    }

    /// Returns `true` if the message with this number was taken back.
    pub(crate) fn has(&self, message: u64) -> bool {
        self.ranges.iter().any(|range| range.contains(&message))
    }

    /// Records a line, the entry with this number. An entry without a line has one message; an unreadable line is ignored.
    fn note(&mut self, entry: u64, line: &str) {
        self.messages += entry.saturating_sub(self.entries);
        self.entries = entry + 1;
        match JournalLine::read_step(line) {
            Some(JournalStep::RunBegan { run_id, .. }) => self.began = Some(run_id),
            Some(JournalStep::InputTaken { messages, .. }) if messages > 0 => {
                self.begins.extend(self.began.take().map(|run| (run, self.messages)));
                self.messages += messages as u64;
            }
            Some(JournalStep::MessagesGiven { messages, .. }) => self.messages += messages as u64,
            Some(JournalStep::RunRewound { run_id, .. }) => {
                let at = self.begins.iter().position(|(known, _)| *known == run_id);
                // If a run was taken back twice, the first time counts.
                if let Some((_, first)) = at.and_then(|at| self.begins.drain(at..).next()) {
                    self.ranges.push(first..self.messages);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_taken_back_is_found_beside_messages_of_no_line() {
        let began = |run: &str| json!({ "record": { "began": { "version": 4, "state": { "outcome": { "run_id": run } } } } });
        let took = |count: usize| json!({ "record": { "took": { "input": "x", "messages": vec![json!({}); count] } } });
        let rewound = |run: &str| json!({ "record": { "rewound": { "run": run } } });
        let mut taken = TakenBack::default();
        let mut numbers = |lines: &[(u64, serde_json::Value)]| {
            for (number, line) in lines {
                taken.note(*number, &line.to_string());
            }
            (0..12).filter(|number| taken.has(*number)).collect::<Vec<_>>()
        };
        let none: [u64; 0] = [];
        assert_eq!(numbers(&[(0, began("a")), (1, took(1)), (2, took(0)), (3, took(2))]), none);
        // Entry 4 is a message of no line: 3 of them are of the first run.
        assert_eq!(numbers(&[(5, began("b")), (6, took(1)), (7, took(1))]), none);
        assert_eq!(numbers(&[(8, rewound("b"))]), [4, 5]);
        assert_eq!(numbers(&[(9, began("c")), (10, took(2)), (11, rewound("b"))]), [4, 5]);
        assert_eq!(numbers(&[(12, json!("of another form")), (13, rewound("c"))]), [4, 5, 6, 7]);
        assert_eq!(numbers(&[(14, rewound("a"))]), [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
