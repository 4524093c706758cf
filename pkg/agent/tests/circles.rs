//! A model that repeats itself is warned once, and then stopped.

use std::sync::Arc;

use tokio::time::{Instant, sleep};

use super::*;
use crate::{OutcomeKind, config::CallMode};
use forgeline_llm::Request;
use forgeline_types::{ErrorCode, FinishReason, Message};

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
async fn repeating_answer_is_cut_and_the_model_is_warned() {
    for is_thinking in [false, true] {
        let call = ScriptedTurn::new().call("echo", json!({ "text": "x" }));
        let answer = ScriptedTurn::new().text("It is 42.");
        let provider = ScriptedProvider::new([circling(is_thinking), call, answer]);
        let outcome = builder(&provider).build().unwrap().conversation().run("Go.").await.unwrap();
        assert_eq!((outcome.reason, outcome.text.as_str()), (OutcomeKind::Answer, "It is 42."));
        let reported = provider.requests()[1].messages.last().unwrap().text();
        assert!(reported.starts_with("Your last answer repeated itself"), "{reported}");
    }
}

#[tokio::test(start_paused = true)]
async fn second_repeating_answer_ends_the_run() {
    for is_thinking in [false, true] {
        let script = (0..200).map(|_| circling(is_thinking));
        let provider = ScriptedProvider::new(script);
        let error =
            builder(&provider).build().unwrap().conversation().run("Go.").await.unwrap_err();
        assert_eq!(error.error.code, ErrorCode::CircuitBreaker, "{}", error.error);
        assert_eq!(error.outcome.finish_reason, Some(FinishReason::Repetition));
        assert_eq!((provider.requests().len(), error.outcome.turns), (2, 2), "one warning before");
        let said: usize = error.outcome.messages.iter().map(|it| it.text().len()).sum();
        assert!(said < 4 << 10, "{said} bytes were kept");
    }
}

/// The answer comes in one piece; in text mode the history has what the model wrote.
#[tokio::test(start_paused = true)]
async fn text_after_a_repetition_is_not_kept() {
    let call = r#"<tool>{"tool_name": "echo", "arguments": {"text": "x"}}</tool>"#;
    for written in [format!("{}{call}", LINE.repeat(500)), format!("{call}{}", LINE.repeat(500))] {
        let turns = [ScriptedTurn::new().text(written), ScriptedTurn::new().text("It is 42.")];
        let provider = ScriptedProvider::new(turns);
        let builder = builder(&provider).call_mode(CallMode::Text);
        let outcome = builder.build().unwrap().conversation().run("Go.").await.unwrap();
        let kept = outcome.messages[1].text();
        assert!(kept.contains(LINE) && kept.len() < 2 << 10, "{} bytes", kept.len());
        let began = outcome.messages.iter().any(|it| it.tool_results().count() == 1);
        assert_eq!(kept.contains("echo"), began, "{kept}");
    }
}

#[tokio::test(start_paused = true)]
async fn repetition_is_allowed_without_stop_repetition() {
    let provider = ScriptedProvider::new([circling(false)]);
    let agent = builder(&provider).stop_repetition(false).build().unwrap().conversation();
    assert_eq!(agent.run("Go.").await.unwrap().text, LINE.repeat(100));
}

/// Words of which one is in all that tells a model of a circle.
const TELLS: [&str; 5] =
    ["There is no tool", "failed: no", "repeated itself", "in a cycle", "same call"];

/// Runs 200 turns of this script; returns how many there were, after which of them the model was warned
/// for the first time, and the error that ended them.
async fn stopped(turn: impl Fn(usize) -> ScriptedTurn) -> (u32, usize, String) {
    let provider = ScriptedProvider::new((0..200).map(turn));
    let agent = builder(&provider).max_turns(200).build().unwrap().conversation();
    let error = agent.run("Go.").await.unwrap_err();
    assert_eq!(error.error.code, ErrorCode::CircuitBreaker, "{}", error.error);
    let reported = |request: &Request| {
        let last = request.messages.last().unwrap();
        let results = last.tool_results().map(|result| result.content.clone());
        let said: String = results.chain([last.text()]).collect();
        TELLS.iter().any(|words| said.contains(words))
    };
    let reported = provider.requests().iter().position(reported).expect("a warning before");
    let said: usize = error.outcome.messages.iter().map(|it| it.text().len()).sum();
    assert!(said < 4 << 10, "{said} bytes were kept");
    (error.outcome.turns, reported, error.error.message.to_string())
}

// Covers: A1, G-41, T-08, T-10
#[tokio::test(start_paused = true)]
async fn repeated_calls_are_warned_about_and_stopped() {
    let echo = |text: String| ScriptedTurn::new().call("echo", json!({ "text": text }));
    let fail = |text: String| ScriptedTurn::new().call("fail", json!({ "text": text }));
    let invented =
        stopped(|at| ScriptedTurn::new().call(&format!("tool_{at}"), json!({ "at": at }))).await;
    assert_eq!((invented.0, invented.1), (5, 1));
    assert!(invented.2.ends_with("give it such a tool, or ask for what its tools can do"));

    let in_turn =
        stopped(|at| if at % 2 == 0 { fail(at.to_string()) } else { echo(at.to_string()) }).await;
    assert_eq!((in_turn.0, in_turn.1), (9, 1), "whatever the arguments");
    let in_turn = stopped(|at| if at % 2 == 0 { fail("a".into()) } else { echo("a".into()) }).await;
    assert_eq!((in_turn.0, in_turn.1), (6, 1));

    let one = stopped(|_| echo("x".into())).await;
    assert_eq!((one.0, one.1), (5, 3));
    assert!(one.2.starts_with("the model repeats the same calls (`echo`)"));
    assert!(one.2.ends_with("give it a tool that makes progress"), "{}", one.2);

    let four = stopped(|at| echo((at % 4).to_string())).await;
    assert_eq!((four.0, four.1), (12, 8));
    let thinking = stopped(|_| circling(true)).await;
    assert_eq!((thinking.0, thinking.1), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn run_continues_after_a_warning_about_repeated_calls() {
    let echo = |text: &str| ScriptedTurn::new().call("echo", json!({ "text": text }));
    let answer = ScriptedTurn::new().text("It is 42.");
    let turns = [echo("x"), echo("x"), echo("x"), echo("y"), answer];
    let provider = ScriptedProvider::new(turns);
    let outcome = agent(&provider).run("Go.").await.unwrap();
    assert_eq!((outcome.text.as_str(), outcome.turns), ("It is 42.", 5));
    let requests = provider.requests();
    let reported = requests[3].messages.last().unwrap().text();
    assert!(
        reported.starts_with("You have made the same call of `echo` several times"),
        "{reported}"
    );
    let tells = |it: &&Arc<Message>| it.text().contains("several times");
    assert_eq!(requests[4].messages.iter().filter(tells).count(), 1, "one report");
}

// Covers: G-36
#[tokio::test(start_paused = true)]
async fn repeated_calls_are_allowed_without_the_guard() {
    let echo = || ScriptedTurn::new().call("echo", json!({ "text": "x" }));
    let turns = std::iter::repeat_with(echo).take(20).chain([ScriptedTurn::new().text("Well.")]);
    let provider = ScriptedProvider::new(turns);
    let agent = builder(&provider).max_turns(30).loop_guard(false).build().unwrap().conversation();
    assert_eq!(agent.run("Go.").await.unwrap().turns, 21);
}

#[tokio::test(start_paused = true)]
async fn a_tool_says_what_makes_two_calls_the_same() {
    let say = |at: usize| ScriptedTurn::new().call("say", json!({ "text": at.to_string() }));
    for (is_said, want) in [(true, 5), (false, 10)] {
        let mut tool = tool_fn("say", "", |_: ToolContext, _: Echo| async { "said" });
        if is_said {
            tool = tool.identified_by(|_| "whatever the text".to_owned());
        }
        let provider =
            ScriptedProvider::new((0..9).map(say).chain([ScriptedTurn::new().text("So.")]));
        let agent = Agent::builder(provider).tool(tool).build().unwrap().conversation();
        let outcome = agent.run("Go.").await.unwrap_or_else(|error| *error.outcome);
        assert_eq!(outcome.turns, want);
    }
}

/// A tool that a model asks again and again, and how long the run took.
fn polls(times: usize) -> (AgentBuilder, ScriptedProvider) {
    let poll = || ScriptedTurn::new().call("poll", json!({}));
    let turns = std::iter::repeat_with(poll).take(times).chain([ScriptedTurn::new().text("Done.")]);
    let provider = ScriptedProvider::new(turns);
    let tool = tool_fn("poll", "", |_: ToolContext, _: Nothing| async { "not yet" }).may_repeat();
    (Agent::builder(provider.clone()).tool(tool).max_turns(50), provider)
}

// Covers: E-38
#[tokio::test(start_paused = true)]
async fn a_tool_that_may_repeat_waits_longer_each_time() {
    let (builder, provider) = polls(9);
    let started = Instant::now();
    assert_eq!(builder.build().unwrap().conversation().run("Go.").await.unwrap().text, "Done.");
    let seconds = 1 + 2 + 4 + 8 + 16 + 30 + 30 + 30;
    assert_eq!(started.elapsed().as_secs(), seconds);
    let reported =
        provider.requests().last().unwrap().messages.iter().any(|it| it.text().contains("same"));
    assert!(!reported, "polling is no circle");
}

// Covers: E-38
#[tokio::test(start_paused = true)]
async fn a_cancel_does_not_wait_for_a_pause() {
    let (builder, provider) = polls(40);
    let mut stream = builder.build().unwrap().conversation().run_stream("Go.");
    let cancel = stream.cancel_token();
    let mut results = 0;
    while results < 5 {
        let envelope = stream.next().await.unwrap();
        results += usize::from(matches!(envelope.event, AgentEvent::ToolResult(_)));
    }
    tokio::spawn(async move {
        sleep(Duration::from_secs(3)).await;
        cancel.cancel();
    });
    let started = Instant::now();
    let error = stream.outcome().await.unwrap_err();
    assert_eq!(error.error.code, ErrorCode::Cancelled);
    assert_eq!(started.elapsed().as_secs(), 3, "in the pause before the sixth");
    let last = error.outcome.messages.last().unwrap();
    assert_eq!(
        last.tool_results().next().unwrap().content,
        "This call was not run: the run ended first."
    );
    assert_eq!(provider.requests().len(), 6);
}
