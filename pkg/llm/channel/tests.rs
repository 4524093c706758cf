use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, Wake, Waker},
};

use futures_util::{FutureExt as _, StreamExt as _};
use tokio::task::yield_now;

use super::*;

/// Counts how often a task is woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

fn task() -> (Arc<Woken>, Waker) {
    let woken = Arc::<Woken>::default();
    (Arc::clone(&woken), woken.into())
}

fn poll<T>(receiver: &mut Receiver<T>, waker: &Waker) -> Poll<Option<T>> {
    receiver.poll_next_unpin(&mut Context::from_waker(waker))
}

#[tokio::test]
async fn last_items_come_after_a_full_queue_and_nothing_is_dropped() {
    for capacity in 1..4 {
        let (sender, mut receiver) = channel(capacity);
        let mut sent = 0;
        while sender.try_send(sent).is_ok() {
            sent += 1;
        }
        assert_eq!(sent, capacity);
        sender.send_last([90, 91]);
        drop(sender);
        let mut got = Vec::new();
        while let Some(item) = receiver.recv().await {
            got.push(item);
        }
        assert_eq!(got, (0..capacity).chain([90, 91]).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_dropped_receiver_fails_the_next_send() {
    let (sender, receiver) = channel(1);
    drop(receiver);
    assert_eq!(sender.send(1).await, Err(ChannelClosed));
    sender.closed().await;
    assert!(sender.is_closed());
}

#[test]
fn the_task_that_polled_last_is_woken_by_an_item_and_by_the_end() {
    let (sender, mut receiver) = channel(1);
    let other = sender.clone();
    let ((first, one), (second, two)) = (task(), task());
    let counts = || (first.0.load(Relaxed), second.0.load(Relaxed));
    assert!(poll(&mut receiver, &one).is_pending() && poll(&mut receiver, &two).is_pending());
    assert_eq!(Arc::strong_count(&first), 2, "the first waker is let go");
    sender.try_send(1).unwrap();
    assert_eq!(counts(), (0, 1));
    assert_eq!(poll(&mut receiver, &one), Poll::Ready(Some(1)));
    assert!(poll(&mut receiver, &two).is_pending() && poll(&mut receiver, &one).is_pending());
    sender.send_last([9]);
    drop(sender);
    assert_eq!(counts(), (0, 1), "another sender may go on");
    drop(other);
    assert_eq!(counts(), (1, 1));
    assert_eq!(poll(&mut receiver, &two), Poll::Ready(Some(9)));
    assert_eq!(poll(&mut receiver, &two), Poll::Ready(None));
}

#[test]
fn a_receiver_that_is_dropped_lets_go_of_its_task() {
    let (sender, mut receiver) = channel::<u8>(1);
    let (woken, waker) = task();
    assert!(poll(&mut receiver, &waker).is_pending());
    drop((receiver, waker));
    assert_eq!(Arc::strong_count(&woken), 1);
    drop(sender);
}

/// A waker that holds an end of the channel, as that of a task that was dropped on the way may.
struct Holds(#[expect(dead_code, reason = "held")] Sender<u8>);

impl Wake for Holds {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn a_waker_may_hold_the_channel_that_it_waits_for() {
    let (sender, mut receiver) = channel(1);
    let waker = Waker::from(Arc::new(Holds(sender.clone())));
    assert!(poll(&mut receiver, &waker).is_pending());
    drop((waker, sender));
    let (_, other) = task();
    assert!(poll(&mut receiver, &other).is_pending());
    assert_eq!(poll(&mut receiver, &other), Poll::Ready(None));
}

#[tokio::test]
async fn a_wait_for_a_place_that_is_dropped_and_a_place_that_is_dropped_take_none() {
    let (sender, mut receiver) = channel(1);
    for round in 0..3 {
        drop(sender.reserve().await.unwrap());
        sender.send(round).await.unwrap();
        let mut waits: Vec<_> = (0..3).map(|_| Box::pin(sender.send(99))).collect();
        assert!(waits.iter_mut().all(|wait| wait.as_mut().now_or_never().is_none()));
        // The place is given to the first that waits; dropped, the next has it.
        assert_eq!(receiver.recv().await, Some(round));
        let last = waits.pop().unwrap();
        drop(waits);
        last.await.unwrap();
        assert_eq!(sender.try_send(1), Err(1), "one place");
        assert_eq!(receiver.recv().await, Some(99));
    }
    drop(sender);
    assert_eq!(receiver.recv().await, None);
}

#[tokio::test]
async fn those_that_wait_for_a_place_hear_that_the_receiver_is_gone() {
    let (sender, receiver) = channel(1);
    sender.send(0).await.unwrap();
    let waits: Vec<_> = (0..3)
        .map(|_| {
            let sender = sender.clone();
            tokio::spawn(async move { (sender.send(1).await, sender.closed().await) })
        })
        .collect();
    let listening = tokio::spawn({
        let sender = sender.clone();
        async move { sender.closed().await }
    });
    yield_now().await;
    drop(receiver);
    for wait in waits {
        assert_eq!(wait.await.unwrap().0, Err(ChannelClosed));
    }
    listening.await.unwrap();
    assert_eq!(sender.try_send(2), Err(2));
}

/// An item that may hold the channel that it is sent to.
struct Item(
    #[expect(dead_code, reason = "held")] Arc<()>,
    #[expect(dead_code, reason = "held")] Option<Sender<Self>>,
);

#[tokio::test]
async fn what_is_sent_when_the_receiver_is_gone_is_dropped_at_once() {
    let (sender, receiver) = channel(2);
    let item = Arc::new(());
    let holding = || Item(Arc::clone(&item), Some(sender.clone()));
    assert!(sender.send(holding()).await.is_ok());
    let place = sender.reserve().await.unwrap();
    drop(receiver);
    assert_eq!(Arc::strong_count(&item), 1, "what is queued goes with the receiver");
    place.send(holding());
    sender.send_last([Item(Arc::clone(&item), None)]);
    assert_eq!(Arc::strong_count(&item), 1);
    assert_eq!(sender.0.state().senders, 1);
}

#[tokio::test]
async fn a_reader_of_a_queue_that_is_never_empty_lets_others_run() {
    let (sender, mut receiver) = channel(1);
    let other = tokio::spawn(async {});
    for count in 0.. {
        if other.is_finished() {
            break;
        }
        assert!(count < 1000, "the other task never ran");
        sender.try_send(count).unwrap();
        assert_eq!(receiver.recv().await, Some(count));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn items_of_several_threads_come_in_the_order_of_each_and_none_is_lost() {
    const ITEMS: usize = 2_000;
    for capacity in [0, 1, 2, usize::MAX] {
        let (sender, mut receiver) = channel(capacity);
        for writer in 0..3 {
            let sender = sender.clone();
            tokio::spawn(async move {
                for item in 0..ITEMS {
                    // Some of the waits are dropped.
                    let mut sent = Box::pin(sender.send((writer, item)));
                    let is_sent = item % 3 == 0 && sent.as_mut().now_or_never().is_some();
                    drop(sent);
                    if !is_sent {
                        sender.send((writer, item)).await.unwrap();
                    }
                }
                sender.send_last([(writer, ITEMS)]);
            });
        }
        drop(sender);
        let mut next = [0; 3];
        while let Some((writer, item)) = receiver.recv().await {
            assert_eq!(item, next[writer], "capacity {capacity}, writer {writer}");
            next[writer] += 1;
        }
        assert_eq!(next, [ITEMS + 1; 3], "capacity {capacity}");
    }
}
