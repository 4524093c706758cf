//! The search: breadth first over all states, then backwards from the ends.

use std::hash::Hash;

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use crate::state::Invariant;

/// A system of states and steps.
pub trait Model {
    /// One moment.
    type State: Clone + Eq + Hash;
    /// The name of a step.
    type Step: Clone;

    /// Returns the first moment.
    fn start(&self) -> Self::State;
    /// Returns each step that is possible in `state`, with the moment that it leads to.
    fn steps(&self, state: &Self::State) -> Vec<(Self::Step, Self::State)>;
    /// Returns the promise that does not hold in `state`.
    fn broken(&self, state: &Self::State) -> Option<Invariant>;
    /// Returns `true` if `step` happens by itself sooner or later: faults do not.
    fn is_progress(&self, step: &Self::Step) -> bool;
    /// Returns `true` if nothing more is owed in `state`.
    fn is_end(&self, state: &Self::State) -> bool;
}

/// The figures of a search that found all promises kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    /// States that can be reached.
    pub states: usize,
    /// Steps between them.
    pub steps: usize,
    /// States in which nothing more is owed.
    pub ends: usize,
}

/// The shortest way to a broken promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counterexample<S, T> {
    /// The promise.
    pub invariant: Invariant,
    /// The steps from the start, each with the state after it.
    pub trace: Vec<(T, S)>,
}

/// Visits every state of `model`.
///
/// That the run ends is checked on the graph: from each state an end can be reached by steps of progress alone. As this holds for
/// every state on the way too, a schedule that is fair to each step arrives.
///
/// # Errors
///
/// The first promise that breaks, with the shortest trace to it.
pub fn search<M: Model>(model: &M) -> Result<Figures, Counterexample<M::State, M::Step>> {
    let mut states = IndexSet::with_hasher(FxBuildHasher);
    // The step that first led to a state, and where from.
    let mut origins: Vec<Option<(usize, M::Step)>> = vec![None];
    // Steps of progress, as (to, from).
    let mut back = Vec::new();
    let mut steps = 0;
    states.insert(model.start());
    let mut at = 0;
    while let Some(state) = states.get_index(at).cloned() {
        if let Some(invariant) = model.broken(&state) {
            return Err(Counterexample { invariant, trace: trace(&states, &origins, at) });
        }
        for (step, next) in model.steps(&state) {
            steps += 1;
            let is_progress = model.is_progress(&step);
            let (to, is_new) = states.insert_full(next);
            if is_new {
                origins.push(Some((at, step)));
            }
            if is_progress {
                back.push((to, at));
            }
        }
        at += 1;
    }
    let ends: Vec<_> = states.iter().map(|state| model.is_end(state)).collect();
    if let Some(at) = first_without_end(&ends, back) {
        let trace = trace(&states, &origins, at);
        return Err(Counterexample { invariant: Invariant::RunEnds, trace });
    }
    let ends = ends.into_iter().filter(|it| *it).count();
    Ok(Figures { states: states.len(), steps, ends })
}

/// Returns the first state from which no step of progress leads to an end.
fn first_without_end(ends: &[bool], mut back: Vec<(usize, usize)>) -> Option<usize> {
    back.sort_unstable();
    let mut reaches = ends.to_vec();
    let mut open: Vec<_> = (0..ends.len()).filter(|at| ends[*at]).collect();
    while let Some(to) = open.pop() {
        let first = back.partition_point(|(it, _)| *it < to);
        for (_, from) in back[first..].iter().take_while(|(it, _)| *it == to) {
            if !reaches[*from] {
                reaches[*from] = true;
                open.push(*from);
            }
        }
    }
    reaches.iter().position(|reaches| !reaches)
}

/// Returns the steps from the start to the state `at`.
fn trace<S: Clone, T: Clone>(
    states: &IndexSet<S, FxBuildHasher>,
    origins: &[Option<(usize, T)>],
    mut at: usize,
) -> Vec<(T, S)> {
    let mut steps = Vec::new();
    while let Some((from, step)) = &origins[at] {
        steps.push((step.clone(), states[at].clone()));
        at = *from;
    }
    steps.reverse();
    steps
}

#[cfg(test)]
mod tests {
    use super::{Counterexample, Figures, Model, search};
    use crate::state::Invariant;

    /// A counter to 3, with a step by fault into a place that nothing leaves.
    struct Stairs {
        pit: u8,
        wall: u8,
    }

    impl Model for Stairs {
        type State = u8;
        type Step = &'static str;

        fn start(&self) -> u8 {
            0
        }

        fn steps(&self, state: &u8) -> Vec<(&'static str, u8)> {
            match *state {
                3 | 9 => Vec::new(),
                it if it == self.pit => vec![("up", it + 1), ("falls", 9)],
                it => vec![("up", it + 1), ("back", 0)],
            }
        }

        fn broken(&self, state: &u8) -> Option<Invariant> {
            (*state == self.wall).then_some(Invariant::LogWhole)
        }

        fn is_progress(&self, step: &&'static str) -> bool {
            *step != "falls"
        }

        fn is_end(&self, state: &u8) -> bool {
            *state == 3
        }
    }

    #[test]
    fn loops_are_left_pits_and_walls_are_found_by_the_shortest_way() {
        let figures = search(&Stairs { pit: 7, wall: 7 });
        assert_eq!(figures, Ok(Figures { states: 4, steps: 6, ends: 1 }));
        let found = search(&Stairs { pit: 1, wall: 7 });
        let trace = vec![("up", 1), ("falls", 9)];
        assert_eq!(found, Err(Counterexample { invariant: Invariant::RunEnds, trace }));
        let found = search(&Stairs { pit: 1, wall: 2 });
        let trace = vec![("up", 1), ("up", 2)];
        assert_eq!(found, Err(Counterexample { invariant: Invariant::LogWhole, trace }));
    }
}
