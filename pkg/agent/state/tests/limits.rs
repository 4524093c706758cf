//! The uses that count towards the limits of a run.

use std::time::Duration;

use super::*;
use crate::{
    approval::{ApprovalAnswer, ApprovalVerdict},
    run::{Budget, Limit, SpentBelow},
};

/// Takes an input at a time in seconds.
fn step_at(state: &mut RunState, seconds: u64, input: StepInput) -> Vec<RunEffect> {
    let mut effects = Vec::new();
    state.step(&Setup::new(), UnixMillis(1 + seconds * 1_000), input, &mut effects);
    effects
}

/// Returns a run that has received this answer after two seconds.
fn answered(answer: ModelAnswer) -> RunState {
    let mut state = begun(RunSpec { max_parallel_calls: 9, ..spec() });
    step_at(&mut state, 1, StepInput::Prepared("You help.".into()));
    let id = state.answer;
    step_at(&mut state, 2, StepInput::Answered(id, Box::new(answer)));
    state
}

/// How a wait ends.
#[derive(Clone, Copy)]
enum End {
    Allowed,
    Rejected,
    Ran(usize),
    /// It ran, and waited for people for this many seconds.
    Asked(usize, u64),
    Returned,
    Resumed,
}

impl End {
    fn input(self, state: &RunState) -> StepInput {
        let id = |place| CallId { answer: state.answer, place };
        let decided = |verdict| {
            let approval_id = state.approval(id(0)).expect("it is asked about").clone();
            StepInput::Decided(id(0), Box::new(ApprovalAnswer::new(approval_id, verdict)))
        };
        match self {
            Self::Allowed => decided(ApprovalVerdict::Granted { always: false, arguments: None }),
            Self::Rejected => decided(ApprovalVerdict::Rejected { reason: String::new() }),
            Self::Ran(place) => StepInput::Ran(id(place), Box::new(ended(Ok("done")))),
            Self::Asked(place, seconds) => {
                let mut end = ended(Ok("done"));
                end.waited_ms = seconds * 1_000;
                StepInput::Ran(id(place), Box::new(end))
            }
            Self::Returned => {
                let client_call_id = state.client_call(id(0)).expect("it is there").clone();
                let (end, is_withdrawn) = (ended(Ok("done")), false);
                let returned = ReturnedCall { client_call_id, end, is_withdrawn };
                StepInput::Returned(id(0), Box::new(returned))
            }
            Self::Resumed => StepInput::Resumed,
        }
    }
}

#[test]
fn time_waited_for_people_that_is_not_yet_taken_is_left_to_the_calls_below() {
    let mut state = answered(calling(&[("free", "ask a"), ("free", "b")]));
    state.spec.budget = Budget::default().time(Duration::from_mins(1));
    let allowed = End::Allowed.input(&state);
    step_at(&mut state, 32, allowed);
    assert_eq!(state.left(Duration::ZERO).time, Some(Duration::from_secs(28)));
    assert_eq!(state.left(Duration::from_secs(25)).time, Some(Duration::from_secs(53)));
    assert_eq!(state.left(Duration::from_secs(99)).time, Some(Duration::from_mins(1)));
}

/// Each run has its answer after two seconds, and goes on an hour later.
#[test]
fn time_in_which_a_run_only_waits_for_others_does_not_count() {
    const HOUR: u64 = 3_600;
    let ask = [("free", "ask a")].as_slice();
    let beside = [("free", "ask a"), ("free", "b")].as_slice();
    let rows = [
        ("a person allows", ask, vec![(HOUR, End::Allowed)], 2),
        ("a person rejects", ask, vec![(HOUR, End::Rejected)], 2),
        ("the client runs it", &[("client", "a")], vec![(HOUR, End::Returned)], 2),
        ("it was put away", &[("free", "b")], vec![(HOUR, End::Resumed)], 2),
        ("a tool runs meanwhile", beside, vec![(12, End::Ran(1)), (HOUR, End::Allowed)], 12),
        ("a tool runs behind", ask, vec![(HOUR, End::Allowed), (HOUR + 3, End::Ran(0))], 5),
        ("a tool runs", &[("free", "b")], vec![(HOUR, End::Ran(0))], HOUR),
        ("a tool asks", &[("free", "b")], vec![(HOUR, End::Asked(0, HOUR - 5))], 5),
        (
            "a tool asks for longer than it was",
            &[("free", "b")],
            vec![(HOUR, End::Asked(0, 2 * HOUR))],
            0,
        ),
        (
            "two tools ask",
            &[("free", "b"), ("free", "c")],
            vec![(30, End::Asked(1, 20)), (HOUR, End::Asked(0, HOUR - 30))],
            10,
        ),
    ];
    for (name, calls, ends, seconds) in rows {
        let mut state = answered(calling(calls));
        for (at, end) in ends {
            let input = end.input(&state);
            let effects = step_at(&mut state, at, input);
            assert!(!matches!(effects[..], [RunEffect::Refused(_)]), "{name}");
        }
        assert_eq!(state.outcome().spent.time, Duration::from_secs(seconds), "{name}");
    }
}

#[test]
fn as_many_answers_are_asked_for_as_the_limit_says() {
    let turns = |turns| Budget::default().turns(turns);
    let rows = [
        ("max_turns", RunSpec { max_turns: 3, ..spec() }, 0, 3),
        ("the budget", RunSpec { max_turns: 9, budget: turns(3), ..spec() }, 0, 3),
        ("the lower one", RunSpec { max_turns: 2, budget: turns(3), ..spec() }, 0, 2),
        ("one", RunSpec { max_turns: 9, budget: turns(1), ..spec() }, 0, 1),
        ("some below", RunSpec { max_turns: 9, budget: turns(4), ..spec() }, 2, 2),
        ("all below", RunSpec { max_turns: 9, budget: turns(4), ..spec() }, 3, 1),
    ];
    for (name, spec, below, want) in rows {
        for at_limit in [AtLimit::Fail, AtLimit::AskForAnswer] {
            let mut state = begun(RunSpec { at_limit, loop_guard: false, ..spec });
            let mut effects = step(&mut state, StepInput::Prepared("You help.".into()));
            let (mut asked, mut last) = (0, None);
            while let Some(kind) = effects
                .iter()
                .find_map(|it| if let RunEffect::Ask(_, kind) = it { Some(*kind) } else { None })
            {
                if let AskKind::LastAnswer(limit) = kind {
                    last = Some(limit);
                    break;
                }
                asked += 1;
                let id = state.answer;
                step(&mut state, StepInput::Answered(id, Box::new(calling(&[("free", "a")]))));
                let mut end = ended(Ok("done"));
                if asked == 1 && below > 0 {
                    end.below = Some(Box::new(SpentBelow { turns: below, ..SpentBelow::NOTHING }));
                }
                let call = CallId { answer: state.answer, place: 0 };
                effects = step(&mut state, StepInput::Ran(call, Box::new(end)));
            }
            assert_eq!(asked, want, "{name}, {at_limit:?}");
            let is_asked = at_limit == AtLimit::AskForAnswer;
            assert_eq!(last, is_asked.then_some(Limit::Turns), "{name}, {at_limit:?}");
            assert_eq!(state.is_done(), !is_asked, "{name}, {at_limit:?}");
        }
    }
}

/// What a sub-agent may use is what is left for the answers behind the one that calls it.
#[test]
fn the_turns_that_are_left_do_not_count_those_that_were_made() {
    let budget = Budget::default().turns(4);
    let mut state = begun(RunSpec { max_turns: 9, budget, ..spec() });
    step(&mut state, StepInput::Prepared("You help.".into()));
    let id = state.answer;
    step(&mut state, StepInput::Answered(id, Box::new(calling(&[("free", "a")]))));
    assert_eq!(state.left(Duration::ZERO).turns, Some(3));
    state.add_below(SpentBelow { turns: 2, ..SpentBelow::NOTHING });
    assert_eq!(state.left(Duration::ZERO).turns, Some(1));
    state.add_below(SpentBelow { turns: 2, ..SpentBelow::NOTHING });
    assert_eq!(state.left(Duration::ZERO).turns, Some(0), "never below zero");
}
