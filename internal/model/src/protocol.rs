//! The protocol as a system of states and steps.

use std::fmt;

use crate::{
    moves::Moves,
    rules::Rules,
    search::{Counterexample, Figures, Model, search},
    state::{
        Client, Database, Event, Invariant, Journal, Life, Node, NodeId, Reader, Reading, Run,
        SLOTS, State, Task,
    },
    step::{Fault, Step},
};

/// The kind of the client's command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// A note for the run, answered between its steps.
    Steer,
    /// An approval, for which the call waits.
    Approval,
    /// A cancel, whose answer ends the run.
    Cancel,
}

/// The bounds of a search.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The most faults on one way.
    pub faults: u8,
    /// Their kinds.
    pub kinds: &'static [Fault],
    /// The node that serves the reader first; `None` for no reader.
    pub reader: Option<NodeId>,
    /// The client's command; `None` for no client.
    pub command: Option<Command>,
}

/// The protocol under some rules, within some bounds.
#[derive(Debug, Clone, Copy)]
pub struct Protocol {
    /// The rules in force.
    pub rules: Rules,
    /// The bounds.
    pub bounds: Bounds,
}

impl Protocol {
    /// Visits every state.
    ///
    /// # Errors
    ///
    /// The first promise that breaks, with the shortest trace to it.
    pub fn search(&self) -> Result<Figures, Counterexample<State, Step>> {
        search(self)
    }
}

impl Model for Protocol {
    type State = State;
    type Step = Step;

    fn start(&self) -> State {
        let run = Run {
            log: [None; SLOTS],
            head: 0,
            epoch: 0,
            owner: None,
            journal: Journal::Begun,
            lock: None,
            stored: 0,
            answered: 0,
            tool_starts: 0,
        };
        let node = Node { life: Life::Awake, session: Some(2), beat: 0, task: Task::Free };
        State {
            run,
            nodes: [node; 2],
            database: Database::Up,
            late: None,
            reader: self.bounds.reader.map(|node| Reader {
                node,
                seen: 0,
                last: None,
                phase: Reading::Fresh,
            }),
            client: self.bounds.command.map(|_| Client::Waiting),
            faults: self.bounds.faults,
            broken: None,
        }
    }

    fn steps(&self, state: &State) -> Vec<(Step, State)> {
        Moves::of(self, state)
    }

    fn broken(&self, state: &State) -> Option<Invariant> {
        let run = &state.run;
        let holds = |id| state.node(id).hold().is_some_and(|hold| hold.epoch == run.epoch);
        let is_acknowledged = state.client == Some(Client::Acknowledged);
        let promises = [
            (Invariant::OneOwner, !NodeId::BOTH.into_iter().all(holds)),
            (Invariant::LogWhole, is_whole(run)),
            (Invariant::ReaderInOrder, state.reader.is_none_or(|it| is_in_order(run, it))),
            (Invariant::AnsweredOnce, run.answered <= 1 && (run.stored > 0 || !is_acknowledged)),
            (Invariant::ToolOnce, run.tool_starts <= 1),
        ];
        let broken = promises.into_iter().find(|(_, is_kept)| !is_kept);
        state.broken.or(broken.map(|(invariant, _)| invariant))
    }

    fn is_progress(&self, step: &Step) -> bool {
        step.is_progress()
    }

    fn is_end(&self, state: &State) -> bool {
        state.run.journal == Journal::Ended
            && state.run.owner.is_none()
            && state.reader.is_none_or(|reader| reader.seen == state.run.head)
            && state.client != Some(Client::Waiting)
    }
}

/// Returns `true` if the last event that `reader` saw is the one of its position in the log. As events of the log never change, and
/// each step of a reader goes on from the last position, this makes all of them the log's.
fn is_in_order(run: &Run, reader: Reader) -> bool {
    let place = usize::from(reader.seen).checked_sub(1);
    let event = place.map(|place| run.log.get(place).copied().flatten());
    event.is_none_or(|event| event == reader.last)
}

/// Returns `true` if the log has each position below its head and none above, and each event once. The answers have a promise of
/// their own.
fn is_whole(run: &Run) -> bool {
    let count =
        |events: &[Event]| run.log.iter().flatten().filter(|event| events.contains(event)).count();
    let is_filled = |(at, slot): (usize, &Option<Event>)| slot.is_some() == (at < run.head.into());
    run.log.iter().enumerate().all(is_filled)
        && count(&[Event::Call]) <= 1
        && count(&[Event::Result, Event::Interrupted]) <= 1
        && count(&[Event::End]) <= 1
}

/// The row of the run, and what the nodes hold in memory.
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run = &self.run;
        write!(f, "epoch {}, ", run.epoch)?;
        match run.owner {
            Some(owner) => write!(f, "owner {owner:?}, ")?,
            None => write!(f, "no owner, ")?,
        }
        write!(f, "head {}", run.head)?;
        for id in NodeId::BOTH {
            if let Some(hold) = self.node(id).hold() {
                let (epoch, head) = (hold.epoch, hold.head);
                write!(f, "; {id:?} holds epoch {epoch}, head {head}, {:?}", hold.phase)?;
            }
        }
        Ok(())
    }
}

/// The promise, then a line for each step of the trace, with the state after it.
impl fmt::Display for Counterexample<State, Step> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?} breaks after {} steps:", self.invariant, self.trace.len())?;
        for (at, (step, state)) in self.trace.iter().enumerate() {
            writeln!(f, "{:>3}. {:<64} | {state}", at + 1, step.to_string())?;
        }
        Ok(())
    }
}
