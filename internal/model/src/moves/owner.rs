//! An owner: claims, writes, unknown outcomes, the tool, the hand-over.

use super::{Moves, statement::Outcome};
use crate::{
    protocol::Command,
    rules::Rule,
    state::{Event, Hold, Journal, Late, NodeId, Phase, Reader, Reading, Run, State, Task, Write},
    step::{Fate, Fault, Step},
};

impl Moves<'_> {
    /// Claims the free run, and gives back one that is owned and not held.
    pub(super) fn claim(&mut self, id: NodeId) {
        let (run, task) = (&self.from.run, self.from.node(id).task);
        let rules = self.protocol.rules;
        if !self.from.is_served(id) || run.lock.is_some() {
            return;
        }
        if let Task::Looked(epoch) = task {
            let claimed = Run { owner: Some(id), epoch: epoch + 1, ..*run };
            let hold = Task::Held(self.hold_of(&claimed));
            self.add(Step::ClaimSeen(id), |next| {
                next.run = claimed;
                next.node_mut(id).task = hold;
            });
        }
        if task != Task::Free {
            return;
        }
        if run.owner == Some(id) && rules.has(Rule::ReleaseUnheld) {
            self.add(Step::Release(id), free);
        }
        if run.owner.is_some() {
            return;
        }
        if !rules.has(Rule::ClaimCondition) {
            let seen = Task::Looked(run.epoch);
            self.add(Step::Look(id), |next| next.node_mut(id).task = seen);
            return;
        }
        let mut next = *self.from;
        if !self.take(&mut next, id) {
            return;
        }
        let unknown = next;
        next.has_acted(id);
        next.node_mut(id).task = Task::Held(self.hold_of(&next.run));
        self.found.push((Step::Claim(id), next));
        for fate in [Fate::Executed, Fate::Late] {
            self.fault(Fault::CutStatement, Step::ClaimUnknown(id, fate), |next| {
                if fate == Fate::Late {
                    next.late = Some(Late::Claim(id));
                } else {
                    *next = State { faults: next.faults, ..unknown };
                }
            });
        }
    }

    /// Returns what a node holds after it has read the row of a run that it just claimed.
    fn hold_of(&self, run: &Run) -> Hold {
        let is_inherited =
            run.journal == Journal::Called && self.protocol.rules.has(Rule::ToolOnce);
        Hold {
            epoch: run.epoch,
            head: run.head,
            journal: run.journal,
            pending: run.stored - run.answered.min(run.stored),
            phase: if is_inherited { Phase::Inherited } else { Phase::Ready },
        }
    }

    /// Adds the steps of a node that holds the run.
    pub(super) fn owner(&mut self, id: NodeId) {
        let node = *self.from.node(id);
        let Some(hold) = node.hold().filter(|_| node.is_running()) else { return };
        if hold.phase == Phase::Ready && hold.journal == Journal::Called {
            self.add(Step::StartTool(id), |next| {
                next.run.tool_starts += 1;
                set_phase(next, id, Phase::Ran);
            });
        }
        let is_locked = self.from.run.lock.is_some_and(|owner| owner != id);
        if !self.from.is_served(id) || is_locked {
            return;
        }
        match hold.phase {
            Phase::Unknown(event) => self.read_row(id, hold, event),
            Phase::Checked(event) => self.write(Step::Write(id, event), id, hold, event),
            Phase::Locked(event) => self.write(Step::Commit(id), id, hold, event),
            Phase::Ready | Phase::Inherited | Phase::Ran => {
                for event in self.next_events(hold).into_iter().flatten() {
                    self.begin(id, hold, event);
                }
                self.look_for_commands(id, hold);
            }
        }
        if hold.phase == Phase::Ready {
            self.hand_over(id, hold);
        }
        if hold.epoch != self.from.run.epoch && self.protocol.rules.has(Rule::DropLost) {
            self.add(Step::Drop(id), |next| next.node_mut(id).task = Task::Free);
        }
    }

    /// Returns the events that the owner may write next.
    fn next_events(&self, hold: Hold) -> [Option<Event>; 2] {
        // Nothing but the answer comes before the call.
        let is_approved = self.protocol.bounds.command != Some(Command::Approval) || hold.head > 0;
        let next = match (hold.phase, hold.journal) {
            (Phase::Inherited, _) => Some(Event::Interrupted),
            (Phase::Ran, _) => Some(Event::Result),
            (Phase::Ready, Journal::Begun) => is_approved.then_some(Event::Call),
            (Phase::Ready, Journal::Resulted) => Some(Event::End),
            (
                Phase::Ready | Phase::Checked(_) | Phase::Locked(_) | Phase::Unknown(_),
                Journal::Begun | Journal::Called | Journal::Resulted | Journal::Ended,
            ) => None,
        };
        let is_asked = hold.pending > 0 && hold.phase == Phase::Ready;
        [next, is_asked.then_some(Event::Answer)]
    }

    /// Begins to write `event`: in one statement, or, where a rule is out, in two.
    fn begin(&mut self, id: NodeId, hold: Hold, event: Event) {
        let rules = self.protocol.rules;
        let is_own = self.from.run.epoch == hold.epoch;
        if !rules.has(Rule::EpochUnderLock) {
            self.add(Step::Check(id, event), |next| {
                if is_own {
                    set_phase(next, id, Phase::Checked(event));
                } else {
                    next.node_mut(id).task = Task::Free;
                }
            });
        } else if !rules.has(Rule::OneStatement) {
            self.add(Step::Begin(id, event), |next| {
                if is_own && next.run.head == hold.head {
                    next.run.lock = Some(id);
                    set_phase(next, id, Phase::Locked(event));
                } else {
                    next.node_mut(id).task = Task::Free;
                }
            });
        } else {
            self.write(Step::Write(id, event), id, hold, event);
            for fate in Fate::ALL {
                self.lose_write(id, hold, event, fate);
            }
        }
    }

    /// Writes `event`, and reads the outcome: 0 rows mean that the run is lost.
    fn write(&mut self, step: Step, id: NodeId, hold: Hold, event: Event) {
        let mut next = *self.from;
        next.run.lock = None;
        let write = Write { node: id, epoch: hold.epoch, head: hold.head, event };
        let outcome = self.execute(&mut next, write);
        let (run, is_taken) = (next.run, outcome == Outcome::Taken);
        next.node_mut(id).task = if is_taken && run.journal != Journal::Ended {
            let pending = hold.pending - u8::from(event == Event::Answer);
            let journal = run.journal;
            Task::Held(Hold { head: run.head, journal, pending, phase: Phase::Ready, ..hold })
        } else {
            Task::Free
        };
        if is_taken {
            self.show(&mut next, id, run.head - 1, event);
        } else if !self.protocol.rules.has(Rule::ShowAfterCommit) {
            self.show(&mut next, id, hold.head, event);
        }
        self.found.push((step, next));
    }

    /// Shows `event`, from memory, to a reader on the same node that waits for the position `place`.
    fn show(&self, next: &mut State, id: NodeId, place: u8, event: Event) {
        let is_next =
            |it: &Reader| it.node == id && it.phase == Reading::Waiting && it.seen == place;
        if let Some(reader) = self.from.reader.filter(is_next) {
            next.reader = Some(Reader { seen: reader.seen + 1, last: Some(event), ..reader });
        }
    }

    /// Loses the connection in a write.
    fn lose_write(&mut self, id: NodeId, hold: Hold, event: Event, fate: Fate) {
        let write = Write { node: id, epoch: hold.epoch, head: hold.head, event };
        let mut next = *self.from;
        match fate {
            Fate::Lost => {}
            Fate::Executed => {
                self.execute(&mut next, write);
            }
            Fate::Late => next.late = Some(Late::Write(write)),
        }
        set_phase(&mut next, id, Phase::Unknown(event));
        self.fault(Fault::CutStatement, Step::WriteUnknown(id, event, fate), |state| {
            *state = State { faults: state.faults, ..next };
        });
    }

    /// Reads the row after an unknown outcome: under another epoch, or at its end, the run is dropped.
    fn read_row(&mut self, id: NodeId, hold: Hold, event: Event) {
        let run = self.from.run;
        let rules = self.protocol.rules;
        let journal = match (run.head > hold.head, rules.has(Rule::ReadJournal)) {
            (true, false) => journal_after(hold.journal, event),
            (true, true) | (false, _) => run.journal,
        };
        // Without a new position in the journal, memory still knows whether the tool has run.
        let phase = match event {
            Event::Result if journal == hold.journal => Phase::Ran,
            Event::Interrupted if journal == hold.journal => Phase::Inherited,
            Event::Result | Event::Interrupted | Event::Call | Event::Answer | Event::End => {
                Phase::Ready
            }
        };
        let known = if rules.has(Rule::ExpectedHead) {
            let pending = run.stored - run.answered.min(run.stored);
            Hold { head: run.head, journal, pending, phase, ..hold }
        } else {
            Hold { phase, ..hold }
        };
        let is_over = run.epoch != hold.epoch || run.journal == Journal::Ended;
        let task = if is_over { Task::Free } else { Task::Held(known) };
        self.add(Step::ReadRow(id), |next| next.node_mut(id).task = task);
    }

    /// Looks for commands whose notification did not come. The look adds to what the owner knows, and takes nothing from it.
    fn look_for_commands(&mut self, id: NodeId, hold: Hold) {
        let pending = self.from.run.stored - self.from.run.answered.min(self.from.run.stored);
        if pending > hold.pending && self.protocol.rules.has(Rule::Backstop) {
            self.add(Step::LookForCommands(id), |next| {
                next.node_mut(id).task = Task::Held(Hold { pending, ..hold });
            });
        }
    }

    /// Hands the run over, between two steps of its journal.
    fn hand_over(&mut self, id: NodeId, hold: Hold) {
        let is_met = self.from.run.epoch == hold.epoch && self.from.run.head == hold.head;
        let has_epoch = self.protocol.rules.has(Rule::HandOverEpoch);
        self.fault(Fault::HandOver, Step::HandOver(id), |next| {
            next.node_mut(id).task = Task::Free;
            if is_met {
                next.run.owner = None;
                next.run.epoch += u8::from(has_epoch);
            }
        });
    }
}

/// Frees the run, under a new epoch.
fn free(state: &mut State) {
    state.run.owner = None;
    state.run.epoch += 1;
}

/// Sets the phase of the hold of `id`.
fn set_phase(state: &mut State, id: NodeId, phase: Phase) {
    if let Some(hold) = state.hold_mut(id) {
        hold.phase = phase;
    }
}

/// Returns the position after `event`.
const fn journal_after(journal: Journal, event: Event) -> Journal {
    match event {
        Event::Answer => journal,
        Event::Call => Journal::Called,
        Event::Result | Event::Interrupted => Journal::Resulted,
        Event::End => Journal::Ended,
    }
}
