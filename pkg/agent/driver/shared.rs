//! The state that the clones of an agent share.

use std::sync::{
    Arc, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use tokio::{
    sync::{Mutex, MutexGuard},
    time::timeout,
};

use super::{grants::Grants, inputs::Inputs, written::Written};
use crate::{
    agent::{
        call_mode::Modes,
        journal::Writer,
        memory::{SharedMemory, Window},
        nesting,
        parts::Parts,
        records::Prefix,
    },
    types::{AgentError, ErrorCode, Message, Text},
};

/// The state that the clones of an agent share.
pub(in crate::agent) struct Shared {
    pub(in crate::agent) parts: Arc<Parts>,
    pub(in crate::agent) modes: Arc<Modes>,
    pub(in crate::agent) memory: Arc<SharedMemory>,
    /// The turn, which a run holds to its end, with the writer of the journal.
    pub(in crate::agent) turn: Mutex<Option<Writer>>,
    pub(in crate::agent) written: Written,
    /// The part of the conversation that is sent, where it is bounded.
    pub(in crate::agent) window: Option<Box<std::sync::Mutex<Window>>>,
    /// The permissions that people have granted for the session.
    pub(in crate::agent) grants: Grants,
    /// The messages with which the agent's runs started.
    pub(in crate::agent) inputs: Inputs,
    /// `true` once a run has contained text from outside, which its memory may have dropped.
    pub(in crate::agent) outside: AtomicBool,
    /// The beginning of the last request, where runs are observed.
    pub(in crate::agent) prefix: std::sync::Mutex<Option<Box<Prefix>>>,
    /// The number of messages already searched for text from outside.
    pub(in crate::agent) looked_through: AtomicUsize,
}

impl Shared {
    /// Returns a key that distinguishes this agent from others.
    pub(super) fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Returns `true` when the conversation contains text from outside.
    pub(in crate::agent) fn has_outside_text(&self) -> bool {
        let memory = self.memory.lock();
        let messages = memory.transcript().messages();
        let before = self.looked_through.swap(messages.len(), Ordering::AcqRel);
        // A memory with fewer messages than before contains others.
        let new = messages.get(before..).unwrap_or(messages);
        let has_it = new.iter().any(|message| message.has_outside_text());
        self.outside.fetch_or(has_it, Ordering::AcqRel) || has_it
    }

    /// Resets the flags when another conversation starts.
    pub(in crate::agent) fn begin_anew(&self) {
        self.looked_through.store(0, Ordering::Release);
        self.outside.store(false, Ordering::Release);
    }

    /// Records the first message of a run, where `messages` are the first that the run has added.
    pub(super) fn note_input(&self, run: &Text, before: usize, messages: &[Arc<Message>]) {
        if let Some(input) = messages.first().filter(|_| before == 0) {
            self.inputs.note(run, input);
        }
    }

    /// Waits until no run of this agent is in progress.
    pub(in crate::agent) async fn take_turn(
        &self,
    ) -> Result<MutexGuard<'_, Option<Writer>>, AgentError> {
        nesting::check(self.key())?;
        let limit = self.parts.config.queue_timeout;
        timeout(limit, self.turn.lock()).await.map_err(|_| {
            let message = format!(
                "another run of this agent has not ended within {limit:?}; read its stream to the end or \
                 drop it, or ask a fork of the agent"
            );
            AgentError::new(ErrorCode::Timeout, message)
        })
    }
}

/// Locks a window for the duration of a read or a change.
pub(super) fn locked(window: &std::sync::Mutex<Window>) -> std::sync::MutexGuard<'_, Window> {
    window.lock().unwrap_or_else(PoisonError::into_inner)
}
