//! The encoding of a conversation, kept for its next turn.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use serde_json::Value;

use super::{
    fields::{JsonItems, to_bytes},
    history::{HistoryFacts, RepairedHistory},
};
use crate::{ProviderError, ToolSpec};
use forgeline_types::MessageRole;
use forgeline_types::{Message, Transcript};

/// Maximum number of conversations whose encoding a provider keeps.
const MAX_CONVERSATIONS: usize = 32;

/// The encodings of the conversations that a provider serves.
///
/// A conversation is identified by its messages themselves, so a kept encoding always matches the
/// first messages of a request. Conversations that no longer exist are discarded at the next
/// request, and so is the least recently served one if there are more than
/// [`MAX_CONVERSATIONS`].
#[derive(Debug, Default)]
pub(crate) struct EncodedCache(Mutex<Vec<EncodedHistory>>, Mutex<Vec<RepairedHistory>>);

impl EncodedCache {
    /// Takes out the longest encoding of a prefix of `history`.
    pub(crate) fn take(&self, history: &Transcript) -> EncodedHistory {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        longest(&kept, history).map(|at| kept.remove(at)).unwrap_or_default()
    }

    /// Puts `history` right unless it can be sent as it is. What was put right is kept for the next turn, so that its messages are
    /// the same ones then.
    pub(crate) fn repair(&self, history: &mut Transcript, alternates: bool) {
        // What had to be put right before is not sound with more messages after it.
        if let Some(repaired) = self.repaired_again(history, alternates) {
            *history = repaired;
            return;
        }
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let encoded = longest(&kept, history).and_then(|at| kept.get(at));
        let is_sound = match encoded {
            Some(encoded) => encoded.facts.is_sound(history, encoded.count(), alternates),
            None => HistoryFacts::default().is_sound(history, 0, alternates),
        };
        drop(kept);
        if !is_sound {
            *history = self.repaired(history, alternates);
        }
    }

    /// Returns `history` put right if its beginning was put right before.
    fn repaired_again(&self, history: &Transcript, alternates: bool) -> Option<Transcript> {
        let mut kept = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(RepairedHistory::is_alive);
        let known = kept.iter().position(|it| it.begins(history, alternates))?;
        let mut repaired = kept.remove(known);
        let sent = repaired.extend(history);
        kept.push(repaired);
        Some(sent)
    }

    fn repaired(&self, history: &Transcript, alternates: bool) -> Transcript {
        let mut repaired = RepairedHistory::new(alternates);
        let sent = repaired.extend(history);
        let mut kept = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_CONVERSATIONS {
            kept.remove(0);
        }
        kept.push(repaired);
        sent
    }

    /// Keeps an encoding for the next request.
    pub(crate) fn put(&self, encoded: EncodedHistory) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(EncodedHistory::is_alive);
        if kept.len() >= MAX_CONVERSATIONS {
            kept.remove(0);
        }
        kept.push(encoded);
        drop(kept);
        let mut repaired = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        repaired.retain(RepairedHistory::is_alive);
    }
}

/// Returns the place of the longest encoding of a prefix of `history`.
fn longest(kept: &[EncodedHistory], history: &Transcript) -> Option<usize> {
    let fitting = kept.iter().enumerate().filter(|(_, encoded)| encoded.begins(history));
    fitting.max_by_key(|(_, encoded)| encoded.count()).map(|(at, _)| at)
}

/// The encoding of the first messages of a history, and of the parts that stay the same from turn to turn.
#[derive(Debug, Default)]
pub(crate) struct EncodedHistory {
    /// The messages in `segments`. A message cannot change while it is pointed to, and no
    /// other message can take its address.
    messages: Vec<Weak<Message>>,
    /// The encoded messages. Each segment is at least twice as long as the next, so there are few.
    segments: Vec<Bytes>,
    facts: HistoryFacts,
    /// The variant of encoding messages.
    variant: u8,
    /// The tools that the messages may refer to or describe.
    referred: Option<Arc<[ToolSpec]>>,
    tools: Option<(Arc<[ToolSpec]>, u8, Bytes)>,
    system: Option<(Arc<str>, u8, Bytes)>,
}

impl EncodedHistory {
    /// Returns the tools, encoded once per list and `variant` of the encoding.
    pub(super) fn tools(
        &mut self,
        tools: &Arc<[ToolSpec]>,
        variant: u8,
        write: impl FnOnce(&[ToolSpec]) -> Value,
    ) -> Bytes {
        once(&mut self.tools, tools, variant, write)
    }

    /// Returns the instructions, encoded once per text and `variant` of the encoding.
    pub(super) fn system(
        &mut self,
        system: &Arc<str>,
        variant: u8,
        write: impl FnOnce(&str) -> Value,
    ) -> Bytes {
        once(&mut self.system, system, variant, write)
    }

    /// Encodes those of the first `upto` messages of `history` that are not encoded yet: `encode` writes
    /// adjacent messages that are `joined` together, and any other message by itself.
    ///
    /// If the encoding ends with a message that the next one joins, everything
    /// is encoded again.
    ///
    /// # Errors
    ///
    /// The errors of `encode`, after which the encoding is unusable.
    pub(crate) fn append(
        &mut self,
        history: &Transcript,
        upto: usize,
        joined: impl Fn(&Arc<Message>, &Arc<Message>) -> bool,
        mut encode: impl FnMut(&[Arc<Message>], &mut JsonItems<'_>) -> Result<(), ProviderError>,
    ) -> Result<(), ProviderError> {
        let seam = self.count().checked_sub(1);
        let seam = seam.and_then(|last| history.messages().get(last..last + 2));
        if matches!(seam, Some([before, after]) if joined(before, after)) {
            self.restart();
        }
        let new = self.count()..upto.min(history.len());
        let new = history.messages().get(new).unwrap_or_default();
        let mut out = Vec::new();
        let mut items = JsonItems::new(&mut out, !self.segments.is_empty());
        for run in new.chunk_by(joined) {
            encode(run, &mut items)?;
        }
        self.facts.add(new);
        self.messages.extend(new.iter().map(Arc::downgrade));
        if !out.is_empty() {
            self.segments.push(Bytes::from(out));
            merge(&mut self.segments);
        }
        Ok(())
    }

    /// Discards messages that were encoded in another variant.
    pub(super) fn set_variant(&mut self, variant: u8) {
        if std::mem::replace(&mut self.variant, variant) != variant {
            self.restart();
        }
    }

    /// Discards the encoded messages of `history` if one of them found a tool that differs in `tools` from what it was, or
    /// that was added or removed.
    pub(super) fn refer_to(&mut self, tools: &Arc<[ToolSpec]>, history: &Transcript) {
        let before = self.referred.replace(Arc::clone(tools));
        if before.as_ref().is_some_and(|before| Arc::ptr_eq(before, tools)) {
            return;
        }
        let before = before.as_deref().unwrap_or_default();
        let known = history.messages().get(..self.count()).unwrap_or_default();
        let results = known.iter().flat_map(|message| message.tool_results());
        let mut found = results.flat_map(|result| &result.found);
        if found.any(|name| found_tool(before, name) != found_tool(tools, name)) {
            self.restart();
        }
    }

    /// Discards the encoded messages.
    pub(crate) fn restart(&mut self) {
        self.messages.clear();
        self.segments.clear();
        self.facts.clear();
    }

    /// Returns the number of encoded messages.
    pub(crate) fn count(&self) -> usize {
        self.messages.len()
    }

    /// Returns the encoded messages, separated by commas.
    pub(super) fn segments(&self) -> Vec<Bytes> {
        self.segments.clone()
    }

    /// Returns `true` if the encoded messages are a prefix of `history`.
    fn begins(&self, history: &Transcript) -> bool {
        let is_same = |(known, message): (&Weak<Message>, &Arc<Message>)| {
            std::ptr::eq(known.as_ptr(), Arc::as_ptr(message))
        };
        // Compared from the end, where histories differ.
        history
            .messages()
            .get(..self.count())
            .is_some_and(|first| self.messages.iter().zip(first).rev().all(is_same))
    }

    /// Returns `false` once the conversation no longer exists.
    fn is_alive(&self) -> bool {
        self.messages.last().is_none_or(|last| last.strong_count() > 0)
    }
}

/// Returns the tool of this name, if it is one that was found by a search.
pub(crate) fn found_tool<'t>(tools: &'t [ToolSpec], name: &str) -> Option<&'t ToolSpec> {
    tools.iter().find(|spec| spec.deferred && spec.name == *name)
}

/// Returns the bytes of `value`, encoded only if it has changed. Each run creates its prompt anew, usually
/// with the same text.
fn once<T: PartialEq + ?Sized>(
    known: &mut Option<(Arc<T>, u8, Bytes)>,
    value: &Arc<T>,
    variant: u8,
    write: impl FnOnce(&T) -> Value,
) -> Bytes {
    if let Some((of, written_as, bytes)) = known
        && (Arc::ptr_eq(of, value) || of == value)
        && *written_as == variant
    {
        return bytes.clone();
    }
    let bytes = to_bytes(&write(value));
    *known = Some((Arc::clone(value), variant, bytes.clone()));
    bytes
}

/// Returns `true` for adjacent tool messages, which are one message in some protocols.
pub(crate) fn joins_results(before: &Arc<Message>, after: &Arc<Message>) -> bool {
    before.role == MessageRole::Tool && after.role == MessageRole::Tool
}

/// Returns the start of the run of tool messages that message `at` of `history` belongs to.
pub(crate) fn run_start(history: &[Arc<Message>], at: usize) -> usize {
    let before = forgeline_json::subslice(history, ..=at).windows(2).rev();
    let joined = before.take_while(|pair| matches!(pair, [a, b] if joins_results(a, b)));
    at - joined.count()
}

/// Joins the last segments until each is at least twice as long as the next: a body has few
/// segments, and a byte is copied only when its segment doubles.
fn merge(segments: &mut Vec<Bytes>) {
    while let [.., before, last] = segments.as_slice() {
        if before.len() >= 2 * last.len() {
            return;
        }
        let joined = Bytes::from([before.as_ref(), last.as_ref()].concat());
        segments.truncate(segments.len() - 2);
        segments.push(joined);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Encodes `history` by way of `cache`; returns how many messages were known.
    fn turn(cache: &EncodedCache, history: &Transcript) -> usize {
        let mut encoded = cache.take(history);
        let known = encoded.count();
        let alone = |_: &Arc<Message>, _: &Arc<Message>| false;
        let write = |run: &[Arc<Message>], items: &mut JsonItems<'_>| {
            items.push(&json!(run[0].text()));
            Ok(())
        };
        encoded.append(history, usize::MAX, alone, write).unwrap();
        let texts: Vec<_> =
            history.iter().map(|message| json!(message.text()).to_string()).collect();
        assert_eq!(encoded.segments().concat(), texts.join(",").as_bytes());
        cache.put(encoded);
        known
    }

    #[test]
    fn a_conversation_takes_its_own_past_and_no_other() {
        let cache = EncodedCache::default();
        let mut one = Transcript::from(vec![Message::user("a"), Message::user("b")]);
        assert_eq!(turn(&cache, &one), 0);
        let mut fork = one.clone();
        one.push(Message::user("c"));
        assert_eq!(turn(&cache, &one), 2);
        fork.push(Message::user("d"));
        assert_eq!(turn(&cache, &fork), 0, "the longer one is of another course");
        assert_eq!((turn(&cache, &one), turn(&cache, &fork)), (3, 3));
        let alike = Transcript::from(vec![Message::user("a"), Message::user("b")]);
        assert_eq!(turn(&cache, &alike), 0, "equal words are other messages");
    }

    #[test]
    fn what_was_put_right_is_known_in_the_next_turn_and_forgotten_with_its_conversation() {
        use forgeline_types::{Part, ToolCall, ToolResult};
        let cache = EncodedCache::default();
        let mut history = Transcript::from(vec![Message::user("Hi")]);
        let turn_of = |history: &mut Transcript| {
            let call = Part::ToolCall(ToolCall::new("call_0", "f", json!({})));
            let result = Part::ToolResult(ToolResult::new("call_0", "f", "1"));
            history.push(Message::new(MessageRole::Assistant, vec![call]));
            history.push(Message::new(MessageRole::Tool, vec![result]));
            let mut sent = history.clone();
            cache.repair(&mut sent, true);
            let ids: Vec<_> = sent.iter().flat_map(|it| it.tool_calls()).map(|it| &it.id).collect();
            let last =
                if ids.len() == 1 { "call_0".to_owned() } else { format!("call_0-{}", ids.len()) };
            assert_eq!(ids.last().map(|id| id.as_str()), Some(&*last));
            turn(&cache, &sent)
        };
        let known: Vec<_> = (0..5).map(|_| turn_of(&mut history)).collect();
        assert_eq!(known, [0, 3, 5, 7, 9]);
        assert_eq!(cache.1.lock().unwrap().len(), 1);
        drop(history);
        turn(&cache, &Transcript::from(vec![Message::user("Ho")]));
        assert!(cache.1.lock().unwrap().is_empty(), "the conversation has ended");
    }

    #[test]
    fn equal_instructions_and_tools_are_encoded_once() {
        let (mut encoded, mut count) = (EncodedHistory::default(), 0);
        let tool = || ToolSpec::new("a", "A.", json!({ "type": "object" }));
        for (text, variant, want) in [("Hi", 0, 1), ("Hi", 0, 1), ("Ho", 0, 2), ("Ho", 1, 3)] {
            let tools = Arc::from([ToolSpec { name: text.into(), ..tool() }]);
            let mut write = |value| {
                count += 1;
                value
            };
            let system = encoded.system(&Arc::from(text), variant, |text| write(json!(text)));
            let tools = encoded.tools(&tools, variant, |tools| write(json!(tools)));
            assert_eq!(system, json!(text).to_string());
            assert!(tools.starts_with(format!("[{{\"name\":\"{text}\"").as_bytes()));
            assert_eq!(count, 2 * want, "{text}, {variant}");
        }
    }

    #[test]
    fn what_found_a_tool_that_is_another_now_is_forgotten() {
        use forgeline_types::{MessageRole, Part, ToolResult};
        let tool = |name: &str, about: &str| ToolSpec::new(name, about, json!({})).deferred(true);
        let result = ToolResult::new("c", "tool_search", "").found(Box::from(["a".into()]));
        let found = Message::new(MessageRole::Tool, vec![Part::ToolResult(result)]);
        let history = Transcript::from(vec![Message::user("Hi"), found]);
        let list = |tools: &[ToolSpec]| Arc::from(tools);
        let (a, b) = (tool("a", "A."), tool("b", "B."));
        #[rustfmt::skip]
        let cases = [
            ("the same list",    vec![a.clone()],            vec![a.clone()],               2),
            ("one more, behind", vec![a.clone()],            vec![a.clone(), b.clone()],    2),
            ("another is gone",  vec![a.clone(), b.clone()], vec![a.clone()],               2),
            ("it is gone",       vec![a.clone(), b.clone()], vec![b.clone()],               0),
            ("it is there",      vec![b.clone()],            vec![b, a.clone()],            0),
            ("it has changed",   vec![a.clone()],            vec![tool("a", "Another.")],   0),
            ("it is not found",  vec![a.clone()],            vec![a.deferred(false)],       0),
        ];
        for (case, before, after, want) in cases {
            let mut encoded = EncodedHistory::default();
            encoded.refer_to(&list(&before), &history);
            let alone = |_: &Arc<Message>, _: &Arc<Message>| false;
            encoded.append(&history, usize::MAX, alone, |_, _| Ok(())).unwrap();
            encoded.refer_to(&list(&after), &history);
            assert_eq!(encoded.count(), want, "{case}");
        }
    }

    #[test]
    fn ended_conversations_are_forgotten_and_there_are_never_too_many() {
        let cache = EncodedCache::default();
        let count = || cache.0.lock().unwrap().len();
        let ask = |text: &str| Transcript::from(vec![Message::user(text)]);
        for text in ["a", "b"] {
            turn(&cache, &ask(text));
        }
        let alive: Vec<_> = (0..2 * MAX_CONVERSATIONS).map(|at| ask(&at.to_string())).collect();
        assert_eq!(count(), 1, "the last one is forgotten by the next request");
        for history in &alive {
            turn(&cache, history);
        }
        assert_eq!(count(), MAX_CONVERSATIONS);
        assert_eq!(turn(&cache, &alive[0]), 0);
        assert_eq!(turn(&cache, &alive[2 * MAX_CONVERSATIONS - 1]), 1);
    }
}
