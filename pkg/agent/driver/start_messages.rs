//! The messages with which the runs of a conversation started.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use forgeline_types::{Message, Text};

/// The messages with which the runs of a conversation started, with the ids of the runs, the oldest
/// first. Only weak references are held: messages that the memory has dropped are forgotten.
#[derive(Default)]
pub(crate) struct StartMessages(Mutex<StartMessage>);

#[derive(Default)]
struct StartMessage {
    all: Vec<(Text, Weak<Message>)>,
    /// The number of entries at which dropped messages are removed. It is twice the number of live
    /// entries, so that the cost per run does not grow with the conversation.
    most: usize,
}

/// Minimum number of entries at which dropped messages are removed.
const LEAST: usize = 64;

impl StartMessages {
    /// Records the first message of a run.
    pub(super) fn note(&self, run: &Text, input: &Arc<Message>) {
        let mut noted = self.lock();
        if noted.all.len() >= noted.most {
            noted.all.retain(|(_, input)| input.strong_count() > 0);
            noted.most = (noted.all.len() * 2).max(LEAST);
        }
        noted.all.push((run.clone(), Arc::downgrade(input)));
    }

    /// Starts with a conversation in which these messages started these runs.
    pub(crate) fn set<'m>(&self, inputs: impl Iterator<Item = (&'m Text, &'m Arc<Message>)>) {
        let all = inputs.map(|(run, input)| (run.clone(), Arc::downgrade(input))).collect();
        *self.lock() = StartMessage { all, most: 0 };
    }

    /// Returns the runs whose first messages are among `messages`, with the places of those messages.
    pub(crate) fn places(&self, messages: &[Arc<Message>]) -> Vec<(Text, usize)> {
        let noted = self.lock();
        // An address is not reused while a weak reference to it is held here.
        let runs: HashMap<_, _> =
            noted.all.iter().map(|(run, input)| (input.as_ptr(), run)).collect();
        let run = |(at, message): (usize, &Arc<Message>)| {
            runs.get(&Arc::as_ptr(message)).map(|run| (Text::clone(run), at))
        };
        messages.iter().enumerate().filter_map(run).collect()
    }

    /// Returns `true` when no run has started.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().all.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, StartMessage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_that_the_memory_dropped_are_forgotten_and_the_others_stay() {
        let (inputs, mut kept) = (StartMessages::default(), Vec::new());
        for at in 0..10_000 {
            let message = Arc::new(Message::user("Hi"));
            inputs.note(&Text::from(at.to_string()), &message);
            if at % 100 == 0 {
                kept.push(message);
            }
            let noted = inputs.lock();
            assert!(noted.all.len() <= (kept.len() * 2).max(LEAST) + 1, "behind {at}");
            // The next look at all of them is as many runs away as there are.
            assert!(noted.most >= noted.all.len(), "behind {at}");
        }
        let want = (0..100).map(|at| (Text::from((at * 100).to_string()), at));
        assert_eq!(inputs.places(&kept), want.collect::<Vec<_>>());
    }
}
