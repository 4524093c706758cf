//! Messages that are kept in parts and sent as text: results of calls that a model wrote as text, and
//! answers with their reasoning.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    agent::call_mode::Mode,
    types::{Message, MessageRole, Transcript},
};

/// The messages that were written for kept ones, by the address of these.
///
/// A provider knows a message again by its address, so each is written once.
#[derive(Default)]
pub(in crate::agent) struct Written(Mutex<HashMap<usize, Pair>>);

/// A kept message and its text.
struct Pair {
    /// Holds the address that the pair is found by.
    kept: Arc<Message>,
    text: Arc<Message>,
}

impl Written {
    /// Returns the messages to send for a conversation: results whose calls are text become text, and
    /// reasoning that goes back.
    pub(super) fn history(&self, kept: &Transcript, mode: &Mode) -> Transcript {
        let mut places = places(kept, mode).peekable();
        if places.peek().is_none() {
            return kept.clone();
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Of a conversation that has ended, the only holder is this.
        known.retain(|_, pair| Arc::strong_count(&pair.kept) > 1);
        let mut messages = kept.messages().to_vec();
        for (at, message) in places {
            let pair = known.entry(Arc::as_ptr(message).addr()).or_insert_with(|| {
                let is_result = message.role == MessageRole::Tool;
                let text = if is_result {
                    mode.write_results(message)
                } else {
                    mode.thinking.write(message)
                };
                Pair { kept: Arc::clone(message), text: Arc::new(text) }
            });
            if let Some(place) = messages.get_mut(at) {
                *place = Arc::clone(&pair.text);
            }
        }
        Transcript::shared(messages)
    }
}

/// Returns the messages to write, with their places: results whose calls are not parts of the message
/// before them, and answers whose reasoning goes back.
fn places<'a>(
    kept: &'a Transcript,
    mode: &Mode,
) -> impl Iterator<Item = (usize, &'a Arc<Message>)> {
    let mut has_calls = false;
    let mut later = kept.iter().skip(1);
    kept.iter().enumerate().filter(move |(_, message)| {
        let has_results = later.next().is_some_and(|next| next.role == MessageRole::Tool);
        if message.role == MessageRole::Tool {
            return !has_calls;
        }
        has_calls = message.tool_calls().next().is_some();
        message.role == MessageRole::Assistant
            && mode.thinking.keeps(message, || has_calls || has_results)
    })
}
