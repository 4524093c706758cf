//! The guard alone, with calls one after the other.

use super::*;
use crate::state::repeats::{EndedCall, RepeatGuard, digest_of};
use forgeline_types::Json;

/// A guard and the turn it is in.
struct Watch(RepeatGuard, u32);

impl Watch {
    fn new() -> Self {
        Self(RepeatGuard::new(true), 0)
    }

    /// Ends a call whose arguments are `call`.
    fn ends(&mut self, call: &str, result: Result<&str, FailureKind>) -> Option<String> {
        self.ends_as(call, result, false)
    }

    fn ends_as(
        &mut self,
        call: &str,
        result: Result<&str, FailureKind>,
        may_repeat: bool,
    ) -> Option<String> {
        let (tool, result) = (Text::from("tool"), ended(result).result);
        let call = digest(&json!({ "it": call }).to_string());
        self.0.keep(&EndedCall {
            tool: &tool,
            call,
            result: &result,
            parts: &[],
            may_repeat,
            turn: self.1,
            keeps_denials: true,
        });
        self.0.look(self.1)
    }
}

fn digest(arguments: &str) -> u64 {
    let arguments = Json::parse(arguments).unwrap();
    let value = arguments.to_value();
    digest_of("tool", &ToolCall::new("id", "tool", arguments), Some(&value), None)
}

/// Makes a call a turn, each letter another, with the same result each time; returns the numbers of the
/// calls after which the model is warned, and of that which ends the run.
fn reported(calls: &str) -> (Vec<usize>, Option<usize>) {
    let (mut watch, mut reported) = (Watch::new(), Vec::new());
    for (at, call) in (1..).zip(calls.chars()) {
        watch.1 += 1;
        if watch.ends(&call.to_string(), Ok("same")).is_some() {
            return (reported, Some(at));
        }
        if watch.0.take_untold().is_some() {
            reported.push(at);
        }
    }
    (reported, None)
}

// Covers: A1
#[test]
fn repeated_calls_are_reported_once_and_then_end_the_run() {
    #[rustfmt::skip]
    let cases: [(&str, &[usize], Option<usize>); 9] = [
        ("aaaaaaaa",           &[3],    Some(5)),
        ("abababababab",       &[4],    Some(6)),
        ("abcabcabcabc",       &[6],    Some(9)),
        ("abcdabcdabcdabcd",   &[8],    Some(12)),
        ("xyzabababab",        &[7],    Some(9)),
        // Longer patterns are recognized by the first call that occurs three times.
        ("abcdeabcdeabcde",    &[11],   None),
        ("abacadaeafag",       &[5],    None),
        // A pattern that stopped and begins again is reported again.
        ("aaabaaacaaad",       &[3, 7, 11], None),
        ("abcdefghijklmnopqrs", &[],    None),
    ];
    for (calls, tells, ends) in cases {
        assert_eq!(reported(calls), (tells.to_vec(), ends), "{calls}");
    }
    let (tells, ends) = reported(&"aab".repeat(9));
    assert_eq!((tells.len(), ends.is_some()), (1, true), "{tells:?}, {ends:?}");
    let (tells, ends) = reported("aabaacaadaaeaafaag");
    assert!(!tells.is_empty() && ends.is_some(), "most of the calls are one: {tells:?}");
}

#[test]
fn equal_calls_of_one_answer_end_no_run() {
    let mut watch = Watch(RepeatGuard::new(true), 1);
    for at in 0..12 {
        assert_eq!(watch.ends("a", Ok("same")), None, "{at}");
    }
    let reported = watch.0.take_untold().unwrap();
    assert!(
        reported.starts_with("You have made the same call of `tool` several times"),
        "{reported}"
    );
    watch.1 += 1;
    let reason = watch.ends("a", Ok("same")).unwrap();
    assert!(reason.contains("(`tool`) in spite of a warning"), "{reason}");
}

#[test]
fn changing_results_and_allowed_repeats_are_not_reported() {
    let mut watch = Watch::new();
    for at in 0..40 {
        watch.1 += 1;
        assert_eq!(watch.ends("same", Ok(&at.to_string())), None, "another result");
        assert_eq!(watch.ends_as("poll", Ok("not yet"), true), None, "a tool that may repeat");
        for failure in [FailureKind::Transient, FailureKind::TimedOut, FailureKind::NotRun] {
            assert_eq!(watch.ends("try", Err(failure)), None, "{failure:?}");
        }
    }
    assert_eq!(watch.0.take_untold(), None);
    let saved = serde_json::to_value(&watch.0).unwrap();
    assert_eq!(saved["recent"].as_array().unwrap().len(), 16, "it does not grow");
}

#[test]
fn calls_refused_as_repeated_are_not_warned_about_again() {
    let mut watch = Watch::new();
    let mut ends = Vec::new();
    for turn in 1..=8 {
        watch.1 = turn;
        let failure = if turn == 1 { FailureKind::Failed } else { FailureKind::Repeated };
        ends.push(watch.ends("a", Err(failure)).is_some());
        assert_eq!(watch.0.take_untold(), None);
    }
    assert_eq!(ends.iter().position(|ends| *ends), Some(5), "the fifth that was not run");
}

#[test]
fn calls_are_the_same_whatever_the_order_of_their_members() {
    let one = digest(r#"{"a":1,"b":{"c":[true,null],"d":"x"}}"#);
    assert_eq!(one, digest(r#"{ "b": {"d":"x", "c": [true, null]}, "a": 1 }"#));
    for other in [
        r#"{"a":1,"b":{"c":[true],"d":"x"}}"#,
        r#"{"a":"1","b":{"c":[true,null],"d":"x"}}"#,
        r#"{"a":1,"b":{"c":[null,true],"d":"x"}}"#,
        r#"{"a":1}"#,
        "{}",
    ] {
        assert_ne!(one, digest(other), "{other}");
    }
    let call = |it: &str| ToolCall::new("id", "tool", json!({ "it": it }));
    let same = || Some("same".to_owned());
    assert_eq!(
        digest_of("tool", &call("a"), None, same()),
        digest_of("tool", &call("b"), None, same())
    );
    assert_ne!(
        digest_of("tool", &call("a"), None, same()),
        digest_of("loot", &call("a"), None, same())
    );
}

#[test]
fn the_pause_of_a_poll_grows_while_nothing_changes() {
    let mut watch = Watch::new();
    let call = digest(r#"{"it":"poll"}"#);
    let mut seconds = Vec::new();
    for at in 0..14 {
        seconds.push(watch.0.pause(call).as_secs());
        let result = if at < 8 { "not yet" } else { "half" };
        watch.ends_as("poll", Ok(result), true);
        watch.ends_as("other", Ok(result), true);
    }
    assert_eq!(seconds, [0, 1, 2, 4, 8, 16, 30, 30, 30, 1, 2, 4, 8, 16]);
}

/// The texts are those of `ended`: the kind of the failure.
#[test]
fn what_would_fail_again_says_what_kept_the_call_from_running() {
    let rows = [
        (FailureKind::Denied, Some("whose refusal still holds. Denied")),
        (FailureKind::Forbidden, Some("whose refusal still holds. Forbidden")),
        (FailureKind::Unauthorized, Some("whose refusal still holds. Unauthorized")),
        (FailureKind::Failed, Some("has just failed and would fail again")),
        (FailureKind::Arguments, Some("has just failed and would fail again")),
        (FailureKind::Undecided, None),
        (FailureKind::TimedOut, None),
        (FailureKind::Transient, None),
        (FailureKind::NotRun, None),
    ];
    for (failure, want) in rows {
        let mut watch = Watch::new();
        watch.ends("a", Err(failure));
        let call = |name: &str| digest(&json!({ "it": name }).to_string());
        let words = watch.0.would_fail(call("a"), "tool");
        assert_eq!(words.is_some(), want.is_some(), "{failure:?}: {words:?}");
        assert!(words.unwrap_or_default().contains(want.unwrap_or_default()), "{failure:?}");
        assert_eq!(watch.0.would_fail(call("b"), "tool"), None, "another call");
        watch.0.succeeded();
        assert_eq!(watch.0.would_fail(call("a"), "tool"), None, "{failure:?}: it may be tried");
    }
}
