//! The results of calls that a model wrote as text: kept as results, sent as text.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    agent::call_mode::Mode,
    types::{Message, MessageRole, Transcript},
};

/// The messages that were written for kept results, by the address of these.
///
/// A provider knows a message again by its address, so each is written once.
#[derive(Default)]
pub(in crate::agent) struct Written(Mutex<HashMap<usize, Pair>>);

/// Kept results and their text.
struct Pair {
    /// Holds the address that the pair is found by.
    results: Arc<Message>,
    text: Arc<Message>,
}

impl Written {
    /// Returns the messages to send for a conversation: results whose calls are text become text.
    pub(super) fn history(&self, kept: &Transcript, mode: &Mode) -> Transcript {
        let mut places = results_of_text(kept).peekable();
        if places.peek().is_none() {
            return kept.clone();
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Of a conversation that has ended, the only holder is this.
        known.retain(|_, pair| Arc::strong_count(&pair.results) > 1);
        let mut messages = kept.messages().to_vec();
        for (at, results) in places {
            let pair = known.entry(Arc::as_ptr(results).addr()).or_insert_with(|| Pair {
                results: Arc::clone(results),
                text: Arc::new(mode.write_results(results)),
            });
            if let Some(place) = messages.get_mut(at) {
                *place = Arc::clone(&pair.text);
            }
        }
        Transcript::shared(messages)
    }
}

/// Returns the results whose calls are not parts of the message before them, with their places.
fn results_of_text(kept: &Transcript) -> impl Iterator<Item = (usize, &Arc<Message>)> {
    let mut has_calls = false;
    kept.iter().enumerate().filter(move |(_, message)| {
        if message.role != MessageRole::Tool {
            has_calls = message.tool_calls().next().is_some();
        }
        message.role == MessageRole::Tool && !has_calls
    })
}
