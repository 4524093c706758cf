//! Calls that run at the client.

use tokio::time::{Instant, timeout};

use super::{whole::assert_history_is_whole, *};
use crate::{
    RunStream,
    approval::{ApprovalContext, ApprovalPolicy, Decision},
    config::CallStart,
    journal::MemoryJournal,
    run::Budget,
    steering::ClientCalls,
    tools::ClientTool,
};
use forgeline_types::{ClientFailure, ClientReturn, ClientToolRequest, ErrorCode};

#[derive(JsonSchema)]
#[expect(dead_code, reason = "the client reads it")]
struct Selector {
    selector: String,
}

pub(crate) fn read() -> ClientTool {
    ClientTool::typed::<Selector>("page.read", "Reads an element.").module("page")
}

fn call(turn: ScriptedTurn, selector: &str) -> ScriptedTurn {
    turn.call("page_read", json!({ "selector": selector }))
}

fn done() -> ScriptedTurn {
    ScriptedTurn::new().text("Done.")
}

fn fixture(turns: impl IntoIterator<Item = ScriptedTurn>) -> (ScriptedProvider, AgentBuilder) {
    let provider = ScriptedProvider::new(turns);
    (provider.clone(), builder(&provider).tool(read()))
}

/// The results that the model has read, in order.
pub(super) fn results(provider: &ScriptedProvider) -> Vec<String> {
    let requests = provider.requests();
    let last = requests.last().expect("a request");
    let results = last.messages.iter().flat_map(|message| message.tool_results());
    results.map(|result| result.content.clone()).collect()
}

/// Reads to the next request to the client.
async fn next_request(stream: &mut RunStream, events: &mut Vec<Envelope>) -> ClientToolRequest {
    while let Some(envelope) = stream.next().await {
        events.push(envelope.clone());
        if let AgentEvent::ClientToolRequest(request) = envelope.event {
            return *request;
        }
    }
    panic!("no request: {:?}", kinds(events));
}

// Covers: T-20, T-41, T-43, T-52, CT-11, CT-12, CT-21
#[tokio::test(start_paused = true)]
async fn the_client_runs_a_call_and_its_result_goes_on() {
    for mode in [crate::config::CallMode::Native, crate::config::CallMode::Text] {
        let calls = call(call(ScriptedTurn::new(), "#a"), "#b");
        let calls = if mode == crate::config::CallMode::Native {
            calls
        } else {
            let text = |selector| {
                format!(
                    r#"<tool>{{"tool_name":"page.read","arguments":{{"selector":"{selector}"}}}}</tool>"#
                )
            };
            ScriptedTurn::new().text(text("#a")).text(text("#b"))
        };
        let (provider, builder) = fixture([calls, done()]);
        let agent = builder.call_mode(mode).build().unwrap().conversation();
        let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
        let first = next_request(&mut stream, &mut events).await;
        let second = next_request(&mut stream, &mut events).await;
        assert_ne!(first.client_call_id, second.client_call_id);
        assert_eq!(
            (first.tool_name.as_str(), first.tool_module.as_deref()),
            ("page.read", Some("page"))
        );
        assert_eq!(first.arguments.as_str(), r##"{"selector":"#a"}"##);
        let calls = stream.client_calls();
        assert_eq!(calls.open(), [first.clone(), second.clone()]);
        // The second is first: the other stays, and the results are in the order of the calls.
        calls.complete(&second.client_call_id, "B").unwrap();
        assert_eq!(calls.open(), std::slice::from_ref(&first));
        while let Ok(Some(envelope)) = timeout(SOON, stream.next()).await {
            events.push(envelope);
        }
        assert_eq!(count(&events, "tool_result"), 1, "{:?}", kinds(&events));
        calls.complete(&first.client_call_id, "A").unwrap();
        to_the_end(&mut stream, &mut events).await;
        assert_eq!(stream.outcome().await.unwrap().text, "Done.");
        let last = provider.requests().pop().unwrap();
        let read = format!("{:?}", last.messages.last().unwrap());
        assert!(read.find('A').unwrap() < read.find('B').unwrap(), "{read}");
        assert_eq!((count(&events, "tool_call"), count(&events, "client_tool_request")), (0, 2));
        assert_history_is_whole(&agent);
    }
}

/// Late, double, foreign and forged results are errors, and change nothing.
// Covers: T-54, CT-11, CT-12, T-21
#[tokio::test(start_paused = true)]
async fn a_result_counts_once_and_for_its_own_call() {
    let (provider, builder) =
        fixture([call(ScriptedTurn::new(), "#a"), call(ScriptedTurn::new(), "#a"), done()]);
    let agent = builder.build().unwrap().conversation();
    let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
    let calls = stream.client_calls();
    let refused = |calls: &ClientCalls, id: &str| {
        let error = calls.complete(id, "forged").unwrap_err();
        assert!(error.message.contains(&format!("`{id}`")), "{error}");
        error.code == ErrorCode::InvalidInput
    };
    let first = next_request(&mut stream, &mut events).await;
    assert!(refused(&calls, "forged") && refused(&calls, "") && refused(&calls, &first.call_id));
    calls.complete(&first.client_call_id, "one").unwrap();
    assert!(refused(&calls, &first.client_call_id), "twice");
    let second = next_request(&mut stream, &mut events).await;
    assert_ne!(first.client_call_id, second.client_call_id, "the same call, in another turn");
    assert!(refused(&calls, &first.client_call_id), "that of another call");
    let other = agent.fork().run_stream("Go.").client_calls();
    assert!(refused(&other, &second.client_call_id), "that of another run");
    // An id of one kind is none of the other.
    let approved = stream.approvals().answer(&second.client_call_id, Decision::Grant);
    assert_eq!(approved.unwrap_err().code, ErrorCode::InvalidInput);
    stream.complete_client_call(&second.client_call_id, "two").unwrap();
    to_the_end(&mut stream, &mut events).await;
    assert!(refused(&calls, &second.client_call_id), "late");
    assert_eq!(results(&provider), ["one", "two"]);
}

// Covers: T-56
#[tokio::test(start_paused = true)]
async fn client_calls_end_at_their_time_limit() {
    let (provider, builder) = fixture([call(ScriptedTurn::new(), "#a"), done()]);
    let budget = Budget::default().time(Duration::from_secs(1));
    let agent =
        builder.budget(budget).tool_timeout(Duration::from_secs(2)).build().unwrap().conversation();
    let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
    let started = Instant::now();
    let request = next_request(&mut stream, &mut events).await;
    let calls = stream.client_calls();
    to_the_end(&mut stream, &mut events).await;
    assert_eq!(started.elapsed().as_secs(), 90);
    assert!(calls.complete(&request.client_call_id, "late").is_err());
    assert_eq!(count(&events, "client_tool_cancelled"), 1, "the client is informed");
    let [result] = &results(&provider)[..] else { panic!("one result") };
    assert!(result.contains("The client did not respond within 90s"), "{result}");
    let spent = stream.outcome().await.unwrap().spent.time;
    assert!(spent < Duration::from_secs(1), "the time of the client is not the run's: {spent:?}");

    let (_, builder) = fixture([]);
    let zero = builder.client_timeout(Duration::ZERO).build().unwrap_err();
    assert_eq!(zero.to_string(), "`client_timeout` is 0; it must be greater than 0");
}

// Covers: T-56
#[tokio::test(start_paused = true)]
async fn client_failure_is_a_failed_result_for_the_model() {
    let long = "x".repeat(60);
    let rows = [
        (ClientReturn::failed(ClientFailure::ToolThrew, "no element"), "failed: no element"),
        (
            ClientReturn::failed(ClientFailure::WatchdogTimeout, "30 s"),
            "too long at the client: 30 s",
        ),
        (ClientReturn::failed(ClientFailure::UnknownTool, "page.read"), "no such tool: page.read"),
        (
            ClientReturn::from(long.as_str()),
            r#""toolResultElided":true,"tool":"page.read","resultChars":60"#,
        ),
    ];
    for (returned, want) in rows {
        let (provider, builder) = fixture([call(ScriptedTurn::new(), "#a"), done()]);
        let agent = builder.max_result_chars(50).build().unwrap().conversation();
        let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
        let request = next_request(&mut stream, &mut events).await;
        stream.complete_client_call(&request.client_call_id, returned.clone()).unwrap();
        to_the_end(&mut stream, &mut events).await;
        let is_error = matches!(returned, ClientReturn::Failure { .. });
        assert_eq!(count(&events, "tool_result_error"), usize::from(is_error));
        assert!(results(&provider)[0].contains(want), "{returned:?}: {:?}", results(&provider));
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_reader_a_call_at_the_client_does_not_run() {
    let (provider, builder) = fixture([call(ScriptedTurn::new(), "#a"), done()]);
    let started = Instant::now();
    assert_eq!(builder.build().unwrap().conversation().run("Go.").await.unwrap().text, "Done.");
    assert!(started.elapsed() < SOON, "nobody waits");
    assert!(results(&provider)[0].contains("no client is connected"), "{:?}", results(&provider));
    let direct = crate::tools::Tool::execute(&read(), ToolContext::default(), json!({}).into());
    assert!(direct.await.unwrap_err().to_string().contains("runs at the client"));
}

#[tokio::test(start_paused = true)]
async fn a_person_is_asked_before_the_client() {
    for (decision, sent) in [(Decision::Grant, 1), (Decision::reject("not that"), 0)] {
        let (provider, builder) = fixture([call(ScriptedTurn::new(), "#a"), done()]);
        let builder = builder.approval(ApprovalPolicy::of(["page.read"]));
        let decided = decision.clone();
        let builder =
            builder.approver(move |_: ApprovalContext| std::future::ready(decided.clone()));
        let (mut stream, mut events) =
            (builder.build().unwrap().conversation().run_stream("Go."), Vec::new());
        if sent == 1 {
            let request = next_request(&mut stream, &mut events).await;
            assert_eq!(count(&events, "tool_approval_granted"), 1, "before it was sent");
            stream.complete_client_call(&request.client_call_id, "A").unwrap();
        }
        to_the_end(&mut stream, &mut events).await;
        assert_eq!(count(&events, "client_tool_request"), sent, "{decision:?}");
        let want = if sent == 1 { "A" } else { "not that" };
        assert!(results(&provider)[0].contains(want), "{:?}", results(&provider));
    }
}

#[tokio::test(start_paused = true)]
async fn arguments_that_do_not_fit_are_not_sent() {
    let turn = ScriptedTurn::new().call("page.read", json!({ "selector": 1 }));
    let (provider, builder) = fixture([turn, done()]);
    let (mut stream, mut events) =
        (builder.build().unwrap().conversation().run_stream("Go."), Vec::new());
    to_the_end(&mut stream, &mut events).await;
    assert_eq!(count(&events, "client_tool_request"), 0);
    assert!(results(&provider)[0].contains("are not valid"), "{:?}", results(&provider));
}

// Covers: T-57
#[tokio::test(start_paused = true)]
async fn a_cancel_ends_the_wait_and_tells_the_client() {
    for start in [CallStart::AfterAnswer, CallStart::AsComplete] {
        let turn = call(call(ScriptedTurn::new(), "#a"), "#b");
        let (provider, builder) = fixture([turn]);
        let agent = builder.call_start(start).build().unwrap().conversation();
        let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
        let calls = stream.client_calls();
        let first = next_request(&mut stream, &mut events).await;
        next_request(&mut stream, &mut events).await;
        stream.cancel();
        let cancelled = Instant::now();
        to_the_end(&mut stream, &mut events).await;
        assert!(cancelled.elapsed() <= SOON);
        assert_eq!(count(&events, "client_tool_cancelled"), 2, "{:?}", kinds(&events));
        assert!(calls.complete(&first.client_call_id, "late").is_err());
        assert!(calls.open().is_empty());
        assert_eq!(stream.outcome().await.unwrap_err().error.code, ErrorCode::Cancelled);
        let history = format!("{:?}", agent.transcript());
        assert!(history.contains("it may have run, and its result is lost"), "{history}");
        assert_history_is_whole(&agent);
        assert_no_task_left().await;
        assert_eq!(provider.open_streams(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_put_away_is_sent_again_under_its_id() {
    let journal = MemoryJournal::default();
    let (_, builder) = fixture([call(ScriptedTurn::new(), "#a")]);
    let mut stream =
        builder.build().unwrap().conversation().with_journal(journal.clone()).run_stream("Go.");
    let mut events = Vec::new();
    let first = next_request(&mut stream, &mut events).await;
    let gone = stream.client_calls();
    drop(stream);
    assert_no_task_left().await;
    assert!(gone.complete(&first.client_call_id, "into the void").is_err());

    let (provider, builder) = fixture([done()]);
    let agent =
        builder.build().unwrap().conversation().with_journal(MemoryJournal::from(journal.lines()));
    let mut stream = agent.resume_stream().await.unwrap().expect("it had not ended");
    let mut events = Vec::new();
    let again = next_request(&mut stream, &mut events).await;
    assert_eq!(again, first);
    stream.complete_client_call(&again.client_call_id, "A").unwrap();
    while stream.next().await.is_some() {}
    assert_eq!(stream.outcome().await.unwrap().text, "Done.");
    assert_eq!(results(&provider), ["A"]);
}

#[tokio::test(start_paused = true)]
async fn a_started_agent_has_an_end_for_results() {
    let (provider, builder) = fixture([call(call(ScriptedTurn::new(), "#a"), "#b"), done()]);
    let (handle, mut channels) = builder.build().unwrap().start();
    assert!(channels.client_calls.open().is_empty());
    let early = channels.client_calls.complete("none", "").unwrap_err();
    assert_eq!(early.code, ErrorCode::InvalidInput);
    channels.input.send("Go.").await.unwrap();
    let mut sent = 0;
    while let Some(envelope) = channels.events.recv().await {
        match envelope.event {
            AgentEvent::ClientToolRequest(request) if sent == 0 => {
                sent += 1;
                channels.client_calls.complete(&request.client_call_id, "A").unwrap();
            }
            AgentEvent::ClientToolRequest(request) => {
                handle.complete_client_call(&request.client_call_id, "B").unwrap();
            }
            AgentEvent::TurnEnd => break,
            _ => {}
        }
    }
    handle.shutdown().await;
    assert_eq!(results(&provider), ["A", "B"]);
    let ended = channels.client_calls.complete("none", "").unwrap_err();
    assert_eq!(ended.code, ErrorCode::Shutdown);
}
