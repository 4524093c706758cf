//! The input of a run and what was sent to it since, stored until the run has ended: a process that resumes the run needs both.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    client_tools::{ClientTools, OfferedTool},
    pending::{
        DeliveryTime, JournaledAnswers, LegacyMessages, MessageCounts, PendingAnswer, QueuedMessage,
    },
};
use crate::access::scope::scope;
use forgeline_agent::{Caller, RunInput};
use forgeline_store::{RunNote, StoredRun};
use forgeline_types::{Message, Text};

/// The stored form of a request. Up to schema version 4 it also contained what was sent to the run since.
#[derive(Debug, Default, Deserialize, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
struct StoredRequest {
    input: String,
    #[serde(default)]
    tools: Vec<OfferedTool>,
    #[serde(default, skip_serializing)]
    said: LegacyMessages,
    #[serde(default, skip_serializing)]
    answers: Vec<PendingAnswer>,
    #[serde(default, skip_serializing)]
    is_cancelled: bool,
    #[serde(default, skip_serializing)]
    is_left: bool,
}

/// Something that was sent to a run, in the form in which it is stored.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum SentInput {
    /// The message with this number among those of its kind.
    Message {
        number: u64,
        message: QueuedMessage,
        /// The number of the command that sent it, if another node did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<u64>,
    },
    Answer(PendingAnswer),
    /// The user has cancelled the run.
    Cancelled,
    /// The user has moved on to something else: the answers are given, and other requests of the run are refused.
    Left,
    /// The number of nodes in a row that did not have the agent of the run.
    Passes(u32),
}

/// The name of the note with the number of nodes in a row that did not have the agent of the run.
pub(crate) const PASSES: &str = "passes";

impl SentInput {
    /// Returns the name of the note, unique in its run.
    fn name(&self) -> Text {
        match self {
            Self::Message { number, message, .. } if message.when == DeliveryTime::End => {
                format!("follow_up {number}").into()
            }
            Self::Message { number, .. } => format!("steer {number}").into(),
            Self::Answer(answer) => format!("answer {}", answer.id).into(),
            Self::Cancelled => "cancelled".into(),
            Self::Left => "left".into(),
            Self::Passes(_) => PASSES.into(),
        }
    }

    /// Returns the number of the command that sent it, if another node did.
    fn command(&self) -> Option<u64> {
        match self {
            Self::Message { command, .. } => *command,
            Self::Answer(answer) => answer.command,
            Self::Cancelled | Self::Left | Self::Passes(_) => None,
        }
    }

    fn write(&self) -> serde_json::Result<RunNote> {
        Ok(RunNote::new(self.name(), serde_json::to_string(self)?))
    }
}

/// The input of a run and what was sent to it since.
#[derive(Debug, Default)]
pub(crate) struct StoredInput {
    input: Option<RunInput>,
    tools: Vec<OfferedTool>,
    /// The inputs that were sent since, each with its size in bytes.
    sent: Vec<(SentInput, usize)>,
    /// The size of the request, in bytes.
    request_bytes: usize,
}

/// Returns an input and the tools sent with it, in the form in which they are stored.
pub(crate) fn to_stored(
    input: &RunInput,
    tools: Option<&ClientTools>,
) -> serde_json::Result<String> {
    let input = input.to_json()?;
    match tools.map(ClientTools::offered).filter(|tools| !tools.is_empty()) {
        Some(tools) => {
            let tools = tools.to_vec();
            serde_json::to_string(&StoredRequest { input, tools, ..StoredRequest::default() })
        }
        None => Ok(input),
    }
}

impl StoredInput {
    /// Reads what a run's record contains. What cannot be read is left out, and logged.
    pub(crate) fn read(record: &StoredRun) -> Self {
        let text = record.input.as_deref().unwrap_or_default();
        let mut stored = Self { request_bytes: text.len(), ..Self::default() };
        match serde_json::from_str::<StoredRequest>(text) {
            Ok(request) => stored.read_request(request),
            Err(_) => stored.input = RunInput::from_json(text).ok(),
        }
        for note in &record.notes {
            match serde_json::from_str(&note.data) {
                Ok(sent) => stored.put(sent, note.data.len()),
                Err(error) => {
                    let (run_id, name) = (&record.key.name, &note.name);
                    tracing::error!(%error, %run_id, %name, "a note of a run cannot be read");
                }
            }
        }
        stored
    }

    fn read_request(&mut self, request: StoredRequest) {
        self.input = RunInput::from_json(&request.input).ok();
        self.tools = request.tools;
        for (number, message) in request.said.numbered() {
            self.put(SentInput::Message { number, message, command: None }, 0);
        }
        for answer in request.answers {
            self.put(SentInput::Answer(answer), 0);
        }
        let facts =
            [(request.is_cancelled, SentInput::Cancelled), (request.is_left, SentInput::Left)];
        for (_, fact) in facts.into_iter().filter(|(is_so, _)| *is_so) {
            self.put(fact, 0);
        }
    }

    /// Adds something that was sent, in place of an earlier one with its name.
    fn put(&mut self, sent: SentInput, bytes: usize) {
        let name = sent.name();
        self.sent.retain(|(earlier, _)| earlier.name() != name);
        self.sent.push((sent, bytes));
    }

    /// Returns the input with its tools, if it can be read.
    pub(crate) fn run_input(&self) -> Option<RunInput> {
        let input = self.input.clone()?;
        Some(match self.tools() {
            Some(tools) => input.state(tools),
            None => input,
        })
    }

    /// Returns the caller of the run: the one that began it, or the owner of the record if its input cannot be read.
    pub(crate) fn caller(&self, record: &StoredRun) -> Caller {
        if let Some(caller) = self.input.as_ref().and_then(|input| input.context().caller()) {
            return caller.clone();
        }
        let owner = Caller::new(record.owner.clone());
        if scope(&owner) == record.key.scope {
            owner
        } else {
            owner.scope(record.key.scope.clone())
        }
    }

    /// Returns the tools of the request, if any.
    pub(crate) fn tools(&self) -> Option<Arc<ClientTools>> {
        if self.tools.is_empty() { None } else { Some(ClientTools::of_stored(self.tools.clone())) }
    }

    /// Returns `true` for a run that the user has cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.sent.iter().any(|(sent, _)| *sent == SentInput::Cancelled)
    }

    /// Returns `true` for a run that the user has left for something else.
    pub(crate) fn is_left(&self) -> bool {
        self.sent.iter().any(|(sent, _)| *sent == SentInput::Left)
    }

    /// Returns the number of nodes in a row that did not have the agent of the run.
    pub(crate) fn passes(&self) -> u32 {
        let passes = |(sent, _): &(SentInput, usize)| match sent {
            SentInput::Passes(passes) => Some(*passes),
            SentInput::Message { .. }
            | SentInput::Answer(_)
            | SentInput::Cancelled
            | SentInput::Left => None,
        };
        self.sent.iter().find_map(passes).unwrap_or_default()
    }

    /// Returns the answers, in the order in which they were given.
    pub(crate) fn answers(&self) -> Vec<PendingAnswer> {
        let answer = |(sent, _): &(SentInput, usize)| match sent {
            SentInput::Answer(answer) => Some(answer.clone()),
            SentInput::Message { .. }
            | SentInput::Cancelled
            | SentInput::Left
            | SentInput::Passes(_) => None,
        };
        self.sent.iter().filter_map(answer).collect()
    }

    fn messages(&self) -> impl Iterator<Item = (u64, &QueuedMessage)> {
        self.sent.iter().filter_map(|(sent, _)| match sent {
            SentInput::Message { number, message, .. } => Some((*number, message)),
            SentInput::Answer(_)
            | SentInput::Cancelled
            | SentInput::Left
            | SentInput::Passes(_) => None,
        })
    }

    /// Returns the messages that are not in the journal, given the numbers of those that are.
    pub(crate) fn messages_without(&self, journaled: MessageCounts) -> Vec<QueuedMessage> {
        let waits = self.messages().filter(|(number, it)| *number >= journaled.count_for(it.when));
        waits.map(|(_, message)| message.clone()).collect()
    }

    /// Returns the time at which a message was sent, in milliseconds since the Unix epoch, if it is stored: the one after the first `before` of equal
    /// messages.
    pub(crate) fn sent_at(&self, message: &Message, before: usize) -> Option<u64> {
        let mut same = self.messages().filter(|(_, sent)| sent.message == *message);
        same.nth(before).map(|(_, sent)| sent.at_ms)
    }

    /// Returns `true` if something that this command sent is stored.
    pub(crate) fn has_command(&self, number: u64) -> bool {
        self.sent.iter().any(|(sent, _)| sent.command() == Some(number))
    }

    /// Returns the note of one more message, which this command sent, given the numbers of those in the journal.
    pub(crate) fn note_message(
        &self,
        message: QueuedMessage,
        journaled: MessageCounts,
        command: Option<u64>,
    ) -> serde_json::Result<RunNote> {
        let is_steer = message.when != DeliveryTime::End;
        let same = self.messages().filter(|(_, it)| (it.when != DeliveryTime::End) == is_steer);
        let next = same.map(|(number, _)| number + 1).max().unwrap_or_default();
        let number = next.max(journaled.count_for(message.when));
        SentInput::Message { number, message, command }.write()
    }

    /// Returns the notes of more answers, which this command gave, given those in the journal.
    pub(crate) fn note_answers(
        answers: &[PendingAnswer],
        journaled: &JournaledAnswers,
        command: Option<u64>,
    ) -> serde_json::Result<Vec<RunNote>> {
        let note =
            |answer: &PendingAnswer| SentInput::Answer(answer.given_in(journaled, command)).write();
        answers.iter().map(note).collect()
    }

    /// Returns the notes that are in place of these names now: those that must be stored again if others with these names are withdrawn.
    pub(crate) fn notes_named(&self, names: &[Text]) -> Vec<RunNote> {
        let replaced = self.sent.iter().filter(|(sent, _)| names.contains(&sent.name()));
        replaced.filter_map(|(sent, _)| sent.write().ok()).collect()
    }

    /// Returns the names of the notes that are not needed any more: the journal contains what they say, or the request that they answer is over. A note of
    /// a command from number `unanswered` on is needed: the next owner of the run sees by it that the command was executed.
    pub(crate) fn outdated(
        &self,
        messages: MessageCounts,
        answers: &JournaledAnswers,
        unanswered: u64,
    ) -> Vec<Text> {
        let is_outdated = |sent: &SentInput| match sent {
            _ if sent.command().is_some_and(|number| number >= unanswered) => false,
            SentInput::Message { number, message, .. } => {
                *number < messages.count_for(message.when)
            }
            SentInput::Answer(answer) => answers.has(answer),
            SentInput::Cancelled | SentInput::Left | SentInput::Passes(_) => false,
        };
        let outdated = self.sent.iter().filter(|(sent, _)| is_outdated(sent));
        outdated.map(|(sent, _)| sent.name()).collect()
    }

    /// Returns the size in bytes of the request and of what was sent, without the notes with these names.
    pub(crate) fn bytes_without(&self, names: &[Text]) -> usize {
        let rest = self.sent.iter().filter(|(sent, _)| !names.contains(&sent.name()));
        self.request_bytes + rest.map(|(_, bytes)| bytes).sum::<usize>()
    }

    /// Returns the size in bytes of the answers, without the notes with these names.
    pub(crate) fn answer_bytes_without(&self, names: &[Text]) -> usize {
        let is_answer = |sent: &SentInput| matches!(sent, SentInput::Answer(_));
        let rest =
            self.sent.iter().filter(|(sent, _)| is_answer(sent) && !names.contains(&sent.name()));
        rest.map(|(sent, _)| serde_json::to_vec(sent).map_or(0, |json| json.len())).sum()
    }
}

/// Returns the note of a run that the user has cancelled.
pub(crate) fn cancelled_note() -> serde_json::Result<RunNote> {
    SentInput::Cancelled.write()
}

/// Returns the note with the number of nodes in a row that did not have the agent of the run.
pub(crate) fn passes_note(passes: u32) -> serde_json::Result<RunNote> {
    SentInput::Passes(passes).write()
}

/// Returns the note of a run that the user has left for something else.
pub(crate) fn left_note() -> serde_json::Result<RunNote> {
    SentInput::Left.write()
}

#[cfg(test)]
mod tests {
    use super::*;
    use forgeline_agent::{approval::Decision, private::RequestAnswer};
    use forgeline_store::LogKey;

    fn message(when: DeliveryTime, text: &str) -> QueuedMessage {
        QueuedMessage { when, message: Message::user(text), at_ms: 1 }
    }

    fn record(input: &str) -> StoredRun {
        StoredRun::new(LogKey::new("s", "r"), "c", "ann", "main", 1).input(input)
    }

    fn texts(messages: Vec<QueuedMessage>) -> String {
        messages.into_iter().map(|it| it.message.text()).collect()
    }

    fn counts(steers: u64, follow_ups: u64) -> MessageCounts {
        MessageCounts { steers, follow_ups }
    }

    #[test]
    fn messages_are_left_out_by_their_kind_once_the_journal_has_them() {
        let mut record = record("{}");
        for (when, text) in [
            (DeliveryTime::Next, "a"),
            (DeliveryTime::End, "b"),
            (DeliveryTime::Now, "c"),
            (DeliveryTime::End, "d"),
            (DeliveryTime::Next, "e"),
        ] {
            let note =
                StoredInput::read(&record).note_message(message(when, text), counts(0, 0), None);
            record.notes.push(note.unwrap());
        }
        for (journaled, left) in [
            (counts(0, 0), "abcde"),
            (counts(1, 0), "bcde"),
            (counts(0, 1), "acde"),
            (counts(2, 2), "e"),
            (counts(3, 2), ""),
        ] {
            assert_eq!(texts(StoredInput::read(&record).messages_without(journaled)), left);
        }
        let stored = StoredInput::read(&record);
        let note =
            stored.note_message(message(DeliveryTime::End, "f"), counts(2, 1), None).unwrap();
        let outdated = stored.outdated(counts(2, 1), &JournaledAnswers::default(), u64::MAX);
        assert_eq!(outdated, ["steer 0", "follow_up 0", "steer 1"]);
        record.notes.retain(|note| !outdated.contains(&note.name));
        record.notes.push(note);
        let left = |journaled| texts(StoredInput::read(&record).messages_without(journaled));
        assert_eq!((left(counts(2, 1)), left(counts(3, 2))), ("def".to_owned(), "f".to_owned()));
        assert_eq!(left(counts(3, 3)), "");
        record.notes.clear();
        let note = StoredInput::read(&record).note_message(
            message(DeliveryTime::Now, "g"),
            counts(3, 3),
            None,
        );
        assert_eq!(note.unwrap().name, "steer 3", "after those in the journal");
    }

    #[test]
    fn a_request_stored_with_what_was_sent_since_is_read() {
        let old = r#"{"input":"{\"message\":{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"Go.\"}]}}",
            "said":{"left_out":{"steers":2,"follow_ups":0},"words":[
                {"when":"next","message":{"role":"user","parts":[{"type":"text","text":"a"}]},"at_ms":5},
                {"when":"end","message":{"role":"user","parts":[{"type":"text","text":"b"}]},"at_ms":6},
                {"when":"now","message":{"role":"user","parts":[{"type":"text","text":"c"}]},"at_ms":7}]},
            "answers":[{"id":"q1","given":{"decided":"grant"},"turn":1}],"is_cancelled":true}"#;
        let stored = StoredInput::read(&record(old));
        let left = |journaled| texts(stored.messages_without(journaled));
        assert_eq!((left(counts(2, 0)), left(counts(3, 1))), ("abc".to_owned(), "c".to_owned()));
        assert_eq!(stored.sent_at(&Message::user("b"), 0), Some(6));
        assert_eq!(
            (stored.is_cancelled(), stored.is_left(), stored.answers().len()),
            (true, false, 1)
        );
        let note =
            stored.note_message(message(DeliveryTime::Next, "d"), counts(2, 0), None).unwrap();
        assert_eq!(note.name, "steer 4");
    }

    #[test]
    fn an_answer_replaces_an_earlier_one_and_is_withdrawn_to_it() {
        let answer =
            |id: &str, decision| PendingAnswer::new(id.into(), RequestAnswer::Decided(decision));
        let journaled = JournaledAnswers::default();
        let mut record = record("{}");
        let first = [answer("q1", Decision::Grant), answer("q2", Decision::Grant)];
        record.notes = StoredInput::note_answers(&first, &journaled, None).unwrap();
        let stored = StoredInput::read(&record);
        let again =
            StoredInput::note_answers(&[answer("q1", Decision::reject("no"))], &journaled, None)
                .unwrap();
        let before = stored.notes_named(&[again[0].name.clone()]);
        assert_eq!((before.len(), &before[0]), (1, &record.notes[0]));
        // The bytes of the answers are those of their notes.
        record.notes.push(
            stored.note_message(message(DeliveryTime::Now, "a"), counts(0, 0), None).unwrap(),
        );
        let stored = StoredInput::read(&record);
        let names = [record.notes[0].name.clone(), record.notes[1].name.clone()];
        let bytes =
            [&[][..], &names[..1], &names[1..], &names].map(|it| stored.answer_bytes_without(it));
        assert!(bytes[1] > 20 && bytes[2] > 20 && bytes[3] == 0, "{bytes:?}");
        assert_eq!(bytes[0], bytes[1] + bytes[2]);
        record.notes.extend(again);
        assert_eq!(StoredInput::read(&record).answers().len(), 2);
    }
}
