//! The state that the clones of an agent share.

use std::sync::{
    Arc, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use tokio::{
    sync::{Mutex, MutexGuard},
    time::timeout,
};

use super::{
    session_grants::SessionGrants, start_messages::StartMessages, written_messages::WrittenMessages,
};
use crate::{
    journal::Writer,
    memory::{ContextWindow, SharedMemory},
    nesting,
    observe::RequestPrefix,
    setup::{AgentSetup, RequestModes},
};
use forgeline_types::{AgentError, ErrorCode, Message, Text};

/// The state that the clones of an agent share.
pub(crate) struct SharedAgent {
    pub(crate) parts: Arc<AgentSetup>,
    pub(crate) modes: Arc<RequestModes>,
    pub(crate) memory: Arc<SharedMemory>,
    /// The turn, which a run holds to its end, with the writer of the journal.
    pub(crate) turn: Mutex<Option<Writer>>,
    pub(crate) written: WrittenMessages,
    /// The part of the conversation that is sent, where it is bounded or a provider refused some of it.
    pub(crate) window: Box<std::sync::Mutex<ContextWindow>>,
    /// The permissions that people have granted for the session.
    pub(crate) grants: SessionGrants,
    /// The messages with which the agent's runs started.
    pub(crate) inputs: StartMessages,
    /// `true` once a run has contained text from outside, which its memory may have dropped.
    pub(crate) outside: AtomicBool,
    /// The beginning of the last request, where runs are observed.
    pub(crate) prefix: std::sync::Mutex<Option<Box<RequestPrefix>>>,
    /// The number of messages already searched for text from outside.
    pub(crate) looked_through: AtomicUsize,
}

impl SharedAgent {
    /// Returns a key that distinguishes this agent from others.
    pub(super) fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Returns `true` when the conversation contains text from outside.
    pub(crate) fn has_outside_text(&self) -> bool {
        let memory = self.memory.lock();
        let messages = memory.transcript().messages();
        let before = self.looked_through.swap(messages.len(), Ordering::AcqRel);
        // A memory with fewer messages than before contains others.
        let new = messages.get(before..).unwrap_or(messages);
        let has_it = new.iter().any(|message| message.has_outside_text());
        self.outside.fetch_or(has_it, Ordering::AcqRel) || has_it
    }

    /// Resets the flags when another conversation starts.
    pub(crate) fn begin_anew(&self) {
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
    pub(crate) async fn take_turn(&self) -> Result<MutexGuard<'_, Option<Writer>>, AgentError> {
        nesting::check(self.key())?;
        let limit = self.parts.config.queue_timeout;
        timeout(limit, self.turn.lock()).await.map_err(|_| {
            let message = format!(
                "another run of this agent has not ended within {limit:?}; read its stream to the \
                 end or drop it, or use a fork of the agent"
            );
            AgentError::new(ErrorCode::Timeout, message)
        })
    }
}

/// Locks a window for the duration of a read or a change.
pub(super) fn locked(
    window: &std::sync::Mutex<ContextWindow>,
) -> std::sync::MutexGuard<'_, ContextWindow> {
    window.lock().unwrap_or_else(PoisonError::into_inner)
}
