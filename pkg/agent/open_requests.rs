//! Requests of a run that are answered from outside.

use tokio::sync::oneshot;

use crate::types::Text;

/// A request with an id of its own.
pub(super) trait Requested {
    fn request_id(&self) -> &Text;
}

/// The requests that are open, in the order in which they were made.
pub(super) struct OpenRequests<Q, A>(Vec<(Q, oneshot::Sender<A>)>);

impl<Q, A> Default for OpenRequests<Q, A> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<Q: Requested + Clone, A> OpenRequests<Q, A> {
    /// Opens a request; its answer comes here.
    pub(super) fn open(&mut self, request: Q) -> oneshot::Receiver<A> {
        // A run below that was dropped waits for nothing.
        self.0.retain(|(_, answer)| !answer.is_closed());
        let (answer, answered) = oneshot::channel();
        self.0.push((request, answer));
        answered
    }

    /// Closes the request of this id; returns where its answer goes, if it was open.
    pub(super) fn close(&mut self, id: &str) -> Option<oneshot::Sender<A>> {
        let at = self.0.iter().position(|(request, _)| request.request_id() == id)?;
        Some(self.0.remove(at).1)
    }

    /// Returns the request of this id, if it is open.
    pub(super) fn find(&self, id: &str) -> Option<&Q> {
        self.0.iter().map(|(request, _)| request).find(|request| request.request_id() == id)
    }

    /// Returns `true` while one is open.
    pub(super) fn has_any(&self) -> bool {
        self.0.iter().any(|(_, answer)| !answer.is_closed())
    }

    pub(super) fn all(&self) -> Vec<Q> {
        let open = self.0.iter().filter(|(_, answer)| !answer.is_closed());
        open.map(|(request, _)| request.clone()).collect()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
