//! Agents that are tools of others.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::time::timeout;

use super::*;
use crate::Conversation;
use crate::{
    Caller, RunInput,
    approval::{ApprovalPolicy, Decision},
    config::AgentConfig,
    journal::MemoryJournal,
    nesting::Places,
    notice::SubAgentEvent,
    run::{Budget, RunContext},
    sub_agents::SubAgent,
    tools::{Tool, ToolEffects},
};
use forgeline_llm::Request;
use forgeline_types::{ErrorCode, TextOrigin, ToolResultEvent, UpdateBusyEvent};

const LONG: Duration = Duration::from_hours(1);

fn task(name: &str) -> ScriptedTurn {
    ScriptedTurn::new().call(name, json!({ "task": "Do it." }))
}

fn text(text: &'static str) -> ScriptedTurn {
    ScriptedTurn::new().text(text)
}

/// An agent of these turns, and one above that asks it once.
fn pair(below: AgentBuilder) -> AgentBuilder {
    let provider = ScriptedProvider::new([task("below"), text("Above.")]);
    Agent::builder(provider).tool(below.build().unwrap().into_tool("below", "Helps."))
}

/// What the model above reads of the calls.
fn results_of(agent: &Conversation) -> Vec<(String, bool)> {
    let transcript = agent.transcript();
    let results = transcript.iter().flat_map(|it| it.tool_results());
    results.map(|it| (it.content.clone(), it.is_error)).collect()
}

fn scripted_builder(turns: impl IntoIterator<Item = ScriptedTurn>) -> AgentBuilder {
    Agent::builder(ScriptedProvider::new(turns))
}

/// Asks eight agents at once, and answers when they have.
fn fan_out(name: &'static str) -> ScriptedProvider {
    ScriptedProvider::from_fn(move |request: &Request| {
        if request.messages.iter().any(|it| it.tool_results().next().is_some()) {
            return text("done");
        }
        (0..8).fold(ScriptedTurn::new(), |turn, _| turn.call(name, json!({ "task": "Go." })))
    })
}

/// Counts how many work at the same time.
#[derive(Default)]
struct Crowd {
    now: AtomicUsize,
    most: AtomicUsize,
    all: AtomicUsize,
}

/// A tool that counts those who work.
fn work(crowd: &Arc<Crowd>) -> impl crate::tools::Tool + use<> {
    let crowd = Arc::clone(crowd);
    tool_fn("work", "Works.", move |_: ToolContext, _: Nothing| {
        let crowd = Arc::clone(&crowd);
        async move {
            let now = crowd.now.fetch_add(1, Ordering::SeqCst) + 1;
            crowd.most.fetch_max(now, Ordering::SeqCst);
            crowd.all.fetch_add(1, Ordering::SeqCst);
            // Others get the thread meanwhile, without a clock.
            for _ in 0..2 {
                tokio::task::yield_now().await;
            }
            crowd.now.fetch_sub(1, Ordering::SeqCst);
            "worked"
        }
    })
}

/// A tree of agents, with this many levels below the first.
fn tree(levels: usize, places: &Places, crowd: &Arc<Crowd>) -> Agent {
    if levels == 0 {
        let provider = ScriptedProvider::from_fn(|request: &Request| {
            let has_worked = request.messages.iter().any(|it| it.tool_results().next().is_some());
            if has_worked { text("done") } else { ScriptedTurn::new().call("work", json!({})) }
        });
        return Agent::builder(provider).tool(work(crowd)).build().unwrap();
    }
    let below = SubAgent::new(tree(levels - 1, places, crowd), "below", "Helps.").places(places);
    Agent::builder(fan_out("below")).tool(below.timeout(LONG)).build().unwrap()
}

// Covers: T-14
#[tokio::test]
async fn the_final_text_is_the_result_also_of_a_tool_that_ends_the_run() {
    let completed = ScriptedTurn::new().call("task_completion", json!({ "result": "It is done." }));
    let asked = ScriptedTurn::new().call("ask_question", json!({ "question": "Which one?" }));
    for (turn, want) in
        [(text("An answer."), "An answer."), (completed, "It is done."), (asked, "Which one?")]
    {
        let agent = pair(scripted_builder([turn]).loop_breaking_tools(true))
            .build()
            .unwrap()
            .conversation();
        assert_eq!(agent.run("Go.").await.unwrap().text, "Above.");
        let results = results_of(&agent);
        let [(result, false)] = results.as_slice() else { panic!("{results:?}") };
        assert!(result.ends_with(want), "{result}");
    }
}

#[tokio::test]
async fn each_call_begins_with_its_task_alone() {
    let provider = ScriptedProvider::new([text("One."), text("Two.")]);
    let below = Agent::builder(provider.clone()).build().unwrap();
    let above = ScriptedProvider::new([task("below"), task("below"), text("Done.")]);
    let agent = Agent::builder(above);
    let agent = agent.tool(below.into_tool("below", "Helps.")).build().unwrap().conversation();
    agent.run("Go.").await.unwrap();
    let sent: Vec<_> = provider.requests().iter().map(|request| request.messages.len()).collect();
    assert_eq!(sent, [1, 1]);
}

#[tokio::test]
async fn bad_input_and_failures_are_results_that_say_what_to_do() {
    let empty = ScriptedTurn::new().call("below", json!({ "task": " \n" }));
    let above = ScriptedProvider::new([empty, text("Done.")]);
    let below = scripted_builder([]).build().unwrap().into_tool("below", "Helps.");
    let agent = Agent::builder(above).tool(below).build().unwrap().conversation();
    agent.run("Go.").await.unwrap();
    let results = results_of(&agent);
    assert!(results[0].1 && results[0].0.contains("describe the task"), "{results:?}");

    // One whose provider fails: it has no turns.
    let agent = pair(scripted_builder([])).build().unwrap().conversation();
    assert_eq!(agent.run("Go.").await.unwrap().text, "Above.");
    let results = results_of(&agent);
    let (result, is_error) = &results[0];
    assert!(*is_error && result.contains("the agent `below` failed"), "{result}");
    assert!(result.contains("continue without it"), "{result}");
}

// Covers: E-16
#[tokio::test]
async fn an_agent_too_deep_is_a_result_that_says_so() {
    let deepest = scripted_builder([text("Deep.")]).build().unwrap();
    let third =
        scripted_builder([task("d"), text("3")]).tool(deepest.into_tool("d", "")).build().unwrap();
    let second = scripted_builder([task("c"), text("2")])
        .tool(third.clone().into_tool("c", ""))
        .build()
        .unwrap();
    let first =
        scripted_builder([task("b"), text("1")]).tool(second.into_tool("b", "")).build().unwrap();
    let provider = ScriptedProvider::new([task("a"), text("0")]);
    let agent =
        Agent::builder(provider).tool(first.into_tool("a", "")).build().unwrap().conversation();
    let mut stream = agent.run_stream("Go.");
    let mut failures = Vec::new();
    while let Some(envelope) = stream.next().await {
        let mut event = envelope.event;
        while let Some(below) = SubAgentEvent::read(&event) {
            event = below.envelope.event;
        }
        if let AgentEvent::ToolResultError(ToolResultEvent { content, .. }) = event {
            failures.push(content);
        }
    }
    assert_eq!(stream.outcome().await.unwrap().text, "0");
    let [failure] = failures.as_slice() else { panic!("{failures:?}") };
    assert!(failure.contains("agents may be nested 3 deep"), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn three_levels_of_eight_with_two_places_come_to_their_end() {
    let places = Places::new(2);
    for _ in 0..10 {
        let crowd = Arc::default();
        let run = async { tree(3, &places, &crowd).run("Go.").await.unwrap() };
        assert_eq!(timeout(LONG, run).await.unwrap().text, "done");
        assert_eq!((crowd.all.load(Ordering::SeqCst), places.free()), (512, 2));
        assert_eq!(crowd.most.load(Ordering::SeqCst), 2, "the places bound the work");
    }
}

/// A failure does not say where its text is from, so that of a provider is given only where nothing is from outside.
#[tokio::test]
async fn the_words_of_a_failure_are_withheld_where_they_may_be_from_outside() {
    let page = |origin| {
        let page = tool_fn("page", "Reads.", |_: ToolContext, _: Nothing| async { "a page" });
        page.origin(origin)
    };
    let source = |_: RunContext| async { Ok(Vec::<Arc<dyn Tool>>::new()) };
    for (has_outside, has_source, is_own, is_told) in [
        (false, false, false, true),
        (true, false, false, false),
        (false, true, false, false),
        (true, true, false, false),
        (false, false, true, true),
        (true, true, true, true),
    ] {
        let origin = if has_outside { TextOrigin::Outside } else { TextOrigin::Own };
        // Its provider has no second turn.
        let below = scripted_builder([ScriptedTurn::new().call("page", json!({}))]);
        let below = below.tool(page(origin)).at_limit(crate::config::AtLimit::Fail);
        let below = if has_source { below.tool_source(source) } else { below };
        let agent =
            pair(below.max_turns(if is_own { 1 } else { 9 })).build().unwrap().conversation();
        agent.run("Go.").await.unwrap();
        let results = results_of(&agent);
        let [(words, true)] = results.as_slice() else { panic!("{results:?}") };
        assert_eq!(!words.contains("its error is withheld"), is_told, "{words}");
        assert_eq!(words.contains("limit of 1 turns"), is_own, "{words}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn three_levels_of_eight_with_two_places_come_to_their_end_on_several_threads() {
    let places = Places::new(2);
    let mut most = 0;
    for _ in 0..30 {
        let crowd = Arc::default();
        assert_eq!(tree(3, &places, &crowd).run("Go.").await.unwrap().text, "done");
        assert_eq!((crowd.all.load(Ordering::SeqCst), places.free()), (512, 2));
        most = most.max(crowd.most.load(Ordering::SeqCst));
    }
    assert_eq!(most, 2, "the places bound the work");
}

/// An agent whose call of another ends by its time limit, and that works on: in the same answer, or in the next.
fn outlives_a_call(
    name: String,
    places: &Places,
    crowd: &Arc<Crowd>,
    how: (Duration, bool),
) -> SubAgent {
    let (grace, at_once) = how;
    let hangs = scripted_builder([ScriptedTurn::new().text("Now.").hang()]).build().unwrap();
    let hangs = hangs.into_tool("hangs", "").places(places).timeout(Duration::from_secs(1));
    let turns = if at_once {
        vec![task("hangs").call("work", json!({})), text("Done.")]
    } else {
        vec![task("hangs"), ScriptedTurn::new().call("work", json!({})), text("Done.")]
    };
    let config = AgentConfig::default().tool_grace(grace).max_parallel_calls(1);
    let agent = scripted_builder(turns).config(config).tool(hangs).tool(work(crowd));
    agent.build().unwrap().into_tool(name, "Helps.").places(places)
}

#[tokio::test(start_paused = true)]
async fn an_agent_has_its_place_again_when_its_call_ended_by_the_time_limit() {
    for grace in [Duration::from_secs(1), Duration::from_nanos(1)] {
        // A task that is given up ends behind the call: only the next answer is sure to be in the place.
        for at_once in [false, true].into_iter().take(1 + usize::from(grace.as_secs() > 0)) {
            let (places, crowd) = (Places::new(1), Arc::default());
            let turn = (0..4).fold(ScriptedTurn::new(), |turn, at| {
                turn.call(&format!("below_{at}"), json!({ "task": "Go." }))
            });
            let mut agent = scripted_builder([turn, text("Above.")]);
            for at in 0..4 {
                let name = format!("below_{at}");
                agent = agent.tool(outlives_a_call(name, &places, &crowd, (grace, at_once)));
            }
            let agent = agent.build().unwrap().conversation();
            let outcome = timeout(LONG, agent.run("Go.")).await.unwrap().unwrap();
            let results = results_of(&agent);
            assert!(results.iter().all(|(text, _)| text == "Done."), "{results:?}");
            assert_eq!((outcome.text.as_str(), places.free()), ("Above.", 1));
            let [most, all] = [&crowd.most, &crowd.all].map(|it| it.load(Ordering::SeqCst));
            assert_eq!((most, all), (1, 4), "{grace:?} {at_once}: one works at a time");
        }
    }
}

/// An agent below an agent below another, whose tool waits.
fn nested(places: &Places) -> (Conversation, [ScriptedProvider; 3]) {
    let turns = || ScriptedTurn::new().text("Now.").call("wait", json!({}));
    let echo =
        |name: &'static str| ScriptedTurn::new().text("Ask.").call(name, json!({ "task": "Go." }));
    let third = ScriptedProvider::new([turns(), text("Third.")]);
    let second = ScriptedProvider::new([echo("third"), text("Second.")]);
    let first = ScriptedProvider::new([echo("second"), text("First.")]);
    let wait = tool_fn("wait", "", |_: ToolContext, _: Nothing| async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        "waited"
    });
    let deep = Agent::builder(third.clone()).tool(wait).build().unwrap();
    let deep = deep.into_tool("third", "").places(places);
    let middle = Agent::builder(second.clone()).tool(deep).build().unwrap();
    let middle = middle.into_tool("second", "").places(places);
    let agent = Agent::builder(first.clone()).tool(middle).build().unwrap().conversation();
    (agent, [first, second, third])
}

#[tokio::test(start_paused = true)]
async fn events_come_nested_with_the_ids_of_both_runs() {
    let (agent, _) = nested(&Places::new(1));
    let mut stream = agent.run_stream("Go.");
    let (mut seqs, mut seen) = (HashMap::<String, u64>::new(), Vec::new());
    let mut parents = HashMap::new();
    while let Some(envelope) = stream.next().await {
        seen.push(envelope.seq);
        let mut event = envelope.event;
        while let Some(below) = SubAgentEvent::read(&event) {
            let next = seqs.entry(below.envelope.run_id.to_string()).or_default();
            assert_eq!(below.envelope.seq, *next, "{below:?}");
            *next += 1;
            parents
                .insert(below.tool_name.to_string(), (below.parent_run_id, below.envelope.run_id));
            event = below.envelope.event;
        }
    }
    assert!(seen.iter().copied().eq(0..seen.len() as u64), "the numbers have no gap");
    assert_eq!(seqs.len(), 2);
    assert_eq!(parents["second"].0, stream.run_id());
    assert_eq!(parents["third"].0, parents["second"].1);
}

#[tokio::test(start_paused = true)]
async fn cancel_and_drop_at_each_event_leave_nothing() {
    let (agent, _) = nested(&Places::new(1));
    let mut stream = agent.run_stream("Go.");
    let mut all = 0;
    while stream.next().await.is_some() {
        all += 1;
    }
    assert!(all > 40, "{all} events");
    for at in 0..all {
        for is_dropped in [false, true] {
            let places = Places::new(1);
            let (agent, providers) = nested(&places);
            let mut stream = agent.run_stream("Go.");
            for _ in 0..at {
                stream.next().await.unwrap();
            }
            if is_dropped {
                drop(stream);
            } else {
                stream.cancel();
                let ended = timeout(Duration::from_millis(150), stream.outcome()).await;
                assert!(ended.is_ok(), "{at}");
            }
            // The tasks that were asked to end need a turn for it.
            tokio::time::sleep(Duration::from_millis(100)).await;
            let open: usize = providers.iter().map(ScriptedProvider::open_streams).sum();
            assert_eq!((places.free(), open), (1, 0), "{at} {is_dropped}");
        }
    }
}

/// An agent that removes without asking anyone above.
fn removing(removed: &Arc<AtomicUsize>) -> AgentBuilder {
    let removed = Arc::clone(removed);
    let tool = tool_fn("remove", "Removes.", move |_: ToolContext, _: Nothing| {
        removed.fetch_add(1, Ordering::SeqCst);
        std::future::ready("removed")
    });
    scripted_builder([ScriptedTurn::new().call("remove", json!({})), text("Gone.")])
        .tool(tool.effects(ToolEffects::Irreversible))
}

#[tokio::test(start_paused = true)]
async fn nobody_can_escape_approval_through_a_sub_agent() {
    for (decision, want) in [(Decision::Grant, 1), (Decision::reject("no"), 0)] {
        let removed = Arc::<AtomicUsize>::default();
        let agent = pair(removing(&removed)).build().unwrap().conversation();
        let mut stream = agent.run_stream("Go.");
        let approvals = stream.approvals();
        let mut asked = 0;
        while let Some(envelope) = stream.next().await {
            if let Some(below) = SubAgentEvent::read(&envelope.event)
                && let AgentEvent::ToolApprovalRequest(request) = below.envelope.event
            {
                assert_eq!(approvals.open().len(), 1);
                assert_eq!(removed.load(Ordering::SeqCst), 0);
                approvals.answer(&request.approval_id, decision.clone()).unwrap();
                assert!(approvals.answer(&request.approval_id, decision.clone()).is_err());
                asked += 1;
            }
        }
        assert_eq!((asked, removed.load(Ordering::SeqCst)), (1, want));
    }
    // Without anyone to ask, at once; and without an answer.
    let removed = Arc::<AtomicUsize>::default();
    let agent =
        pair(removing(&removed)).approval(ApprovalPolicy::Never).build().unwrap().conversation();
    assert_eq!(agent.run("Go.").await.unwrap().text, "Above.");
    let mut stream = agent.fork().run_stream("Go.");
    while stream.next().await.is_some() {}
    assert_eq!((removed.load(Ordering::SeqCst), stream.approvals().open().len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_request_of_a_dropped_run_is_not_open() {
    let removed = Arc::<AtomicUsize>::default();
    let mut stream = pair(removing(&removed)).build().unwrap().conversation().run_stream("Go.");
    let approvals = stream.approvals();
    while approvals.open().is_empty() {
        stream.next().await.unwrap();
    }
    stream.cancel();
    while stream.next().await.is_some() {}
    assert_eq!((approvals.open().len(), removed.load(Ordering::SeqCst)), (0, 0));
}

#[tokio::test]
async fn text_from_outside_is_outside_in_both_directions() {
    let page = || tool_fn("page", "", |_: ToolContext, _: Nothing| async { "words" });
    let fetch = || ScriptedTurn::new().call("page", json!({}));
    let below =
        scripted_builder([fetch(), text("Words.")]).tool(page().origin(TextOrigin::Outside));
    let agent = pair(below).build().unwrap().conversation();
    agent.run("Go.").await.unwrap();
    assert!(agent.transcript().iter().any(|it| it.has_outside_text()), "from below");

    let removed = Arc::<AtomicUsize>::default();
    let below = removing(&removed).grant(["remove"]).build().unwrap();
    let provider = ScriptedProvider::new([fetch(), task("below"), text("Done.")]);
    let agent = Agent::builder(provider)
        .tool(page().origin(TextOrigin::Outside))
        .tool(below.into_tool("below", ""));
    agent.build().unwrap().conversation().run("Go.").await.unwrap();
    assert_eq!(removed.load(Ordering::SeqCst), 0, "a grant does not count below it");
}

#[tokio::test(start_paused = true)]
async fn the_context_the_deadline_and_the_budget_are_inherited() {
    let caller = tool_fn("caller", "", |context: ToolContext, _: Nothing| async move {
        context.run().caller().map(|it| it.id.to_string()).unwrap_or_default()
    });
    let provider = ScriptedProvider::from_fn(|request: &Request| {
        let results: Vec<_> = request.messages.iter().flat_map(|it| it.tool_results()).collect();
        match results.first() {
            Some(result) => ScriptedTurn::new().text(result.content.clone()),
            None => ScriptedTurn::new().call("caller", json!({})),
        }
    });
    let below = Agent::builder(provider).tool(caller);
    let agent = pair(below).build().unwrap().conversation();
    agent.run(RunInput::from("Go.").caller(Caller::new("ann"))).await.unwrap();
    assert_eq!(results_of(&agent), [("ann".to_owned(), false)]);

    // Of two turns one is left, for the agent below too.
    let below =
        scripted_builder((0..5).map(|_| ScriptedTurn::new().call("echo", json!({ "text": "a" }))));
    let agent = pair(below).build().unwrap().conversation();
    agent.run(RunInput::from("Go.").budget(Budget::default().turns(2))).await.unwrap();
    assert_eq!(results_of(&agent).len(), 1);

    let hangs = scripted_builder([ScriptedTurn::new().text("Now.").hang()]);
    let error = pair(hangs)
        .run_timeout(Duration::from_secs(5))
        .build()
        .unwrap()
        .conversation()
        .run("Go.")
        .await;
    assert_eq!(error.unwrap_err().error.code, ErrorCode::Timeout);
}

#[tokio::test(start_paused = true)]
async fn a_report_has_a_bound() {
    let below = scripted_builder([ScriptedTurn::new().text("a".repeat(101))]).build().unwrap();
    let tool = below.into_tool("below", "Helps.").max_result_chars(100);
    let provider = ScriptedProvider::new([task("below"), text("Done.")]);
    let agent = Agent::builder(provider).tool(tool).build().unwrap().conversation();
    agent.run("Go.").await.unwrap();
    assert!(results_of(&agent)[0].0.contains(r#""resultChars":101"#));
}

#[tokio::test]
async fn the_last_messages_come_before_the_task_when_asked_for() {
    let below = ScriptedProvider::new([text("Below.")]);
    let tool = Agent::builder(below.clone()).build().unwrap().into_tool("below", "");
    let echo = ScriptedTurn::new().call("echo", json!({ "text": "a" }));
    let above = ScriptedProvider::new([text("Hello."), echo, task("below"), text("Done.")]);
    let agent = builder(&above).tool(tool.recent(4)).build().unwrap().conversation();
    agent.run("Hi.").await.unwrap();
    agent.run("Go.").await.unwrap();
    let requests = below.requests();
    let sent: Vec<_> = requests[0].messages.iter().map(|it| it.text()).collect();
    assert_eq!(sent, ["Hello.", "Go.", "", "", "Do it."]);
    let calls = requests[0].messages.iter().flat_map(|it| it.tool_calls()).count();
    let results = requests[0].messages.iter().flat_map(|it| it.tool_results()).count();
    assert_eq!((calls, results), (1, 1), "the call that asks is left out");
    assert_eq!(agent.transcript().len(), 8, "that of the agent above is its own");
}

#[tokio::test]
async fn one_that_asks_the_agent_above_it_is_a_failed_call_and_not_a_wait() {
    // An agent that is a tool of its own: the depth ends it. One that asks in the conversation above: the wait would.
    let agent = Arc::new(std::sync::OnceLock::<Arc<Conversation>>::new());
    let asked = Arc::clone(&agent);
    let upwards = tool_fn("upwards", "", move |_: ToolContext, _: Nothing| {
        let above = Arc::clone(asked.get().unwrap());
        async move { above.run("Again.").await.map(|it| it.text).map_err(|it| it.to_string()) }
    });
    let below = scripted_builder([ScriptedTurn::new().call("upwards", json!({})), text("Below.")])
        .tool(upwards);
    let above = Arc::new(pair(below).build().unwrap().conversation());
    assert!(agent.set(Arc::clone(&above)).is_ok());
    let mut stream = above.run_stream("Go.");
    let mut failures = Vec::new();
    while let Some(envelope) = stream.next().await {
        if let Some(below) = SubAgentEvent::read(&envelope.event)
            && let AgentEvent::ToolResultError(ToolResultEvent { content, .. }) =
                below.envelope.event
        {
            failures.push(content);
        }
    }
    assert_eq!(stream.outcome().await.unwrap().text, "Above.");
    let [failure] = failures.as_slice() else { panic!("{failures:?}") };
    assert!(failure.contains("run from inside one of its own tools"), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn one_that_goes_round_in_a_circle_is_a_failed_call_that_says_so() {
    let turns = (0..9).map(|_| ScriptedTurn::new().call("nope", json!({})));
    let agent = pair(scripted_builder(turns)).build().unwrap().conversation();
    assert_eq!(agent.run("Go.").await.unwrap().text, "Above.");
    let results = results_of(&agent);
    let (result, is_error) = &results[0];
    assert!(*is_error && result.contains("the agent `below` failed"), "{result}");
    assert!(result.contains("nope"), "{result}");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_put_away_reads_that_the_agent_below_was_interrupted() {
    let mut interrupted = 0;
    for at in 0.. {
        let (journal, places) = (MemoryJournal::default(), Places::new(1));
        let above = |turns: Vec<ScriptedTurn>| {
            let deep = scripted_builder([text("Deep.")])
                .build()
                .unwrap()
                .into_tool("deep", "")
                .places(&places);
            let below =
                scripted_builder([task("deep"), text("Below.")]).tool(deep).event_capacity(1);
            let below = below.build().unwrap().into_tool("below", "").places(&places);
            let agent = Agent::builder(ScriptedProvider::new(turns)).tool(below);
            agent.event_capacity(1).build().unwrap().conversation().with_journal(journal.clone())
        };
        let first = above(vec![task("below"), text("Done.")]);
        let (mut stream, mut last) = (first.run_stream("Go."), None);
        for _ in 0..=at {
            last = stream.next().await;
        }
        drop((stream, first));
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(places.free(), 1, "at {at}");
        let Some(last) = last else { break };
        if SubAgentEvent::read(&last.event).is_none() {
            continue;
        }
        let second = above(vec![text("Done.")]);
        let outcome = second.resume().await.unwrap().unwrap();
        assert_eq!(outcome.text, "Done.", "at {at}");
        let results = results_of(&second);
        let [(result, is_error)] = results.as_slice() else { panic!("at {at}: {results:?}") };
        // Its end may be written down while its last event waits for the reader.
        assert!(*is_error || result == "Below.", "at {at}: {result}");
        assert_eq!(*is_error, result.contains("This call was interrupted"), "at {at}: {result}");
        interrupted += usize::from(*is_error);
    }
    assert!(interrupted > 10, "{interrupted} times");
}

#[tokio::test(start_paused = true)]
async fn steering_at_each_event_reaches_the_run_above_once_and_no_agent_below() {
    let mut all = 0;
    let mut stream = nested(&Places::new(1)).0.run_stream("Go.");
    while stream.next().await.is_some() {
        all += 1;
    }
    for at in 0..all {
        for now in [false, true] {
            let places = Places::new(1);
            let (agent, [first, second, third]) = nested(&places);
            let mut stream = agent.run_stream("Go.");
            let steering = stream.steering();
            for _ in 0..at {
                stream.next().await.unwrap();
            }
            let said = steering.steer("And this.");
            if now {
                let _cut = steering.steer_now("At once.");
            }
            let ended = timeout(LONG, async { while stream.next().await.is_some() {} }).await;
            assert!(ended.is_ok(), "{at} {now}");
            let outcome = stream.outcome().await.unwrap_or_else(|failed| *failed.outcome);
            let texts = outcome.messages.iter().filter(|it| it.text() == "And this.");
            let undelivered = outcome.undelivered.iter().filter(|it| it.text() == "And this.");
            let heard = texts.count() + undelivered.count();
            assert_eq!(heard, usize::from(said.is_ok()), "{at} {now}");
            for request in second.requests().iter().chain(&third.requests()) {
                assert!(request.messages.iter().all(|it| it.text() != "And this."), "{at} {now}");
            }
            let open = [&first, &second, &third].map(ScriptedProvider::open_streams);
            assert_eq!((places.free(), open), (1, [0; 3]), "{at} {now}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn through_channels_events_are_nested_and_requests_are_answered() {
    let removed = Arc::<AtomicUsize>::default();
    let agent = pair(removing(&removed)).build().unwrap().conversation();
    let (handle, mut channels) = agent.start();
    channels.input.send("Go.").await.unwrap();
    let (mut asked, mut parents) = (0, Vec::new());
    while let Some(envelope) = channels.events.recv().await {
        if let Some(below) = SubAgentEvent::read(&envelope.event) {
            assert_eq!(below.parent_run_id, envelope.run_id);
            if !parents.contains(&below.envelope.run_id) {
                parents.push(below.envelope.run_id.clone());
            }
            if let AgentEvent::ToolApprovalRequest(request) = below.envelope.event {
                assert_eq!(removed.load(Ordering::SeqCst), 0);
                channels.approval.answer(&request.approval_id, Decision::Grant).unwrap();
                asked += 1;
            }
        }
        if matches!(envelope.event, AgentEvent::UpdateBusy(UpdateBusyEvent { busy: false, .. })) {
            break;
        }
    }
    assert_eq!((asked, parents.len(), removed.load(Ordering::SeqCst)), (1, 1, 1));
    drop(channels);
    handle.shutdown().await;
}
