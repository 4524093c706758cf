//! Answers that are cut or empty.

use super::{whole::assert_history_is_whole, *};
use crate::{OutcomeKind, RunError, RunOutcome, run::Limit};
use forgeline_llm::{ContentType, ProviderError, Request, StatusError, StreamChunk};
use forgeline_types::{
    Ending, ErrorCode, FinishReason, ItemKind, Json,
    MessageRole::{self, Assistant, Tool, User},
    ProviderItem, UsageInfo,
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
        let outcome = builder.build().unwrap().conversation().run("Count.").await.unwrap();
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
    let broken = || ProviderError::ended_early(7);
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
        assert!(!events.iter().any(|e| matches!(e.event, AgentEvent::Error(_))), "no failure");
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
    let empty = "The model gave no answer. Ask again in other words, or for less at once.";
    let limit = "the limit of 1 turns is reached; raise max_turns or ask for less";
    for (script, turns, want, code) in [
        (vec![call(), thinks(), nothing()], 10, empty, ErrorCode::EmptyAnswer),
        (vec![call(), nothing()], 2, empty, ErrorCode::EmptyAnswer),
        (vec![call(), nothing()], 1, limit, ErrorCode::MaxTurns),
    ] {
        let agent = builder(&ScriptedProvider::new(script))
            .max_turns(turns)
            .build()
            .unwrap()
            .conversation();
        let (events, failed) = failure(&agent).await;
        let shown: String = events.iter().map(|envelope| envelope.event.text().trim()).collect();
        assert_eq!(shown, "", "{turns}: our own words are no answer of the model");
        assert_eq!((failed.error.code, failed.error.message.as_str()), (code, want), "{turns}");
        assert_eq!((failed.outcome.text.as_str(), count(&events, "error")), (want, 1));
        let kept = agent.transcript().last().unwrap().text();
        assert_eq!(kept, want, "what is reported is what is kept");
    }
}

/// Runs an agent that fails, and returns its events and its error.
async fn failure(agent: &Conversation) -> (Vec<Envelope>, RunError) {
    let mut stream = agent.run_stream("Go.");
    let mut events = Vec::new();
    to_the_end(&mut stream, &mut events).await;
    (events, stream.outcome().await.unwrap_err())
}

fn item(protocol: &str, kind: ItemKind, raw: &str) -> StreamChunk {
    let item = ProviderItem::new(protocol, kind, Json::parse(raw).unwrap());
    StreamChunk::events(vec![AgentEvent::ProviderItem(item)])
}

fn other(protocol: &str, name: &str, raw: &str) -> StreamChunk {
    item(protocol, ItemKind::other(name), raw)
}

// Rows: N-01, N-03
#[tokio::test(start_paused = true)]
async fn an_answer_that_was_withheld_is_told_as_such_and_none_of_its_calls_runs() {
    use Ending::{Filtered, Refused};
    use FinishReason::{ContentFilter, Refusal, Stop};
    let turn = ScriptedTurn::new;
    let call = |turn: ScriptedTurn| turn.call("echo", json!({ "text": "x" }));
    let details =
        other("anthropic", "stop_details", r#"{"category":"bio","explanation":"Not that."}"#);
    let category = other("anthropic", "stop_details", r#"{"category":"cyber","explanation":null}"#);
    let said = other("gemini", "finishMessage", r#""Stopped for safety.""#);
    let refuses = || {
        let mut chunk = StreamChunk::message("I will not.");
        chunk.content_type = ContentType::Refusal;
        chunk
    };
    #[rustfmt::skip]
    let rows = [
        ("filter, nothing",      turn().finish(ContentFilter),                          Filtered, "content_filter", ""),
        ("filter, text",         turn().text("I can").finish(ContentFilter),            Filtered, "content_filter", "I can"),
        ("filter, words",        turn().text("I").chunk(said).finish(ContentFilter),    Filtered, "Stopped for safety.", "I"),
        ("filter, a call",       call(turn().text("I")).finish(ContentFilter),          Filtered, "content_filter", "I"),
        ("refusal, nothing",     turn().finish(Refusal),                                Refused,  "refusal", ""),
        ("refusal, explained",   turn().chunk(details).finish(Refusal),                 Refused,  "Not that.", ""),
        ("refusal, a category",  turn().text("So").chunk(category).finish(Refusal),     Refused,  "cyber", "So"),
        ("refusal, a call",      call(turn()).finish(Refusal),                          Refused,  "refusal", ""),
        ("refusal text, stop",   turn().chunk(refuses()).finish(Stop),                  Refused,  "I will not.", "I will not."),
        ("refusal text, a call", call(turn().chunk(refuses())).finish(Stop),            Refused,  "I will not.", "I will not."),
    ];
    for (name, script, ending, words, text) in rows {
        let has_call = name.ends_with("a call");
        let provider = ScriptedProvider::new([script, ScriptedTurn::new().text("It ran.")]);
        let agent = agent(&provider);
        let (events, failed) = failure(&agent).await;
        assert_whole(&events);
        assert_eq!(provider.requests().len(), 1, "{name}: asking again would have the same result");
        assert_eq!(failed.outcome.reason.ending(), ending, "{name}");
        let message = failed.error.message.as_str();
        let verb = if ending == Refused { "refused to answer" } else { "content filter of" };
        assert!(message.contains(verb) && message.ends_with(words), "{name}: {message}");
        assert_eq!(failed.outcome.text, text, "{name}: what had arrived is kept");
        assert_eq!((count(&events, "error"), count(&events, "tool_call")), (1, 0), "{name}");
        let failures = kinds(&events);
        let failures: Vec<_> =
            failures.iter().filter(|kind| kind.starts_with("failure ")).collect();
        assert_eq!(failures.len(), usize::from(has_call), "{name}: {failures:?}");
        assert!(failures.iter().all(|it| it.contains("was not run")), "{name}: {failures:?}");
        assert_history_is_whole(&agent);
    }
}

// Rows: N-02, N-03, N-09
#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_read_is_asked_for_once_more_and_none_of_its_calls_runs() {
    use FinishReason::{Malformed, Pause, Stop, ToolCalls};
    type Row<'a> = (&'a str, &'a dyn Fn() -> ScriptedTurn, ErrorCode, &'a str);
    let turn = ScriptedTurn::new;
    let call = |turn: ScriptedTurn| turn.call("echo", json!({ "text": "x" }));
    let said = || other("gemini", "finishMessage", r#""Malformed call: f(""#);
    let signature = || item("gemini", ItemKind::Reasoning, r#"{"thoughtSignature":"c2ln"}"#);
    let grounding = || other("gemini", "groundingMetadata", r#"{"webSearchQueries":["a"]}"#);
    let reasoning = || item("responses", ItemKind::Reasoning, r#"{"type":"reasoning","id":"r"}"#);
    let container = || other("anthropic", "container", r#"{"id":"c"}"#);
    let search = || {
        let arguments = Json::parse("{}").unwrap();
        let kind = ItemKind::server_tool_call("s", "search", arguments);
        item("responses", kind, "{}")
    };
    let (malformed, empty) = (ErrorCode::MalformedAnswer, ErrorCode::EmptyAnswer);
    #[rustfmt::skip]
    let rows: [Row<'_>; 12] = [
        ("malformed",          &|| turn().finish(Malformed),                          malformed, "could not read the answer of scripted: malformed"),
        ("malformed, words",   &|| turn().chunk(said()).finish(Malformed),            malformed, "Malformed call: f("),
        ("malformed, text",    &|| turn().text("Let me").finish(Malformed),           malformed, "malformed"),
        ("malformed, a call",  &|| call(turn()).chunk(said()).finish(Malformed),      malformed, "Malformed call: f("),
        ("calls, none",        &|| turn().finish(ToolCalls),                          malformed, "has no call: tool_calls"),
        ("calls, text",        &|| turn().text("Let me look.").finish(ToolCalls),     malformed, "has no call: tool_calls"),
        ("a signature",        &|| turn().chunk(signature()).finish(Stop),            empty,     "gave no answer"),
        ("sources",            &|| turn().chunk(grounding()).finish(Stop),            empty,     "gave no answer"),
        ("reasoning",          &|| turn().chunk(reasoning()).finish(Stop),            empty,     "gave no answer"),
        ("reasoning, thought", &|| turn().thinking("Hm.").chunk(reasoning()).finish(Stop), empty, "gave no answer"),
        ("a container",        &|| turn().chunk(container()).finish(Stop),            empty,     "gave no answer"),
        ("a search alone",     &|| turn().chunk(search()).finish(Stop),               empty,     "gave no answer"),
    ];
    for (name, script, code, words) in rows {
        let provider = ScriptedProvider::new([script(), ScriptedTurn::new().text("Here.")]);
        let agent = agent(&provider);
        let mut stream = agent.run_stream("Go.");
        let mut events = Vec::new();
        to_the_end(&mut stream, &mut events).await;
        let outcome = stream.outcome().await.unwrap();
        assert_eq!(
            (outcome.reason.clone(), outcome.text.as_str()),
            (OutcomeKind::Answer, "Here."),
            "{name}"
        );
        assert_eq!(count(&events, "tool_call"), 0, "{name}: no call ran");
        assert!(kinds(&events).iter().any(|it| it.starts_with("answer_asked_again ")), "{name}");
        let asked = texts(provider.requests().last().unwrap()).join("\n");
        let wanted = if code == malformed { "could not " } else { "Your last answer was empty." };
        let results = outcome.messages.iter().flat_map(|it| it.tool_results());
        let results: Vec<_> = results.map(|result| result.content.clone()).collect();
        assert!(
            asked.contains(wanted) || results.iter().any(|it| it.contains(wanted)),
            "{name}: {asked}"
        );
        assert_eq!(results.len(), usize::from(name.ends_with("a call")), "{name}");
        assert_history_is_whole(&agent);

        let provider = ScriptedProvider::new([script(), script(), ScriptedTurn::new().text("No.")]);
        let failed = self::agent(&provider).run("Go.").await.unwrap_err();
        assert_eq!((failed.error.code, provider.requests().len()), (code, 2), "{name}");
        assert!(failed.error.message.contains(words), "{name}: {}", failed.error.message);
    }
    // The result of a hosted tool is an answer, and what has paused goes on.
    let kind = ItemKind::server_tool_result("s", "run", false);
    let found = turn().chunk(item("gemini", kind, "{}")).finish(Stop);
    let outcome = agent(&ScriptedProvider::new([found])).run("Go.").await.unwrap();
    assert_eq!((outcome.reason, outcome.turns), (OutcomeKind::Answer, 1));
    let script = [turn().chunk(search()).finish(Pause), turn().text("Here.")];
    let provider = ScriptedProvider::new(script);
    assert_eq!(agent(&provider).run("Go.").await.unwrap().text, "Here.");
    assert_eq!(provider.requests()[1].messages.len(), 2, "with the item of the provider");
}

// Rows: N-04
#[tokio::test(start_paused = true)]
async fn a_limit_without_a_last_answer_is_told_as_the_limit() {
    type Row<'a> = (&'a str, Limit, ScriptedTurn, Result<&'a str, &'a str>);
    let turn = ScriptedTurn::new;
    let used = || {
        let mut usage = UsageInfo::default();
        (usage.input_tokens, usage.output_tokens) = (Some(90), Some(20));
        usage
    };
    let call = || turn().call("echo", json!({ "text": "x" })).usage(used());
    let turns = "the limit of 1 turns is reached; raise max_turns or ask for less";
    let tokens = "the budget of 100 tokens is spent (";
    #[rustfmt::skip]
    let rows: [Row<'_>; 6] = [
        ("an answer",        Limit::Turns,  turn().text("So far."),                               Ok("So far.")),
        ("text and a call",  Limit::Turns,  turn().text("So far.").call("echo", json!({})),       Ok("So far.")),
        ("a call",           Limit::Turns,  call(),                                               Err(turns)),
        ("nothing",          Limit::Turns,  turn(),                                               Err(turns)),
        ("tokens, a call",   Limit::Tokens, call(),                                               Err(tokens)),
        ("tokens, thoughts", Limit::Tokens, turn().thinking("Hm.").usage(used()),                 Err(tokens)),
    ];
    for (name, limit, last, want) in rows {
        let provider = ScriptedProvider::new([call(), last]);
        let mut budget = crate::run::Budget::default();
        let builder = builder(&provider);
        budget.tokens = (limit == Limit::Tokens).then_some(100);
        let most = if limit == Limit::Turns { 1 } else { 9 };
        let builder = builder.max_turns(most).budget(budget);
        let agent = builder.build().unwrap().conversation();
        let mut stream = agent.run_stream("Go.");
        let mut events = Vec::new();
        to_the_end(&mut stream, &mut events).await;
        assert_eq!(count(&events, "tool_call"), 1, "{name}: no call runs at the limit");
        assert_eq!(provider.requests().len(), 2, "{name}");
        match (stream.outcome().await, want) {
            (Ok(outcome), Ok(text)) => {
                assert_eq!((outcome.reason.ending(), outcome.text.as_str()), (Ending::Limit, text));
            }
            (Err(failed), Err(message)) => {
                assert_eq!(failed.outcome.reason.ending(), Ending::Limit, "{name}");
                assert!(
                    failed.error.message.starts_with(message),
                    "{name}: {}",
                    failed.error.message
                );
                assert_eq!(failed.outcome.text, failed.error.message.as_str(), "{name}");
                assert_eq!(count(&events, "error"), 1, "{name}");
            }
            (got, _) => panic!("{name}: {got:?}"),
        }
        assert_history_is_whole(&agent);
    }
}
