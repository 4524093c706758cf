//! Conversations whose beginning is summed up.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use super::{journal::Broken, whole::assert_history_is_whole, *};
use crate::{
    OutcomeKind, RunInput,
    approval::{ApprovalContext, ApprovalPolicy, Decision},
    journal::MemoryJournal,
    memory::ConversationMemory,
    notice::{CONTEXT_SUMMARIZED, CONTEXT_SUMMARY_FAILED, CONTEXT_TRIMMED},
    run::Budget,
};
use forgeline_llm::{ProviderError, Request, TokenEstimator};
use forgeline_types::{
    CustomEvent, ErrorCode, Message, MessageRole, Part, TextOrigin, ToolResult, UsageInfo,
};

const MOST: u64 = 2_400;

fn is_for_summary(request: &Request) -> bool {
    request.system.as_deref().is_some_and(|system| system.starts_with("You shorten"))
}

fn usage(input: u64, output: u64) -> UsageInfo {
    let mut usage = UsageInfo::default();
    (usage.input_tokens, usage.output_tokens) = (Some(input), Some(output));
    usage
}

/// A model that looks and answers at some length, and writes numbered summaries.
fn model() -> ScriptedProvider {
    model_with(|at| {
        ScriptedTurn::new().text(format!("Summary {at}: they count.")).usage(usage(90, 9))
    })
}

fn model_with(mut summary: impl FnMut(usize) -> ScriptedTurn + Send + 'static) -> ScriptedProvider {
    let mut summaries = 0;
    ScriptedProvider::from_fn(move |request: &Request| {
        if is_for_summary(request) {
            summaries += 1;
            return summary(summaries);
        }
        let last = request.messages.last().expect("a message");
        if last.role == MessageRole::Tool || last.text().contains("Only say") {
            return ScriptedTurn::new().text("It is as you say. ".repeat(8));
        }
        ScriptedTurn::new().call("look", json!({ "text": "x ".repeat(90) }))
    })
}

fn builder_of(provider: &ScriptedProvider) -> AgentBuilder {
    let tool = tool_fn("look", "Looks.", |_: ToolContext, it: Echo| async move { it.text });
    let builder = Agent::builder(provider.clone()).system("Be brief.");
    builder.tool(tool.may_repeat().idempotent()).max_context_tokens(MOST).summarize_at(60)
}

fn question(turn: usize) -> String {
    format!("Question {turn}: what exists, and how much?")
}

/// Asks so many questions; returns the events of all runs.
async fn ask(agent: &Conversation, turns: std::ops::Range<usize>) -> Vec<Vec<Envelope>> {
    let mut all = Vec::new();
    for turn in turns {
        let (mut stream, mut events) = (agent.run_stream(question(turn).as_str()), Vec::new());
        to_the_end(&mut stream, &mut events).await;
        assert_eq!(stream.outcome().await.unwrap().reason, OutcomeKind::Answer);
        all.push(events);
    }
    all
}

fn named(events: &[Envelope], name: &str) -> Vec<Value> {
    let data = events.iter().filter_map(|envelope| match &envelope.event {
        AgentEvent::Custom(CustomEvent { name: own, data, .. }) if own == name => {
            Some(data.clone())
        }
        _ => None,
    });
    data.collect()
}

/// Checks requests: they fit, are whole and have the user's last message; returns how often their beginning changed.
fn assert_fit(requests: &[Request]) -> usize {
    let (estimator, mut changes) = (TokenEstimator::new(), 0);
    let mut before: Option<&Request> = None;
    for (at, request) in requests.iter().enumerate() {
        let answer = request.max_tokens.map_or(0, u64::from);
        assert!(estimator.request(request) + answer <= MOST, "request {at}");
        if is_for_summary(request) {
            assert!(request.tools.is_empty() && request.messages.len() == 1);
            continue;
        }
        assert_eq!(request.system.as_deref(), Some("Be brief."));
        assert_eq!(request.messages.messages()[0].role, MessageRole::User);
        let mut open = Vec::new();
        for message in &request.messages {
            let results: Vec<_> = message.tool_results().map(|it| it.call_id.clone()).collect();
            assert_eq!(results, open, "request {at}");
            open = message.tool_calls().map(|it| it.id.clone()).collect();
        }
        if let Some(before) = before {
            let is_same = before.messages.iter().zip(&request.messages).all(|(a, b)| a == b);
            changes += usize::from(!is_same || before.messages.len() > request.messages.len());
        }
        before = Some(request);
    }
    changes
}

fn texts(request: &Request) -> String {
    request.messages.iter().map(|message| message.text()).collect::<Vec<_>>().join("\n")
}

// Covers: T-68, G-47, G-48
#[tokio::test(start_paused = true)]
async fn summaries_take_the_place_of_what_they_are_of_and_have_those_before_them() {
    let provider = model();
    let agent = builder_of(&provider).build().unwrap().conversation();
    let events = ask(&agent, 0..60).await;
    let requests = provider.requests();
    let summaries: Vec<_> = events.iter().flat_map(|it| named(it, CONTEXT_SUMMARIZED)).collect();
    assert!(summaries.len() > 3, "{summaries:?}");
    assert_eq!(events.iter().flat_map(|it| named(it, CONTEXT_TRIMMED)).count(), 0);
    assert_eq!(assert_fit(&requests), summaries.len(), "the beginning changes with a summary only");
    for data in &summaries {
        assert!(data["tokens"].as_u64() < data["tokens_before"].as_u64(), "{data}");
    }
    let of_all: u64 = summaries.iter().map(|data| data["messages"].as_u64().unwrap()).sum();
    let for_summary: Vec<_> = requests.iter().filter(|it| is_for_summary(it)).collect();
    assert!(texts(for_summary[1]).contains("Summary 1: they count."), "a summary of a summary");
    let written: String = for_summary.iter().map(|request| texts(request)).collect();
    let of_question = |turn: usize| written.matches(&question(turn)).count();
    let covered = (0..60).take_while(|turn| of_question(*turn) == 1).count();
    assert_eq!(of_all, 4 * covered as u64, "each message is summed up once");
    let last = requests.last().unwrap();
    assert!(texts(last).contains(&format!("Summary {}: they count.", for_summary.len())));
    assert!(
        (covered..60).all(|turn| texts(last).contains(&question(turn))),
        "and the rest is sent"
    );
    assert_eq!(agent.transcript().len(), 240, "the conversation keeps all");
}

/// A stored conversation of so many turns.
fn stored(turns: usize) -> ConversationMemory {
    let messages = (0..turns).flat_map(|turn| {
        [Message::user(question(turn)), Message::assistant("So it is. ".repeat(12))]
    });
    ConversationMemory::from(messages.collect::<forgeline_types::Transcript>())
}

/// More than one summary can have is summed up by the next ones, one a run.
// Covers: T-68
#[tokio::test(start_paused = true)]
async fn a_long_backlog_is_summed_up_in_rounds() {
    const STORED: usize = 900;
    let provider = model();
    let agent = builder_of(&provider).memory(stored(STORED)).build().unwrap().conversation();
    let (mut rounds, mut of_all) = (0, 0);
    for turn in STORED..STORED + 12 {
        let before = provider.requests().len();
        let events = ask(&agent, turn..turn + 1).await.remove(0);
        assert!(named(&events, CONTEXT_SUMMARY_FAILED).is_empty(), "{turn}");
        let told = named(&events, CONTEXT_SUMMARIZED);
        let requests = provider.requests();
        let made = requests[before..].iter().filter(|it| is_for_summary(it)).count();
        assert!(made <= 32 && told.len() <= 1, "{made} requests in one run");
        for data in told {
            assert_eq!(data["requests"], made);
            (rounds, of_all) = (rounds + 1, of_all + data["messages"].as_u64().unwrap());
        }
    }
    assert_fit(&provider.requests());
    let requests = provider.requests();
    let for_summary = requests.iter().filter(|it| is_for_summary(it));
    let written: String = for_summary.map(texts).collect();
    let of_question = |turn: usize| written.matches(&question(turn)).count();
    assert!((0..STORED).all(|turn| of_question(turn) == 1), "each is summed up, and once");
    assert!(rounds > 2 && of_all >= 2 * STORED as u64, "{rounds} rounds, {of_all} messages");
    assert_eq!(agent.transcript().len(), 2 * STORED + 12 * 4, "the conversation keeps all");
}

/// Each round of a backlog may be in a process of its own.
#[tokio::test(start_paused = true)]
async fn another_process_goes_on_with_the_rounds_of_a_backlog() {
    const STORED: usize = 400;
    let journal = MemoryJournal::default();
    let talk =
        ScriptedProvider::from_fn(|_: &Request| ScriptedTurn::new().text("So it is. ".repeat(30)));
    let without_summaries =
        Agent::builder(talk).build().unwrap().conversation().with_journal(journal.clone());
    ask(&without_summaries, 0..STORED).await;
    let (whole, parted) = (model(), model());
    let copy = MemoryJournal::from(journal.lines());
    let agent = builder_of(&whole).build().unwrap().conversation().with_journal(copy);
    assert!(agent.resume().await.unwrap().is_none());
    ask(&agent, STORED..STORED + 6).await;
    for turn in STORED..STORED + 6 {
        let agent =
            builder_of(&parted).build().unwrap().conversation().with_journal(journal.clone());
        assert!(agent.resume().await.unwrap().is_none());
        ask(&agent, turn..turn + 1).await;
    }
    let json = |provider: &ScriptedProvider| {
        let requests = provider.requests();
        requests.iter().map(|it| serde_json::to_string(it).unwrap()).collect::<Vec<_>>().join("\n")
    };
    assert!(whole.requests().iter().filter(|it| is_for_summary(it)).count() > 32, "two rounds");
    assert_eq!(json(&whole), json(&parted));
}

/// The requests of a conversation, of which each run is in a process of its own.
// Covers: T-68
#[tokio::test(start_paused = true)]
async fn another_process_sends_the_same() {
    let whole = model();
    ask(&builder_of(&whole).build().unwrap().conversation(), 0..24).await;
    let (parted, journal) = (model(), MemoryJournal::default());
    for turn in 0..24 {
        let agent =
            builder_of(&parted).build().unwrap().conversation().with_journal(journal.clone());
        assert!(agent.resume().await.unwrap().is_none());
        ask(&agent, turn..turn + 1).await;
    }
    let json = |provider: &ScriptedProvider| {
        let requests = provider.requests();
        requests.iter().map(|it| serde_json::to_string(it).unwrap()).collect::<Vec<_>>()
    };
    let without_ids = |lines: Vec<String>| lines.join("\n");
    assert_eq!(without_ids(json(&whole)), without_ids(json(&parted)));
    let lines = journal.lines();
    let own = lines.iter().filter(|line| line.contains("\"summed\":[")).count();
    assert!(own > 1, "each summary is a record of its own");
}

/// The run with a summary that is cut at each line of its journal ends as if nothing had happened.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_put_away_around_a_summary_goes_on() {
    let (whole, journal) = (model(), MemoryJournal::default());
    let agent = builder_of(&whole).build().unwrap().conversation().with_journal(journal.clone());
    let mut begin = 0;
    for turn in 0.. {
        begin = journal.lines().len();
        let events = ask(&agent, turn..turn + 1).await;
        if !named(&events[0], CONTEXT_SUMMARIZED).is_empty() {
            break;
        }
    }
    let lines = journal.lines();
    let last = |provider: &ScriptedProvider| {
        serde_json::to_string(provider.requests().last().unwrap()).unwrap()
    };
    for count in begin + 1..lines.len() {
        let kept = MemoryJournal::from(lines[..count].to_vec());
        let provider = model();
        let resumed =
            builder_of(&provider).build().unwrap().conversation().with_journal(kept.clone());
        let outcome = resumed.resume().await.unwrap().expect("it goes on");
        assert_eq!(outcome.reason, OutcomeKind::Answer, "at line {count}");
        assert_eq!(last(&provider), last(&whole), "at line {count}");
        assert_eq!(resumed.transcript(), agent.transcript(), "at line {count}");
    }
}

/// A conversation that is summed up before the next answer.
async fn grown() -> (ConversationMemory, usize) {
    let agent = builder_of(&model()).build().unwrap().conversation();
    for turn in 0.. {
        let before = agent.transcript();
        if !named(&ask(&agent, turn..turn + 1).await[0], CONTEXT_SUMMARIZED).is_empty() {
            return (ConversationMemory::from(before), turn);
        }
    }
    unreachable!("it is summed up some time")
}

// Covers: T-12
#[tokio::test(start_paused = true)]
async fn cancelling_at_every_event_around_a_summary_ends_the_run_properly() {
    let (memory, turn) = grown().await;
    let mut cancelled = 0;
    for at in 0..100 {
        let provider = model();
        let builder = builder_of(&provider).memory(memory.clone()).event_capacity(1);
        let agent = builder.build().unwrap().conversation();
        let (mut stream, mut events) = (agent.run_stream(question(turn).as_str()), Vec::new());
        while let Some(envelope) = stream.next().await {
            events.push(envelope);
            if events.len() == at {
                stream.cancel();
            }
        }
        assert_whole(&events);
        assert_history_is_whole(&agent);
        assert_eq!(provider.open_streams(), 0);
        assert_no_task_left().await;
        if events.len() < at {
            break;
        }
        cancelled += usize::from(stream.outcome().await.is_err());
        ask(&agent, turn + 1..turn + 3).await;
        assert_fit(&provider.requests());
    }
    assert!(cancelled > 8, "{cancelled}");
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_breaks_around_a_summary_ends_the_run_and_leaves_nothing() {
    let (memory, turn) = grown().await;
    for (lines, hangs) in (0..9).flat_map(|lines| [(lines, true), (lines, false)]) {
        let (provider, left) = (model(), Arc::new(Mutex::new(lines)));
        let journal = Broken { left, hangs, lines: MemoryJournal::default() };
        let builder = builder_of(&provider).memory(memory.clone());
        let agent = builder.build().unwrap().conversation().with_journal(journal);
        let (mut stream, mut events) = (agent.run_stream(question(turn).as_str()), Vec::new());
        to_the_end(&mut stream, &mut events).await;
        if let Err(error) = stream.outcome().await {
            assert_eq!(error.error.code, ErrorCode::Journal, "after {lines} lines");
        }
        assert_history_is_whole(&agent);
        assert_eq!(provider.open_streams(), 0);
        assert_no_task_left().await;
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_the_stream_around_a_summary_leaves_nothing() {
    let (memory, turn) = grown().await;
    for at in 0..30 {
        let provider = model();
        let agent = builder_of(&provider)
            .memory(memory.clone())
            .event_capacity(1)
            .build()
            .unwrap()
            .conversation();
        let mut stream = agent.run_stream(question(turn).as_str());
        for _ in 0..at {
            stream.next().await;
        }
        drop(stream);
        assert_eq!(provider.open_streams(), 0, "at {at}");
        assert_no_task_left().await;
        ask(&agent, turn + 1..turn + 2).await;
        assert_fit(&provider.requests());
        assert_history_is_whole(&agent);
    }
}

/// The name of a fault, and an answer with it.
type Fault = (&'static str, fn() -> ScriptedTurn);

/// Summaries that fail, each in another way.
fn faults() -> [Fault; 6] {
    [
        ("refused", || ScriptedTurn::refuse(ProviderError::config("no"))),
        ("cut", || ScriptedTurn::new().text("They ").cut()),
        ("fails", || ScriptedTurn::new().text("They ").fail(ProviderError::config("no"))),
        ("empty", || ScriptedTurn::new().text("  ")),
        ("hangs", || ScriptedTurn::new().text("They ").usage(usage(9, 1)).hang()),
        ("hangs at once", || ScriptedTurn::new().hang()),
    ]
}

#[tokio::test(start_paused = true)]
async fn failed_summary_is_reported_and_messages_are_left_out() {
    for (name, fault) in faults() {
        let provider =
            model_with(
                move |at| {
                    if at == 1 { fault() } else { ScriptedTurn::new().text("They count.") }
                },
            );
        let agent = builder_of(&provider).build().unwrap().conversation();
        let events = ask(&agent, 0..40).await;
        let all: Vec<_> = events.into_iter().flatten().collect();
        let kinds: Vec<_> = all
            .iter()
            .map(|it| short(&it.event))
            .filter(|it| it.starts_with("context_"))
            .map(|it| it.split(' ').next().unwrap_or_default().to_owned())
            .collect();
        let want = [CONTEXT_SUMMARY_FAILED, CONTEXT_TRIMMED, CONTEXT_SUMMARIZED];
        assert_eq!(kinds[..3], want, "{name}: one failure, the window, then summaries again");
        assert!(kinds[3..].iter().all(|kind| kind == CONTEXT_SUMMARIZED), "{name}: {kinds:?}");
        assert_fit(&provider.requests());
        assert_history_is_whole(&agent);
        assert_eq!(provider.open_streams(), 0, "{name}");
        // What the window left out is in the next summary.
        let requests = provider.requests();
        let second: Vec<_> = requests.iter().filter(|it| is_for_summary(it)).skip(1).collect();
        assert!(texts(second[0]).contains(&question(0)), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_cancelled_while_a_summary_hangs_ends_and_counts_it() {
    let provider = model_with(|_| ScriptedTurn::new().text("They ").usage(usage(70, 3)).hang());
    let agent = builder_of(&provider)
        .summary_timeout(Duration::from_hours(1))
        .build()
        .unwrap()
        .conversation();
    let before = provider.requests().len();
    let mut turn = 0;
    let error = loop {
        let mut stream = agent.run_stream(question(turn).as_str());
        let mut hung = false;
        while let Ok(next) = tokio::time::timeout(Duration::from_secs(1), stream.next()).await {
            hung = false;
            if next.is_none() {
                break;
            }
            hung = true;
        }
        if !hung {
            turn += 1;
            continue;
        }
        stream.cancel();
        let mut events = Vec::new();
        while let Some(envelope) = stream.next().await {
            events.push(envelope);
        }
        break stream.outcome().await.unwrap_err();
    };
    assert!(provider.requests().len() > before);
    assert_eq!(error.error.code, ErrorCode::Cancelled);
    assert_eq!(error.outcome.spent.tokens, 73, "what it took is counted");
    assert_eq!(provider.open_streams(), 0);
    assert_history_is_whole(&agent);
    assert_no_task_left().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_summary_takes_counts_in_the_run_and_its_budget() {
    let (memory, turn) = grown().await;
    let provider = model();
    let agent = builder_of(&provider).memory(memory.clone()).build().unwrap().conversation();
    let outcome = agent.run(question(turn)).await.unwrap();
    let count = provider.requests().iter().filter(|it| is_for_summary(it)).count() as u64;
    assert_eq!(outcome.usage, Some(usage(90 * count, 9 * count)));
    assert_eq!((outcome.spent.tokens, outcome.turns), (99 * count, 2), "a summary is no turn");
    let agent = builder_of(&model()).memory(memory).build().unwrap().conversation();
    let input = RunInput::from(question(turn).as_str()).budget(Budget::default().tokens(50));
    let failed = agent.run(input).await.unwrap_err();
    assert_eq!(failed.error.code, ErrorCode::Budget, "the last answer has no text");
    assert_eq!((failed.outcome.spent.tokens, failed.outcome.turns), (99 * count, 2));
}

#[tokio::test(start_paused = true)]
async fn another_model_may_write_the_summaries() {
    let (provider, other) = (model(), model());
    let agent = builder_of(&provider).summarizer(other.clone()).build().unwrap().conversation();
    ask(&agent, 0..30).await;
    assert!(!other.requests().is_empty() && other.requests().iter().all(is_for_summary));
    assert!(!provider.requests().iter().any(is_for_summary));
}

/// The turn goes on while a person is asked about its second call, and is summed up behind the answer.
#[tokio::test(start_paused = true)]
async fn a_summary_in_a_run_with_approvals_parts_no_call_from_its_result() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let mut calls = 0;
    let provider = ScriptedProvider::from_fn(move |request: &Request| {
        if is_for_summary(request) {
            return ScriptedTurn::new().text("They look.");
        }
        calls += 1;
        if calls > 40 {
            return ScriptedTurn::new().text("Done.");
        }
        ScriptedTurn::new().call("look", json!({ "text": format!("{calls} ").repeat(60) }))
    });
    let journal = MemoryJournal::default();
    let make = || {
        let builder = builder_of(&provider).max_turns(50);
        builder.approval(ApprovalPolicy::Always)
    };
    let count_all = move |_: ApprovalContext| {
        let nth = count.fetch_add(1, Ordering::SeqCst);
        async move {
            // The run is put away while this one is pending.
            if nth == 25 { std::future::pending().await } else { Decision::Grant }
        }
    };
    let agent = make().approver(count_all).build().unwrap();
    let agent = agent.conversation().with_journal(journal.clone());
    let run = tokio::time::timeout(Duration::from_secs(1), agent.run("Look at it all."));
    assert!(run.await.is_err(), "a person is asked");
    let before = provider.requests();
    assert!(before.iter().any(is_for_summary), "the turn was summed up already");
    let agent = make()
        .approver(|_: ApprovalContext| async { Decision::Grant })
        .build()
        .unwrap()
        .conversation()
        .with_journal(journal);
    let outcome = agent.resume().await.unwrap().unwrap();
    assert_eq!(outcome.text, "Done.");
    assert_fit(&provider.requests());
    assert_history_is_whole(&agent);
    let behind = &provider.requests()[before.len()..];
    assert!(behind.iter().any(is_for_summary), "and again behind the approval");
    for request in provider.requests().iter().filter(|it| !is_for_summary(it)) {
        assert!(texts(request).contains("Look at it all."), "the user's message is there");
    }
}

/// A summary of text from outside is text from outside.
// Covers: T-68
#[tokio::test(start_paused = true)]
async fn a_summary_of_text_from_outside_is_from_outside() {
    for origin in [TextOrigin::Own, TextOrigin::Outside] {
        let provider = model();
        let page = ToolResult::new("c", "look", "words ".repeat(200)).origin(origin);
        let call = forgeline_types::ToolCall::new("c", "look", json!({ "text": "" }));
        let mut messages = vec![
            Message::user("Read it."),
            Message::new(MessageRole::Assistant, vec![Part::ToolCall(call)]),
            Message::new(MessageRole::Tool, vec![Part::ToolResult(page)]),
        ];
        messages.extend(
            (0..60).flat_map(|at| {
                [Message::assistant("Well. ".repeat(20)), Message::user(question(at))]
            }),
        );
        messages.push(Message::assistant("Well."));
        let journal = MemoryJournal::default();
        let memory =
            ConversationMemory::from(messages.into_iter().collect::<forgeline_types::Transcript>());
        let agent = builder_of(&provider)
            .memory(memory)
            .build()
            .unwrap()
            .conversation()
            .with_journal(journal.clone());
        agent.run("Only say it.").await.unwrap();
        let line = journal.lines().into_iter().find(|line| line.contains("\"summed\":[")).unwrap();
        let is_outside = line.contains("\"has_outside_text\":true");
        assert_eq!(is_outside, origin == TextOrigin::Outside, "{line}");
    }
}

// Covers: G-36
#[test]
fn a_share_that_has_no_effect_is_refused() {
    let of = |change: fn(AgentBuilder) -> AgentBuilder| {
        change(builder(&model())).build().unwrap_err().to_string()
    };
    assert!(of(|it| it.summarize_at(50)).contains("`max_context_tokens`, which is not set"));
    assert!(of(|it| it.max_context_tokens(9).summarize_at(101)).contains("above 100"));
    assert!(of(|it| it.max_context_tokens(9).summarize_at(0)).contains("`summarize_at` is 0"));
}

#[tokio::test(start_paused = true)]
async fn a_conversation_is_compacted_with_the_next_message_once_where_no_window_is_known() {
    let provider = model();
    let tool = tool_fn("look", "Looks.", |_: ToolContext, it: Echo| async move { it.text });
    let agent = Agent::builder(provider.clone()).tool(tool).build().unwrap().conversation();
    // An empty conversation has nothing to summarize.
    agent.compact();
    ask(&agent, 0..4).await;
    assert!(!provider.requests().iter().any(is_for_summary));
    let (before, messages) = (provider.requests().len(), agent.transcript().len());

    agent.compact();
    let events = ask(&agent, 4..5).await;
    let summaries = named(&events[0], CONTEXT_SUMMARIZED);
    assert_eq!((summaries.len(), &summaries[0]["messages"]), (1, &json!(messages)));
    let requests = provider.requests();
    let [summary, first, ..] = &requests[before..] else { panic!("{}", requests.len()) };
    assert!(is_for_summary(summary) && texts(summary).contains("Question 0"));
    assert_eq!(first.messages.len(), 1);
    assert!(texts(first).contains("Summary 1") && texts(first).contains("Question 4"));
    assert!(!texts(first).contains("Question 3"));

    // What was said stays in the conversation, and is not summarized again.
    ask(&agent, 5..7).await;
    assert_eq!(provider.requests().iter().filter(|it| is_for_summary(it)).count(), 1);
    assert!(agent.transcript().messages()[0].text().contains("Question 0"));
    let last = provider.requests().pop().unwrap();
    assert!(texts(&last).contains("Summary 1") && texts(&last).contains("Question 5"));
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_cannot_be_compacted_is_sent_whole() {
    let provider = model_with(|_| ScriptedTurn::new().text(""));
    let tool = tool_fn("look", "Looks.", |_: ToolContext, it: Echo| async move { it.text });
    let agent = Agent::builder(provider.clone()).tool(tool).build().unwrap().conversation();
    ask(&agent, 0..3).await;
    agent.compact();
    let events = ask(&agent, 3..4).await;
    assert_eq!(named(&events[0], CONTEXT_SUMMARY_FAILED).len(), 1);
    let last = provider.requests().pop().unwrap();
    assert!(texts(&last).contains("Question 0") && texts(&last).contains("Question 3"));
    // Clearing takes the wish back.
    agent.compact();
    agent.clear().await.unwrap();
    ask(&agent, 0..1).await;
    assert_eq!(provider.requests().iter().filter(|it| is_for_summary(it)).count(), 1);
}
