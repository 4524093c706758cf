//! Messages that a run took but did not deliver to its model: they are in its journal, and not among the messages of the conversation.

use std::sync::Arc;

use forgeline_agent::journal::JournaledInput;
use forgeline_types::Message;

/// The messages of a run that wait for its model, according to its journal.
#[derive(Debug, Default)]
pub(crate) struct Undelivered(Vec<Message>);

impl Undelivered {
    /// Records the content of a line: the input that the run took, and the messages that it added.
    pub(crate) fn note(&mut self, input: JournaledInput, messages: &[Arc<Message>]) {
        if let JournaledInput::Steer(message) | JournaledInput::FollowUp(message) = input {
            self.0.push(*message);
        }
        for message in messages {
            if let Some(at) = self.0.iter().position(|waits| waits == &**message) {
                self.0.remove(at);
            }
        }
    }

    /// Returns the undelivered messages, in the order in which they were taken.
    pub(crate) fn into_messages(self) -> Vec<Message> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_waits_until_a_line_adds_it() {
        let message = |text: &str| Arc::new(Message::user(text));
        let steer = |text: &str| JournaledInput::Steer(Box::new(Message::user(text)));
        let later = |text: &str| JournaledInput::FollowUp(Box::new(Message::user(text)));
        let mut words = Undelivered::default();
        words.note(JournaledInput::Other, &[message("a")]);
        words.note(steer("a"), &[]);
        words.note(later("b"), &[]);
        words.note(steer("c"), &[message("c")]);
        words.note(later("b"), &[]);
        words.note(JournaledInput::answer(1), &[message("x"), message("b")]);
        let left: Vec<_> = words.into_messages().iter().map(Message::text).collect();
        assert_eq!(left, ["a", "b"]);
    }
}
