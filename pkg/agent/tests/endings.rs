//! Answers that are cut or empty.

use super::*;
use crate::{OutcomeKind, RunOutcome};
use forgeline_llm::{ProviderError, Request, StatusError};
use forgeline_types::{
    ErrorCode, FinishReason,
    MessageRole::{self, Assistant, Tool, User},
};

fn cut(text: &str) -> ScriptedTurn {
    ScriptedTurn::new().text(text).finish(FinishReason::Length)
}

fn roles(outcome: &RunOutcome) -> Vec<MessageRole> {
    outcome.messages.iter().map(|message| message.role).collect()
}

fn texts(request: &Request) -> Vec<String> {
    request.messages.iter().map(|message| message.text()).collect()
}

// Covers: E-36, A4
#[tokio::test(start_paused = true)]
async fn an_answer_that_was_cut_is_continued_and_joined() {
    let rest = ScriptedTurn::new().text("ree, four.");
    let provider = ScriptedProvider::new([cut("One, "), cut("two, th"), rest]);
    let agent = agent(&provider);
    let mut stream = agent.run_stream("Count.");
    let mut events = Vec::new();
    while let Some(envelope) = stream.next().await {
        events.push(envelope);
    }
    assert_whole(&events);
    let told = kinds(&events).into_iter().filter(|kind| kind.starts_with("answer_continued"));
    let want = [1, 2].map(|n| format!("answer_continued {}", json!({ "turn": n, "times": n })));
    assert_eq!(told.collect::<Vec<_>>(), want);

    let outcome = stream.outcome().await.unwrap();
    assert_eq!((outcome.reason.clone(), outcome.turns), (OutcomeKind::Answer, 3));
    assert_eq!(
        (outcome.text.as_str(), roles(&outcome)),
        ("One, two, three, four.", vec![User, Assistant])
    );
    assert_eq!(outcome.messages[1].text(), outcome.text, "one message");
    assert_eq!(agent.transcript().messages(), outcome.messages);
    let requests = provider.requests();
    let [input, so_far, go_on] = &texts(&requests[2])[..] else { panic!("three messages") };
    assert_eq!((input.as_str(), so_far.as_str()), ("Count.", "One, two, th"));
    assert!(go_on.starts_with("Your answer was cut off at its length limit."), "{go_on}");
}

// Covers: E-36, G-36, A4
#[tokio::test(start_paused = true)]
async fn an_answer_that_stays_cut_says_so() {
    for (most, turns, want) in [
        (2, 10, "One, two, three, "),
        (1, 10, "One, two, "),
        (0, 10, "One, "),
        (2, 2, "One, two, "),
    ] {
        let script = ["One, ", "two, ", "three, ", "four"].map(cut);
        let builder = builder(&ScriptedProvider::new(script)).continue_cut(most).max_turns(turns);
        let outcome = builder.build().unwrap().run("Count.").await.unwrap();
        assert_eq!(
            (outcome.reason.clone(), outcome.text.as_str()),
            (OutcomeKind::Cut, want),
            "{most}"
        );
        assert_eq!(outcome.messages[1].text(), outcome.text, "the reported text is the kept text");
        assert_eq!(roles(&outcome), [User, Assistant]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_rest_of_an_answer_may_call_a_tool() {
    let call = ScriptedTurn::new().text("at it.").call("echo", json!({ "text": "x" }));
    let script = [cut("Let me look "), call, cut("It "), ScriptedTurn::new().text("is x.")];
    let outcome = agent(&ScriptedProvider::new(script)).run("Go.").await.unwrap();
    assert_eq!(
        (outcome.text.as_str(), roles(&outcome)),
        ("It is x.", vec![User, Assistant, Tool, Assistant])
    );
    assert_eq!(outcome.messages[1].text(), "Let me look at it.");
    assert_eq!(outcome.messages[1].tool_calls().count(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_was_cut_is_kept_when_its_rest_fails() {
    let broken = || ProviderError::EndedEarly { received: 7 };
    for (rest, want) in [("", "One, "), ("two", "One, two")] {
        let turn = ScriptedTurn::new();
        let turn = if rest.is_empty() { turn } else { turn.text(rest) };
        let agent = agent(&ScriptedProvider::new([cut("One, "), turn.fail(broken())]));
        let error = agent.run("Count.").await.unwrap_err();
        assert_eq!(error.error.code, ErrorCode::EndedEarly);
        assert_eq!(error.outcome.text, want);
        assert_eq!(agent.transcript().last().unwrap().text(), want);
    }
    // What comes as nothing ends it as it is.
    let agent = agent(&ScriptedProvider::new([cut("One, "), ScriptedTurn::new()]));
    let outcome = agent.run("Count.").await.unwrap();
    assert_eq!((outcome.reason, outcome.text.as_str()), (OutcomeKind::Answer, "One, "));
}

// A real server with a small context refuses the request for the rest.
#[tokio::test(start_paused = true)]
async fn without_room_for_the_rest_an_answer_stays_cut() {
    let full = StatusError::new(400, ErrorCode::ContextExceeded, "request exceeds the context");
    let full = ScriptedTurn::refuse(ProviderError::Status(Box::new(full)));
    let agent_of = |turns: Vec<ScriptedTurn>| agent(&ScriptedProvider::new(turns));
    let by_itself = ScriptedTurn::new().text("One, ").finish(FinishReason::ContextExceeded);
    for (turns, finish) in [
        (vec![cut("One, "), full], FinishReason::Length),
        (vec![by_itself], FinishReason::ContextExceeded),
    ] {
        let agent = agent_of(turns);
        let mut stream = agent.run_stream("Count.");
        let mut events = Vec::new();
        while let Some(envelope) = stream.next().await {
            events.push(envelope);
        }
        assert_whole(&events);
        assert!(!events.iter().any(|e| matches!(e.event, AgentEvent::Error { .. })), "no failure");
        let outcome = stream.outcome().await.unwrap();
        assert_eq!((&outcome.reason, outcome.text.as_str()), (&OutcomeKind::Cut, "One, "));
        assert_eq!(outcome.finish_reason, Some(finish));
        assert_eq!(agent.transcript().last().unwrap().text(), "One, ");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_keeps_what_was_cut_wherever_it_comes() {
    let script = || [cut("One, "), cut("two, "), ScriptedTurn::new().text("three.")];
    for at in 0..22 {
        let agent = agent(&ScriptedProvider::new(script()));
        let mut stream = agent.run_stream("Count.");
        let (cancel, mut said, mut events) = (stream.cancel_token(), String::new(), Vec::new());
        while let Some(envelope) = stream.next().await {
            if events.len() == at {
                cancel.cancel();
            }
            said.push_str(envelope.event.text());
            events.push(envelope);
        }
        assert_whole(&events);
        let outcome = match stream.outcome().await {
            Ok(outcome) => outcome,
            Err(error) => *error.outcome,
        };
        assert_eq!(outcome.text, said, "cancelled at {at}");
        let kept = agent.transcript().last().filter(|it| it.role == Assistant).map(|it| it.text());
        assert_eq!(kept.unwrap_or_default(), said, "cancelled at {at}");
    }
}

// Covers: T-06, E-37, A4
#[tokio::test(start_paused = true)]
async fn an_empty_answer_is_asked_for_once_more_and_then_told() {
    let call = || ScriptedTurn::new().call("echo", json!({ "text": "x" }));
    let nothing = ScriptedTurn::new;
    let provider = ScriptedProvider::new([call(), nothing(), ScriptedTurn::new().text("It is x.")]);
    let outcome = agent(&provider).run("Go.").await.unwrap();
    assert_eq!((outcome.reason.clone(), outcome.text.as_str()), (OutcomeKind::Answer, "It is x."));
    assert_eq!(roles(&outcome), [User, Assistant, Tool, Assistant], "nobody sees the request");
    let asked = texts(provider.requests().last().unwrap()).pop().unwrap();
    assert!(asked.starts_with("Your last answer was empty."), "{asked}");

    // With reasoning alone there is no answer; the limit of turns leaves no second chance.
    let thinks = || ScriptedTurn::new().thinking("Hm.").text(" \n");
    for (script, turns) in [
        (vec![call(), thinks(), nothing()], 10),
        (vec![call(), nothing()], 2),
        (vec![call(), nothing()], 1),
    ] {
        let agent = builder(&ScriptedProvider::new(script)).max_turns(turns).build().unwrap();
        let mut stream = agent.run_stream("Go.");
        let (mut shown, mut events) = (String::new(), Vec::new());
        while let Some(envelope) = stream.next().await {
            shown.push_str(envelope.event.text().trim());
            events.push(envelope);
        }
        assert_whole(&events);
        let outcome = stream.outcome().await.unwrap();
        assert_eq!(outcome.reason, OutcomeKind::Empty, "{turns}");
        let want = "The model gave no answer. Ask again in other words, or for less at once.";
        assert_eq!((shown.as_str(), outcome.text.as_str()), (want, want));
        assert_eq!(
            agent.transcript().last().unwrap().text(),
            want,
            "what is shown is what is kept"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_withheld_is_not_asked_for_again() {
    for reason in [FinishReason::ContentFilter, FinishReason::Refusal] {
        let provider = ScriptedProvider::new([ScriptedTurn::new().finish(reason.clone())]);
        let outcome = agent(&provider).run("Go.").await.unwrap();
        assert_eq!((outcome.reason, outcome.finish_reason), (OutcomeKind::Answer, Some(reason)));
    }
}
