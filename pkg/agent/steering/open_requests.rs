//! Requests of a run that are answered from outside the run.

use tokio::sync::oneshot;

use super::{answer_gate::AnswerGate, request_kind::RequestKind};
use crate::run::Caller;

/// The open requests, in the order in which they were made.
pub(crate) struct OpenRequests<K: RequestKind>(Vec<OpenRequest<K>>);

/// An open request, the sender of its answer, and the rules for who may answer it.
struct OpenRequest<K: RequestKind> {
    request: K,
    answer: oneshot::Sender<K::Answer>,
    gate: Option<AnswerGate>,
}

impl<K: RequestKind> Default for OpenRequests<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: RequestKind> OpenRequests<K> {
    /// Opens a request; the returned receiver gets its answer, from any caller that the gate lets.
    pub(crate) fn open(
        &mut self,
        request: K,
        gate: Option<AnswerGate>,
    ) -> oneshot::Receiver<K::Answer> {
        // A sub-agent's run that was dropped waits for nothing.
        self.0.retain(|open| !open.answer.is_closed());
        let (answer, answered) = oneshot::channel();
        self.0.push(OpenRequest { request, answer, gate });
        answered
    }

    /// Returns `true` unless this caller may not answer the request.
    pub(crate) fn may_answer(&self, id: &str, caller: &Caller) -> bool {
        let open = self.0.iter().find(|open| open.request.request_id() == id);
        open.and_then(|open| open.gate.as_ref()).is_none_or(|gate| gate.may_answer(caller))
    }

    /// Returns the rules for the request with this id.
    pub(crate) fn gate(&self, id: &str) -> Option<AnswerGate> {
        self.0.iter().find(|open| open.request.request_id() == id)?.gate.clone()
    }

    /// Closes the request with this id; returns the sender of its answer if the request was open.
    pub(crate) fn close(&mut self, id: &str) -> Option<oneshot::Sender<K::Answer>> {
        let at = self.0.iter().position(|open| open.request.request_id() == id)?;
        Some(self.0.remove(at).answer)
    }

    /// Returns the request with this id, if it is open.
    pub(crate) fn find(&self, id: &str) -> Option<&K> {
        self.0.iter().map(|open| &open.request).find(|request| request.request_id() == id)
    }

    /// Returns `true` while any request is open.
    pub(crate) fn has_any(&self) -> bool {
        self.0.iter().any(|open| !open.answer.is_closed())
    }

    pub(crate) fn all(&self) -> Vec<K> {
        let open = self.0.iter().filter(|open| !open.answer.is_closed());
        open.map(|open| open.request.clone()).collect()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
