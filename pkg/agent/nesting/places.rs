//! The limit on the number of sub-agents that work at the same time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{self, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::budget_pool::BudgetDraw;
use crate::{steering::CallAbove, tools::ToolError};

/// The slots for sub-agents, one for each that may work at the same time. Clones share the same
/// slots, so that several tools can share them.
///
/// An agent that waits for a nested one does not hold a slot: with two slots, three levels of eight
/// agents each still complete.
///
/// # Examples
///
/// ```
/// use forgeline::{
///     agent::{
///         Agent,
///         sub_agents::{Places, SubAgent},
///     },
///     llm::demo::DemoProvider,
/// };
///
/// let places = Places::new(2);
/// let below = Agent::builder(DemoProvider::new()).build()?;
/// let tool = SubAgent::new(below, "helper", "Does a part of the work.").places(&places);
/// assert_eq!(places.free(), 2);
/// # drop(tool);
/// # Ok::<(), forgeline::agent::BuildError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Places(Arc<Semaphore>);

impl Places {
    /// Creates this many slots, at least 1.
    #[must_use]
    pub fn new(number: usize) -> Self {
        Self(Arc::new(Semaphore::new(number.clamp(1, Semaphore::MAX_PERMITS))))
    }

    /// Returns the number of slots that are free now.
    #[must_use]
    pub fn free(&self) -> usize {
        self.0.available_permits()
    }

    /// Waits for a slot; returns `None` when the call is asked to stop first.
    async fn take(&self, stop: &CancellationToken) -> Option<OwnedSemaphorePermit> {
        let place = Arc::clone(&self.0).acquire_owned();
        stop.run_until_cancelled(place).await?.ok()
    }
}

/// A sub-agent's run, as its nested sub-agents see it.
#[derive(Debug)]
pub(crate) struct AgentFamily {
    depth: u32,
    max_depth: u32,
    places: Places,
    /// The part of the parent's budget.
    draw: Option<BudgetDraw>,
    /// The call of the parent run.
    call: Option<CallAbove>,
    held: Mutex<HeldPlace>,
    /// The lock held by a call that has ended, while it waits for the slot of its run.
    ending: sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct HeldPlace {
    place: Option<OwnedSemaphorePermit>,
    /// The number of nested sub-agents that the run waits for.
    waits_for: usize,
}

impl AgentFamily {
    /// Returns a run below `above`, or of the first level; the limits of its ancestors apply to it.
    pub(crate) fn below(
        above: Option<&Self>,
        max_depth: u32,
        places: &Places,
        draw: Option<BudgetDraw>,
    ) -> Result<Self, ToolError> {
        let (depth, max_depth, places) = match above {
            Some(above) => (above.depth, above.max_depth.min(max_depth), &above.places),
            None => (0, max_depth, places),
        };
        if depth >= max_depth {
            let problem = format!(
                "agents may be nested {max_depth} deep, and this one would be deeper; do the task \
                 with the other tools, or say what is missing"
            );
            return Err(ToolError::failed(problem));
        }
        let (call, held, ending) = Default::default();
        Ok(Self { depth: depth + 1, max_depth, places: places.clone(), draw, call, held, ending })
    }

    /// Sets the call of the parent run, which waits for people whenever this run does.
    pub(crate) fn of_call(self, call: Option<CallAbove>) -> Self {
        Self { call, ..self }
    }

    /// Returns the call of the parent run.
    pub(crate) fn call(&self) -> Option<&CallAbove> {
        self.call.as_ref()
    }

    /// Returns the part of the parent's budget.
    pub(crate) fn draw(&self) -> Option<&BudgetDraw> {
        self.draw.as_ref()
    }

    /// Waits for a slot; returns `false` when the call is asked to stop first.
    pub(crate) async fn begin(&self, stop: &CancellationToken) -> bool {
        let place = self.places.take(stop).await;
        let has_place = place.is_some();
        self.lock().place = place;
        has_place
    }

    /// Releases the slot.
    pub(crate) fn end(&self) {
        self.lock().place = None;
    }

    /// Takes the slot again after a call, once the run waits for no other agent; a run that is asked
    /// to stop continues without one.
    pub(crate) async fn call_ended(&self, stop: &CancellationToken) {
        let wants_place = |held: &HeldPlace| held.place.is_none() && held.waits_for == 0;
        if !wants_place(&self.lock()) {
            return;
        }
        // A run that held a slot while it waited for another would keep that slot from runs that do the same.
        if let Some(_alone) = stop.run_until_cancelled(self.ending.lock()).await {
            self.go_on(stop, wants_place).await;
        }
    }

    /// Takes the slot again after all calls. The task of an abandoned call may still exist, but
    /// waits for nothing any more.
    pub(crate) async fn calls_ended(&self, stop: &CancellationToken) {
        self.go_on(stop, |held| held.place.is_none()).await;
    }

    async fn go_on(&self, stop: &CancellationToken, wants_place: impl Fn(&HeldPlace) -> bool) {
        if !wants_place(&self.lock()) {
            return;
        }
        let place = self.places.take(stop).await;
        let mut held = self.lock();
        // Another call may have taken the slot, or may be waiting for an agent by now.
        if wants_place(&held) {
            held.place = place;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HeldPlace> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wait for a sub-agent, during which the parent run holds no slot. The parent takes its slot again itself
/// once the call has ended, since a call that ends by its time limit cannot wait for a slot.
pub(crate) struct ParentWait(Option<Arc<AgentFamily>>);

impl ParentWait {
    /// Starts a wait of a run, if the run is one that holds a slot.
    pub(crate) fn begin(above: Option<Arc<AgentFamily>>) -> Self {
        if let Some(above) = &above {
            let mut held = above.lock();
            held.waits_for += 1;
            held.place = None;
        }
        Self(above)
    }
}

impl Drop for ParentWait {
    fn drop(&mut self) {
        if let Some(above) = &self.0 {
            let mut held = above.lock();
            held.waits_for = held.waits_for.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt as _, future::join_all};

    use super::*;

    #[tokio::test]
    async fn calls_that_end_together_wait_for_one_slot() {
        let (places, stop) = (Places::new(1), CancellationToken::new());
        let family = AgentFamily::below(None, 1, &places, None).unwrap();
        let ends = join_all((0..8).map(|_| family.call_ended(&stop)));
        assert!(ends.now_or_never().is_some(), "there is a place for the run");
        assert_eq!(places.free(), 0);

        // As where another run has it.
        family.end();
        let other = AgentFamily::below(None, 1, &places, None).unwrap();
        assert!(other.begin(&stop).await);
        let mut ends = std::pin::pin!(join_all((0..8).map(|_| family.call_ended(&stop))));
        assert!(ends.as_mut().now_or_never().is_none());
        other.end();
        assert!(ends.as_mut().now_or_never().is_some());
        family.end();
        assert_eq!(places.free(), 1);
    }

    #[tokio::test]
    async fn cancelled_run_does_not_wait_for_a_slot() {
        let (places, stop) = (Places::new(1), CancellationToken::new());
        let other = AgentFamily::below(None, 1, &places, None).unwrap();
        assert!(other.begin(&stop).await);
        let family = AgentFamily::below(None, 1, &places, None).unwrap();
        let mut ends = std::pin::pin!(join_all((0..8).map(|_| family.call_ended(&stop))));
        assert!(ends.as_mut().now_or_never().is_none());
        stop.cancel();
        assert!(ends.now_or_never().is_some());
        assert_eq!(places.free(), 0, "the other one has it");
    }
}
