//! The JSON in an answer, as it arrives.

use forgeline_json::slice;
use forgeline_types::{PartialJson, PartialJsonError, PartialValue};

/// The value in a text that a model may begin with words or a fence. Text before and after the value is passed over.
#[derive(Debug, Default)]
pub struct AnswerJson {
    json: PartialJson,
    /// The bytes of the value so far; `None` before it begins.
    taken: Option<u64>,
    /// `true` once a call of the forced tool has begun, which is then the answer, and not the text before it.
    has_call: bool,
}

impl AnswerJson {
    /// Adds a delta of the answer's text; returns `true` if a part of it belongs to the value.
    pub fn text(&mut self, delta: &str) -> bool {
        // A server that ignores a forced tool may answer as text.
        !self.has_call && self.push(delta)
    }

    /// Adds a delta of the arguments of the answer's first call; returns `true` if a part of it belongs to the value.
    pub fn call(&mut self, delta: &str) -> bool {
        if !self.has_call {
            *self = Self { has_call: true, ..Self::default() };
        }
        self.push(delta)
    }

    fn push(&mut self, delta: &str) -> bool {
        let (mut rest, mut grew) = (delta, false);
        // Text after the value does not belong to the value.
        while !rest.is_empty() && self.value().is_none_or(PartialValue::is_open) {
            let taken = self.taken.unwrap_or_default();
            if self.taken.is_none() {
                let Some(start) = rest.find(['{', '[']) else { break };
                rest = slice(rest, start..);
            }
            grew = true;
            self.taken = Some(taken + rest.len() as u64);
            match self.json.push(rest) {
                Err(PartialJsonError::Unexpected { offset, .. }) if self.has_nothing() => {
                    // A bracket of the words before: the value is looked for from here.
                    (self.json, self.taken) = (PartialJson::new(), None);
                    let at = usize::try_from(offset.saturating_sub(taken)).unwrap_or(usize::MAX);
                    rest = slice(rest, rest.floor_char_boundary(at)..);
                }
                // Any other fault is reported with the complete answer.
                Ok(()) | Err(_) => break,
            }
        }
        grew
    }

    /// Returns the value so far; `None` before it begins.
    pub fn value(&self) -> Option<PartialValue<'_>> {
        self.json.value()
    }

    /// Returns `true` if no member and no item of the value has arrived.
    fn has_nothing(&self) -> bool {
        let value = self.value().filter(|value| value.is_open());
        value.is_some_and(|it| it.items().next().is_none() && it.members().next().is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_is_found_among_words_at_every_cut() {
        #[rustfmt::skip]
        let cases = [
            ("alone",               "{\"n\":[1,2]}",                       r#"{"n":[1,2]}"#),
            ("a fence",             "```json\n{\"n\":[1,2]}\n```",         r#"{"n":[1,2]}"#),
            ("words around",        "Here it is: {\"n\":\"é\"} Done [1].", r#"{"n":"é"}"#),
            ("brackets before",     "As [you {asked}]: {\"n\":1}",         r#"{"n":1}"#),
            ("the same bracket",    "{{\"n\":1}}",                         r#"{"n":1}"#),
            ("a word like a value", "[not yet] [7]",                       "[7]"),
            ("broken within",       "{\"n\":1,oops,\"m\":{\"n\":2}}",      r#"{"n":1}"#),
            ("cut off",             "So: {\"n\":[\"a",                     r#"{"n":["a"]}"#),
            ("words alone",         "It is [about] 42.",                   ""),
        ];
        let read = |pieces: &[&str]| {
            let mut json = AnswerJson::default();
            let grew = pieces.iter().filter(|it| json.text(it)).count() > 0;
            let value = json.value().map(|it| it.to_string()).unwrap_or_default();
            assert!(grew || value.is_empty(), "{pieces:?}");
            value
        };
        for (name, text, want) in cases {
            for (at, _) in text.char_indices() {
                let (head, tail) = text.split_at(at);
                assert_eq!(read(&[head, tail]), want, "{name}: cut at {at}");
            }
            let letters: Vec<_> = text.split_inclusive(|_| true).collect();
            assert_eq!(read(&letters), want, "{name}: letter by letter");
        }
    }
}
