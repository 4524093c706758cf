//! The rest of a run's budget, and the parts of it that sub-agents hold.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::background_agents::{BackgroundAgents, BackgroundHandle, SubAgentResult};
use crate::{
    run::{Budget, SpentBelow},
    state::CallId,
    steering::QuestionDesk,
    tools::ToolError,
};
use forgeline_types::Text;

/// The rest of a run's budget, and the parts of it that sub-agents hold.
///
/// Each agent of an answer gets an equal part when it starts to work; what the agent did not use
/// goes back at its end, for those that start later.
#[derive(Debug, Default)]
pub(crate) struct BudgetPool(Mutex<BudgetPoolInner>);

#[derive(Debug, Default)]
struct BudgetPoolInner {
    /// The budget left when a call started, as the run's state knew it, without the calls that have ended since.
    left: Budget,
    /// The time at which `left` was set, from which elapsed time is counted.
    since: Option<Instant>,
    /// The time for which the run had waited for people by then.
    waited: Duration,
    /// The desk that measures that time; it is not the run's.
    desk: Option<Arc<QuestionDesk>>,
    /// The number of the answer's calls that have not ended.
    open: usize,
    parts: Vec<PoolShare>,
    /// `None` until the run has a background agent, which most runs never have.
    background: Option<Box<BackgroundAgents>>,
    /// `true` once the run has ended.
    is_closed: bool,
}

/// The part of a purse that one agent holds.
#[derive(Debug)]
struct PoolShare {
    call: CallId,
    given: SpentBelow,
    /// The budget used by the agent, and by its sub-agents that have ended.
    used: SpentBelow,
    /// The purse of the agent itself.
    below: Option<Arc<BudgetPool>>,
    /// `None` when the run waits for the agent.
    beside: Option<BackgroundShare>,
}

/// The part of a background agent.
#[derive(Debug)]
struct BackgroundShare {
    /// The use already reported to the run.
    told: SpentBelow,
    has_ended: bool,
}

impl BudgetPool {
    /// Returns the purse of a run whose calls ask people at this desk.
    pub(crate) fn asking_at(desk: &Arc<QuestionDesk>) -> Self {
        let desk = Some(Arc::clone(desk));
        Self(Mutex::new(BudgetPoolInner { desk, ..BudgetPoolInner::default() }))
    }

    /// Stores the budget left when a call starts, and the number of open calls.
    pub(crate) fn renew(&self, left: Budget, open: usize) {
        let mut inside = self.lock();
        (inside.left, inside.since, inside.open) = (left, Some(Instant::now()), open);
        inside.waited = inside.waited_for_people();
    }

    /// Takes back the part of a call that has ended; returns its use, together with what
    /// background agents have used of their parts since the last time.
    pub(crate) fn settle(&self, call: CallId) -> Option<SpentBelow> {
        let mut inside = self.lock();
        inside.open = inside.open.saturating_sub(1);
        let mut used = None;
        inside.parts.retain_mut(|part| {
            let (all, more) = (part.used_in_all(), part.untold(part.used_in_all()));
            let is_open = match &mut part.beside {
                Some(beside) => {
                    beside.told = all;
                    !beside.has_ended
                }
                None if part.call == call => false,
                None => return true,
            };
            used = Some(used.map_or(more, |used: SpentBelow| used.and(more)));
            is_open
        });
        let used = used?;
        inside.left = inside.left.without(used);
        Some(used)
    }

    /// Returns `true` once the run has had a background agent.
    pub(crate) fn has_background(&self) -> bool {
        self.lock().background.is_some()
    }

    /// Ends all background agents, and prevents further ones from starting.
    pub(crate) fn close(&self) {
        let ended = {
            let mut inside = self.lock();
            inside.is_closed = true;
            inside.background.take()
        };
        // Dropped without the lock, since dropping may record use.
        drop(ended);
    }

    /// Closes the purse; returns the use not yet reported to the run.
    pub(crate) fn end(&self) -> SpentBelow {
        self.close();
        let used = self.unsettled();
        self.lock().parts.clear();
        used
    }

    /// Returns the use of all parts that were not taken back.
    fn unsettled(&self) -> SpentBelow {
        let used = |sum: SpentBelow, part: &PoolShare| sum.and(part.untold(part.used_in_all()));
        self.lock().parts.iter().fold(SpentBelow::NOTHING, used)
    }

    fn lock(&self) -> MutexGuard<'_, BudgetPoolInner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BudgetPoolInner {
    fn left(&self) -> Budget {
        let passed = self.since.map(|since| since.elapsed()).unwrap_or_default();
        let waited = self.waited_for_people().saturating_sub(self.waited);
        self.left.after(passed.saturating_sub(waited))
    }

    fn waited_for_people(&self) -> Duration {
        self.desk.as_ref().map(|desk| desk.waited()).unwrap_or_default()
    }
}

impl PoolShare {
    fn used_in_all(&self) -> SpentBelow {
        self.below.as_ref().map_or(self.used, |purse| self.used.and(purse.unsettled()))
    }

    /// Returns `sum`, without the part already reported to the run.
    fn untold(&self, sum: SpentBelow) -> SpentBelow {
        self.beside.as_ref().map_or(sum, |beside| sum.less(beside.told))
    }
}

/// A call's access to its part of a purse.
#[derive(Debug, Clone)]
pub struct BudgetDraw {
    pub(crate) purse: Arc<BudgetPool>,
    pub(crate) call: CallId,
}

impl BudgetDraw {
    /// Takes a part, narrowed to at most `own`.
    #[doc(hidden)]
    pub fn take(&self, own: Budget) -> Budget {
        self.part(own, None)
    }

    /// Takes a part for a background agent; the run, which continues, counts as one more sharer.
    pub(crate) fn take_beside(&self, own: Budget) -> Budget {
        self.part(own, Some(BackgroundShare { told: SpentBelow::NOTHING, has_ended: false }))
    }

    fn part(&self, own: Budget, beside: Option<BackgroundShare>) -> Budget {
        let mut inside = self.purse.lock();
        let held = |part: &PoolShare| part.untold(part.given.or_more(part.used_in_all()));
        let given = inside.parts.iter().fold(SpentBelow::NOTHING, |sum, part| sum.and(held(part)));
        let waited = inside.parts.iter().filter(|part| part.beside.is_none()).count();
        let sharers = inside.open.saturating_sub(waited).max(1) + usize::from(beside.is_some());
        let part = inside.left().without(given).part(u32::try_from(sharers).unwrap_or(u32::MAX));
        let budget = part.narrowed(own);
        let (call, given, used) = (self.call, budget.most(), SpentBelow::NOTHING);
        inside.parts.push(PoolShare { call, given, used, below: None, beside });
        budget
    }

    /// Narrows a part to the time that is left now, for an agent that has waited.
    pub(crate) fn within_time(&self, part: Budget) -> Budget {
        let Budget { time, .. } = self.purse.lock().left();
        part.narrowed(Budget { time, ..Budget::default() })
    }

    /// Returns to the purse what a background agent did not use.
    pub(crate) fn give_back(&self) {
        self.change(|part| part.beside.iter_mut().for_each(|beside| beside.has_ended = true));
    }

    /// Starts a background agent; returns its handle.
    pub(crate) fn begin(
        &self,
        tool: &Text,
        stop: CancellationToken,
        work: impl Future<Output = SubAgentResult> + Send + 'static,
    ) -> Result<Text, ToolError> {
        let mut inside = self.purse.lock();
        if inside.is_closed {
            return Err(ToolError::Cancelled { abandoned: false });
        }
        inside.background.get_or_insert_default().begin(tool, stop, work)
    }

    /// Returns a background agent that this tool started.
    pub(crate) fn find(&self, tool: &Text, handle: &str) -> Result<BackgroundHandle, ToolError> {
        self.purse.lock().background.get_or_insert_default().find(tool, handle)
    }

    /// Records the agent's use of its part.
    pub(crate) fn note(&self, used: SpentBelow) {
        self.change(|part| part.used = used);
    }

    /// Records the use of a part whose work ended before its call: the rest of the part can be taken again.
    #[doc(hidden)]
    pub fn end(&self, used: SpentBelow) {
        self.change(|part| (part.given, part.used) = (used, used));
    }

    /// Connects the agent's own purse, whose use counts even when the agent is gone before it adds it up.
    pub(crate) fn connect(&self, purse: &Arc<BudgetPool>) {
        self.change(|part| part.below = Some(Arc::clone(purse)));
    }

    fn change(&self, change: impl FnOnce(&mut PoolShare)) {
        let mut inside = self.purse.lock();
        if let Some(part) = inside.parts.iter_mut().rfind(|part| part.call == self.call) {
            change(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;
    use crate::{
        state::AnswerId,
        steering::{CallAbove, DeskStage},
    };

    #[tokio::test(start_paused = true)]
    async fn slot_wait_reduces_the_remaining_time() {
        let (purse, seconds) = (Arc::new(BudgetPool::default()), Duration::from_secs);
        let draw = |place| {
            let call = CallId { answer: AnswerId::default(), place };
            BudgetDraw { purse: Arc::clone(&purse), call }
        };
        let (own, free) = (Budget::default().time(seconds(40)), Budget::default());
        purse.renew(Budget::default().time(seconds(60)), 2);
        let part = draw(0).take_beside(own);
        assert_eq!(part.time, Some(seconds(40)), "its own limit is lower");
        advance(seconds(15)).await;
        assert_eq!(draw(0).within_time(part).time, Some(seconds(40)), "which counts once it works");
        advance(seconds(35)).await;
        assert_eq!(draw(0).within_time(part).time, Some(seconds(10)));
        assert_eq!(draw(1).take(free).time, Some(seconds(10)));
        advance(seconds(15)).await;
        assert_eq!(draw(1).take(free).zero(), Some("budget.time"));
        purse.renew(free, 1);
        assert_eq!(draw(1).take(free).time, None);
    }

    // Rows: N-45
    #[tokio::test(start_paused = true)]
    async fn time_for_which_the_run_waits_for_people_is_not_used_up() {
        let (id, seconds) = (Text::from("1"), Duration::from_secs);
        let desk = Arc::new(QuestionDesk::new(None, seconds(1)));
        let purse = Arc::new(BudgetPool::asking_at(&desk));
        purse.renew(Budget::default().time(seconds(60)), 1);
        let left = || draw(&purse, 0).within_time(Budget::default()).time;
        desk.enter(DeskStage::Others);
        advance(seconds(500)).await;
        assert_eq!(left(), Some(seconds(60)), "a call waits for a decision");
        let runs = desk.run(&id);
        desk.enter(DeskStage::Calls);
        advance(seconds(10)).await;
        assert_eq!(left(), Some(seconds(50)), "a call works");
        let waits = CallAbove::new(&desk, &id).wait();
        advance(seconds(500)).await;
        assert_eq!(left(), Some(seconds(50)), "it waits for a person");
        purse.renew(Budget::default().time(seconds(50)), 1);
        drop(waits);
        advance(seconds(5)).await;
        assert_eq!(left(), Some(seconds(45)));
        let waits = CallAbove::new(&desk, &id).wait();
        desk.enter(DeskStage::Model);
        advance(seconds(15)).await;
        assert_eq!(left(), Some(seconds(30)), "the model works meanwhile");
        drop((waits, runs));
    }

    fn tokens(tokens: u64) -> SpentBelow {
        SpentBelow { tokens, ..SpentBelow::NOTHING }
    }

    fn draw(purse: &Arc<BudgetPool>, place: usize) -> BudgetDraw {
        let call = CallId { answer: AnswerId::default(), place };
        BudgetDraw { purse: Arc::clone(purse), call }
    }

    #[test]
    fn a_call_that_has_ended_shares_no_more_and_what_it_left_is_free() {
        let (purse, own) = (Arc::new(BudgetPool::default()), Budget::default());
        purse.renew(own.tokens(900), 3);
        let (first, second, third) = (draw(&purse, 0), draw(&purse, 1), draw(&purse, 2));
        assert_eq!(first.take(own).tokens, Some(300));
        first.note(tokens(100));
        assert_eq!(purse.settle(first.call), Some(tokens(100)));
        assert_eq!(second.take(own).tokens, Some(400), "800 are left, for two");
        second.end(tokens(50));
        assert_eq!(purse.settle(second.call), Some(tokens(50)));
        assert_eq!(third.take(own).tokens, Some(750), "and then for one");
        // One that never took a part shares until it ends, too.
        purse.renew(own.tokens(900), 2);
        let (waits, last) = (draw(&purse, 3), draw(&purse, 4));
        assert_eq!(purse.settle(waits.call), None);
        assert_eq!(last.take(own).tokens, Some(900 - 750), "what the third holds is not free");
    }

    #[test]
    fn what_the_agents_below_a_cancelled_one_have_used_is_counted() {
        let [above, middle, deep] = [(); 3].map(|()| Arc::new(BudgetPool::default()));
        let own = Budget::default();
        for purse in [&above, &middle, &deep] {
            purse.renew(own.tokens(900), 1);
        }
        let (child, grandchild, last) = (draw(&above, 0), draw(&middle, 0), draw(&deep, 0));
        child.take(own);
        child.connect(&middle);
        grandchild.take(own);
        grandchild.connect(&deep);
        last.take(own);
        // Each is dropped before it adds up what those below it have used.
        child.note(tokens(1));
        grandchild.note(tokens(20));
        last.note(tokens(300));
        assert_eq!(above.settle(child.call), Some(tokens(321)));
        assert_eq!(above.end(), tokens(0), "once");
    }

    #[test]
    fn an_agent_in_the_background_shares_with_the_run_and_gives_back_what_it_did_not_use() {
        let (purse, own) = (Arc::new(BudgetPool::default()), Budget::default());
        let draw = |place| {
            let call = CallId { answer: AnswerId::default(), place };
            BudgetDraw { purse: Arc::clone(&purse), call }
        };
        let (first, second, waited) = (draw(0), draw(1), draw(2));
        purse.renew(own.tokens(1_000), 1);
        assert_eq!(first.take_beside(own).tokens, Some(500), "the run shares");
        first.note(tokens(100));
        assert_eq!(purse.settle(first.call), Some(tokens(100)));
        first.note(tokens(150));
        // What it has used is known above; what it may still use is not available to others.
        purse.renew(own.tokens(900), 2);
        assert_eq!(second.take_beside(own).tokens, Some((900 - 400) / 3 + 1));
        first.give_back();
        assert_eq!(purse.settle(second.call), Some(tokens(50)), "since the last time");
        purse.renew(own.tokens(850), 1);
        assert_eq!(waited.take(own).tokens, Some(850 - 167), "the rest of the first is free");
        waited.note(tokens(7));
        assert_eq!(purse.end(), tokens(7));
        assert_eq!(purse.end(), tokens(0), "once");
    }
}
