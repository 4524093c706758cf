//! The messages with which the runs of a conversation began.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use crate::types::{Message, Text};

/// The messages with which the runs of a conversation began, with the ids of the runs, the oldest first. It holds none of them: those that the memory has dropped
/// are forgotten.
#[derive(Default)]
pub(in crate::agent) struct Inputs(Mutex<Vec<(Text, Weak<Message>)>>);

impl Inputs {
    /// Notes the first message of a run.
    pub(super) fn note(&self, run: &Text, input: &Arc<Message>) {
        let mut inputs = self.lock();
        inputs.retain(|(_, input)| input.strong_count() > 0);
        inputs.push((run.clone(), Arc::downgrade(input)));
    }

    /// Begins with a conversation in which these messages began these runs.
    pub(in crate::agent) fn set<'m>(
        &self,
        inputs: impl Iterator<Item = (&'m Text, &'m Arc<Message>)>,
    ) {
        *self.lock() = inputs.map(|(run, input)| (run.clone(), Arc::downgrade(input))).collect();
    }

    /// Returns the runs whose beginnings are among these messages, with their places.
    pub(in crate::agent) fn places(&self, messages: &[Arc<Message>]) -> Vec<(Text, usize)> {
        let inputs = self.lock();
        // An address is not given away again while it is held here.
        let runs: HashMap<_, _> = inputs.iter().map(|(run, input)| (input.as_ptr(), run)).collect();
        let run = |(at, message): (usize, &Arc<Message>)| {
            runs.get(&Arc::as_ptr(message)).map(|run| (Text::clone(run), at))
        };
        messages.iter().enumerate().filter_map(run).collect()
    }

    /// Returns `true` when no run has begun.
    pub(in crate::agent) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Text, Weak<Message>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
