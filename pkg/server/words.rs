//! Words that are kept of a run until its journal has them.

use serde::{Deserialize, Serialize};

use crate::{
    agent::Steering,
    types::{AgentError, Message},
};

/// The time at which a word is for the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum When {
    /// After the calls under way.
    #[default]
    Next,
    /// At once: the answer under way is cut.
    Now,
    /// When the run would end.
    End,
}

/// Something that the user says while a run goes on.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub(super) struct Word {
    pub(super) when: When,
    pub(super) message: Message,
    /// The time at which it was said, in milliseconds since the Unix epoch.
    pub(super) at_ms: u64,
}

/// The numbers of words of a run: those for the model while it works, and those for its end. Each are taken in their order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Counts {
    pub(super) steers: u64,
    pub(super) follow_ups: u64,
}

/// The words of a run, without the first ones, which its journal has.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
pub(super) struct Words {
    left_out: Counts,
    words: Vec<Word>,
}

impl Counts {
    fn of(&mut self, when: When) -> &mut u64 {
        match when {
            When::Next | When::Now => &mut self.steers,
            When::End => &mut self.follow_ups,
        }
    }
}

impl Words {
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns the time at which a word was said, in milliseconds since the Unix epoch, if it is here: of several that are the same, that
    /// behind this number of them.
    pub(super) fn said_at(&self, message: &Message, before: usize) -> Option<u64> {
        let mut same = self.words.iter().filter(|word| word.message == *message);
        same.nth(before).map(|word| word.at_ms)
    }

    /// Adds a word, and leaves out those that the journal has.
    pub(super) fn add(&mut self, word: Word, journaled: Counts) {
        self.words = self.clone().without(journaled);
        self.left_out = journaled;
        self.words.push(word);
    }

    /// Returns the words that the journal does not have, which has this number of them.
    pub(super) fn without(self, mut journaled: Counts) -> Vec<Word> {
        let Self { mut left_out, mut words } = self;
        words.retain(|word| {
            let (left_out, journaled) = (left_out.of(word.when), *journaled.of(word.when));
            let is_there = *left_out < journaled;
            *left_out += u64::from(is_there);
            !is_there
        });
        words
    }
}

impl Word {
    /// Says it to a run.
    pub(super) fn say(self, steering: &Steering) -> Result<(), AgentError> {
        match self.when {
            When::Next => steering.steer(self.message),
            When::Now => steering.steer_now(self.message),
            When::End => steering.follow_up(self.message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(when: When, text: &str) -> Word {
        Word { when, message: Message::user(text), at_ms: 1 }
    }

    fn texts(words: Vec<Word>) -> String {
        words.into_iter().map(|word| word.message.text()).collect()
    }

    #[test]
    fn words_are_left_out_by_their_kind_once_the_journal_has_them() {
        let mut words = Words::default();
        let counts = |steers, follow_ups| Counts { steers, follow_ups };
        for (when, text) in [
            (When::Next, "a"),
            (When::End, "b"),
            (When::Now, "c"),
            (When::End, "d"),
            (When::Next, "e"),
        ] {
            words.add(word(when, text), counts(0, 0));
        }
        for (journaled, left) in [
            (counts(0, 0), "abcde"),
            (counts(1, 0), "bcde"),
            (counts(0, 1), "acde"),
            (counts(2, 2), "e"),
            (counts(3, 2), ""),
        ] {
            assert_eq!(texts(words.clone().without(journaled)), left);
        }
        words.add(word(When::End, "f"), counts(2, 1));
        assert_eq!(texts(words.clone().without(counts(2, 1))), "def");
        assert_eq!(texts(words.clone().without(counts(3, 2))), "f");
        assert_eq!(texts(words.without(counts(3, 3))), "");
    }
}
