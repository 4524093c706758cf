//! Writes of a run, as the database executes them.

use super::Moves;
use crate::{
    protocol::Command,
    rules::Rule,
    state::{Event, Invariant, Journal, Late, Life, NodeId, Reading, STALE, State, Write},
    step::Step,
};

/// The rows that a write changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// One row: the event is in the log.
    Taken,
    /// 0 rows.
    Refused,
}

impl Moves<'_> {
    /// Executes `write` in `state`: the run's row under its condition, the event and the answer, the notification.
    pub(super) fn execute(&self, state: &mut State, write: Write) -> Outcome {
        let rules = self.protocol.rules;
        let run = &mut state.run;
        // The place is free exactly if the head is the expected one: the key of the log compares it a second time.
        let is_known = write.epoch == run.epoch && write.head == run.head;
        let (is_met, slot) = if write.event == Event::Answer && !rules.has(Rule::AnswerUnderEpoch) {
            (true, run.head)
        } else if !rules.has(Rule::EpochUnderLock) {
            (true, write.head)
        } else if !rules.has(Rule::ExpectedHead) {
            (write.epoch == run.epoch, run.head)
        } else {
            (is_known, write.head)
        };
        let place = run.log.get_mut(usize::from(slot)).filter(|place| place.is_none());
        let Some(place) = place.filter(|_| is_met) else { return Outcome::Refused };
        *place = Some(write.event);
        if run.owner != Some(write.node) {
            state.broken = Some(Invariant::OldOwnerSilent);
        }
        run.head = slot + 1;
        match write.event {
            Event::Answer => {
                run.answered += 1;
                if self.protocol.bounds.command == Some(Command::Cancel) {
                    run.journal = Journal::Ended;
                }
            }
            Event::Call => run.journal = Journal::Called,
            Event::Result | Event::Interrupted => run.journal = Journal::Resulted,
            Event::End => run.journal = Journal::Ended,
        }
        if run.journal == Journal::Ended {
            run.owner = None;
        }
        if let Some(reader) = state.reader.as_mut().filter(|it| it.phase == Reading::Waiting) {
            reader.phase = Reading::Notified;
        }
        Outcome::Taken
    }

    /// Executes a statement whose connection was lost.
    pub(super) fn late(&mut self) {
        let Some(late) = self.from.late.filter(|_| self.from.run.lock.is_none()) else { return };
        let mut next = State { late: None, ..*self.from };
        match late {
            Late::Write(write) => {
                self.execute(&mut next, write);
            }
            Late::Claim(id) => {
                self.take(&mut next, id);
            }
        }
        self.found.push((Step::Late, next));
    }

    /// Gives the run to `id` if it is free, and `id` lives as far as the database knows; returns `true` if it does.
    pub(super) fn take(&self, state: &mut State, id: NodeId) -> bool {
        let node = *state.node(id);
        let is_fresh = node.session.is_some() && node.beat < STALE;
        let run = &mut state.run;
        let is_free = run.owner.is_none() && run.journal != Journal::Ended && run.lock.is_none();
        let is_met = is_free && (is_fresh || !self.protocol.rules.has(Rule::ClaimAlive));
        if is_met {
            let lives = |owner| state.nodes[owner as usize].life == Life::Awake;
            if run.owner.is_some_and(lives) {
                state.broken = Some(Invariant::LivingKeeps);
            }
            run.owner = Some(id);
            run.epoch += 1;
        }
        is_met
    }
}
