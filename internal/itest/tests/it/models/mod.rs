//! Hand-made synchronization under a model checker: every order of its threads, and what each may see.

#[path = "../../../../../pkg/agent/streams/progress.rs"]
mod progress;
mod sync;

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Poll, Waker},
};

use loom::{future::block_on, thread};

use self::{
    progress::RunProgress,
    sync::{AtomicBool, AtomicWaker, Ordering},
};

/// Something that a run waits for, and what wakes it.
struct Source {
    is_there: AtomicBool,
    waker: AtomicWaker,
}

/// A reader that polls the run only when that is due misses nothing, however many sources the run has and
/// whoever wakes it: a lost wake is a deadlock, which the checker reports.
#[test]
fn a_run_that_is_polled_when_it_is_due_is_never_forgotten() {
    for (sources, most) in [(1, None), (2, Some(2))] {
        let mut model = loom::model::Builder::new();
        // Threads that are interrupted more often than this are not looked at.
        model.preemption_bound = most;
        model.check(move || {
            let source = || Source { is_there: AtomicBool::new(false), waker: AtomicWaker::new() };
            let sources: Arc<Vec<_>> = Arc::new((0..sources).map(|_| source()).collect());
            let threads: Vec<_> = (0..sources.len())
                .map(|at| {
                    let sources = Arc::clone(&sources);
                    thread::spawn(move || {
                        sources[at].is_there.store(true, Ordering::Release);
                        sources[at].waker.wake();
                    })
                })
                .collect();
            let progress = Arc::new(RunProgress::new());
            let waker = Waker::from(Arc::clone(&progress));
            block_on(poll_fn(|context| {
                if !progress.is_due(context.waker()) {
                    return Poll::Pending;
                }
                let is_whole = sources.iter().all(|source| {
                    source.waker.register(&waker);
                    source.is_there.load(Ordering::Acquire)
                });
                if is_whole { Poll::Ready(()) } else { Poll::Pending }
            }));
            for thread in threads {
                thread.join().unwrap();
            }
        });
    }
}
