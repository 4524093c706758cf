//! A conversation with an agent, and the state that its runs share.

use std::{
    ops::Deref,
    sync::{
        Arc, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
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
    run::{OutsideSources, RunContext, RunInput},
    setup::{AgentSetup, RequestModes},
};
use forgeline_types::{AgentError, ErrorCode, Message, Text};

/// A conversation with an agent. Others may hold the same history with another agent.
pub(crate) struct SharedAgent {
    pub(crate) parts: Arc<AgentSetup>,
    pub(crate) modes: Arc<RequestModes>,
    pub(crate) history: Arc<SharedHistory>,
}

impl Deref for SharedAgent {
    type Target = SharedHistory;

    fn deref(&self) -> &SharedHistory {
        &self.history
    }
}

/// The state of a conversation that its runs share.
pub(crate) struct SharedHistory {
    /// The id of the conversation in the store of its agent.
    pub(crate) id: Option<Text>,
    pub(crate) memory: Arc<SharedMemory>,
    /// The turn, which a run holds to its end, with the writer of the journal.
    pub(crate) turn: Mutex<Option<Writer>>,
    pub(crate) written: WrittenMessages,
    /// The part of the conversation that is sent, where it is bounded or a provider refused a part.
    pub(crate) window: OnceLock<Box<std::sync::Mutex<ContextWindow>>>,
    /// The permissions that people have granted for the session.
    pub(crate) grants: SessionGrants,
    /// The messages with which the agent's runs started.
    pub(crate) inputs: StartMessages,
    /// The sources of the text from outside in its runs, which the memory may have dropped.
    pub(crate) outside: std::sync::Mutex<OutsideSources>,
    /// The beginning of the last request, where runs are observed.
    pub(crate) prefix: std::sync::Mutex<Option<Box<RequestPrefix>>>,
    /// The number of messages already searched for text from outside.
    pub(crate) looked_through: AtomicUsize,
    /// `true` when everything before the next message is summarized with its first request.
    pub(crate) compacts: AtomicBool,
}

impl SharedAgent {
    /// Returns an input whose context has the id of the conversation, if it is stored and the input has none.
    pub(crate) fn with_id(&self, input: RunInput) -> RunInput {
        match &self.id {
            Some(id) if input.context.conversation().is_none() => input.conversation(id.clone()),
            _ => input,
        }
    }

    /// Returns a key that distinguishes this conversation from others.
    pub(super) fn key(&self) -> usize {
        Arc::as_ptr(&self.history).addr()
    }

    /// Returns the sources of the text from outside in the conversation.
    pub(crate) fn outside(&self) -> OutsideSources {
        let memory = self.memory.lock();
        let messages = memory.transcript().messages();
        let before = self.looked_through.swap(messages.len(), Ordering::AcqRel);
        // A memory with fewer messages than before contains others.
        let new = messages.get(before..).unwrap_or(messages);
        let mut outside = self.lock_outside();
        for message in new {
            outside.add(&OutsideSources::of_message(message));
        }
        outside.clone()
    }

    /// Returns the sources of the text from outside in the conversation and in the input of a run.
    pub(crate) fn outside_with(&self, input: &RunContext) -> OutsideSources {
        let mut outside = self.outside();
        if input.has_outside_text() {
            outside.add(&OutsideSources::Several);
        }
        outside
    }

    /// Adds the sources of text that a run has contained.
    pub(crate) fn add_outside(&self, sources: &OutsideSources) {
        self.lock_outside().add(sources);
    }

    fn lock_outside(&self) -> std::sync::MutexGuard<'_, OutsideSources> {
        self.outside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resets the flags when another conversation starts.
    pub(crate) fn begin_anew(&self) {
        self.looked_through.store(0, Ordering::Release);
        self.compacts.store(false, Ordering::Release);
        *self.lock_outside() = OutsideSources::None;
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
                "another run of this conversation has not ended within {limit:?}; read its stream to the \
                 end or drop it, or use another conversation (`Agent::conversation`)"
            );
            AgentError::new(ErrorCode::Timeout, message)
        })
    }
}
