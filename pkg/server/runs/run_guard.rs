//! A guard that ends a run when its reader disconnects.

use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A guard that cancels a run on drop, when its reader disconnects.
#[derive(Debug)]
pub(crate) struct RunGuard(Option<GuardAction>);

#[derive(Debug)]
enum GuardAction {
    Cancel(DropGuard),
    /// Wakes a task, which ends without work if this is dropped.
    Send(oneshot::Sender<()>),
}

impl RunGuard {
    pub(crate) fn new(cancel: CancellationToken) -> Self {
        Self(Some(GuardAction::Cancel(cancel.drop_guard())))
    }

    /// Returns a guard that does this on drop, in a task of its own.
    pub(crate) fn sending(send: impl Future<Output = ()> + Send + 'static) -> Self {
        let (sender, receiver) = oneshot::channel();
        tokio::spawn(async move {
            if receiver.await.is_ok() {
                send.await;
            }
        });
        Self(Some(GuardAction::Send(sender)))
    }

    /// Disarms the guard: the reader has read everything.
    pub(crate) fn disarm(&mut self) {
        if let Some(GuardAction::Cancel(guard)) = self.0.take() {
            guard.disarm();
        }
    }
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        if let Some(GuardAction::Send(sender)) = self.0.take() {
            // The task is gone only if the process ends.
            sender.send(()).unwrap_or_default();
        }
    }
}
