//! Messages that a run took but did not deliver to its model: they are in its journal, and not among the messages of the conversation.

use serde::Deserialize;
use serde_json::value::RawValue;

use forgeline_types::Message;

/// The messages of a run that wait for its model, according to its journal.
#[derive(Debug, Default)]
pub(crate) struct Undelivered(Vec<Message>);

/// An input of a run, if it is a message of the user.
#[derive(Deserialize)]
struct Input {
    said: Said,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Said {
    Steer { message: Message },
    FollowUp { message: Message },
}

impl Undelivered {
    /// Records the content of a line: the input that the run took, and the messages that it added.
    pub(crate) fn note(&mut self, input: Option<&RawValue>, messages: &[&RawValue]) {
        let said = input.filter(|input| input.get().starts_with(r#"{"said":"#));
        let said = said.and_then(|input| serde_json::from_str::<Input>(input.get()).ok());
        if let Some(Input { said }) = said {
            let (Said::Steer { message } | Said::FollowUp { message }) = said;
            self.0.push(message);
        }
        for message in messages {
            if self.0.is_empty() {
                return;
            }
            let Ok(message) = serde_json::from_str::<Message>(message.get()) else { continue };
            if let Some(at) = self.0.iter().position(|waits| *waits == message) {
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
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let message = |text: &str| raw(&serde_json::to_string(&Message::user(text)).unwrap());
        let steer = |text: &str| {
            let message = message(text);
            raw(&format!(r#"{{"said":{{"steer":{{"message":{message},"now":true}}}}}}"#))
        };
        let later = |text: &str| {
            raw(&format!(r#"{{"said":{{"follow_up":{{"message":{}}}}}}}"#, message(text)))
        };
        let mut words = Undelivered::default();
        words.note(None, &[&message("a")]);
        words.note(Some(&steer("a")), &[]);
        words.note(Some(&later("b")), &[]);
        words.note(Some(&steer("c")), &[&message("c")]);
        words.note(Some(&later("b")), &[]);
        words.note(Some(&raw(r#"{"answer":1}"#)), &[&message("x"), &message("b")]);
        let left: Vec<_> = words.into_messages().iter().map(Message::text).collect();
        assert_eq!(left, ["a", "b"]);
    }
}
