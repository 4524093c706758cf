//! The steps that are possible in a state, by who makes them.

mod life;
mod owner;
mod people;
mod statement;

use crate::{
    protocol::Protocol,
    state::{NodeId, State},
    step::{Fault, Step},
};

/// Gathers the steps from one state.
pub(crate) struct Moves<'a> {
    protocol: &'a Protocol,
    from: &'a State,
    found: Vec<(Step, State)>,
}

impl<'a> Moves<'a> {
    /// Returns all steps from `from`.
    pub(crate) fn of(protocol: &'a Protocol, from: &'a State) -> Vec<(Step, State)> {
        let mut moves = Self { protocol, from, found: Vec::new() };
        moves.time();
        moves.database();
        for id in NodeId::BOTH {
            moves.life(id);
            moves.session(id);
            moves.reaper(id);
            moves.claim(id);
            moves.owner(id);
            moves.client(id);
        }
        moves.late();
        moves.reader();
        moves.found
    }

    /// Adds a step.
    fn add(&mut self, step: Step, change: impl FnOnce(&mut State)) {
        let mut next = *self.from;
        change(&mut next);
        self.found.push((step, next));
    }

    /// Adds a fault, if the bounds allow one of this kind.
    fn fault(&mut self, kind: Fault, step: Step, change: impl FnOnce(&mut State)) {
        if self.from.faults > 0 && self.protocol.bounds.kinds.contains(&kind) {
            self.add(step, |next| {
                next.faults -= 1;
                change(next);
            });
        }
    }
}
