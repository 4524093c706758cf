//! The lines of a journal: a number, a digest, a record, and the messages that it added.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::{JournalEntry, JournalLine, JournalStep, error::RestoreError};
use crate::support::digest;
use forgeline_types::Message;

/// A position after a line, with the digest of all lines up to there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Chain {
    number: u64,
    digest: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    n: u64,
    /// The digest in hexadecimal, since not every JSON reader keeps 64 bits.
    digest: String,
    #[serde(borrow)]
    record: &'a RawValue,
    /// The messages, unless they are stored beside the line. In a line of format 4 the record contains them.
    #[serde(borrow, default, skip_serializing_if = "<[_]>::is_empty")]
    messages: Box<[&'a RawValue]>,
}

impl Chain {
    /// Returns the number of lines before this position.
    pub(crate) fn number(self) -> u64 {
        self.number
    }

    fn after<'m>(self, record: &'m str, messages: impl Iterator<Item = &'m str>) -> Self {
        let before = [self.digest.to_le_bytes(), self.number.to_le_bytes()];
        let texts = std::iter::once(record).chain(messages);
        let texts = texts.flat_map(|text| -> &[u8] { text.as_bytes() });
        Self { number: self.number + 1, digest: digest(before.as_flattened().iter().chain(texts)) }
    }

    /// Returns the next entry, and the position after it.
    pub(super) fn write(
        self,
        step: JournalStep,
        record: &RawValue,
        messages: &[Arc<Message>],
    ) -> serde_json::Result<(JournalEntry, Self)> {
        let texts =
            messages.iter().map(|it| to_raw_value(&as_read(it)?)).collect::<Result<Vec<_>, _>>()?;
        let next = self.after(record.get(), texts.iter().map(|text| text.get()));
        let digest = format!("{:016x}", next.digest);
        let line = Line { n: self.number, digest, record, messages: Box::default() };
        let list = if texts.is_empty() { String::new() } else { serde_json::to_string(&texts)? };
        let head = serde_json::to_string(&line)?;
        Ok((JournalEntry::new(step, head, messages.to_vec(), list), next))
    }

    /// Returns the record of the next line with the messages that were written or stored beside it, and moves past it.
    ///
    /// # Errors
    ///
    /// Returns an error when the line is not the one that was written at this position.
    pub(crate) fn read(
        &mut self,
        line: &JournalLine,
    ) -> Result<(String, Vec<Arc<Message>>), RestoreError> {
        let number = self.number + 1;
        let edited = || RestoreError::Edited { line: number };
        let read: Line<'_> = serde_json::from_str(&line.text).map_err(|_| edited())?;
        // A store in memory returns messages that were never written.
        let beside = line.messages.iter().map(|it| as_read(it)).collect::<Result<Vec<_>, _>>();
        let mut messages: Vec<_> =
            beside.map_err(|_| edited())?.into_iter().map(Arc::new).collect();
        let beside = messages.iter().map(to_raw_value).collect::<Result<Vec<_>, _>>();
        let beside = beside.map_err(|_| edited())?;
        let texts = read.messages.iter().copied().chain(beside.iter().map(|text| &**text));
        let next = self.after(read.record.get(), texts.map(RawValue::get));
        if (read.n, read.digest) != (self.number, format!("{:016x}", next.digest)) {
            return Err(edited());
        }
        for text in &read.messages {
            let message = serde_json::from_str(text.get());
            messages.push(message.map_err(|_| RestoreError::Unknown { line: number })?);
        }
        *self = next;
        Ok((read.record.get().to_owned(), messages))
    }
}

/// Returns a message as it is after it was stored and read once: reading writes escapes in arguments anew and merges repeated keys.
pub(super) fn as_read(message: &Message) -> serde_json::Result<Message> {
    serde_json::from_str(&serde_json::to_string(message)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::JournalStep;
    use forgeline_types::{Json, MessageRole, Part, ToolCall};

    #[test]
    fn a_name_in_place_of_a_record_is_that_of_a_conversation_which_was_cleared() {
        let step = |name: &str| JournalStep::of_line(&format!(r#"{{"n":0,"record":"{name}"}}"#));
        assert_eq!((step("cleared"), step("other")), (Some(JournalStep::Cleared), None));
    }

    #[test]
    fn a_message_that_was_read_is_read_as_it_is() {
        for arguments in [
            r#"{"a":"\u00e9 \/ \u2028","a":1,"n":[1.50e+3,-0,12345678901234567890123]}"#,
            r#"{"half":"\ud83d","other":"\udc00 x","pair":"\ud83d\ude00"}"#,
            r#"{"":null,"$serde_json::private::RawValue":"1","$forgeline::number":"2"}"#,
            r#""text""#,
            r#"[{"b":1,"a":{"b":1,"a":2,"b":3}}]"#,
        ] {
            let json = Json::parse(arguments).unwrap();
            let call = Part::ToolCall(ToolCall::new("c", "f", json));
            let message = Message::new(MessageRole::Assistant, vec![call]);
            let read = as_read(&message).unwrap_or_else(|error| panic!("{arguments}: {error}"));
            assert_eq!(as_read(&read).unwrap(), read, "{arguments}");
        }
    }
}
