//! Calls that need a person's approval.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::time::{Instant, sleep, timeout};

use super::{whole::assert_history_is_whole, *};
use crate::{
    RunStream,
    approval::{ApprovalContext, ApprovalPolicy, Decision},
    journal::MemoryJournal,
    run::Budget,
    steering::Approvals,
    tools::{ToolEffects, TypedTool},
};
use forgeline_types::{ApprovalRequest, ErrorCode, Json, Preview};

const SOON: Duration = Duration::from_millis(100);

#[derive(Deserialize, JsonSchema)]
struct Path {
    path: String,
}

/// A tool that removes, and counts what it removed.
fn remove(
    removed: &Arc<AtomicUsize>,
) -> TypedTool<Path, impl Fn(ToolContext, Path) -> std::future::Ready<String> + Send + Sync + use<>>
{
    let removed = Arc::clone(removed);
    tool_fn("remove", "Removes a file.", move |_: ToolContext, it: Path| {
        removed.fetch_add(1, Ordering::SeqCst);
        std::future::ready(format!("removed {}", it.path))
    })
    .effects(ToolEffects::Irreversible)
}

fn call(path: &str) -> ScriptedTurn {
    ScriptedTurn::new().call("remove", json!({ "path": path }))
}

struct Fixture {
    removed: Arc<AtomicUsize>,
    provider: ScriptedProvider,
    builder: AgentBuilder,
}

fn fixture(turns: impl IntoIterator<Item = ScriptedTurn>) -> Fixture {
    let removed = Arc::<AtomicUsize>::default();
    let provider = ScriptedProvider::new(turns);
    let builder = builder(&provider).tool(remove(&removed));
    Fixture { removed, provider, builder }
}

impl Fixture {
    fn removed(&self) -> usize {
        self.removed.load(Ordering::SeqCst)
    }

    /// The results that the model has read, in order.
    fn results(&self) -> Vec<String> {
        let requests = self.provider.requests();
        let last = requests.last().expect("a request");
        let results = last.messages.iter().flat_map(|message| message.tool_results());
        results.map(|result| result.content.clone()).collect()
    }
}

/// Reads to the next request for approval.
pub(super) async fn next_request(
    stream: &mut RunStream,
    events: &mut Vec<Envelope>,
) -> ApprovalRequest {
    while let Some(envelope) = stream.next().await {
        events.push(envelope.clone());
        if let AgentEvent::ToolApprovalRequest(request) = envelope.event {
            return *request;
        }
    }
    panic!("no request: {:?}", kinds(events));
}

// Covers: G-35
#[tokio::test(start_paused = true)]
async fn the_policy_says_which_calls_are_asked_about() {
    let rows = [
        (ApprovalPolicy::Never, false),
        (ApprovalPolicy::Always, true),
        (ApprovalPolicy::Irreversible, true),
        (ApprovalPolicy::of(["remove"]), true),
        (ApprovalPolicy::of(["echo"]), false),
    ];
    for (policy, is_asked) in rows {
        let fixture = fixture([call("a"), ScriptedTurn::new().text("Done.")]);
        let agent =
            fixture.builder.clone().approval(policy.clone()).build().unwrap().conversation();
        // Nobody can answer: such calls do not run.
        let outcome = agent.run("Go.").await.unwrap();
        assert_eq!(outcome.text, "Done.");
        assert_eq!(fixture.removed(), usize::from(!is_asked), "{policy:?}");
        let [result] = &fixture.results()[..] else { panic!("one result") };
        assert_eq!(result.contains("there is no one to ask"), is_asked, "{result}");
    }
}

// Rows: N-12
#[tokio::test(start_paused = true)]
async fn the_model_reads_who_kept_a_call_from_running() {
    type Decide = fn() -> Decision;
    #[rustfmt::skip]
    let rows: [(&str, Option<Decide>, &str); 6] = [
        ("a person",          Some(|| Decision::reject("not that file")),                       "The user did not allow this call of `remove`: not that file."),
        ("a person, no word", Some(|| Decision::reject("")),                                    "The user did not allow this call of `remove`. "),
        ("a pipe",            Some(|| Decision::unanswered("the input is no terminal")),        "no person has decided about it: the input is no terminal."),
        ("a taken-back request", Some(|| Decision::unanswered("the client took it back")),      "no person has decided about it: the client took it back."),
        ("a broken approver", Some(|| std::panic::panic_any("boom")),                           "no person has decided about it: the approver panicked: boom."),
        ("nobody",            None,                                                             "there is no one to ask"),
    ];
    for (name, decide, want) in rows {
        let fixture = fixture([call("a"), ScriptedTurn::new().text("Done.")]);
        let builder = fixture.builder.clone().approval(ApprovalPolicy::Always);
        let builder = match decide {
            Some(decide) => builder.approver(move |_: ApprovalContext| async move { decide() }),
            None => builder,
        };
        builder.build().unwrap().conversation().run("Go.").await.unwrap();
        let [result] = &fixture.results()[..] else { panic!("{name}: one result") };
        assert!(result.contains(want), "{name}: {result}");
        let is_a_person = name.starts_with("a person");
        assert_eq!(result.contains("The user did not allow"), is_a_person, "{name}: {result}");
        assert_eq!(fixture.removed(), 0, "{name}");
    }
}

/// A person who has said no is not asked again; where nobody has decided, the same call is looked at anew.
// Rows: N-12
#[tokio::test(start_paused = true)]
async fn the_model_reads_who_kept_a_call_from_running_when_it_repeats_the_call() {
    type Decide = fn() -> futures_core::future::BoxFuture<'static, Decision>;
    #[rustfmt::skip]
    let rows: [(&str, Option<Decide>, &str, usize); 6] = [
        ("a person",        Some(|| Box::pin(async { Decision::reject("keep it") })),              "The user did not allow this call of `remove`: keep it.", 1),
        ("a pipe",          Some(|| Box::pin(async { Decision::unanswered("no terminal") })),      "no person has decided about it: no terminal.", 2),
        ("taken back",      Some(|| Box::pin(async { Decision::unanswered("it was withdrawn") })), "no person has decided about it: it was withdrawn.", 2),
        ("a broken approver", Some(|| Box::pin(async { std::panic::panic_any("boom") })),          "the approver panicked: boom.", 2),
        ("a time limit",    Some(|| Box::pin(std::future::pending())),                             "no answer came within 300s", 2),
        ("nobody",          None,                                                                  "there is no one to ask", 0),
    ];
    for (name, decide, want, asked) in rows {
        let fixture = fixture([call("a"), call("a"), ScriptedTurn::new().text("Done.")]);
        let builder = fixture.builder.clone().approval(ApprovalPolicy::Always);
        let count = Arc::<AtomicUsize>::default();
        let seen = Arc::clone(&count);
        let builder = match decide {
            Some(decide) => builder.approver(move |_: ApprovalContext| {
                seen.fetch_add(1, Ordering::SeqCst);
                decide()
            }),
            None => builder,
        };
        builder.build().unwrap().conversation().run("Go.").await.unwrap();
        let [first, again] = &fixture.results()[..] else { panic!("{name}: two results") };
        assert!(first.contains(want) && again.contains(want), "{name}: {again}");
        assert_eq!(again.contains("The user did not allow"), name == "a person", "{name}");
        let is_held = matches!(name, "a person" | "nobody");
        assert_eq!(again.contains("whose refusal still holds"), is_held, "{name}: {again}");
        assert!(!again.contains("has just failed"), "{name}: {again}");
        assert_eq!((fixture.removed(), count.load(Ordering::SeqCst)), (0, asked), "{name}");
    }
}

/// The call that is open when the run is cancelled, and the same call in the next run.
// Rows: N-12
#[tokio::test(start_paused = true)]
async fn a_call_that_a_cancel_ended_was_refused_by_nobody_and_is_asked_about_again() {
    let fixture = fixture([call("a"), call("a"), ScriptedTurn::new().text("Done.")]);
    let agent = fixture.builder.clone().build().unwrap().conversation();
    let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
    next_request(&mut stream, &mut events).await;
    stream.cancel();
    to_the_end(&mut stream, &mut events).await;
    let (mut stream, mut events) = (agent.run_stream("Again."), Vec::new());
    let request = next_request(&mut stream, &mut events).await;
    stream.approvals().answer(&request.approval_id, Decision::reject("no")).unwrap();
    to_the_end(&mut stream, &mut events).await;
    let [first, again] = &fixture.results()[..] else { panic!("two results") };
    assert_eq!(first, "This call was not run: the run ended first.");
    assert!(again.starts_with("The user did not allow this call of `remove`: no."), "{again}");
}

/// What ends a refusal: another call, a success of a tool, or a word of the user.
#[tokio::test(start_paused = true)]
async fn a_person_who_has_said_no_is_asked_again_when_something_has_changed() {
    let echo = || ScriptedTurn::new().call("echo", json!({ "text": "x" }));
    let done = || ScriptedTurn::new().text("Done.");
    #[rustfmt::skip]
    let rows: [(&str, Vec<ScriptedTurn>, Option<&str>, usize); 6] = [
        ("the same call",        vec![call("a"), call("a"), done()],                    None, 1),
        ("and another spelling", vec![call("a"), ScriptedTurn::new().call("remove", json!({ "path": "a" })), done()], None, 1),
        ("another call",         vec![call("a"), call("b"), done()],                    None, 2),
        ("after a success",      vec![call("a"), echo(), call("a"), done()],            None, 2),
        ("after a steer",        vec![call("a"), call("a"), done()],                    Some("steer"), 2),
        ("after a follow-up",    vec![call("a"), done(), call("a"), done()],            Some("follow up"), 2),
    ];
    for (name, turns, said, want) in rows {
        let fixture = fixture(turns);
        let agent = fixture.builder.clone().build().unwrap().conversation();
        let (mut stream, mut asked, mut events) = (agent.run_stream("Go."), 0, Vec::new());
        let (approvals, steering) = (stream.approvals(), stream.steering());
        while let Some(envelope) = stream.next().await {
            events.push(envelope.clone());
            let AgentEvent::ToolApprovalRequest(request) = envelope.event else { continue };
            asked += 1;
            match said.filter(|_| asked == 1) {
                Some("steer") => steering.steer("Do remove it.").unwrap(),
                Some(_) => steering.follow_up("Do remove it.").unwrap(),
                None => {}
            }
            approvals.answer(&request.approval_id, Decision::reject("")).unwrap();
        }
        assert_eq!((asked, fixture.removed()), (want, 0), "{name}: {:?}", kinds(&events));
    }
}

/// Refusals of different calls are no circle, however alike their words are.
#[tokio::test(start_paused = true)]
async fn different_calls_that_a_person_refuses_are_not_the_same_call() {
    let paths = ["a", "b", "c", "d"];
    let turns = paths.into_iter().map(call).chain([ScriptedTurn::new().text("Done.")]);
    let fixture = fixture(turns);
    let reject = |_: ApprovalContext| async { Decision::reject("") };
    let agent = fixture.builder.clone().approver(reject).build().unwrap().conversation();
    assert_eq!(agent.run("Go.").await.unwrap().text, "Done.");
    assert_eq!(fixture.results().len(), paths.len());
    let sent = format!("{:?}", fixture.provider.requests().last().unwrap().messages);
    assert!(!sent.contains("the same call"), "{sent}");
}

#[tokio::test(start_paused = true)]
async fn each_approval_answer_is_an_event_and_decides_the_call() {
    let decisions: [(Decision, usize, &str, &str); 4] = [
        (Decision::Grant, 1, "tool_approval_granted", "removed a"),
        (Decision::GrantAlways, 1, "tool_approval_granted", "removed a"),
        (
            Decision::GrantChanged { arguments: Json::from(json!({ "path": "b" })) },
            1,
            "tool_approval_granted",
            "removed b",
        ),
        (Decision::reject("not that one"), 0, "tool_approval_rejected", "not that one"),
    ];
    for (decision, removed, kind, text) in decisions {
        let fixture = fixture([call("a"), ScriptedTurn::new().text("Done.")]);
        let agent = fixture.builder.clone().build().unwrap().conversation();
        let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
        let approvals = stream.approvals();
        let request = next_request(&mut stream, &mut events).await;
        assert_eq!(request.arguments.as_str(), r#"{"path":"a"}"#);
        assert_eq!((request.tool_name.as_str(), request.preview.as_ref()), ("remove", None));
        assert_eq!(approvals.open(), std::slice::from_ref(&request));
        assert_eq!(fixture.removed(), 0, "not before the answer");
        approvals.answer(&request.approval_id, decision.clone()).unwrap();
        to_the_end(&mut stream, &mut events).await;
        assert_eq!((fixture.removed(), count(&events, kind)), (removed, 1), "{decision:?}");
        assert_eq!(count(&events, "tool_call"), removed, "{decision:?}");
        let results = fixture.results();
        assert!(results[0].contains(text), "{decision:?}: {results:?}");
        let is_changed = matches!(decision, Decision::GrantChanged { .. });
        assert_eq!(results[0].contains("changed the arguments"), is_changed, "{results:?}");
        assert!(approvals.open().is_empty());
    }
}

/// Late, double, foreign and forged answers are errors, and change nothing.
#[tokio::test(start_paused = true)]
async fn an_answer_counts_once_and_for_its_own_call() {
    let fixture = fixture([call("a"), call("b"), ScriptedTurn::new().text("Done.")]);
    let agent = fixture.builder.clone().build().unwrap().conversation();
    let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
    let approvals = stream.approvals();
    let refused = |approvals: &Approvals, id: &str| {
        approvals.answer(id, Decision::Grant).unwrap_err().code == ErrorCode::InvalidInput
    };
    let first = next_request(&mut stream, &mut events).await;
    assert!(refused(&approvals, "forged") && refused(&approvals, ""));
    approvals.answer(&first.approval_id, Decision::reject("no")).unwrap();
    assert!(refused(&approvals, &first.approval_id), "twice");
    let second = next_request(&mut stream, &mut events).await;
    assert_ne!(first.approval_id, second.approval_id);
    assert!(refused(&approvals, &first.approval_id), "that of another call");
    // Another run of the same script has other ids.
    let other = agent.fork().run_stream("Go.").approvals();
    assert!(refused(&other, &second.approval_id), "that of another run");
    approvals.answer(&second.approval_id, Decision::Grant).unwrap();
    to_the_end(&mut stream, &mut events).await;
    assert!(refused(&approvals, &second.approval_id), "late");
    assert_eq!(fixture.removed(), 1);
}

#[tokio::test(start_paused = true)]
async fn always_holds_for_the_session_the_tool_and_its_pattern() {
    let fixture = fixture([
        call("a"),
        call("b"),
        ScriptedTurn::new().text("Done."),
        call("c"),
        ScriptedTurn::new().text("Done."),
        call("d"),
        ScriptedTurn::new().text("Done."),
    ]);
    let agent = fixture.builder.clone().build().unwrap().conversation();
    let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
    let request = next_request(&mut stream, &mut events).await;
    stream.approvals().answer(&request.approval_id, Decision::GrantAlways).unwrap();
    to_the_end(&mut stream, &mut events).await;
    agent.run("Again.").await.unwrap();
    assert_eq!((fixture.removed(), count(&events, "tool_approval_request")), (3, 1));
    // A fork is a session of its own.
    agent.fork().run("Go.").await.unwrap();
    assert_eq!(fixture.removed(), 3);
}

/// The journal has what a person allowed, and no more: neither what the agent was built with, nor what was allowed once.
#[tokio::test(start_paused = true)]
async fn always_holds_for_the_conversation_that_is_read_from_its_journal_and_for_no_other() {
    async fn goes(conversation: &Conversation, decision: Decision) -> (usize, usize) {
        let (mut stream, mut events) = (conversation.run_stream("Go."), Vec::new());
        let approvals = stream.approvals();
        while let Some(envelope) = stream.next().await {
            if let AgentEvent::ToolApprovalRequest(request) = &envelope.event {
                approvals.answer(&request.approval_id, decision.clone()).unwrap();
            }
            events.push(envelope);
        }
        let asked = count(&events, "tool_approval_request");
        (asked, count(&events, "tool_result"))
    }

    let agent = |is_granted: bool| {
        let run = || [call("a"), ScriptedTurn::new().text("Done.")];
        let builder = fixture((0..4).flat_map(|_| run())).builder;
        let builder = if is_granted { builder.grant(["remove"]) } else { builder };
        builder.build().unwrap()
    };
    for (is_granted, decision, asked_again) in [
        (false, Decision::GrantAlways, 0),
        (false, Decision::Grant, 1),
        // Nobody was asked, since the agent was built so; the next one is not.
        (true, Decision::Grant, 1),
    ] {
        let journal = MemoryJournal::default();
        let first = agent(is_granted).conversation().with_journal(journal.clone());
        let asked = usize::from(!is_granted);
        assert_eq!(goes(&first, decision.clone()).await, (asked, 1), "{decision:?}");
        for _ in 0..2 {
            let next = agent(false).conversation().with_journal(journal.clone());
            assert!(next.resume().await.unwrap().is_none());
            assert_eq!(goes(&next, Decision::Grant).await, (asked_again, 1), "{decision:?}");
            assert_eq!(goes(&next.fork(), Decision::Grant).await, (1, 1), "another conversation");
        }
        let other = agent(false).conversation().with_journal(MemoryJournal::default());
        assert_eq!(goes(&other, Decision::Grant).await, (1, 1), "another journal");
    }
}

/// What "always" means is the tool's to say; tools that are named beforehand run unasked.
#[tokio::test(start_paused = true)]
async fn a_pattern_narrows_what_is_allowed() {
    #[derive(Debug)]
    struct Run;

    impl crate::tools::Tool for Run {
        fn name(&self) -> &'static str {
            "run"
        }

        fn description(&self) -> &'static str {
            "Runs a program."
        }

        fn schema(&self) -> Value {
            json!({ "type": "object", "properties": { "program": { "type": "string" } } })
        }

        fn effects(&self) -> ToolEffects {
            ToolEffects::Irreversible
        }

        fn grant_pattern(&self, arguments: &Json) -> Option<String> {
            let program = arguments.to_value()["program"].as_str()?.to_owned();
            if program == "broken" { std::panic::panic_any("no pattern") } else { Some(program) }
        }

        fn execute(&self, _context: ToolContext, _arguments: Json) -> crate::tools::ToolFuture {
            Box::pin(async { Ok("done".into()) })
        }
    }

    let turns = || {
        let programs = ["ls", "ls", "rm", "broken", "broken"];
        let run =
            |program| ScriptedTurn::new().call("run", json!({ "program": program, "at": "x" }));
        programs.map(run).into_iter().chain([ScriptedTurn::new().text("Done.")])
    };
    for (is_granted, want) in [(false, vec!["ls", "rm", "broken"]), (true, vec![])] {
        let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let builder = Agent::builder(ScriptedProvider::new(turns())).tool(Run);
        let builder = builder.loop_guard(false).approver(move |it: ApprovalContext| {
            let arguments = it.request.arguments.to_value();
            seen.lock().unwrap().push(arguments["program"].as_str().unwrap().to_owned());
            async { Decision::GrantAlways }
        });
        let builder = if is_granted { builder.grant(["run"]) } else { builder };
        assert_eq!(builder.build().unwrap().conversation().run("Go.").await.unwrap().text, "Done.");
        assert_eq!(*asked.lock().unwrap(), want, "granted before: {is_granted}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_an_answer_the_run_goes_on_without_the_call() {
    let fixture = fixture([call("a"), ScriptedTurn::new().text("Done.")]);
    let budget = Budget::default().time(Duration::from_secs(1));
    let agent = fixture.builder.clone().budget(budget).build().unwrap().conversation();
    let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
    let started = Instant::now();
    to_the_end(&mut stream, &mut events).await;
    assert_eq!(started.elapsed().as_secs(), 300);
    assert_eq!((count(&events, "tool_approval_timeout"), fixture.removed()), (1, 0));
    let outcome = stream.outcome().await.unwrap();
    assert_eq!(outcome.text, "Done.");
    assert!(outcome.spent.time < Duration::from_secs(1), "the time of people is not the run's");
}

/// Whatever cannot be shown is not run.
// Covers: G-33, G-50
#[tokio::test(start_paused = true)]
async fn a_call_whose_preview_fails_does_not_run() {
    type Show = fn() -> futures_core::future::BoxFuture<'static, Result<Preview, ToolError>>;
    let shows: [(Show, &str); 3] = [
        (|| Box::pin(async { Err(ToolError::failed("no such file")) }), "no such file"),
        (|| Box::pin(async { std::panic::panic_any("at the disco") }), "at the disco"),
        (|| Box::pin(std::future::pending()), "no preview after 10s"),
    ];
    for (show, problem) in shows {
        let mut fixture = fixture([call("a"), ScriptedTurn::new().text("Done.")]);
        let removed = Arc::<AtomicUsize>::default();
        let tool = remove(&removed).previewed_by(move |_, _| show());
        fixture.removed = removed;
        let agent = Agent::builder(fixture.provider.clone())
            .tool(tool)
            .approver(|_: ApprovalContext| async { Decision::Grant })
            .build()
            .unwrap()
            .conversation();
        let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
        to_the_end(&mut stream, &mut events).await;
        assert_eq!((fixture.removed(), count(&events, "tool_approval_request")), (0, 0));
        assert_eq!(count(&events, "tool_approval_rejected"), 1);
        assert!(fixture.results()[0].contains(problem), "{:?}", fixture.results());
        assert_no_task_left().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_person_sees_the_preview() {
    let provider = ScriptedProvider::new([call("a"), ScriptedTurn::new().text("Done.")]);
    let removed = Arc::default();
    let show = |_: ToolContext, it: Path| async move { Ok(Preview::diff(format!("-{}", it.path))) };
    let builder = Agent::builder(provider).tool(remove(&removed).previewed_by(show));
    let agent = builder.build().unwrap().conversation();
    let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
    let request = next_request(&mut stream, &mut events).await;
    assert_eq!(request.preview, Some(Preview::diff("-a")));
    stream.cancel();
    to_the_end(&mut stream, &mut events).await;
}

/// A cancel while a request is open is no rejection.
// Covers: G-34, T-20
#[tokio::test(start_paused = true)]
async fn a_cancel_withdraws_what_is_open() {
    let fixture = fixture([call("a").call("remove", json!({ "path": "b" }))]);
    let agent = fixture.builder.clone().build().unwrap().conversation();
    let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
    let approvals = stream.approvals();
    let first = next_request(&mut stream, &mut events).await;
    next_request(&mut stream, &mut events).await;
    stream.cancel();
    let cancelled = Instant::now();
    to_the_end(&mut stream, &mut events).await;
    assert!(cancelled.elapsed() <= SOON);
    assert_eq!(count(&events, "tool_approval_cancelled"), 2);
    assert_eq!(count(&events, "tool_approval_rejected"), 0);
    assert!(approvals.answer(&first.approval_id, Decision::Grant).is_err());
    let error = stream.outcome().await.unwrap_err();
    assert_eq!((error.error.code, fixture.removed()), (ErrorCode::Cancelled, 0));
    assert_history_is_whole(&agent);
    assert_no_task_left().await;
}

#[tokio::test(start_paused = true)]
async fn other_calls_go_on_while_a_person_thinks() {
    let turn = call("a").call("echo", json!({ "text": "meanwhile" }));
    let fixture = fixture([turn, ScriptedTurn::new().text("Done.")]);
    let agent = fixture.builder.clone().build().unwrap().conversation();
    let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
    let request = next_request(&mut stream, &mut events).await;
    while let Ok(Some(envelope)) = timeout(SOON, stream.next()).await {
        events.push(envelope);
    }
    assert_eq!(count(&events, "tool_result"), 1, "{:?}", kinds(&events));
    stream.approvals().answer(&request.approval_id, Decision::Grant).unwrap();
    to_the_end(&mut stream, &mut events).await;
    assert_eq!(fixture.results(), ["removed a", "meanwhile"], "in the order of the calls");
}

#[tokio::test(start_paused = true)]
async fn panicking_or_slow_approver_rejects_the_call() {
    type Answer = fn() -> futures_core::future::BoxFuture<'static, Decision>;
    let answers: [(Answer, &str); 2] = [
        (|| Box::pin(async { std::panic::panic_any("no dialog") }), "no dialog"),
        (|| Box::pin(std::future::pending()), "no answer came within 300s"),
    ];
    for (answer, why) in answers {
        let fixture = fixture([call("a"), ScriptedTurn::new().text("Done.")]);
        let agent = fixture
            .builder
            .clone()
            .approver(move |_: ApprovalContext| answer())
            .build()
            .unwrap()
            .conversation();
        assert_eq!(agent.run("Go.").await.unwrap().text, "Done.");
        assert_eq!(fixture.removed(), 0);
        assert!(fixture.results()[0].contains(why), "{:?}", fixture.results());
        assert_no_task_left().await;
    }
}

#[tokio::test(start_paused = true)]
async fn arguments_that_a_person_changes_are_checked_like_those_of_the_model() {
    let fixture = fixture([call("a"), ScriptedTurn::new().text("Done.")]);
    let wrong = || Json::from(json!({ "path": 7 }));
    let agent = fixture
        .builder
        .clone()
        .approver(
            move |_: ApprovalContext| async move { Decision::GrantChanged { arguments: wrong() } },
        )
        .build()
        .unwrap()
        .conversation();
    agent.run("Go.").await.unwrap();
    assert_eq!(fixture.removed(), 0);
    assert!(fixture.results()[0].contains("are not valid"), "{:?}", fixture.results());
}

#[tokio::test(start_paused = true)]
async fn arguments_from_outside_that_do_not_fit_leave_the_request_open() {
    let fixture = fixture([call("a"), ScriptedTurn::new().text("Done.")]);
    let agent = fixture.builder.clone().build().unwrap().conversation();
    let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
    let approvals = stream.approvals();
    let request = next_request(&mut stream, &mut events).await;
    let answer = |arguments: serde_json::Value| {
        let arguments = Json::from(arguments);
        approvals.answer(&request.approval_id, Decision::GrantChanged { arguments })
    };
    for (arguments, why) in [
        (json!([1]), "must be of type object, not array"),
        (json!("a"), "must be of type object, not string"),
        (json!({ "path": 7 }), "`path` must be of type string"),
        (json!({}), "`path` is missing"),
    ] {
        let decision = Decision::GrantChanged { arguments: Json::from(&arguments) };
        let checked = approvals.check(&request.approval_id, &decision).unwrap_err();
        let error = answer(arguments).unwrap_err();
        assert_eq!(checked, error, "a check says what an answer would");
        let is_told = error.message.contains("do not fit") && error.message.contains(why);
        assert!(is_told && error.code == ErrorCode::InvalidInput, "{error}");
        assert_eq!(approvals.open(), std::slice::from_ref(&request));
    }
    answer(json!({ "path": "b" })).unwrap();
    to_the_end(&mut stream, &mut events).await;
    assert_eq!((fixture.removed(), fixture.results().len()), (1, 1));
    assert!(fixture.results()[0].contains("removed b"), "{:?}", fixture.results());
}

/// Put away while a person is asked: the request comes again under its id, and the answer counts.
#[tokio::test(start_paused = true)]
async fn a_request_that_was_put_away_is_made_again_under_its_id() {
    let journal = MemoryJournal::default();
    let before = fixture([call("a")]);
    let agent =
        before.builder.clone().build().unwrap().conversation().with_journal(journal.clone());
    let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
    let first = next_request(&mut stream, &mut events).await;
    drop((stream, agent));
    let after = fixture([ScriptedTurn::new().text("Done.")]);
    let agent = after.builder.clone().build().unwrap().conversation().with_journal(journal);
    let mut stream = agent.resume_stream().await.unwrap().expect("an open run");
    let mut events = Vec::new();
    let again = next_request(&mut stream, &mut events).await;
    assert_eq!(again, first);
    stream.approvals().answer(&again.approval_id, Decision::Grant).unwrap();
    let outcome = stream.outcome().await.unwrap();
    assert_eq!((outcome.text.as_str(), before.removed(), after.removed()), ("Done.", 0, 1));
    assert_history_is_whole(&agent);
}

/// A run that an older version has written goes on as that version decided: its refusals hold for one call.
#[tokio::test(start_paused = true)]
async fn a_refusal_in_an_older_journal_does_not_hold_for_the_next_call() {
    for (version, asked) in [(6, 1), (7, 0)] {
        let journal = MemoryJournal::default();
        let before = fixture([call("a"), ScriptedTurn::new().text("Let me").hang()]);
        let agent =
            before.builder.clone().build().unwrap().conversation().with_journal(journal.clone());
        let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
        let request = next_request(&mut stream, &mut events).await;
        stream.approvals().answer(&request.approval_id, Decision::reject("")).unwrap();
        while let Ok(Some(_)) = timeout(SOON, stream.next()).await {}
        drop((stream, agent));
        let lines = super::journal::of_version(&journal.lines(), version);
        let after = fixture([call("a"), ScriptedTurn::new().text("Done.")]);
        let agent = after
            .builder
            .clone()
            .build()
            .unwrap()
            .conversation()
            .with_journal(MemoryJournal::from(lines));
        let mut stream = agent.resume_stream().await.unwrap().expect("an open run");
        let (approvals, mut count) = (stream.approvals(), 0);
        while let Some(envelope) = stream.next().await {
            let AgentEvent::ToolApprovalRequest(request) = envelope.event else { continue };
            count += 1;
            approvals.answer(&request.approval_id, Decision::reject("")).unwrap();
        }
        assert_eq!(stream.outcome().await.unwrap().text, "Done.", "version {version}");
        assert_eq!(count, asked, "version {version}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_started_agent_has_an_end_for_approval() {
    let fixture = fixture([call("a"), ScriptedTurn::new().text("Done.")]);
    let (handle, mut channels) = fixture.builder.clone().build().unwrap().start();
    assert!(channels.approval.answer("none", Decision::Grant).is_err());
    channels.input.send("Go.").await.unwrap();
    while let Some(envelope) = channels.events.recv().await {
        match envelope.event {
            AgentEvent::ToolApprovalRequest(request) => {
                sleep(Duration::from_secs(1)).await;
                assert_eq!(channels.approval.open(), [(*request).clone()]);
                channels.approval.answer(&request.approval_id, Decision::Grant).unwrap();
            }
            AgentEvent::TurnEnd => break,
            _ => {}
        }
    }
    handle.shutdown().await;
    assert_eq!(fixture.removed(), 1);
    let ended = channels.approval.answer("none", Decision::Grant).unwrap_err();
    assert_eq!(ended.code, ErrorCode::Shutdown);
}

/// The permission of a tool ends while a person thinks: neither the answer nor the resumed run brings it back.
#[tokio::test(start_paused = true)]
async fn a_tool_that_is_withheld_meanwhile_does_not_run_when_it_is_allowed() {
    use std::sync::atomic::AtomicBool;
    for (is_resumed, at_client) in [(false, false), (false, true), (true, false), (true, true)] {
        let may = Arc::new(AtomicBool::new(true));
        let turn = if at_client {
            ScriptedTurn::new().call("page_read", json!({ "selector": "b" }))
        } else {
            call("a")
        };
        let journal = MemoryJournal::default();
        let build = |turns: Vec<ScriptedTurn>| {
            let (fixture, may) = (fixture(turns), Arc::clone(&may));
            let permissions =
                move |_: Option<&crate::Caller>, _: &crate::access::ToolAccess<'_>| {
                    may.load(Ordering::SeqCst)
                };
            let agent = fixture.builder.clone().tool(super::client_tools::read());
            let agent = agent.permissions(permissions).approval(ApprovalPolicy::Always);
            (fixture, agent.build().unwrap().conversation().with_journal(journal.clone()))
        };
        let (mut fixture, mut agent) = build(vec![turn, ScriptedTurn::new().text("Done.")]);
        let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
        let mut request = next_request(&mut stream, &mut events).await;
        may.store(false, Ordering::SeqCst);
        if is_resumed {
            drop((stream, agent));
            (fixture, agent) = build(vec![ScriptedTurn::new().text("Done.")]);
            stream = agent.resume_stream().await.unwrap().expect("an open run");
            request = next_request(&mut stream, &mut events).await;
        }
        stream.approvals().answer(&request.approval_id, Decision::Grant).unwrap();
        if is_resumed {
            // Events of the first process are not those of this stream.
            events = Vec::new();
            while let Some(envelope) = stream.next().await {
                events.push(envelope);
            }
        } else {
            to_the_end(&mut stream, &mut events).await;
        }
        let place = format!("resumed {is_resumed}, at the client {at_client}");
        assert_eq!((fixture.removed(), count(&events, "client_tool_request")), (0, 0), "{place}");
        let results = fixture.results();
        assert!(results[0].contains("may not be used here"), "{place}: {results:?}");
    }
}
