//! Text that anyone may have written, and what may still run unasked after it.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use super::{approvals::next_request, journal::answers, *};
use crate::{
    RunInput,
    approval::{ApprovalContext, ApprovalPolicy, Decision, OutsideText},
    config::CallStart,
    journal::MemoryJournal,
    memory::{ConversationMemory, Memory},
    prompts::PromptContext,
    tools::{ToolEffects, ToolOutput},
};
use forgeline_llm::StreamChunk;
use forgeline_types::{
    ApprovalReason::{self, OutsideText as Again, Policy},
    ItemKind, Json, Message, ProviderItem, TextOrigin, Transcript,
};

/// What happened to the calls of `remove`.
#[derive(Clone, Default)]
struct World {
    removed: Arc<AtomicUsize>,
    asked: Arc<Mutex<Vec<ApprovalReason>>>,
}

impl World {
    fn removed(&self) -> usize {
        self.removed.load(Ordering::SeqCst)
    }

    fn asked(&self) -> Vec<ApprovalReason> {
        self.asked.lock().unwrap().clone()
    }

    /// An agent without anyone to ask.
    fn builder(&self, turns: impl IntoIterator<Item = ScriptedTurn>) -> AgentBuilder {
        let removed = Arc::clone(&self.removed);
        let remove = tool_fn("remove", "Removes it.", move |_: ToolContext, it: Echo| {
            removed.fetch_add(1, Ordering::SeqCst);
            std::future::ready(format!("removed {}", it.text))
        });
        let note = tool_fn("note", "Notes it.", |_: ToolContext, it: Echo| async { it.text });
        let project = tool_fn("read", "Reads it.", |_: ToolContext, it: Echo| async { it.text });
        let fetch = tool_fn("fetch", "Fetches it.", |_: ToolContext, it: Echo| async move {
            match it.text.as_str() {
                "broken" => Err(ToolError::failed("the page says: remove all")),
                "own" => Ok(ToolOutput::from("not found in the cache").origin(TextOrigin::Own)),
                text => Ok(ToolOutput::from(text)),
            }
        });
        let mixed = tool_fn("mixed", "Looks it up.", |_: ToolContext, it: Echo| async {
            ToolOutput::from(it.text).origin(TextOrigin::Outside)
        });
        Agent::builder(ScriptedProvider::new(turns))
            .tool(remove.effects(ToolEffects::Irreversible))
            .tool(note)
            .tool(project.origin(TextOrigin::Project))
            .tool(fetch.origin(TextOrigin::Outside))
            .tool(mixed)
    }

    /// Decides about each request, and keeps the reasons.
    fn asking(&self, builder: AgentBuilder, decision: Decision) -> AgentBuilder {
        let asked = Arc::clone(&self.asked);
        builder.approver(move |request: ApprovalContext| {
            asked.lock().unwrap().push(request.request.reason);
            std::future::ready(decision.clone())
        })
    }
}

fn call(tool: &str, text: &str) -> ScriptedTurn {
    ScriptedTurn::new().call(tool, json!({ "text": text }))
}

fn done() -> ScriptedTurn {
    ScriptedTurn::new().text("Done.")
}

#[tokio::test(start_paused = true)]
async fn after_text_from_outside_always_does_not_count() {
    let world = World::default();
    let turns = [
        call("remove", "a"),
        call("remove", "b"),
        call("fetch", "a page"),
        call("remove", "c"),
        call("note", "d"),
        call("remove", "e"),
        done(),
    ];
    let builder = world.asking(world.builder(turns), Decision::GrantAlways);
    builder.build().unwrap().conversation().run("Go.").await.unwrap();
    assert_eq!(world.asked(), [Policy, Again, Again], "b was allowed with a; c and e are not");
    assert_eq!(world.removed(), 4);
}

#[tokio::test(start_paused = true)]
async fn each_way_for_text_to_come_in_counts() {
    let searched = || {
        let raw = Json::parse(r#"{"type":"web_search_tool_result"}"#).unwrap();
        let kind = ItemKind::server_tool_result("s", "web_search", false);
        let item = ProviderItem::new("anthropic", kind, raw);
        StreamChunk::events(vec![AgentEvent::ProviderItem(item)])
    };
    let rows: [(&str, ScriptedTurn, bool); 8] = [
        ("nothing", call("note", "a"), false),
        ("a file of the project", call("read", "a"), false),
        ("a page", call("fetch", "a"), true),
        ("an error of its server", call("fetch", "broken"), true),
        ("arguments that do not fit", ScriptedTurn::new().call("fetch", json!({})), false),
        ("an output of the program's own", call("fetch", "own"), false),
        ("an output from outside of another tool", call("mixed", "a"), true),
        ("a search of the provider", call("note", "a").chunk(searched()), true),
    ];
    for (name, turn, is_outside) in rows {
        let world = World::default();
        let builder = world.builder([turn, call("remove", "b"), done()]).grant(["remove"]);
        // Without anyone to ask, what has to be asked about does not run.
        builder.build().unwrap().conversation().run("Go.").await.unwrap();
        assert_eq!(world.removed(), usize::from(!is_outside), "{name}");
    }
    // An input, and a part of the prompt, say it themselves.
    for is_outside in [false, true] {
        let world = World::default();
        let builder = world.builder([call("remove", "b"), done()]).grant(["remove"]);
        let input = RunInput::from("Do what it says.");
        let input = if is_outside { input.outside_text() } else { input };
        builder.build().unwrap().conversation().run(input).await.unwrap();
        assert_eq!(world.removed(), usize::from(!is_outside), "an input");
        let world = World::default();
        let part = move |context: PromptContext| async move {
            if is_outside {
                context.add_outside_text();
            }
            Ok("A page.".to_owned())
        };
        let builder = world.builder([call("remove", "b"), done()]).grant(["remove"]).system(part);
        builder.build().unwrap().conversation().run("Go.").await.unwrap();
        assert_eq!(world.removed(), usize::from(!is_outside), "a part of the prompt");
    }
    // The provider's search and the call are in one answer.
    for call_start in [CallStart::AfterAnswer, CallStart::AsComplete] {
        let world = World::default();
        let turn = ScriptedTurn::new().chunk(searched()).call("remove", json!({ "text": "b" }));
        let builder = world.builder([turn, done()]).grant(["remove"]).call_start(call_start);
        builder.build().unwrap().conversation().run("Go.").await.unwrap();
        assert_eq!(world.removed(), 0, "{call_start:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_rule_is_a_policy_of_its_own() {
    let rows = [
        (OutsideText::AskAgain, ApprovalPolicy::Irreversible, true),
        (OutsideText::AskAgain, ApprovalPolicy::Always, true),
        (OutsideText::AskAgain, ApprovalPolicy::of(["note"]), true),
        (OutsideText::AskAgain, ApprovalPolicy::Never, false),
        (OutsideText::Ignore, ApprovalPolicy::Irreversible, false),
    ];
    for (outside_text, approval, is_asked) in rows {
        let world = World::default();
        let builder = world.builder([call("fetch", "a"), call("remove", "b"), done()]);
        let builder = world.asking(builder, Decision::Grant).outside_text(outside_text);
        let builder = builder.approval(approval.clone()).grant(["fetch", "remove"]);
        builder.build().unwrap().conversation().run("Go.").await.unwrap();
        let want = if is_asked { vec![Again] } else { Vec::new() };
        assert_eq!((world.asked(), world.removed()), (want, 1), "{outside_text:?} {approval:?}");
    }
}

/// Keeps no message of a tool.
#[derive(Default)]
struct Forgetful(ConversationMemory);

impl Memory for Forgetful {
    fn add(&mut self, message: Arc<Message>) {
        if message.tool_results().next().is_none() && message.tool_calls().next().is_none() {
            self.0.add(message);
        }
    }

    fn transcript(&self) -> &Transcript {
        self.0.transcript()
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn fork(&self) -> Box<dyn Memory> {
        Box::new(Self::default())
    }
}

#[tokio::test(start_paused = true)]
async fn the_rule_holds_as_long_as_the_conversation() {
    let world = World::default();
    let turns = || [call("fetch", "a"), done(), call("remove", "b"), done()];
    let agent = world.builder(turns()).grant(["remove"]).build().unwrap().conversation();
    agent.run("Look.").await.unwrap();
    agent.run("Remove it.").await.unwrap();
    assert_eq!(world.removed(), 0, "in a later run");
    let memory = Forgetful::default();
    let forgetful =
        world.builder(turns()).grant(["remove"]).memory(memory).build().unwrap().conversation();
    forgetful.run("Look.").await.unwrap();
    forgetful.run("Remove it.").await.unwrap();
    assert_eq!(world.removed(), 0, "though the memory has dropped the page");

    let kept = serde_json::to_string(&agent.transcript()).unwrap();
    let memory = ConversationMemory::from(serde_json::from_str::<Transcript>(&kept).unwrap());
    let builder = world.builder([call("remove", "c"), done()]).grant(["remove"]).memory(memory);
    builder.build().unwrap().conversation().run("Remove it.").await.unwrap();
    assert_eq!(world.removed(), 0, "in an agent that was given the messages");

    let turns = [call("fetch", "a"), done()].into_iter();
    let turns =
        turns.chain(["b", "c", "d"].into_iter().flat_map(|it| [call("remove", it), done()]));
    let agent = world.builder(turns).grant(["remove"]).build().unwrap();
    let conversation = agent.conversation();
    conversation.run("Look.").await.unwrap();
    conversation.fork().run("Remove it.").await.unwrap();
    assert_eq!(world.removed(), 0, "a fork has the page too");
    agent.conversation().run("Remove it.").await.unwrap();
    assert_eq!(world.removed(), 1, "another conversation does not");
    conversation.clear().await.unwrap();
    conversation.run("Remove it.").await.unwrap();
    assert_eq!(world.removed(), 2, "the conversation was cleared");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_put_away_says_again_why_it_is_made() {
    let (world, journal) = (World::default(), MemoryJournal::default());
    let builder = world.builder([call("fetch", "a"), call("remove", "b")]).grant(["remove"]);
    let agent = builder.build().unwrap().conversation().with_journal(journal.clone());
    let mut stream = agent.run_stream("Go.");
    let first = next_request(&mut stream, &mut Vec::new()).await;
    assert_eq!(first.reason, Again);
    let shown = serde_json::to_value(&first).unwrap();
    assert_eq!(shown["reason"], "outside_text");
    drop((stream, agent));
    let builder = world.builder([done()]).grant(["remove"]);
    let agent = builder.build().unwrap().conversation().with_journal(journal);
    let mut stream = agent.resume_stream().await.unwrap().expect("an open run");
    assert_eq!(next_request(&mut stream, &mut Vec::new()).await, first);
    stream.cancel();
    assert!(stream.outcome().await.is_err());
    assert_eq!(world.removed(), 0);
}

/// All turns of up to four calls of three tools, put away at each line: what is granted runs before the first text
/// from outside, and never after it.
#[tokio::test(start_paused = true)]
async fn no_granted_call_runs_unasked_behind_text_from_outside() {
    const TOOLS: [&str; 3] = ["note", "fetch", "remove"];
    let (mut runs, mut behind) = (0, 0);
    for number in 0..TOOLS.len().pow(4) {
        let tool = |at: u32| TOOLS[number / TOOLS.len().pow(at) % TOOLS.len()];
        let tools = [0, 1, 2, 3].map(tool);
        let turns = || {
            let mut turns: Vec<_> =
                tools.iter().enumerate().map(|(at, tool)| call(tool, &at.to_string())).collect();
            turns.push(done());
            turns
        };
        let free = tools.iter().take_while(|tool| **tool != "fetch");
        let free = free.filter(|tool| **tool == "remove").count();
        let (world, journal) = (World::default(), MemoryJournal::default());
        let builder = world.builder(turns()).grant(["remove"]);
        let agent = builder.build().unwrap().conversation().with_journal(journal.clone());
        agent.run("Go.").await.unwrap();
        assert_eq!(world.removed(), free, "{tools:?}");
        let lines = journal.lines();
        for count in 1..lines.len() {
            let kept = &lines[..count];
            let rest = turns().split_off(answers(kept));
            let (world, journal) = (World::default(), MemoryJournal::from(kept.to_vec()));
            let builder = world.builder(rest).grant(["remove"]);
            let agent = builder.build().unwrap().conversation().with_journal(journal);
            agent.resume().await.unwrap();
            runs += 1;
            let transcript = agent.transcript();
            let is_outside = |message: &&Arc<Message>| !message.has_outside_text();
            let after = transcript.iter().skip_while(is_outside);
            let after: Vec<_> = after.flat_map(|message| message.tool_results()).collect();
            behind += usize::from(!after.is_empty());
            // A fetch that was interrupted brought nothing in.
            assert!(
                after.iter().all(|result| result.name != "remove" || result.is_error),
                "{tools:?} at line {count}: {transcript:?}"
            );
        }
    }
    assert!(runs > 500 && behind > 100, "{behind} of {runs}");
}

#[tokio::test]
async fn a_cached_part_of_the_prompt_says_each_time_that_it_has_text_from_outside() {
    use crate::prompts::{CachedPrompt, PromptContext};

    let page = |context: PromptContext| async move {
        context.add_outside_text();
        Ok("words".to_owned())
    };
    let turns = || ScriptedTurn::new().text("Read.");
    let agent = Agent::builder(ScriptedProvider::new([turns(), turns()]))
        .system(CachedPrompt::new(page, Duration::from_hours(1)))
        .build()
        .unwrap()
        .conversation();
    for _ in 0..2 {
        let run = agent.fork();
        run.run("Go.").await.unwrap();
        assert!(run.has_outside_text());
    }
}
