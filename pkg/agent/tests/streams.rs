//! A run as a stream: who is woken, and what a dropped wait takes.

use std::{
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, Wake, Waker},
};

use futures_util::StreamExt as _;
use tokio::task::yield_now;

use super::*;

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_goes_from_task_to_task_wakes_the_last() {
    let agent = agent(&ScriptedProvider::new([ScriptedTurn::new().text("Once upon").hang()]));
    let mut stream = agent.run_stream("Tell me.");
    let cancel = stream.cancel_token();
    let tasks = [(); 3].map(|()| Arc::<Woken>::default());
    let counts = || tasks.each_ref().map(|task| task.0.load(Relaxed));
    for task in &tasks {
        let waker = Waker::from(Arc::clone(task));
        // To the end of the available events.
        while stream.poll_next_unpin(&mut Context::from_waker(&waker)).is_ready() {}
    }
    assert_eq!(counts()[..2], [0, 0]);
    let before = counts()[2];
    cancel.cancel();
    assert_eq!(counts(), [0, 0, before + 1]);
    let rest = tokio::spawn(async move {
        let mut count = 0;
        while stream.next().await.is_some() {
            count += 1;
        }
        (count, stream.outcome().await.unwrap_err().error.code)
    });
    let (count, code) = rest.await.unwrap();
    assert!(count >= 2, "{count}");
    assert_eq!(code, forgeline_types::ErrorCode::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn each_wait_may_be_dropped_at_any_poll_and_no_event_is_lost() {
    for capacity in [1, 2, 64] {
        let provider = rich_script();
        let agent = builder(&provider).event_capacity(capacity).build().unwrap().conversation();
        let mut stream = agent.run_stream("Do it.");
        let mut whole = Vec::new();
        while let Some(envelope) = stream.next().await {
            whole.push(envelope);
        }
        let provider = rich_script();
        let agent = builder(&provider).event_capacity(capacity).build().unwrap().conversation();
        let mut stream = agent.run_stream("Do it.");
        let mut events = Vec::new();
        loop {
            // Each wait has a task of its own, which is gone when the wait is dropped.
            let task = Waker::from(Arc::<Woken>::default());
            let polled = poll_fn(|_| {
                let mut wait = Box::pin(stream.next());
                Poll::Ready(wait.as_mut().poll(&mut Context::from_waker(&task)))
            });
            let event = match polled.await {
                Poll::Ready(event) => event,
                Poll::Pending => tokio::select! {
                    biased;
                    event = stream.next() => event,
                    () = yield_now() => continue,
                },
            };
            match event {
                Some(event) => events.push(event),
                None => break,
            }
        }
        assert_whole(&events);
        assert_eq!(kinds(&events), kinds(&whole), "capacity {capacity}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_without_a_wait_lets_other_tasks_run() {
    let word = |turn: ScriptedTurn, at| turn.text(format!("word {at} "));
    let turn = (0..2_000).fold(ScriptedTurn::new(), word);
    let agent = agent(&ScriptedProvider::new([turn]));
    let mut stream = agent.run_stream("Go on.");
    let other = tokio::spawn(async {});
    let mut left = 0;
    while stream.next().await.is_some() {
        left += usize::from(other.is_finished());
    }
    assert!(left > 1_000, "{left}");
}
