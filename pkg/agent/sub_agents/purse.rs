//! The rest of the budget of a run, and the parts of it that agents below have.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::agent::{Budget, run::SpentBelow, state::CallId};

/// The rest of the budget of a run, and the parts of it that agents below have.
///
/// Each agent of an answer gets an equal part when it begins to work; what it did not use goes back at its end, for
/// those that begin later.
#[derive(Debug, Default)]
pub(crate) struct Purse(Mutex<Inside>);

#[derive(Debug, Default)]
struct Inside {
    /// As the state of the run knew it when a call began, without the calls that ended since.
    left: Budget,
    /// The calls of the answer that have not ended.
    open: usize,
    parts: Vec<Part>,
}

/// The part of a purse that one agent has.
#[derive(Debug)]
struct Part {
    call: CallId,
    given: SpentBelow,
    /// The use that the agent made of it, and those below it that have ended.
    used: SpentBelow,
    /// The purse of the agent.
    below: Option<Arc<Purse>>,
}

impl Purse {
    /// Takes over what is left when a call begins, and how many calls are open.
    pub(crate) fn renew(&self, left: Budget, open: usize) {
        let mut inside = self.lock();
        (inside.left, inside.open) = (left, open);
    }

    /// Takes back the part of a call that has ended; returns the use that was made of it.
    pub(crate) fn settle(&self, call: CallId) -> Option<SpentBelow> {
        let mut inside = self.lock();
        inside.open = inside.open.saturating_sub(1);
        let parts = inside.parts.extract_if(.., |part| part.call == call);
        let used = parts.map(|part| part.used_in_all()).reduce(SpentBelow::and)?;
        inside.left = inside.left.without(used);
        Some(used)
    }

    /// Returns the use of all parts that were not taken back.
    fn unsettled(&self) -> SpentBelow {
        let used = |sum: SpentBelow, part: &Part| sum.and(part.used_in_all());
        self.lock().parts.iter().fold(SpentBelow::NOTHING, used)
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Part {
    fn used_in_all(&self) -> SpentBelow {
        self.below.as_ref().map_or(self.used, |purse| self.used.and(purse.unsettled()))
    }
}

/// The way of a call to its part of a purse.
#[derive(Debug, Clone)]
pub(crate) struct Draw {
    pub(crate) purse: Arc<Purse>,
    pub(crate) call: CallId,
}

impl Draw {
    /// Takes a part, narrowed to at most `own`.
    pub(super) fn take(&self, own: Budget) -> Budget {
        let mut inside = self.purse.lock();
        let given = inside
            .parts
            .iter()
            .fold(SpentBelow::NOTHING, |sum, part| sum.and(part.given.or_more(part.used_in_all())));
        let sharers = inside.open.saturating_sub(inside.parts.len());
        let part = inside.left.without(given).part(u32::try_from(sharers).unwrap_or(u32::MAX));
        let budget = part.narrowed(own);
        let (call, given, used) = (self.call, budget.most(), SpentBelow::NOTHING);
        inside.parts.push(Part { call, given, used, below: None });
        budget
    }

    /// Notes the use that the agent has made of its part.
    pub(crate) fn note(&self, used: SpentBelow) {
        self.change(|part| part.used = used);
    }

    /// Connects the purse of the agent: its use counts also when the agent is not there to add it up.
    pub(crate) fn connect(&self, purse: &Arc<Purse>) {
        self.change(|part| part.below = Some(Arc::clone(purse)));
    }

    fn change(&self, change: impl FnOnce(&mut Part)) {
        let mut inside = self.purse.lock();
        if let Some(part) = inside.parts.iter_mut().rfind(|part| part.call == self.call) {
            change(part);
        }
    }
}
