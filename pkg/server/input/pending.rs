//! Messages and answers for a run, kept until its journal contains them.

use serde::{Deserialize, Serialize};

use forgeline_agent::{Steering, private::RequestAnswer};
use forgeline_types::{AgentError, Message, Text};

/// The time at which the model reads a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DeliveryTime {
    /// After the calls in progress.
    #[default]
    Next,
    /// At once: the answer in progress is cut off.
    Now,
    /// When the run would end.
    End,
}

/// A message of the user to an active run.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub(crate) struct QueuedMessage {
    pub(crate) when: DeliveryTime,
    pub(crate) message: Message,
    /// The time at which the user sent it, in milliseconds since the Unix epoch.
    pub(crate) at_ms: u64,
}

/// The numbers of messages of a run: those read while it works, and those for its end. Each kind is taken in order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct MessageCounts {
    pub(crate) steers: u64,
    pub(crate) follow_ups: u64,
}

/// The messages of a run, without the first ones, which its journal contains.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct QueuedMessages {
    left_out: MessageCounts,
    words: Vec<QueuedMessage>,
}

/// The answers to requests of a run, without those that its journal contains.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct PendingAnswers(Vec<PendingAnswer>);

/// The answer to the request `id`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub(crate) struct PendingAnswer {
    pub(crate) id: Text,
    pub(crate) given: RequestAnswer,
    /// The last turn in the journal when the answer was given: the request belongs to that turn or to the next.
    #[serde(default)]
    turn: u32,
}

/// The answers that the journal of a run contains.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct JournaledAnswers {
    /// The last turn with an answer of the model.
    turn: u32,
    /// The requests answered in that turn and the one before, each with its turn.
    ids: Vec<(u32, Text)>,
}

impl JournaledAnswers {
    /// Records an answer of the model in this turn.
    pub(crate) fn begin(&mut self, turn: u32) {
        self.turn = turn;
        self.ids.retain(|(at, _)| turn < at + 2);
    }

    /// Records an answer to a request.
    pub(crate) fn add(&mut self, id: Text) {
        self.ids.push((self.turn, id));
    }

    fn has(&self, answer: &PendingAnswer) -> bool {
        self.turn >= answer.turn + 2 || self.ids.iter().any(|(_, id)| *id == answer.id)
    }
}

impl PendingAnswers {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds answers, replacing earlier ones to the same requests, which were not given. Removes those in the journal and those to requests that are over.
    pub(crate) fn add(&mut self, answers: &[PendingAnswer], journaled: &JournaledAnswers) {
        let turn = journaled.turn;
        let is_new = |answer: &PendingAnswer| answers.iter().any(|new| new.id == answer.id);
        self.0.retain(|answer| !journaled.has(answer) && !is_new(answer));
        self.0.extend(answers.iter().map(|answer| PendingAnswer { turn, ..answer.clone() }));
    }

    /// Returns their approximate size, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        serde_json::to_vec(&self.0).map_or(0, |json| json.len())
    }
}

impl IntoIterator for PendingAnswers {
    type Item = PendingAnswer;
    type IntoIter = std::vec::IntoIter<PendingAnswer>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl PendingAnswer {
    pub(crate) fn new(id: Text, given: RequestAnswer) -> Self {
        Self { id, given, turn: 0 }
    }
}

impl MessageCounts {
    fn count_for(&mut self, when: DeliveryTime) -> &mut u64 {
        match when {
            DeliveryTime::Next | DeliveryTime::Now => &mut self.steers,
            DeliveryTime::End => &mut self.follow_ups,
        }
    }
}

impl QueuedMessages {
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns the time at which a message was sent, in milliseconds since the Unix epoch, if it is kept: the one after the first `before` of equal
    /// messages.
    pub(crate) fn said_at(&self, message: &Message, before: usize) -> Option<u64> {
        let mut same = self.words.iter().filter(|word| word.message == *message);
        same.nth(before).map(|word| word.at_ms)
    }

    /// Adds a message, and removes those in the journal.
    pub(crate) fn add(&mut self, word: QueuedMessage, journaled: MessageCounts) {
        self.words = self.clone().without(journaled);
        self.left_out = journaled;
        self.words.push(word);
    }

    /// Returns the messages that are not in the journal, given the counts of those that are.
    pub(crate) fn without(self, mut journaled: MessageCounts) -> Vec<QueuedMessage> {
        let Self { mut left_out, mut words } = self;
        words.retain(|word| {
            let (left_out, journaled) =
                (left_out.count_for(word.when), *journaled.count_for(word.when));
            let is_there = *left_out < journaled;
            *left_out += u64::from(is_there);
            !is_there
        });
        words
    }
}

impl QueuedMessage {
    /// Sends the message to a run.
    pub(crate) fn say(self, steering: &Steering) -> Result<(), AgentError> {
        match self.when {
            DeliveryTime::Next => steering.steer(self.message),
            DeliveryTime::Now => steering.steer_now(self.message),
            DeliveryTime::End => steering.follow_up(self.message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forgeline_agent::Decision;

    fn word(when: DeliveryTime, text: &str) -> QueuedMessage {
        QueuedMessage { when, message: Message::user(text), at_ms: 1 }
    }

    #[test]
    fn answers_are_left_out_once_the_journal_has_them_or_what_they_answer_is_over() {
        let (mut answers, mut journaled) = (PendingAnswers::default(), JournaledAnswers::default());
        let mut add = |id: &str, journaled: &JournaledAnswers| {
            answers.add(
                &[PendingAnswer::new(id.into(), RequestAnswer::Decided(Decision::Grant))],
                journaled,
            );
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

    fn texts(words: Vec<QueuedMessage>) -> String {
        words.into_iter().map(|word| word.message.text()).collect()
    }

    #[test]
    fn words_are_left_out_by_their_kind_once_the_journal_has_them() {
        let mut words = QueuedMessages::default();
        let counts = |steers, follow_ups| MessageCounts { steers, follow_ups };
        for (when, text) in [
            (DeliveryTime::Next, "a"),
            (DeliveryTime::End, "b"),
            (DeliveryTime::Now, "c"),
            (DeliveryTime::End, "d"),
            (DeliveryTime::Next, "e"),
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
        words.add(word(DeliveryTime::End, "f"), counts(2, 1));
        assert_eq!(texts(words.clone().without(counts(2, 1))), "def");
        assert_eq!(texts(words.clone().without(counts(3, 2))), "f");
        assert_eq!(texts(words.without(counts(3, 3))), "");
    }
}
