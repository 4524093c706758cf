//! Messages and answers for a run, kept until its journal contains them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use forgeline_agent::{private::RequestAnswer, steering::Steering};
use forgeline_types::{AgentError, Message, Text};

/// The time at which the model reads a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
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

/// The messages of a run as they were stored up to schema version 4: without the first ones, which its journal contains.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct LegacyMessages {
    left_out: MessageCounts,
    words: Vec<QueuedMessage>,
}

/// The answer to the request `id`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub(crate) struct PendingAnswer {
    pub(crate) id: Text,
    pub(crate) given: RequestAnswer,
    /// The last turn in the journal when the answer was given: the request belongs to that turn or to the next.
    #[serde(default)]
    turn: u32,
    /// The number of the command that gave it, if another node sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<u64>,
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

    /// Returns `true` if an answer is in the journal, or the request that it answers is over.
    pub(crate) fn has(&self, answer: &PendingAnswer) -> bool {
        self.turn >= answer.turn + 2 || self.ids.iter().any(|(_, id)| *id == answer.id)
    }
}

impl PendingAnswer {
    pub(crate) fn new(id: Text, given: RequestAnswer) -> Self {
        Self { id, given, turn: 0, command: None }
    }

    /// Returns the answer as given after the journaled ones, by this command.
    pub(crate) fn given_in(&self, journaled: &JournaledAnswers, command: Option<u64>) -> Self {
        Self { turn: journaled.turn, command, ..self.clone() }
    }
}

impl MessageCounts {
    /// Returns the number of messages of a kind.
    pub(crate) fn count_for(self, when: DeliveryTime) -> u64 {
        match when {
            DeliveryTime::Next | DeliveryTime::Now => self.steers,
            DeliveryTime::End => self.follow_ups,
        }
    }
}

impl LegacyMessages {
    /// Returns the messages, each with its number among those of its kind.
    pub(crate) fn numbered(self) -> Vec<(u64, QueuedMessage)> {
        let mut next = self.left_out;
        let number = |message: QueuedMessage| {
            let number = next.count_for(message.when);
            match message.when {
                DeliveryTime::Next | DeliveryTime::Now => next.steers += 1,
                DeliveryTime::End => next.follow_ups += 1,
            }
            (number, message)
        };
        self.words.into_iter().map(number).collect()
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
    use forgeline_agent::approval::Decision;

    #[test]
    fn answers_are_left_out_once_the_journal_has_them_or_what_they_answer_is_over() {
        let mut journaled = JournaledAnswers::default();
        let mut answers: Vec<PendingAnswer> = Vec::new();
        let mut add = |id: &str, journaled: &JournaledAnswers| {
            let new = PendingAnswer::new(id.into(), RequestAnswer::Decided(Decision::Grant));
            answers.retain(|answer| !journaled.has(answer) && answer.id != new.id);
            answers.push(new.given_in(journaled, None));
            answers.iter().map(|it| it.id.to_string()).collect::<String>()
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
}
