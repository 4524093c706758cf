//! The binding of an approval, and the calls that "always" covers.

use super::{super::approvals::request_id, *};
use crate::approval::{ApprovalAnswer, ApprovalVerdict};

/// Returns a run that has asked about calls of `free` with these values of `text`.
fn asked(texts: &[&str]) -> RunState {
    let mut state = begun(RunSpec { max_turns: 9, max_parallel_calls: 9, ..spec() });
    step(&mut state, StepInput::Prepared("You help.".into()));
    ask(&mut state, texts);
    state
}

/// Answers with calls of `free` with these values of `text`; returns the effects.
fn ask(state: &mut RunState, texts: &[&str]) -> Vec<RunEffect> {
    let mut answer = calling(&vec![("free", "text"); texts.len()]);
    for (call, text) in answer.calls.iter_mut().zip(texts) {
        call.arguments = Some(Json::from(json!({ "text": text })));
    }
    let parts = answer.calls.iter().cloned().map(Part::ToolCall).collect();
    answer.message = Some(Arc::new(Message::new(MessageRole::Assistant, parts)));
    let id = state.answer;
    step(state, StepInput::Answered(id, Box::new(answer)))
}

/// Answers the request about the first call.
fn decide(state: &mut RunState, verdict: ApprovalVerdict) -> Vec<RunEffect> {
    let id = CallId { answer: state.answer, place: 0 };
    let approval_id = state.approval(id).expect("it is asked about").clone();
    step(state, StepInput::Decided(id, Box::new(ApprovalAnswer::new(approval_id, verdict))))
}

fn granted(always: bool, text: Option<&str>) -> ApprovalVerdict {
    let arguments = text.map(|text| Json::from(json!({ "text": text })));
    ApprovalVerdict::Granted { always, arguments }
}

fn runs(effects: &[RunEffect]) -> usize {
    effects.iter().filter(|it| matches!(it, RunEffect::Run(_))).count()
}

#[test]
fn the_id_of_a_request_is_bound_to_all_that_the_call_is() {
    let call = |name: &str, text: &str| ToolCall::new("call-0", name, json!({ "text": text }));
    let id = |turn, attempt, place| CallId { answer: AnswerId { turn, attempt }, place };
    let mut unread = call("free", "a");
    (unread.arguments, unread.arguments_raw) = (None, "{\"text\":\"b".to_owned());
    let rows = [
        ("as it is", request_id("", "run", id(1, 0, 0), &call("free", "a"))),
        ("other arguments", request_id("", "run", id(1, 0, 0), &call("free", "b"))),
        ("arguments that cannot be read", request_id("", "run", id(1, 0, 0), &unread)),
        ("another tool", request_id("", "run", id(1, 0, 0), &call("alone", "a"))),
        ("another place", request_id("", "run", id(1, 0, 1), &call("free", "a"))),
        ("another turn", request_id("", "run", id(2, 0, 0), &call("free", "a"))),
        ("another attempt", request_id("", "run", id(1, 1, 0), &call("free", "a"))),
        ("another run", request_id("", "other", id(1, 0, 0), &call("free", "a"))),
        ("a call at the client", request_id("client\0", "run", id(1, 0, 0), &call("free", "a"))),
    ];
    for (at, (name, id)) in rows.iter().enumerate() {
        for (other, same) in rows.iter().skip(at + 1) {
            assert_ne!(id, same, "{name} and {other}");
        }
    }
    assert_eq!(rows[0].1, request_id("", "run", id(1, 0, 0), &call("free", "a")), "and stays");
}

#[test]
fn a_verdict_on_other_arguments_decides_nothing() {
    let (of_a, mut of_b) = (asked(&["ask a"]), asked(&["ask b"]));
    let id = CallId { answer: of_a.answer, place: 0 };
    let approval_id = of_a.approval(id).unwrap().clone();
    let answer = ApprovalAnswer::new(approval_id, granted(false, None));
    let effects = step(&mut of_b, StepInput::Decided(id, Box::new(answer)));
    assert!(matches!(effects[..], [RunEffect::Refused(_)]), "{effects:?}");
}

#[test]
fn a_call_is_checked_again_when_it_was_allowed() {
    for (changed, is_run) in [(None, true), (Some("ask b"), true), (Some("bad"), false)] {
        let mut state = asked(&["ask a"]);
        let effects = decide(&mut state, granted(false, changed));
        assert_eq!(runs(&effects), usize::from(is_run), "{changed:?}: {effects:?}");
    }
    // What is withheld when the call is allowed counts, not only what was when it was made.
    let mut stored: Value = serde_json::from_str(&bytes(&asked(&["ask a"]))).unwrap();
    stored["prompt"]["withheld"] = json!(["free"]);
    let mut state: RunState = serde_json::from_str(&stored.to_string()).unwrap();
    let effects = decide(&mut state, granted(false, None));
    let is_forbidden = effects.contains(&RunEffect::Failed(FailureKind::Forbidden));
    assert!(is_forbidden && runs(&effects) == 0, "{effects:?}");
}

#[test]
fn always_covers_the_arguments_that_a_person_has_allowed() {
    for (changed, covered, other) in [(None, "ask a", "ask b"), (Some("ask b"), "ask b", "ask a")] {
        let mut state = asked(&["ask a"]);
        let effects = decide(&mut state, granted(true, changed));
        let pattern = Some(json!({ "text": covered }).to_string());
        let grant = RunEffect::Grant(SessionGrant { tool: "free".into(), pattern });
        assert!(effects.contains(&grant), "{changed:?}: {effects:?}");
        let id = CallId { answer: state.answer, place: 0 };
        step(&mut state, StepInput::Ran(id, Box::new(ended(Ok("done")))));
        let effects = ask(&mut state, &[covered, other]);
        let id = |place| CallId { answer: state.answer, place };
        assert!(effects.contains(&RunEffect::Run(id(0))), "{changed:?}: it runs unasked");
        assert!(effects.contains(&RunEffect::Propose(id(1))), "{changed:?}: the other is asked");
    }
}
