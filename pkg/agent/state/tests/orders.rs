//! The order in which calls end.

use super::*;
use forgeline_types::{AgentEvent, ToolResultEvent};

const PROMPT: &str = "You help.";

/// Runs the calls of one answer, which end in the order of `places` as `end` says; returns the state.
fn ran(spec: RunSpec, calls: &[(&str, &str)], places: &[usize]) -> (RunState, Vec<RunEffect>) {
    ran_early(spec, calls, places, 0)
}

/// The same where the first calls are given, and end as far as they run, before the answer has ended.
fn ran_early(
    spec: RunSpec,
    calls: &[(&str, &str)],
    places: &[usize],
    given: usize,
) -> (RunState, Vec<RunEffect>) {
    let mut state = begun(spec);
    let mut effects = step(&mut state, StepInput::Prepared(PROMPT.into()));
    let (answer, whole) = (state.answer, calling(calls));
    for call in whole.calls.iter().take(given).cloned() {
        let sealed = CompleteCall { call, body_bytes: 2, message: None, ends: Vec::new() };
        effects.extend(step(&mut state, StepInput::Called(answer, Box::new(sealed))));
    }
    let mut left = places.to_vec();
    if given > 0 {
        end_in_order(&mut state, &mut left, &mut effects);
    }
    effects.extend(step(&mut state, StepInput::Answered(answer, Box::new(whole))));
    end_in_order(&mut state, &mut left, &mut effects);
    (state, effects)
}

/// Ends the calls of the list.
fn end_in_order(state: &mut RunState, left: &mut Vec<usize>, effects: &mut Vec<RunEffect>) {
    let answer = state.answer;
    // A call ends as soon as it runs and those before it in the list have ended or do not run yet.
    while let Some(at) = left.iter().position(|place| is_running(state, *place)) {
        let place = left.remove(at);
        let result = if place.is_multiple_of(2) { Err(FailureKind::Failed) } else { Ok("fine") };
        let id = CallId { answer, place };
        effects.extend(step(state, StepInput::Ran(id, Box::new(ended(result)))));
    }
}

fn is_running(state: &RunState, place: usize) -> bool {
    let mut pending = Vec::new();
    state.pending(&mut pending);
    pending.iter().any(|it| matches!(it, RunEffect::Run(id) if id.place == place))
}

fn permutations(count: usize) -> Vec<Vec<usize>> {
    let Some(last) = count.checked_sub(1) else { return vec![Vec::new()] };
    let shorter = permutations(last);
    let insert = |at: usize| {
        shorter
            .iter()
            .map(move |one| [&one[..at], &[last], &one[at..]].concat())
            .collect::<Vec<_>>()
    };
    (0..count).flat_map(insert).collect()
}

#[test]
fn the_order_in_which_calls_end_changes_nothing() {
    #[rustfmt::skip]
    let cases: [&[(&str, &str)]; 4] = [
        &[("free", "a"), ("free", "b"), ("free", "a"), ("free", "d"), ("free", "a")],
        &[("free", "a"), ("free", "b"), ("alone", "c"), ("free", "d"), ("free", "e")],
        &[("free", "a"), ("last", "b"), ("free", "c"), ("free", "d"), ("free", "e")],
        &[("free", "a"), ("nope", "b"), ("free", "bad"), ("free", "d"), ("free", "e")],
    ];
    for calls in cases {
        for most in [1, 2, 3, 8] {
            let spec = RunSpec { max_parallel_calls: most, breaker_failures: 2, ..spec() };
            let mut seen = Vec::new();
            let givens = [0, 1, 2, calls.len()];
            let ways = permutations(calls.len()).into_iter();
            for (places, given) in
                ways.flat_map(|places| givens.map(|given| (places.clone(), given)))
            {
                let (state, effects) = ran_early(spec, calls, &places, given);
                assert_whole(&state);
                // Each result is reported once, whenever it comes.
                let told = effects.into_iter().filter(|it| matches!(it, RunEffect::Emit(_)));
                let mut told: Vec<_> = told.map(|it| format!("{it:?}")).collect();
                told.sort_unstable();
                let outcome = serde_json::to_string(state.outcome()).unwrap();
                seen.push((outcome, told));
            }
            assert!(seen.iter().all(|one| *one == seen[0]), "{calls:?}, {most} at a time");
        }
    }
}

#[test]
fn results_are_reported_in_the_order_of_their_ends() {
    let calls = [("free", "a"), ("free", "b"), ("free", "c")];
    let spec = RunSpec { max_parallel_calls: 8, ..spec() };
    let (_, effects) = ran(spec, &calls, &[2, 0, 1]);
    let ids = effects.iter().filter_map(|effect| {
        let RunEffect::Emit(event) = effect else { return None };
        if let AgentEvent::ToolResult(ToolResultEvent { call_id: id, .. })
        | AgentEvent::ToolResultError(ToolResultEvent { call_id: id, .. }) = &**event
        {
            Some(id.as_str())
        } else {
            None
        }
    });
    assert_eq!(ids.collect::<Vec<_>>(), ["call-2", "call-0", "call-1"]);
}
