//! A model that goes in circles is told once, and stopped.

use super::*;
use crate::{
    agent::{CallMode, OutcomeKind},
    types::{ErrorCode, FinishReason},
};

const LINE: &str = "I should look at the file again before I answer.\n";

/// Writes the same line again and again, in pieces of a few bytes.
fn circling(is_thinking: bool) -> ScriptedTurn {
    let text = LINE.repeat(100);
    text.as_bytes().chunks(7).fold(ScriptedTurn::new(), |turn, piece| {
        let piece = str::from_utf8(piece).unwrap();
        if is_thinking { turn.thinking(piece) } else { turn.text(piece) }
    })
}

#[tokio::test(start_paused = true)]
async fn a_model_that_repeats_itself_is_told_and_goes_on() {
    for is_thinking in [false, true] {
        let call = ScriptedTurn::new().call("echo", json!({ "text": "x" }));
        let answer = ScriptedTurn::new().text("It is 42.");
        let provider = ScriptedProvider::new([circling(is_thinking), call, answer]);
        let outcome =
            builder(&provider).stop_repetition(true).build().unwrap().run("Go.").await.unwrap();
        assert_eq!((outcome.reason, outcome.text.as_str()), (OutcomeKind::Answer, "It is 42."));
        let told = provider.requests()[1].messages.last().unwrap().text();
        assert!(told.starts_with("Your last answer said the same over and over"), "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_repeats_itself_again_is_stopped() {
    for is_thinking in [false, true] {
        let script = (0..200).map(|_| circling(is_thinking));
        let provider = ScriptedProvider::new(script);
        let error =
            builder(&provider).stop_repetition(true).build().unwrap().run("Go.").await.unwrap_err();
        assert_eq!(error.error.code, ErrorCode::CircuitBreaker, "{}", error.error);
        assert_eq!(error.outcome.finish_reason, Some(FinishReason::Repetition));
        assert_eq!((provider.requests().len(), error.outcome.turns), (2, 2), "told once before");
        let said: usize = error.outcome.messages.iter().map(|it| it.text().len()).sum();
        assert!(said < 4 << 10, "{said} bytes were kept");
    }
}

/// The answer comes in one piece; in text mode the history has what the model wrote.
#[tokio::test(start_paused = true)]
async fn what_came_behind_the_cut_is_not_kept() {
    let call = r#"<tool>{"tool_name": "echo", "arguments": {"text": "x"}}</tool>"#;
    for written in [format!("{}{call}", LINE.repeat(500)), format!("{call}{}", LINE.repeat(500))] {
        let turns = [ScriptedTurn::new().text(written), ScriptedTurn::new().text("It is 42.")];
        let provider = ScriptedProvider::new(turns);
        let builder = builder(&provider).call_mode(CallMode::Text).stop_repetition(true);
        let outcome = builder.build().unwrap().run("Go.").await.unwrap();
        let kept = outcome.messages[1].text();
        assert!(kept.contains(LINE) && kept.len() < 2 << 10, "{} bytes", kept.len());
        let began = outcome.messages.iter().any(|it| it.tool_results().count() == 1);
        assert_eq!(kept.contains("echo"), began, "{kept}");
    }
}

#[tokio::test(start_paused = true)]
async fn repetition_passes_where_nobody_asked_for_a_stop() {
    let provider = ScriptedProvider::new([circling(false)]);
    let agent = builder(&provider).build().unwrap();
    assert_eq!(agent.run("Go.").await.unwrap().text, LINE.repeat(100));
}

/// Runs 200 turns of this script; returns how many there were, and the error that ended them.
async fn stopped(turn: impl Fn(usize) -> ScriptedTurn) -> (u32, ErrorCode) {
    let provider = ScriptedProvider::new((0..200).map(turn));
    let agent = builder(&provider).max_turns(200).build().unwrap();
    let error = agent.run("Go.").await.unwrap_err();
    (error.outcome.turns, error.error.code)
}

// Covers: G-41
#[tokio::test(start_paused = true)]
async fn a_model_that_invents_names_is_stopped() {
    let invents = |at| ScriptedTurn::new().call(&format!("tool_{at}"), json!({ "at": at }));
    assert_eq!(stopped(invents).await, (5, ErrorCode::CircuitBreaker));
}

#[tokio::test(start_paused = true)]
async fn calls_that_succeed_between_those_that_fail_do_not_defeat_the_breaker() {
    let in_turn = |at: usize| {
        let tool = if at.is_multiple_of(2) { "fail" } else { "echo" };
        ScriptedTurn::new().call(tool, json!({ "text": at.to_string() }))
    };
    assert_eq!(stopped(in_turn).await, (9, ErrorCode::CircuitBreaker));
}
