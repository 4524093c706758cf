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
    /// Held by a run to its end, with the writer of the journal.
    pub(in crate::agent) turn: Mutex<Option<Writer>>,
    pub(in crate::agent) written: Written,
    /// The part of the conversation that is sent, where that is bounded.
    pub(in crate::agent) window: Option<Box<std::sync::Mutex<Window>>>,
    /// The permissions that people have given for the session.
    pub(in crate::agent) grants: Grants,
    /// The messages with which its runs began.
    pub(in crate::agent) inputs: Inputs,
    /// `true` once a run has had text from outside, which its memory may have dropped.
    pub(in crate::agent) outside: AtomicBool,
    /// The beginning of the last request, where runs are observed.
    pub(in crate::agent) prefix: std::sync::Mutex<Option<Box<Prefix>>>,
    /// The number of messages that were looked through for such text.
    pub(in crate::agent) looked_through: AtomicUsize,
}

impl Shared {
    /// Returns what tells this agent from others.
    pub(super) fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Returns `true` when text from outside is in the conversation.
    pub(in crate::agent) fn has_outside_text(&self) -> bool {
        let memory = self.memory.lock();
        let messages = memory.transcript().messages();
        let before = self.looked_through.swap(messages.len(), Ordering::AcqRel);
        // A memory that has fewer now has others.
        let new = messages.get(before..).unwrap_or(messages);
        let has_it = new.iter().any(|message| message.has_outside_text());
        self.outside.fetch_or(has_it, Ordering::AcqRel) || has_it
    }

    /// Notes that another conversation begins.
    pub(in crate::agent) fn begin_anew(&self) {
        self.looked_through.store(0, Ordering::Release);
        self.outside.store(false, Ordering::Release);
    }

    /// Notes the messages that a run has added behind this number of its own.
    pub(super) fn note_input(&self, run: &Text, before: usize, messages: &[Arc<Message>]) {
        if let Some(input) = messages.first().filter(|_| before == 0) {
            self.inputs.note(run, input);
        }
    }

    /// Waits until no run of this agent is going on.
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

/// Locks a window for the moment of a look or a change.
pub(super) fn locked(window: &std::sync::Mutex<Window>) -> std::sync::MutexGuard<'_, Window> {
    window.lock().unwrap_or_else(PoisonError::into_inner)
}
