//! Words and answers that are kept of a run until its journal has them.

use serde::{Deserialize, Serialize};

use crate::{
    agent::{Given, Steering},
    types::{AgentError, Message, Text},
};

/// The time at which a word is for the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum When {
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
pub(crate) struct Word {
    pub(crate) when: When,
    pub(crate) message: Message,
    /// The time at which it was said, in milliseconds since the Unix epoch.
    pub(crate) at_ms: u64,
}

/// The numbers of words of a run: those for the model while it works, and those for its end. Each are taken in their order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Counts {
    pub(crate) steers: u64,
    pub(crate) follow_ups: u64,
}

/// The words of a run, without the first ones, which its journal has.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Words {
    left_out: Counts,
    words: Vec<Word>,
}

/// The answers to requests of a run, without those that its journal has.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct Answers(Vec<Answer>);

/// The answer to the request of this id.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub(crate) struct Answer {
    pub(crate) id: Text,
    pub(crate) given: Given,
    /// The last turn that the journal had when it was given: what it answers is of that turn, or of the next.
    #[serde(default)]
    turn: u32,
}

/// The answers of a run that its journal has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Answered {
    /// The last turn that the model has answered in.
    turn: u32,
    /// The requests that were answered in it and the turn before, each with the turn.
    ids: Vec<(u32, Text)>,
}

impl Answered {
    /// Notes an answer of the model in this turn.
    pub(crate) fn begin(&mut self, turn: u32) {
        self.turn = turn;
        self.ids.retain(|(at, _)| turn < at + 2);
    }

    /// Notes an answer to a request.
    pub(crate) fn add(&mut self, id: Text) {
        self.ids.push((self.turn, id));
    }

    fn has(&self, answer: &Answer) -> bool {
        self.turn >= answer.turn + 2 || self.ids.iter().any(|(_, id)| *id == answer.id)
    }
}

impl Answers {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds answers, in place of others to the same requests, which were not given; leaves out those that the journal has, and those to what is over.
    pub(crate) fn add(&mut self, answers: &[Answer], journaled: &Answered) {
        let turn = journaled.turn;
        let is_new = |answer: &Answer| answers.iter().any(|new| new.id == answer.id);
        self.0.retain(|answer| !journaled.has(answer) && !is_new(answer));
        self.0.extend(answers.iter().map(|answer| Answer { turn, ..answer.clone() }));
    }

    /// Returns about their size, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        serde_json::to_vec(&self.0).map_or(0, |json| json.len())
    }
}

impl IntoIterator for Answers {
    type Item = Answer;
    type IntoIter = std::vec::IntoIter<Answer>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Answer {
    pub(crate) fn new(id: Text, given: Given) -> Self {
        Self { id, given, turn: 0 }
    }
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
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns the time at which a word was said, in milliseconds since the Unix epoch, if it is here: of several that are the same, that
    /// behind this number of them.
    pub(crate) fn said_at(&self, message: &Message, before: usize) -> Option<u64> {
        let mut same = self.words.iter().filter(|word| word.message == *message);
        same.nth(before).map(|word| word.at_ms)
    }

    /// Adds a word, and leaves out those that the journal has.
    pub(crate) fn add(&mut self, word: Word, journaled: Counts) {
        self.words = self.clone().without(journaled);
        self.left_out = journaled;
        self.words.push(word);
    }

    /// Returns the words that the journal does not have, which has this number of them.
    pub(crate) fn without(self, mut journaled: Counts) -> Vec<Word> {
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
    pub(crate) fn say(self, steering: &Steering) -> Result<(), AgentError> {
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
    use crate::agent::Decision;

    fn word(when: When, text: &str) -> Word {
        Word { when, message: Message::user(text), at_ms: 1 }
    }

    #[test]
    fn answers_are_left_out_once_the_journal_has_them_or_what_they_answer_is_over() {
        let (mut answers, mut journaled) = (Answers::default(), Answered::default());
        let mut add = |id: &str, journaled: &Answered| {
            answers.add(&[Answer::new(id.into(), Given::Decided(Decision::Grant))], journaled);
            answers.clone().into_iter().map(|it| it.id.to_string()).collect::<String>()
        };
        assert_eq!(add("a", &journaled), "a");
        journaled.begin(1);
        assert_eq!(add("b", &journaled), "ab", "a call may begin before its turn is answered");
        assert_eq!(add("b", &journaled), "ab", "the last one counts");
        journaled.add("b".into());
        assert_eq!(add("c", &journaled), "ac");
        journaled.begin(2);
        assert_eq!(add("d", &journaled), "cd", "the call of the first is over");
        journaled.add("d".into());
        journaled.begin(3);
        assert_eq!(add("e", &journaled), "e");
        journaled.begin(4);
        assert!(journaled.ids.is_empty());
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
