//! A cancellation that is polled together with other futures.

use std::{
    pin::Pin,
    task::{Context, Poll, Waker},
};

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// A wait for a cancellation that is polled with each step of another future: while the waker stays the same, a poll only checks the token.
pub(crate) struct CancelWait {
    token: CancellationToken,
    wait: Pin<Box<WaitForCancellationFutureOwned>>,
    /// The waker registered with the wait.
    known: Option<Waker>,
}

impl CancelWait {
    pub(crate) fn new(token: CancellationToken) -> Self {
        let wait = Box::pin(token.clone().cancelled_owned());
        Self { token, wait, known: None }
    }

    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.token.is_cancelled() {
            return Poll::Ready(());
        }
        if self.known.as_ref().is_some_and(|known| known.will_wake(context.waker())) {
            return Poll::Pending;
        }
        self.known = Some(context.waker().clone());
        self.wait.as_mut().poll(context)
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, time::Duration};

    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn whoever_polled_last_is_woken() {
        let token = CancellationToken::new();
        let mut fired = CancelWait::new(token.clone());
        for _ in 0..3 {
            let mut context = Context::from_waker(Waker::noop());
            assert!(fired.poll(&mut context).is_pending());
        }
        // Another task polls from now on, several times with the same waker.
        let task = tokio::spawn(async move {
            poll_fn(|context| {
                let first = fired.poll(context);
                if first.is_ready() { first } else { fired.poll(context) }
            })
            .await;
        });
        tokio::task::yield_now().await;
        token.cancel();
        timeout(Duration::from_secs(1), task).await.unwrap().unwrap();
        let mut fired = CancelWait::new(token);
        assert!(fired.poll(&mut Context::from_waker(Waker::noop())).is_ready());
    }
}
