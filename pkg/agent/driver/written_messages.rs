//! Messages that are kept as parts and sent as text: results of calls that a model wrote as text,
//! and answers with their reasoning.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    search::as_made,
    setup::{RequestMode, framing, without_framing},
};
use forgeline_types::{Message, MessageRole, Transcript, private::PartKinds};

/// The messages written for kept ones, by the address of the kept message.
///
/// A provider recognizes a message by its address, so each message is written once.
#[derive(Default)]
pub(crate) struct WrittenMessages(Mutex<HashMap<(usize, bool, bool), WrittenPair>>);

/// A kept message and its written form.
struct WrittenPair {
    /// The kept message, which holds the address that is the key of the pair.
    kept: Arc<Message>,
    text: Arc<Message>,
}

impl WrittenMessages {
    /// Returns the messages to send for a conversation: results of calls written as text become
    /// text, reasoning is sent back, and calls of found tools are sent as the model made them.
    pub(super) fn history(&self, kept: &Transcript, mode: &RequestMode) -> Transcript {
        if !kept.may_have(written_kinds(mode)) {
            return kept.clone();
        }
        let mut places = places(kept, mode).peekable();
        if places.peek().is_none() {
            return kept.clone();
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Messages of a conversation that has ended are held only here.
        known.retain(|_, pair| Arc::strong_count(&pair.kept) > 1);
        let mut messages = kept.messages().to_vec();
        for MessageSlot { at, message, asked, thinks } in places {
            // Another model of the same agent may need its calls in another form.
            let key = (Arc::as_ptr(message).addr(), mode.indirect, thinks);
            let pair = known.entry(key).or_insert_with(|| {
                let text = write(message, asked, thinks, mode);
                WrittenPair { kept: Arc::clone(message), text: Arc::new(text) }
            });
            if let Some(place) = messages.get_mut(at) {
                *place = Arc::clone(&pair.text);
            }
        }
        Transcript::shared(messages)
    }
}

/// A message to write, with its place.
struct MessageSlot<'a> {
    at: usize,
    message: &'a Arc<Message>,
    /// For results, the message with their calls; `None` where the calls are text.
    asked: Option<&'a Message>,
    /// `true` if the reasoning is sent back, or removed.
    thinks: bool,
}

/// Returns the kinds of parts for which a message may have to be written.
fn written_kinds(mode: &RequestMode) -> PartKinds {
    let always = PartKinds::UNASKED.with(PartKinds::FRAMING);
    let thinking =
        if mode.thinking.is_changed() { PartKinds::PLAIN_THINKING } else { PartKinds::default() };
    let indirect = if mode.indirect { PartKinds::INDIRECT } else { PartKinds::default() };
    always.with(thinking).with(indirect)
}

/// Returns the messages to write: results whose calls are not parts of the message before them,
/// answers whose reasoning is sent back, and calls of found tools with their results.
fn places<'a>(kept: &'a Transcript, mode: &RequestMode) -> impl Iterator<Item = MessageSlot<'a>> {
    let mut asked: Option<&Message> = None;
    let mut later = kept.iter().skip(1);
    kept.iter().enumerate().filter_map(move |(at, message)| {
        let has_results = later.next().is_some_and(|next| next.role == MessageRole::Tool);
        let is_indirect = |it: &Message| mode.indirect && it.tool_calls().any(|call| call.indirect);
        if message.role == MessageRole::Tool {
            let is_written = asked.is_none_or(is_indirect);
            return is_written.then_some(MessageSlot { at, message, asked, thinks: false });
        }
        let has_calls = message.tool_calls().next().is_some();
        asked = has_calls.then_some(&**message);
        let is_answer = message.role == MessageRole::Assistant;
        let thinks = is_answer && mode.thinking.changes(message, || has_calls || has_results);
        let is_written = thinks || is_answer && (is_indirect(message) || is_framed(message));
        is_written.then_some(MessageSlot { at, message, asked: None, thinks })
    })
}

/// Returns `true` for an answer with what the model wrote around its reasoning.
fn is_framed(message: &Message) -> bool {
    message.parts.iter().any(|part| framing(part).is_some())
}

/// Returns a message as it is sent.
fn write(message: &Message, asked: Option<&Message>, thinks: bool, mode: &RequestMode) -> Message {
    if message.role == MessageRole::Tool {
        return match asked {
            Some(asked) => as_made(message, Some(asked)).unwrap_or_else(|| message.clone()),
            None => mode.write_results(message),
        };
    }
    let mut written = if thinks {
        mode.thinking.write(message)
    } else if is_framed(message) {
        Message::new(message.role, without_framing(&message.parts))
    } else {
        message.clone()
    };
    if mode.indirect
        && let Some(made) = as_made(&written, None)
    {
        written = made;
    }
    written
}
