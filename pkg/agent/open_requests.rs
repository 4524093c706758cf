//! Requests of a run that are answered from outside the run.

use tokio::sync::oneshot;

use super::{Caller, answer_gate::AnswerGate};
use crate::types::Text;

/// A request with an id of its own.
pub(super) trait Requested {
    fn request_id(&self) -> &Text;
}

/// The open requests, in the order in which they were made.
pub(super) struct OpenRequests<Q, A>(Vec<Open<Q, A>>);

/// An open request, the sender of its answer, and the rules for who may answer it.
struct Open<Q, A> {
    request: Q,
    answer: oneshot::Sender<A>,
    gate: Option<AnswerGate>,
}

impl<Q, A> Default for OpenRequests<Q, A> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<Q: Requested + Clone, A> OpenRequests<Q, A> {
    /// Opens a request; the returned receiver gets its answer, from any caller that the gate lets.
    pub(super) fn open(&mut self, request: Q, gate: Option<AnswerGate>) -> oneshot::Receiver<A> {
        // A sub-agent's run that was dropped waits for nothing.
        self.0.retain(|open| !open.answer.is_closed());
        let (answer, answered) = oneshot::channel();
        self.0.push(Open { request, answer, gate });
        answered
    }

    /// Returns `true` unless this caller may not answer the request.
    pub(super) fn lets(&self, id: &str, caller: &Caller) -> bool {
        let open = self.0.iter().find(|open| open.request.request_id() == id);
        open.and_then(|open| open.gate.as_ref()).is_none_or(|gate| gate.lets(caller))
    }

    /// Returns the rules for the request with this id.
    pub(super) fn gate(&self, id: &str) -> Option<AnswerGate> {
        self.0.iter().find(|open| open.request.request_id() == id)?.gate.clone()
    }

    /// Closes the request with this id; returns the sender of its answer if the request was open.
    pub(super) fn close(&mut self, id: &str) -> Option<oneshot::Sender<A>> {
        let at = self.0.iter().position(|open| open.request.request_id() == id)?;
        Some(self.0.remove(at).answer)
    }

    /// Returns the request with this id, if it is open.
    pub(super) fn find(&self, id: &str) -> Option<&Q> {
        self.0.iter().map(|open| &open.request).find(|request| request.request_id() == id)
    }

    /// Returns `true` while any request is open.
    #[cfg(feature = "server")]
    pub(super) fn has_any(&self) -> bool {
        self.0.iter().any(|open| !open.answer.is_closed())
    }

    pub(super) fn all(&self) -> Vec<Q> {
        let open = self.0.iter().filter(|open| !open.answer.is_closed());
        open.map(|open| open.request.clone()).collect()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
