//! Agents that are tools of others and work in the background.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::StreamExt as _;
use tokio::time::{sleep, timeout};

use super::*;
use crate::{
    RunInput,
    approval::Decision,
    config::AgentConfig,
    journal::MemoryJournal,
    nesting::Places,
    notice::SubAgentEvent,
    run::Budget,
    tools::{Tool, ToolEffects},
};
use forgeline_llm::{ChunkStream, Provider, ProviderFuture, Request};
use forgeline_types::{ModelInfo, TextOrigin, UsageInfo};

const LONG: Duration = Duration::from_hours(1);

fn text(text: &'static str) -> ScriptedTurn {
    ScriptedTurn::new().text(text)
}

fn begin(name: &str) -> ScriptedTurn {
    ScriptedTurn::new().call(name, json!({ "task": "Do it.", "background": true }))
}

fn ask(handle: &str, wait: u32) -> ScriptedTurn {
    ask_with(handle, json!({ "agent": handle, "wait_seconds": wait }))
}

fn ask_with(handle: &str, arguments: Value) -> ScriptedTurn {
    let (tool, _) = handle.rsplit_once('-').unwrap();
    ScriptedTurn::new().call(&format!("{tool}_result"), arguments)
}

fn scripted_builder(turns: impl IntoIterator<Item = ScriptedTurn>) -> AgentBuilder {
    Agent::builder(ScriptedProvider::new(turns))
}

/// An agent of these turns, with one below that may work in the background.
fn pair(above: impl IntoIterator<Item = ScriptedTurn>, below: AgentBuilder) -> AgentBuilder {
    scripted_builder(above)
        .tools(below.build().unwrap().into_tool("below", "Helps.").in_background())
}

/// A tool that takes a second.
fn slow() -> impl Tool {
    tool_fn("slow", "Takes a second.", |_: ToolContext, _: Nothing| async {
        sleep(Duration::from_secs(1)).await;
        "slow"
    })
}

fn slowly() -> ScriptedTurn {
    ScriptedTurn::new().text("Now.").call("slow", json!({}))
}

/// A provider that waits before each chunk.
struct Slow(ScriptedProvider, Duration);

impl Provider for Slow {
    fn info(&self) -> &ModelInfo {
        self.0.info()
    }

    fn stream_completion(&self, request: Request) -> ProviderFuture<ChunkStream> {
        let (opening, wait) = (self.0.stream_completion(request), self.1);
        Box::pin(async move {
            let chunks = opening.await?.then(move |chunk| async move {
                sleep(wait).await;
                chunk
            });
            Ok(Box::pin(chunks) as ChunkStream)
        })
    }
}

/// What the model above reads of the calls.
fn results_of(agent: &Conversation) -> Vec<(String, bool)> {
    let transcript = agent.transcript();
    let results = transcript.iter().flat_map(|it| it.tool_results());
    results.map(|it| (it.content.clone(), it.is_error)).collect()
}

#[tokio::test(start_paused = true)]
async fn the_run_goes_on_and_reads_the_report_when_it_asks() {
    let above =
        [begin("below"), ask("below-1", 0), ask("below-1", 60), ask("below-1", 0), text("Done.")];
    // The pause before a call that was made before is a second: the first of them comes at once.
    let below = scripted_builder([slowly(), slowly(), slowly(), text("Below.")]).tool(slow());
    let agent = pair(above, below).build().unwrap().conversation();
    let mut stream = agent.run_stream("Go.");
    let (mut behind, mut has_begun, mut seqs) = (0, false, Vec::new());
    while let Some(envelope) = stream.next().await {
        if let Some(below) = SubAgentEvent::read(&envelope.event) {
            assert!(below.background);
            assert_eq!(below.parent_run_id, envelope.run_id);
            seqs.push(below.envelope.seq);
            behind += usize::from(has_begun);
        }
        has_begun |= matches!(envelope.event, AgentEvent::ToolResult(_));
    }
    assert_eq!(stream.outcome().await.unwrap().text, "Done.");
    assert!(seqs.iter().copied().eq(0..seqs.len() as u64) && behind > 10, "{seqs:?} {behind}");
    let results = results_of(&agent);
    let texts: Vec<_> = results.iter().map(|(text, _)| text.as_str()).collect();
    let [begun, working, "Below.", "Below."] = texts[..] else { panic!("{results:?}") };
    assert!(
        begun.contains("`below-1` works in the background") && begun.contains("`below_result`")
    );
    assert!(working.contains("still working"), "{working}");
    assert!(results.iter().all(|(_, is_error)| !is_error), "{results:?}");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_its_place_holds_none_of_them_up() {
    let places = Places::new(1);
    // It has the place when the call that had it is given up, and more to tell than waits in a queue.
    let many = (0..100).fold(ScriptedTurn::new(), |turn, _| turn.text("word "));
    let below = Agent::builder(Slow(ScriptedProvider::new([many]), Duration::from_millis(9)));
    let below = below.build().unwrap().into_tool("below", "").places(&places).in_background();
    // Its own tool does not listen, so that it is there when its call is given up.
    let deaf = tool_fn("deaf", "Sleeps.", |_: ToolContext, _: Nothing| async {
        sleep(LONG).await;
        "slept"
    });
    let hangs =
        scripted_builder([ScriptedTurn::new().call("deaf", json!({}))]).tool(deaf).build().unwrap();
    let hangs = hangs.into_tool("hangs", "").places(&places).timeout(Duration::from_secs(1));
    let turn = begin("below").call("hangs", json!({ "task": "Do it." }));
    let config = AgentConfig::default().tool_grace(Duration::from_nanos(1));
    let middle = scripted_builder([turn, text("Done.")]).config(config).tools(below).tool(hangs);
    let middle = middle.build().unwrap().into_tool("middle", "").places(&places);
    let above = scripted_builder([
        ScriptedTurn::new().call("middle", json!({ "task": "Do it." })),
        text("Above."),
    ]);
    let agent = above.tool(middle).build().unwrap().conversation();
    let began = tokio::time::Instant::now();
    assert_eq!(agent.run("Go.").await.unwrap().text, "Above.");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!((results_of(&agent)[0].0.as_str(), places.free()), ("Done.", 1));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_answers_meanwhile_holds_none_of_them_up() {
    // Their events come while the answer above does, also far more than wait in a queue.
    let many = (0..100).fold(ScriptedTurn::new(), |turn, _| turn.text("word "));
    let ended = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&ended);
    let note = tool_fn("note", "", move |_: ToolContext, _: Nothing| {
        count.fetch_add(1, Ordering::SeqCst);
        std::future::ready("noted")
    });
    let below = scripted_builder([many.call("note", json!({})), text("Below.")]).tool(note);
    let above = ScriptedProvider::new([begin("below"), text("One").text(" two.")]);
    let below = below.build().unwrap().into_tool("below", "").in_background();
    let above = Agent::builder(Slow(above, Duration::from_secs(1)));
    let agent = above.tools(below).build().unwrap().conversation();
    let mut stream = agent.run_stream("Go.");
    while let Some(envelope) = stream.next().await {
        if envelope.event.text() == " two." {
            assert_eq!(ended.load(Ordering::SeqCst), 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn bad_handles_and_ends_are_results_that_say_what_to_do() {
    let panics = tool_fn("slow", "", |_: ToolContext, _: Nothing| async {
        sleep(LONG).await;
        "never"
    });
    let hangs =
        scripted_builder([slowly(), slowly()]).tool(panics).tool_timeout(LONG).build().unwrap();
    let hangs = hangs.into_tool("hangs", "").timeout(Duration::from_secs(3)).in_background();
    let stop = |handle: &str| ask_with(handle, json!({ "agent": handle, "stop": true }));
    let above = [
        ask("below-1", 0),
        begin("below"),
        ask("below-1", 9),
        ask("below-7", 0),
        begin("hangs"),
        ask("hangs-1", 60),
        begin("hangs"),
        stop("hangs-2"),
        ask("hangs-2", 0),
        stop("below-1"),
        stop("hangs-1"),
        ScriptedTurn::new().call("below", json!({ "task": " ", "background": true })),
        text("Done."),
    ];
    // It has no turns: its provider fails.
    let agent = pair(above, scripted_builder([]))
        .tools(hangs)
        .max_turns(20)
        .build()
        .unwrap()
        .conversation();
    assert_eq!(agent.run("Go.").await.unwrap().text, "Done.");
    let results = results_of(&agent);
    let want = [
        (true, "give its task again"),
        (false, "`below-1` works"),
        (true, "the agent `below` failed"),
        (true, "is not one of `below-1`"),
        (false, "`hangs-1` works"),
        (true, "3s"),
        (false, "`hangs-2` works"),
        (false, "`hangs-2` is stopped"),
        (true, "cancelled"),
        // What ended before it was asked to stop has an end of its own.
        (true, "the agent `below` failed"),
        (true, "3s"),
        (true, "describe the task"),
    ];
    for ((text, is_error), (want_error, want)) in results.iter().zip(want) {
        assert!(*is_error == want_error && text.contains(want), "{want}: {results:#?}");
    }
    assert_eq!(results.len(), want.len());
}

#[tokio::test(start_paused = true)]
async fn the_call_that_asks_says_so_and_waits_longer_than_other_tools_may() {
    let provider = ScriptedProvider::new([begin("below"), ask("below-1", 60), text("Done.")]);
    let below = scripted_builder([slowly(), text("Below.")]).tool(slow()).build().unwrap();
    let agent = Agent::builder(provider.clone())
        .tools(below.into_tool("below", "Helps.").in_background())
        .tool_timeout(Duration::from_millis(10))
        .build()
        .unwrap()
        .conversation();
    agent.run("Go.").await.unwrap();
    assert_eq!(results_of(&agent)[1], ("Below.".to_owned(), false));
    let tools = provider.requests().remove(0).tools;
    let begins = tools.iter().find(|tool| tool.name == "below").unwrap();
    assert!(begins.description.contains("Helps."), "{}", begins.description);
    let asks = tools.iter().find(|tool| tool.name == "below_result").unwrap();
    assert!(asks.description.contains("an agent that `below` started"), "{}", asks.description);
}

#[tokio::test(start_paused = true)]
async fn their_number_is_bounded_and_only_tools_that_may_begin_them() {
    let calls = (0..33).fold(ScriptedTurn::new(), |turn, at| {
        turn.call("below", json!({ "task": at.to_string(), "background": true }))
    });
    let below = ScriptedProvider::from_fn(|_: &Request| text("Below."));
    let agent = pair([calls, text("Done.")], Agent::builder(below)).build().unwrap().conversation();
    agent.run("Go.").await.unwrap();
    let results = results_of(&agent);
    let refused: Vec<_> = results.iter().filter(|(_, is_error)| *is_error).collect();
    assert!(refused.len() == 1 && refused[0].0.contains("at most 32"), "{refused:?}");

    let below = scripted_builder([text("Below.")]).build().unwrap().into_tool("below", "Helps.");
    let agent = scripted_builder([begin("below"), text("Done.")])
        .tool(below)
        .build()
        .unwrap()
        .conversation();
    agent.run("Go.").await.unwrap();
    assert!(
        results_of(&agent)[0].1 && results_of(&agent)[0].0.contains("background"),
        "{:?}",
        results_of(&agent)
    );
}

#[tokio::test(start_paused = true)]
async fn cancel_and_drop_at_each_event_and_the_end_of_the_run_leave_nothing() {
    let family = |places: &Places| {
        let third = ScriptedProvider::new([slowly(), text("Third.")]);
        let second =
            ScriptedProvider::new([begin("third"), slowly(), ask("third-1", 1), text("Second.")]);
        let first = ScriptedProvider::new([begin("second"), slowly(), text("First.")]);
        let deep = Agent::builder(third.clone()).tool(slow()).build().unwrap();
        let deep = deep.into_tool("third", "").places(places).in_background();
        let middle = Agent::builder(second.clone()).tool(slow()).tools(deep).build().unwrap();
        let middle = middle.into_tool("second", "").places(places).in_background();
        let agent = Agent::builder(first.clone()).tool(slow()).tools(middle);
        (agent.build().unwrap().conversation(), [first, second, third])
    };
    let mut stream = family(&Places::new(2)).0.run_stream("Go.");
    let mut all = 0;
    while stream.next().await.is_some() {
        all += 1;
    }
    assert!(all > 40, "{all} events");
    for at in 0..=all {
        for is_dropped in [false, true] {
            let places = Places::new(2);
            let (agent, providers) = family(&places);
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
            sleep(Duration::from_millis(100)).await;
            let open: usize = providers.iter().map(ScriptedProvider::open_streams).sum();
            assert_eq!((places.free(), open), (2, 0), "{at} {is_dropped}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_waits_for_another_in_the_background_holds_no_place() {
    let places = Places::new(1);
    let deep = scripted_builder([slowly(), text("Deep.")]).tool(slow()).build().unwrap();
    let deep = deep.into_tool("deep", "").places(&places).in_background();
    let asking = ScriptedProvider::new([begin("deep"), ask("deep-1", 30), text("Middle.")]);
    let middle = Agent::builder(asking.clone()).tools(deep);
    let middle = middle.build().unwrap().into_tool("middle", "").places(&places).in_background();
    let agent =
        scripted_builder([begin("middle"), ask("middle-1", 60), text("Done.")]).tools(middle);
    let agent = agent.build().unwrap().conversation();
    assert_eq!(timeout(LONG, agent.run("Go.")).await.unwrap().unwrap().text, "Done.");
    assert_eq!((results_of(&agent)[1].0.as_str(), places.free()), ("Middle.", 1));
    let requests = asking.requests();
    let results = requests[2].messages.iter().flat_map(|it| it.tool_results());
    assert_eq!(results.last().unwrap().content, "Deep.");
}

#[tokio::test(start_paused = true)]
async fn nobody_can_escape_approval_in_the_background() {
    for (decision, want) in [(Decision::Grant, 1), (Decision::reject("no"), 0)] {
        let removed = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&removed);
        let remove = tool_fn("remove", "Removes.", move |_: ToolContext, _: Nothing| {
            count.fetch_add(1, Ordering::SeqCst);
            std::future::ready("removed")
        });
        let below =
            scripted_builder([ScriptedTurn::new().call("remove", json!({})), text("Gone.")])
                .tool(remove.effects(ToolEffects::Irreversible));
        let agent = pair([begin("below"), ask("below-1", 60), text("Done.")], below);
        let mut stream = agent.build().unwrap().conversation().run_stream("Go.");
        let (approvals, mut asked) = (stream.approvals(), 0);
        while let Some(envelope) = stream.next().await {
            if let Some(below) = SubAgentEvent::read(&envelope.event)
                && let AgentEvent::ToolApprovalRequest(request) = below.envelope.event
            {
                assert_eq!(removed.load(Ordering::SeqCst), 0);
                approvals.answer(&request.approval_id, decision.clone()).unwrap();
                asked += 1;
            }
        }
        assert_eq!((asked, removed.load(Ordering::SeqCst)), (1, want));
    }
}

#[tokio::test(start_paused = true)]
async fn a_report_of_text_from_outside_is_from_outside() {
    let page = tool_fn("page", "", |_: ToolContext, _: Nothing| async { "words" });
    let below = scripted_builder([ScriptedTurn::new().call("page", json!({})), text("Words.")])
        .tool(page.origin(TextOrigin::Outside));
    let agent = pair([begin("below"), ask("below-1", 60), text("Done.")], below)
        .build()
        .unwrap()
        .conversation();
    agent.run("Go.").await.unwrap();
    assert!(agent.transcript().iter().any(|it| it.has_outside_text()));
}

/// A provider whose answers use 100 tokens each.
fn measured(turn: impl Fn(&Request) -> ScriptedTurn + Send + Sync + 'static) -> ScriptedProvider {
    let usage = UsageInfo::default().input_tokens(60).output_tokens(40);
    let provider = ScriptedProvider::from_fn(move |request| turn(request).usage(usage));
    provider.info_of(ModelInfo::new("scripted", "gpt-4o-mini"))
}

#[tokio::test(start_paused = true)]
async fn they_and_the_run_together_do_not_pass_its_budget_and_all_is_counted() {
    for tokens in [500, 1_000, 2_000] {
        let answers = Arc::<AtomicUsize>::default();
        let counted = |name: &'static str, most: usize| {
            let (answers, own) = (Arc::clone(&answers), AtomicUsize::new(0));
            measured(move |_| {
                answers.fetch_add(1, Ordering::SeqCst);
                match own.fetch_add(1, Ordering::SeqCst) {
                    0 if name == "above" => begin("below"),
                    at if at < most => ScriptedTurn::new().call("slow", json!({ "at": at })),
                    _ => text("Done."),
                }
            })
        };
        let slow = || {
            tool_fn("slow", "", |_: ToolContext, _: Value| async {
                sleep(Duration::from_millis(700)).await;
                "slow"
            })
        };
        let agent =
            |provider| Agent::builder(provider).tool(slow()).loop_guard(false).max_turns(99);
        let below = agent(counted("below", 99)).build().unwrap().into_tool("below", "");
        let above = agent(counted("above", 99))
            .tools(below.in_background())
            .build()
            .unwrap()
            .conversation();
        let ended = above.run(RunInput::from("Go.").budget(Budget::default().tokens(tokens))).await;
        let outcome = ended.unwrap_or_else(|error| *error.outcome);
        let answers = answers.load(Ordering::SeqCst) as u64;
        // Of each of the two, one answer may be under way.
        assert!(answers * 100 <= tokens + 200, "{answers} answers with {tokens} tokens");
        assert!(answers * 100 >= tokens, "{answers} answers with {tokens} tokens");
        assert!(outcome.spent.tokens + 100 >= answers * 100, "{} {answers}", outcome.spent.tokens);
    }

    // One that has ended, and no call after it: it counts, and what it did not use is free.
    let below = Agent::builder(measured(|_| text("Below."))).build().unwrap();
    let turn = AtomicUsize::new(0);
    let above = measured(move |_| match turn.fetch_add(1, Ordering::SeqCst) {
        0 => begin("below"),
        1..5 => slowly(),
        _ => text("Done."),
    });
    let above = Agent::builder(above).tool(slow()).loop_guard(false);
    let above =
        above.tools(below.into_tool("below", "").in_background()).build().unwrap().conversation();
    let outcome =
        above.run(RunInput::from("Go.").budget(Budget::default().tokens(750))).await.unwrap();
    assert_eq!((outcome.spent.tokens, outcome.text.as_str()), (700, "Done."));
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_run_counts_what_was_spent_in_the_background() {
    let below = measured(|_| slowly());
    let below = Agent::builder(below).tool(slow()).loop_guard(false).max_turns(99);
    let third = Agent::builder(measured(|_| slowly())).tool(slow()).loop_guard(false);
    let below = below.tools(third.build().unwrap().into_tool("third", "").in_background());
    let below = below.build().unwrap().into_tool("below", "").in_background();
    let turn = AtomicUsize::new(0);
    let above = measured(move |_| match turn.fetch_add(1, Ordering::SeqCst) {
        0 => begin("below"),
        _ => text("A long answer."),
    });
    let above = Slow(above, Duration::from_millis(500));
    let agent = Agent::builder(above).tools(below).build().unwrap().conversation();
    let outcome = agent.run("Go.").await.unwrap();
    // Two answers of the run, and two below it, of which the last had called a tool.
    assert_eq!(outcome.spent.tokens, 200 + 200);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_put_away_reads_that_they_are_gone() {
    let journal = MemoryJournal::default();
    let agent = |above: Vec<ScriptedTurn>| {
        let below = scripted_builder([slowly(), text("Below.")]).tool(slow());
        pair(above, below).build().unwrap().conversation().with_journal(journal.clone())
    };
    let mut stream = agent(vec![begin("below"), text("Long.").hang()]).run_stream("Go.");
    while let Some(envelope) = stream.next().await {
        if envelope.event.text() == "Long." {
            break;
        }
    }
    drop(stream);
    let second = agent(vec![ask("below-1", 9), text("Done.")]);
    assert_eq!(second.resume().await.unwrap().unwrap().text, "Done.");
    let results = results_of(&second);
    assert!(results[1].1 && results[1].0.contains("give its task again"), "{results:?}");
}
