//! Runs whose answer is a value.

use super::{whole::assert_history_is_whole, *};
use crate::{
    OutcomeKind, PartialAnswer, RunInput, RunStream,
    config::{AtLimit, CallMode},
    journal::MemoryJournal,
    notice::ANSWER_TYPED,
};
use forgeline_llm::{AnswerSchema, Request, ResponseFormat, ToolChoice, demo::DemoProvider};
use forgeline_types::{Capabilities, CustomEvent, Ending, ErrorCode, MessageRole, UsageInfo};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Bill {
    total: u32,
    lines: Vec<String>,
}

fn bill() -> Bill {
    Bill { total: 42, lines: vec!["tea".into(), "salt".into()] }
}

const BILL: &str = r#"{"total":42,"lines":["tea","salt"]}"#;

/// The ways in which an answer is bound: natively, by a forced tool, by the prompt.
fn ways() -> [(Capabilities, CallMode); 3] {
    let without = Capabilities::ALL.structured_output(false);
    [
        (Capabilities::ALL, CallMode::Native),
        (without, CallMode::Native),
        (without.tools(false), CallMode::Text),
    ]
}

/// A call of `echo` in the mode, free words, and the value.
fn turns(mode: CallMode) -> Vec<ScriptedTurn> {
    let call = ScriptedTurn::new();
    let call = if mode == CallMode::Text {
        call.text(r#"<tool>{"tool_name":"echo","arguments":{"text":"tea"}}</tool>"#)
    } else {
        call.call("echo", json!({ "text": "tea" }))
    };
    vec![call, ScriptedTurn::new().text("It is 42."), ScriptedTurn::new().json(BILL)]
}

fn typed_agent(
    turns: Vec<ScriptedTurn>,
    able: Capabilities,
    mode: CallMode,
) -> (ScriptedProvider, AgentBuilder) {
    let provider = ScriptedProvider::new(turns).capabilities(able);
    let builder = builder(&provider).call_mode(mode);
    (provider, builder)
}

fn input() -> RunInput {
    RunInput::from("The bill?").answer(AnswerSchema::of::<Bill>())
}

async fn rest(stream: &mut RunStream) -> Vec<Envelope> {
    let mut events = Vec::new();
    while let Some(envelope) = stream.next().await {
        events.push(envelope);
    }
    events
}

// Covers: T-86
#[tokio::test(start_paused = true)]
async fn tools_run_first_and_the_last_answer_is_the_value_however_it_is_bound() {
    for (able, mode) in ways() {
        let (provider, builder) = typed_agent(turns(mode), able, mode);
        let agent = builder.build().unwrap().conversation();
        let typed = agent.run_typed::<Bill>("The bill?").await.unwrap();
        assert_eq!((typed.value, typed.outcome.turns), (bill(), 3), "{mode:?}");
        assert_eq!(
            (typed.outcome.text.as_str(), &typed.outcome.reason),
            (BILL, &OutcomeKind::Answer)
        );
        let requests = provider.requests();
        let bound = |at: usize| {
            let request = &requests[at];
            let forced = matches!(request.tool_choice, Some(ToolChoice::Tool(_)));
            let told = request.system.as_ref().is_some_and(|it| it.contains("JSON Schema below"));
            request.response_format.is_some() || forced || told
        };
        assert_eq!([0, 1, 2].map(bound), [false, false, true], "{mode:?}");
        let transcript = agent.transcript();
        let last = transcript.messages().last().unwrap();
        assert_eq!((last.role, last.text().as_str()), (MessageRole::Assistant, BILL));
        assert_history_is_whole(&agent);
    }
}

#[tokio::test(start_paused = true)]
async fn the_value_can_be_read_from_the_events_while_it_comes() {
    for (able, mode) in ways() {
        let (_, builder) = typed_agent(turns(mode), able, mode);
        let mut stream = builder.build().unwrap().conversation().run_stream(input());
        let events = rest(&mut stream).await;
        assert_whole(&events);
        let is_start = |it: &Envelope| matches!(&it.event, AgentEvent::Custom(CustomEvent { name, .. }) if name == ANSWER_TYPED);
        let starts: Vec<_> = (0..events.len()).filter(|at| is_start(&events[*at])).collect();
        assert_eq!(starts.len(), 1, "{mode:?}");
        let mut partial = PartialAnswer::default();
        let grew: Vec<_> = events.iter().map(|it| partial.read(&it.event)).collect();
        assert!(grew.iter().take(starts[0]).all(|it| !it), "{mode:?}: before the value");
        let last = partial.value().unwrap();
        assert!(!last.is_open(), "{mode:?}");
        assert_eq!(last.get("lines").unwrap().item(1).unwrap().as_str(), Some("salt"));
        assert_eq!(stream.outcome().await.unwrap().value::<Bill>().unwrap(), bill());
    }
}

/// Reads the events of a run, and returns the value after each one that adds to it, and at the end.
async fn values(run: &mut RunStream) -> (Vec<String>, String) {
    let (mut partial, mut seen) = (PartialAnswer::default(), Vec::new());
    let value = |it: &PartialAnswer| it.value().map(|it| it.to_string()).unwrap_or_default();
    while let Some(envelope) = run.next().await {
        if partial.read(&envelope.event) {
            seen.push(value(&partial));
        }
    }
    let last = value(&partial);
    (seen, last)
}

#[tokio::test(start_paused = true)]
async fn the_value_is_read_in_a_fence_and_among_words_at_every_cut_and_anew_when_asked_again() {
    let answers = [format!("```json\n{BILL}\n```"), format!("Here it is [as asked]: {BILL}")];
    for ((able, mode), answer) in
        ways().into_iter().flat_map(|way| answers.each_ref().map(|it| (way, it)))
    {
        for at in 1..answer.len() {
            let (head, tail) = answer.split_at(at);
            let wrong = ScriptedTurn::new().text(r#"{"total":"x"}"#);
            let words = ScriptedTurn::new().text("It is 42.");
            let right = ScriptedTurn::new().text(head).text(tail);
            let provider = ScriptedProvider::new([words, wrong, right]).capabilities(able);
            let builder = Agent::builder(provider).call_mode(mode).answer_repairs(2);
            let mut run = builder.build().unwrap().conversation().run_stream(input());
            let (seen, last) = values(&mut run).await;
            assert_eq!(
                (seen[0].as_str(), last.as_str()),
                (r#"{"total":"x"}"#, BILL),
                "cut at {at}"
            );
            assert!(seen[1..].iter().all(|it| !it.contains('x')), "{seen:?}");
            assert_eq!(run.outcome().await.unwrap().value::<Bill>().unwrap(), bill());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_of_the_rest_of_a_run_reads_the_value() {
    let journal = MemoryJournal::default();
    let provider = ScriptedProvider::new([ScriptedTurn::new().text(r#"{"total":4"#).hang()]);
    let agent =
        Agent::builder(provider).build().unwrap().conversation().with_journal(journal.clone());
    let mut run = agent.run_stream(input());
    while run.next().await.is_some_and(|it| it.event.text().is_empty()) {}
    drop((run, agent));
    let agent =
        Agent::builder(ScriptedProvider::new([ScriptedTurn::new().json(BILL)])).build().unwrap();
    let journal = MemoryJournal::from(journal.to_string().as_str());
    let mut rest =
        agent.conversation().with_journal(journal).resume_stream().await.unwrap().unwrap();
    assert_eq!(values(&mut rest).await.1, BILL);
}

#[tokio::test(start_paused = true)]
async fn an_agent_without_tools_is_asked_once() {
    let provider = ScriptedProvider::new([ScriptedTurn::new().json(BILL)]);
    let agent = Agent::builder(provider.clone()).build().unwrap().conversation();
    assert_eq!(agent.run_typed::<Bill>("The bill?").await.unwrap().value, bill());
    assert_eq!(provider.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_the_value_is_an_error_that_has_what_came() {
    type Row = (&'static str, fn() -> ScriptedTurn, &'static str, &'static str);
    #[rustfmt::skip]
    let cases: [Row; 5] = [
        ("words",      || ScriptedTurn::new().text("It is 42."),             "It is 42.",          "the answer is not JSON"),
        ("a type",     || ScriptedTurn::new().json(r#"{"total":"x","lines":[]}"#),      r#"{"total":"x","lines":[]}"#,   "`total` must be of type integer"),
        ("a member",   || ScriptedTurn::new().json(r#"{"total":1}"#),        r#"{"total":1}"#,     "lines"),
        ("nothing",    || ScriptedTurn::new(),                               "",                   "the answer is empty"),
        ("out of range", || ScriptedTurn::new().json(r#"{"total":-1,"lines":[]}"#), r#"{"total":-1,"lines":[]}"#, "`total` must be at least 0"),
    ];
    for (name, turn, came, why) in cases {
        let script = vec![ScriptedTurn::new().text("Well."), turn(), turn()];
        let (provider, builder) = typed_agent(script, Capabilities::ALL, CallMode::Native);
        let error = builder
            .build()
            .unwrap()
            .conversation()
            .run_typed::<Bill>("The bill?")
            .await
            .unwrap_err();
        assert_eq!(
            (error.error.code, error.outcome.text.as_str()),
            (ErrorCode::InvalidAnswer, came),
            "{name}"
        );
        assert_eq!(provider.requests().len(), 3, "{name}: asked again once");
        assert!(error.error.message.contains(why), "{name}: {}", error.error.message);
    }
    // The demo model knows of no schema.
    let agent = Agent::builder(DemoProvider::new()).build().unwrap().conversation();
    let error = agent.run_typed::<Bill>("What is 6 * 7?").await.unwrap_err();
    assert_eq!(error.error.code, ErrorCode::InvalidAnswer);
    assert!(!error.outcome.text.is_empty());
}

// Rows: N-06
#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_match_is_asked_for_again_with_what_is_wrong() {
    let wrong = || ScriptedTurn::new().json(r#"{"total":"x","lines":[]}"#);
    let words = || ScriptedTurn::new().text("It is 42.");
    let usage = UsageInfo::default().input_tokens(7).output_tokens(3);
    #[rustfmt::skip]
    let rows = [
        ("words, then right",  1, vec![words(), ScriptedTurn::new().json(BILL)],          true,  2),
        ("a type, then right", 1, vec![wrong(), ScriptedTurn::new().json(BILL)],          true,  2),
        ("twice wrong",        1, vec![wrong(), words()],                                  false, 2),
        ("three times",        2, vec![wrong(), words(), ScriptedTurn::new().json(BILL)], true,  3),
        ("not asked again",    0, vec![wrong()],                                           false, 1),
    ];
    for (name, repairs, script, is_right, requests) in rows {
        let script = script.into_iter().map(|turn| turn.usage(usage));
        let provider = ScriptedProvider::new(script).capabilities(Capabilities::ALL);
        let agent = Agent::builder(provider.clone())
            .answer_repairs(repairs)
            .build()
            .unwrap()
            .conversation();
        match agent.run_typed::<Bill>("The bill?").await {
            Ok(typed) => assert_eq!((typed.value, is_right), (bill(), true), "{name}"),
            Err(error) => {
                assert_eq!(
                    (error.error.code, is_right),
                    (ErrorCode::InvalidAnswer, false),
                    "{name}"
                );
                let used = error.outcome.usage.unwrap().output_tokens;
                assert_eq!(used, Some(3 * requests as u64), "{name}: its usage is kept");
            }
        }
        let asked = provider.requests();
        assert_eq!(asked.len(), requests, "{name}");
        let complaint = asked.last().unwrap().messages.last().unwrap().text();
        assert_eq!(
            complaint.contains("is not valid: the answer"),
            requests > 1,
            "{name}: {complaint}"
        );
        assert_history_is_whole(&agent);
    }
    // The format that a template asks for is checked in the last answer alone.
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let format = ResponseFormat::json_schema("n", schema, false);
    let call = || ScriptedTurn::new().text("I look.").call("echo", json!({ "text": "x" }));
    #[rustfmt::skip]
    let rows = [
        ("right",      vec![call(), ScriptedTurn::new().text("{\"n\": 1}")],                                 Ok(2)),
        ("words",      vec![call(), words(), ScriptedTurn::new().text("{\"n\": 1}")],                        Ok(3)),
        ("a fence",    vec![ScriptedTurn::new().text("```json\n{\"n\": 1}\n```"), ScriptedTurn::new().text("{\"n\": 1}")], Ok(2)),
        ("a type",     vec![ScriptedTurn::new().text("{\"n\": \"1\"}"), words()],                            Err("not JSON")),
        ("a member",   vec![words(), ScriptedTurn::new().text("{}")],                                         Err("`n`")),
    ];
    for (name, script, want) in rows {
        let provider = ScriptedProvider::new(script);
        let request = Request::default().response_format(format.clone());
        let agent = builder(&provider).request(request).build().unwrap().conversation();
        match (agent.run("Go.").await, want) {
            (Ok(outcome), Ok(turns)) => {
                assert_eq!((outcome.text.as_str(), outcome.turns), ("{\"n\": 1}", turns), "{name}");
            }
            (Err(error), Err(problem)) => {
                assert_eq!(error.outcome.reason.ending(), Ending::Invalid, "{name}");
                assert!(error.error.message.contains(problem), "{name}: {}", error.error.message);
            }
            (got, _) => panic!("{name}: {got:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_is_for_the_user_and_other_ends_lead_to_the_value() {
    let ask = ScriptedTurn::new().call("ask_question", json!({ "question": "Whose?" }));
    let (_, builder) = typed_agent(vec![ask], Capabilities::ALL, CallMode::Native);
    let error =
        builder.build().unwrap().conversation().run_typed::<Bill>("The bill?").await.unwrap_err();
    assert!(error.error.message.ends_with("the model asks the user: Whose?"), "{}", error.error);

    let done = ScriptedTurn::new().call("task_completion", json!({ "result": "It is 42." }));
    let (provider, builder) = typed_agent(
        vec![done, ScriptedTurn::new().json(BILL)],
        Capabilities::ALL,
        CallMode::Native,
    );
    let agent = builder.build().unwrap().conversation();
    assert_eq!(agent.run_typed::<Bill>("The bill?").await.unwrap().value, bill());
    assert_history_is_whole(&agent);
    assert_eq!(provider.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_value_is_asked_for_at_a_limit_of_turns_or_the_run_fails() {
    let calls = || ScriptedTurn::new().call("echo", json!({ "text": "tea" }));
    for (at_limit, is_answered) in [(AtLimit::AskForAnswer, true), (AtLimit::Fail, false)] {
        let turns = vec![calls(), ScriptedTurn::new().json(BILL)];
        let (_, builder) = typed_agent(turns, Capabilities::ALL, CallMode::Native);
        let agent = builder.max_turns(1).at_limit(at_limit).build().unwrap().conversation();
        match agent.run_typed::<Bill>("The bill?").await {
            Ok(typed) => {
                assert_eq!((typed.value, typed.outcome.turns, is_answered), (bill(), 2, true));
            }
            Err(error) => assert_eq!((error.error.code, is_answered), (ErrorCode::MaxTurns, false)),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_put_away_at_any_event_still_ends_with_the_value() {
    let mode = CallMode::Native;
    let (_, whole) = typed_agent(turns(mode), Capabilities::ALL, mode);
    let mut stream = whole.build().unwrap().conversation().run_stream(input());
    let count = rest(&mut stream).await.len();
    let want = stream.outcome().await.unwrap().messages;
    for kept in 0..count {
        let journal = MemoryJournal::default();
        let (provider, builder) = typed_agent(turns(mode), Capabilities::ALL, mode);
        let agent =
            builder.event_capacity(1).build().unwrap().conversation().with_journal(journal.clone());
        let mut stream = agent.run_stream(input());
        for _ in 0..kept {
            stream.next().await;
        }
        drop(stream);
        // The answers that are written down are not given again.
        let answered = super::journal::answers(&journal.lines());
        drop((agent, provider));
        let left = turns(mode).into_iter().skip(answered).collect();
        let (_, builder) = typed_agent(left, Capabilities::ALL, mode);
        let agent = builder
            .build()
            .unwrap()
            .conversation()
            .with_journal(MemoryJournal::from(journal.to_string().as_str()));
        match agent.resume().await.unwrap() {
            Some(outcome) => {
                assert_eq!(outcome.value::<Bill>().unwrap(), bill(), "at {kept}");
                assert_eq!(outcome.messages.last(), want.last(), "at {kept}");
            }
            None => assert!(kept == 0 || answered == 3, "at {kept}: {answered} answers"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_cancelled_at_any_event_has_no_value_and_a_whole_history() {
    for (able, mode) in ways() {
        let mut at = 0;
        loop {
            let (_, builder) = typed_agent(turns(mode), able, mode);
            let agent = builder.build().unwrap().conversation();
            let mut stream = agent.run_stream(input());
            let mut seen = 0;
            let is_over = loop {
                if seen == at {
                    stream.cancel();
                }
                match stream.next().await {
                    Some(_) => seen += 1,
                    None => break seen <= at,
                }
            };
            let outcome = stream.outcome().await;
            assert_history_is_whole(&agent);
            if is_over {
                assert!(outcome.is_ok());
                break;
            }
            at += 1;
            assert!(at < 200, "it ends");
        }
        assert_no_task_left().await;
    }
}
