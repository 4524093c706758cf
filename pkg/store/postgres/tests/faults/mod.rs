//! Faults at each message between the store and the server, in each operation.

mod operations;
mod world;

use std::{
    env,
    sync::{Arc, atomic::Ordering},
};

use forgeline_store::{PostgresStore, StoreError};
use futures_util::{StreamExt as _, future::join_all, stream};
use tokio::time::{Instant, timeout};

use self::{
    operations::{OPERATIONS, StoreOperation, WriteSteps},
    world::{BOUND, FaultWorld},
};
use crate::{
    message_proxy::{FaultPlace, ProxyFault, ProxySide},
    postgres::PostgresServer,
    say,
};

/// The environment variable with which each place is tried.
const WHOLE: &str = "FORGELINE_ALL_FAULTS";

/// Workers that try faults at the same time, each with a store of its own.
const WORKERS: usize = 4;

/// Operations whose connections are held at the same time.
const HELD: usize = 16;

/// Numbers that are the same in each run of a test, and look random.
struct DrawnPlaces(u64);

impl DrawnPlaces {
    /// Returns a number below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

/// An operation that nothing disturbs.
struct WholeOperation<'w> {
    world: &'w FaultWorld,
    operation: StoreOperation,
    before: String,
    after: String,
    answer: String,
    /// Messages of the client and of the server.
    counts: [usize; 2],
}

impl<'w> WholeOperation<'w> {
    async fn of(world: &'w FaultWorld, operation: StoreOperation) -> Self {
        world.begin_anew().await;
        let before = world.state(&operation).await;
        world.proxy.arm(None);
        let answer = (operation.begin)(Arc::clone(&world.store)).await;
        let (counts, _) = world.proxy.disarm();
        let answer = answer.unwrap_or_else(|error| panic!("{}: {error}", operation.name));
        let after = world.state(&operation).await;
        assert!(counts.iter().all(|count| *count > 1), "{}: {counts:?}", operation.name);
        Self { world, operation, before, after, answer, counts }
    }

    /// Does the operation with a fault; returns the fault that it finds, if any.
    async fn with(&self, place: FaultPlace) -> Option<String> {
        self.world.begin_anew().await;
        self.world.proxy.arm(Some(place));
        let began = Instant::now();
        let done = timeout(BOUND, (self.operation.begin)(Arc::clone(&self.world.store))).await;
        let (_, is_hit) = self.world.proxy.disarm();
        self.world.proxy.release();
        self.world.settle().await;
        let wrong = |reason: String| Some(format!("{}, {place:?}: {reason}", self.operation.name));
        let Ok(done) = done else { return wrong(format!("no answer in {BOUND:?}")) };
        if is_hit {
            self.world.hits.fetch_add(1, Ordering::Relaxed);
        } else if !self.world.keeps_statements {
            return wrong("the fault did not happen".to_owned());
        }
        let state = self.world.state(&self.operation).await;
        match &done {
            Ok(answer) if *answer != self.answer => {
                return wrong(format!("answers {answer} instead of {}", self.answer));
            }
            Ok(_) if state != self.after => {
                return wrong(format!("succeeds and leaves {}", difference(&self.after, &state)));
            }
            Err(StoreError::Unavailable { reason, .. })
                if !reason.contains("read before you write again") =>
            {
                return wrong(format!("fails with {reason}"));
            }
            Ok(_) | Err(StoreError::Unavailable { .. } | StoreError::Slow { .. }) => {}
            Err(error) => return wrong(format!("fails with {error:?}")),
        }
        let took = began.elapsed();
        if state == self.after {
            return None;
        }
        if state != self.before && self.operation.steps == WriteSteps::One {
            return wrong(format!(
                "is half made after {took:?}: {}",
                difference(&self.before, &state)
            ));
        }
        // It can be done again.
        if let Err(error) = again(&self.operation, &self.world.store).await {
            return wrong(format!("cannot be done again after {done:?}: {error}"));
        }
        let state = self.world.state(&self.operation).await;
        (state != self.after)
            .then(|| wrong(format!("done again, it leaves {}", difference(&self.after, &state))))
            .flatten()
    }
}

/// Does an operation again; a connection that was cut a moment ago may be taken for good once.
async fn again(
    operation: &StoreOperation,
    store: &Arc<PostgresStore>,
) -> Result<String, StoreError> {
    match (operation.begin)(Arc::clone(store)).await {
        Err(StoreError::Unavailable { .. }) => (operation.begin)(Arc::clone(store)).await,
        done => done,
    }
}

/// Returns the rows of which only one of two states has each.
fn difference(expected: &str, found: &str) -> String {
    let only = |one: &str, other: &str| {
        let rows = one.lines().filter(|row| other.lines().all(|it| it != *row));
        rows.collect::<Vec<_>>().join("; ")
    };
    format!("[{}] instead of [{}]", only(found, expected), only(expected, found))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_cut_at_any_message_leaves_each_operation_whole_or_not_made() {
    let Some(server) = PostgresServer::shared() else { return };
    let is_whole = env::var_os(WHOLE).is_some();
    let work = (0..WORKERS).map(|worker| async move {
        let (mut tried, mut hits, mut wrong) = (0, 0, Vec::new());
        for keeps_statements in [false, true] {
            let name = format!("cuts{worker}{keeps_statements}");
            let world = FaultWorld::new(&name, server, keeps_statements).await;
            for (at, operation) in OPERATIONS.iter().enumerate().skip(worker).step_by(WORKERS) {
                let whole = WholeOperation::of(&world, *operation).await;
                let mut drawn = DrawnPlaces(2 * at as u64 + u64::from(keeps_statements));
                for (sender, count) in
                    [ProxySide::Client, ProxySide::Server].into_iter().zip(whole.counts)
                {
                    // Without the variable, one of them.
                    let drawn = drawn.below(2 * count + 1);
                    for halves in (0..=2 * count).filter(|halves| is_whole || drawn == *halves) {
                        tried += 1;
                        let place = FaultPlace { sender, halves, fault: ProxyFault::Cut };
                        wrong.extend(whole.with(place).await);
                    }
                }
            }
            hits += world.hits.into_inner();
        }
        (tried, hits, wrong)
    });
    let done = join_all(work).await;
    let wrong: Vec<_> = done.iter().flat_map(|(_, _, wrong)| wrong.clone()).collect();
    let tried: usize = done.iter().map(|(tried, ..)| tried).sum();
    let hits: usize = done.iter().map(|(_, hits, _)| hits).sum();
    say(format!(
        "PostgreSQL: connections cut at {hits} places of {} operations, of {tried}",
        OPERATIONS.len()
    ));
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(3 * hits > 2 * tried, "{hits} of {tried} faults have happened");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_held_at_any_message_ends_each_operation_in_time() {
    let Some(server) = PostgresServer::shared() else { return };
    let is_whole = env::var_os(WHOLE).is_some();
    let sides = [ProxySide::Client, ProxySide::Server];
    let all = OPERATIONS.iter().flat_map(|operation| sides.map(|sender| (operation, sender)));
    let mut drawn = DrawnPlaces(37);
    let all = all.enumerate().filter(|_| is_whole || drawn.below(2 * OPERATIONS.len()) < HELD);
    let work = stream::iter(all).map(|(at, (operation, sender))| async move {
        let world = FaultWorld::new(&format!("holds{at}"), server, at % 2 == 1).await;
        let whole = WholeOperation::of(&world, *operation).await;
        let count = whole.counts[sender as usize];
        // Behind the last message, nothing is left to hold.
        let halves = DrawnPlaces(at as u64).below(2 * count);
        whole.with(FaultPlace { sender, halves, fault: ProxyFault::Hold }).await
    });
    let done: Vec<_> = work.buffer_unordered(HELD).collect().await;
    say(format!("PostgreSQL: connections held in {} operations", done.len()));
    let wrong: Vec<_> = done.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
