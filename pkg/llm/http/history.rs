//! The one pass over a conversation before it is encoded: what each protocol or template refuses is put right here.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Weak},
};

use forgeline_types::{Message, MessageRole, Part, Text, Transcript};

/// The facts about the messages of a conversation that are encoded already.
#[derive(Debug, Default)]
pub(super) struct HistoryFacts {
    /// The ids of their calls.
    ids: HashSet<Text>,
}

impl HistoryFacts {
    /// Adds the facts of messages that need no change.
    pub(super) fn add(&mut self, messages: &[Arc<Message>]) {
        self.ids.extend(
            messages.iter().flat_map(|message| message.tool_calls()).map(|call| call.id.clone()),
        );
    }

    pub(super) fn clear(&mut self) {
        self.ids.clear();
    }

    /// Returns `true` if `history`, whose first `known` messages these facts are of, can be sent as it is; where the roles of a
    /// server's messages must be in turns, it `alternates`.
    pub(super) fn is_sound(&self, history: &Transcript, known: usize, alternates: bool) -> bool {
        let messages = history.messages();
        let new = messages.get(known..).unwrap_or_default();
        let from_last = messages.get(known.saturating_sub(1)..).unwrap_or_default();
        let are_joined =
            alternates && from_last.windows(2).any(|pair| matches!(pair, [a, b] if joins(a, b)));
        let mut calls = new.iter().flat_map(|message| message.tool_calls()).peekable();
        if are_joined || new.iter().any(|message| is_empty(message)) {
            return false;
        }
        if calls.peek().is_none() {
            return true;
        }
        let mut ids = HashSet::new();
        calls.all(|call| {
            call.id.is_empty() || (!self.ids.contains(&call.id) && ids.insert(&call.id))
        })
    }
}

/// Returns the conversation as it can be sent: the ids of calls are unique, each with its result; answers in which nothing is are
/// left out; and messages of the user in a row are one where it `alternates`.
///
/// Servers without ids give `call_0` to the first call of each answer, and some vendors refuse an id that comes again. The
/// templates of some models refuse two messages of the user in a row, which an answer that failed or was empty leaves behind.
#[cfg(test)]
fn repair(history: &Transcript, alternates: bool) -> Transcript {
    RepairedHistory::new(alternates).extend(history)
}

/// A conversation that was put right, kept for its next turn, which adds messages to it.
#[derive(Debug)]
pub(super) struct RepairedHistory {
    alternates: bool,
    /// The messages that were read. A message cannot change while it is pointed to, and no other message can take its address.
    read: Vec<Weak<Message>>,
    /// The messages as they are sent.
    sent: Transcript,
    ids: UniqueIds,
}

impl RepairedHistory {
    pub(super) fn new(alternates: bool) -> Self {
        Self {
            alternates,
            read: Vec::new(),
            sent: Transcript::default(),
            ids: UniqueIds::default(),
        }
    }

    /// Returns `true` if `history` begins with the messages that were read.
    pub(super) fn begins(&self, history: &Transcript, alternates: bool) -> bool {
        let is_same = |(read, message): (&Weak<Message>, &Arc<Message>)| {
            std::ptr::eq(read.as_ptr(), Arc::as_ptr(message))
        };
        let first = history.messages().get(..self.read.len());
        self.alternates == alternates
            && first.is_some_and(|first| self.read.iter().zip(first).rev().all(is_same))
    }

    /// Returns `false` once the conversation no longer exists.
    pub(super) fn is_alive(&self) -> bool {
        let own = self.sent.last().map(Arc::as_ptr);
        let is_other = |last: &Weak<Message>| {
            last.strong_count()
                > usize::from(own.is_some_and(|own| std::ptr::eq(own, last.as_ptr())))
        };
        self.read.last().is_none_or(is_other)
    }

    /// Reads the messages of `history` that were not read yet, and returns all as they are sent.
    pub(super) fn extend(&mut self, history: &Transcript) -> Transcript {
        let new = history.messages().get(self.read.len()..).unwrap_or_default();
        for message in new.iter().filter(|message| !is_empty(message)) {
            let message = self.ids.rename(message);
            let last = self.sent.last().filter(|_| self.alternates);
            if last.is_some_and(|last| joins(last, &message)) {
                self.sent.join_last(&message);
            } else {
                self.sent.push(message);
            }
        }
        self.read.extend(new.iter().map(Arc::downgrade));
        self.sent.clone()
    }
}

/// Returns `true` for two messages of the user in a row.
fn joins(before: &Message, after: &Message) -> bool {
    before.role == MessageRole::User && after.role == MessageRole::User
}

/// Returns `true` for an answer in which nothing is that a provider could take back.
fn is_empty(message: &Message) -> bool {
    let is_nothing = |part: &Part| {
        matches!(part, Part::Framing { .. })
            || matches!(part, Part::Text { text, .. } if text.trim().is_empty())
            || matches!(part, Part::Thinking { text, signature: None, .. } if text.is_empty())
    };
    message.role == MessageRole::Assistant && message.parts.iter().all(is_nothing)
}

/// The ids of calls that were met.
#[derive(Debug, Default)]
struct UniqueIds {
    used: HashSet<Text>,
    /// The last number given to a call of each id that came again.
    numbers: HashMap<Text, usize>,
    /// The new ids of the calls of each id whose results are to come.
    open: HashMap<Text, VecDeque<Text>>,
}

impl UniqueIds {
    /// Returns the message with ids that no message before it has.
    fn rename(&mut self, message: &Arc<Message>) -> Arc<Message> {
        let has_ids = |part: &Part| matches!(part, Part::ToolCall(_) | Part::ToolResult(_));
        if !message.parts.iter().any(has_ids) {
            return Arc::clone(message);
        }
        // Results that come are of the calls of this message.
        message.tool_calls().for_each(|call| drop(self.open.remove(&call.id)));
        let mut message = Arc::clone(message);
        for at in 0..message.parts.len() {
            let (old, new) = match message.parts.get(at) {
                Some(Part::ToolCall(call)) => (call.id.clone(), self.begin(&call.id)),
                Some(Part::ToolResult(result)) => {
                    (result.call_id.clone(), self.end(&result.call_id))
                }
                _ => continue,
            };
            if old == new {
                continue;
            }
            let part = Arc::make_mut(&mut message).parts.get_mut(at);
            if let Some(Part::ToolCall(call)) = part {
                call.id = new;
            } else if let Some(Part::ToolResult(result)) = part {
                result.call_id = new;
            }
        }
        message
    }

    /// Returns the id of a call: its own, or the first of `id-2`, `id-3` … that is free.
    fn begin(&mut self, id: &Text) -> Text {
        if id.is_empty() {
            return id.clone();
        }
        let mut free = id.clone();
        if self.used.contains(id) {
            // Counted on from the last one: a server without ids gives the same one to each call.
            let number = self.numbers.entry(id.clone()).or_insert(1);
            while self.used.contains(&free) {
                *number += 1;
                free = Text::from(format!("{id}-{number}"));
            }
        }
        self.used.insert(free.clone());
        self.open.entry(id.clone()).or_default().push_back(free.clone());
        free
    }

    /// Returns the id of the call that a result with this id answers.
    fn end(&mut self, id: &Text) -> Text {
        let Some(open) = self.open.get_mut(id) else { return id.clone() };
        // What answers a call once more has its id too.
        let next = if open.len() > 1 { open.pop_front() } else { open.front().cloned() };
        next.unwrap_or_else(|| id.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forgeline_types::{ToolCall, ToolResult};
    use proptest::prelude::*;

    fn calls(ids: &[&str]) -> Message {
        let call = |id: &&str| Part::ToolCall(ToolCall::new(*id, "find", serde_json::json!({})));
        Message::new(MessageRole::Assistant, ids.iter().map(call).collect())
    }

    fn results(ids: &[&str]) -> Message {
        let result = |id: &&str| Part::ToolResult(ToolResult::new(*id, "find", "one"));
        Message::new(MessageRole::Tool, ids.iter().map(result).collect())
    }

    fn said(text: &str) -> Message {
        Message::new(MessageRole::Assistant, vec![Part::text(text.to_owned())])
    }

    /// Returns each message in a few signs: `u` with its texts, `a`, `c` with ids, `r` with ids.
    fn shown(history: &Transcript) -> Vec<String> {
        #[expect(clippy::wildcard_enum_match_arm, reason = "only these are drawn")]
        let part = |part: &Part| match part {
            Part::Text { text, .. } => text.clone(),
            Part::ToolCall(call) => format!("+{}", call.id),
            Part::ToolResult(result) => format!("={}", result.call_id),
            other => format!("{other:?}"),
        };
        let message = |message: &Arc<Message>| {
            let parts: Vec<_> = message.parts.iter().map(part).collect();
            format!("{:?} {}", message.role, parts.join(" "))
        };
        history.iter().map(message).collect()
    }

    fn transcript(messages: &[Message]) -> Transcript {
        Transcript::shared(messages.iter().cloned().map(Arc::new).collect())
    }

    // Rows: N-21, N-22
    #[test]
    fn what_a_vendor_or_a_template_refuses_is_put_right() {
        let user = || Message::user("Go.");
        #[rustfmt::skip]
        let rows: [(&str, Vec<Message>, &[&str]); 9] = [
            ("sound",             vec![user(), calls(&["a", "b"]), results(&["a", "b"]), said("Done.")], &[]),
            ("an id comes again", vec![user(), calls(&["call_0"]), results(&["call_0"]), calls(&["call_0"]), results(&["call_0"])],
                                  &["User Go.", "Assistant +call_0", "Tool =call_0", "Assistant +call_0-2", "Tool =call_0-2"]),
            ("twice in a message", vec![user(), calls(&["x", "x"]), results(&["x", "x"])],
                                  &["User Go.", "Assistant +x +x-2", "Tool =x =x-2"]),
            ("the other is taken", vec![user(), calls(&["x", "x-2"]), results(&["x-2", "x"]), calls(&["x"]), results(&["x"])],
                                  &["User Go.", "Assistant +x +x-2", "Tool =x-2 =x", "Assistant +x-3", "Tool =x-3"]),
            ("an answer failed",  vec![user(), user(), said("Done.")],        &["User Go. Go.", "Assistant Done."]),
            ("an empty answer",   vec![user(), said(" "), user()],            &["User Go. Go."]),
            ("no parts at all",   vec![user(), calls(&[]), user(), user()],   &["User Go. Go. Go."]),
            ("unanswered",        vec![user(), calls(&["a"]), calls(&["a"]), results(&["a"])],
                                  &["User Go.", "Assistant +a", "Assistant +a-2", "Tool =a-2"]),
            ("calls without ids", vec![user(), calls(&["", ""]), results(&["", ""])], &[]),
        ];
        for (name, messages, want) in rows {
            let history = transcript(&messages);
            let is_sound = HistoryFacts::default().is_sound(&history, 0, true);
            assert_eq!(is_sound, want.is_empty(), "{name}");
            let before = shown(&history);
            let want = if want.is_empty() {
                before
            } else {
                want.iter().map(|it| (*it).to_owned()).collect()
            };
            assert_eq!(shown(&repair(&history, true)), want, "{name}");
        }
    }

    fn drawn() -> impl Strategy<Value = Vec<Message>> {
        let ids = prop::collection::vec(prop::sample::select(vec!["", "a", "a-2", "b"]), 1..4);
        let turn = prop_oneof![
            Just(vec![Message::user("Go.")]),
            prop::sample::select(vec!["", " ", "Done."]).prop_map(|text| vec![said(text)]),
            ids.prop_map(|ids| vec![calls(&ids), results(&ids)]),
        ];
        prop::collection::vec(turn, 0..8).prop_map(|turns| turns.concat())
    }

    proptest! {
        // Rows: N-21, N-22
        #[test]
        fn what_is_put_right_is_sound_and_loses_nothing(messages in drawn(), known in 0_usize..8) {
            let history = transcript(&messages);
            let repaired = repair(&history, true);
            // A conversation that grows becomes what the whole becomes.
            let mut grown = RepairedHistory::new(true);
            let first = history.messages()[..known.min(history.len())].to_vec();
            grown.extend(&Transcript::shared(first));
            prop_assert!(grown.begins(&history, true));
            prop_assert_eq!(shown(&grown.extend(&history)), shown(&repaired));
            prop_assert!(HistoryFacts::default().is_sound(&repaired, 0, true), "{:?}", shown(&repaired));
            let parts = |history: &Transcript| -> Vec<String> {
                // Without ids.
                let all = shown(history).join(" ");
                let kinds = all.split(' ').filter(|it| !matches!(*it, "" | "User" | "Assistant" | "Tool"));
                kinds.map(|it| it.chars().take(if it.starts_with(['+', '=']) { 1 } else { 9 }).collect()).collect()
            };
            prop_assert_eq!(parts(&history), parts(&repaired));
            // Each result is of a call of the message before it, and each call has one.
            for pair in repaired.messages().windows(2) {
                let [call, result] = pair else { continue };
                if result.role == MessageRole::Tool {
                    let ids: Vec<_> = call.tool_calls().map(|call| &call.id).collect();
                    let answered: Vec<_> = result.tool_results().map(|result| &result.call_id).collect();
                    prop_assert_eq!(ids, answered);
                }
            }
            // What is known of the beginning gives the same answer as a look at all.
            let known = known.min(repaired.len());
            let mut facts = HistoryFacts::default();
            facts.add(&repaired.messages()[..known]);
            prop_assert!(facts.is_sound(&repaired, known, true));
            let is_sound = HistoryFacts::default().is_sound(&history, 0, true);
            prop_assert_eq!(is_sound, shown(&history) == shown(&repaired));
            let sound = (0..=history.len()).rev().find(|&end| {
                HistoryFacts::default().is_sound(&transcript(&messages[..end]), 0, true)
            });
            let sound = sound.unwrap_or(0);
            let mut facts = HistoryFacts::default();
            facts.add(&history.messages()[..sound]);
            prop_assert_eq!(facts.is_sound(&history, sound, true), is_sound);
        }
    }
}
