//! Time, the database, and the lives of nodes: sessions, beats, the reaper.

use super::Moves;
use crate::{
    rules::Rule,
    state::{
        Database, Invariant, Life, NodeId, OLDEST, Phase, Reading, SETTLED, STALE, State, Task,
        UNTIL,
    },
    step::{Fault, Step},
};

impl Moves<'_> {
    /// Lets time pass. Nodes that run have beaten within a tick, and have their sessions back: within one tick after a
    /// fail-over, and before the next tick otherwise.
    pub(super) fn time(&mut self) {
        let is_back = |id| !self.from.node(id).is_running() || self.from.node(id).session.is_some();
        if self.from.database == Database::Up && !NodeId::BOTH.into_iter().all(is_back) {
            return;
        }
        self.add(Step::Tick, |next| {
            for id in NodeId::BOTH {
                let node = next.node_mut(id);
                node.beat = (node.beat + 1).min(OLDEST);
                if let Some(age) = &mut node.session {
                    *age = (*age + 1).min(SETTLED);
                    if node.is_running() {
                        beat(next, id);
                    }
                }
            }
            if next.database == Database::Young {
                next.database = Database::Up;
            }
        });
    }

    /// Fails the database over: what is committed stays, and every session is gone.
    pub(super) fn database(&mut self) {
        if self.from.database == Database::Down {
            self.add(Step::DatabaseUp, |next| next.database = Database::Young);
            return;
        }
        self.fault(Fault::FailOver, Step::DatabaseDown, |next| {
            next.database = Database::Down;
            next.late = None;
            for id in NodeId::BOTH {
                lose_session(next, id);
            }
            lose_transaction(next);
        });
    }

    /// Stops, wakes and kills a node; the other one runs meanwhile.
    pub(super) fn life(&mut self, id: NodeId) {
        let node = self.from.node(id);
        if node.life == Life::Asleep {
            self.add(Step::Wake(id), |next| next.node_mut(id).life = Life::Woken);
        }
        if !node.is_running() || !self.from.node(id.other()).is_running() {
            return;
        }
        self.fault(Fault::Sleep, Step::Sleep(id), |next| next.node_mut(id).life = Life::Asleep);
        self.fault(Fault::Crash, Step::Crash(id), |next| {
            lose_session(next, id);
            if next.run.lock == Some(id) {
                next.run.lock = None;
            }
            let node = next.node_mut(id);
            node.life = Life::Crashed;
            node.task = Task::Free;
        });
    }

    /// Opens and cuts the session of a node.
    pub(super) fn session(&mut self, id: NodeId) {
        if !self.from.is_served(id) {
            return;
        }
        if self.from.node(id).session.is_none() {
            self.add(Step::Connect(id), |next| {
                next.node_mut(id).session = Some(0);
                beat(next, id);
            });
        } else {
            let step = Step::CutSession(id);
            self.fault(Fault::CutSession, step, |next| lose_session(next, id));
        }
    }

    /// Frees the run of a dead node.
    pub(super) fn reaper(&mut self, id: NodeId) {
        let age = if self.protocol.rules.has(Rule::SettledReaper) { SETTLED } else { 0 };
        let is_settled = self.from.node(id).session.is_some_and(|it| it >= age);
        let run = &self.from.run;
        let is_of_the_other = run.owner == Some(id.other()) && run.lock.is_none();
        if !self.from.is_served(id) || !is_settled || !is_of_the_other || !self.is_dead(id.other())
        {
            return;
        }
        self.add(Step::Reap(id), |next| {
            if next.node(id.other()).life == Life::Awake {
                next.broken = Some(Invariant::LivingKeeps);
            }
            next.run.owner = None;
            next.run.epoch += 1;
        });
    }

    /// Returns `true` if the other node takes `id` for dead. Without the rule, each node writes and compares times of its own
    /// clock, and that of B is a tick ahead.
    fn is_dead(&self, id: NodeId) -> bool {
        let node = self.from.node(id);
        let age = match (self.protocol.rules.has(Rule::DatabaseClock), id) {
            (true, _) => node.beat,
            (false, NodeId::A) => node.beat + 1,
            (false, NodeId::B) => node.beat.saturating_sub(1),
        };
        age >= UNTIL || (node.session.is_none() && age >= STALE)
    }
}

/// Writes the beat of a node.
fn beat(state: &mut State, id: NodeId) {
    state.node_mut(id).beat = 0;
    state.has_acted(id);
}

/// Closes the session of a node, whose lock is free then; its readers begin anew.
fn lose_session(state: &mut State, id: NodeId) {
    state.node_mut(id).session = None;
    if let Some(reader) = state.reader.as_mut().filter(|reader| reader.node == id) {
        reader.phase = Reading::Fresh;
    }
}

/// Rolls the open transaction back; its owner does not know its outcome.
fn lose_transaction(state: &mut State) {
    let Some(id) = state.run.lock.take() else { return };
    if let Some(hold) = state.hold_mut(id)
        && let Phase::Locked(event) = hold.phase
    {
        hold.phase = Phase::Unknown(event);
    }
}
