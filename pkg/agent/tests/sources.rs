//! Tools that are contributed to runs.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures_core::future::BoxFuture;
use tokio::time::Instant;

use super::{whole::assert_history_is_whole, *};
use crate::{
    Caller, RunInput,
    access::{AuditKind, AuditRecord},
    config::CallMode,
    journal::MemoryJournal,
    notice::{Notice, ToolSourceNotice},
    run::RunContext,
    tools::{Tool, ToolSource},
};
use forgeline_types::{AgentError, ErrorCode, UpdateBusyEvent};

type Tools = Result<Vec<Arc<dyn Tool>>, AgentError>;

/// A tool that says its name, and needs the permission `plugin` where it is gated.
fn plugin(name: &'static str, is_gated: bool) -> Arc<dyn Tool> {
    let tool = tool_fn(name, "Works.", move |_: ToolContext, echo: Echo| async move {
        format!("{name} {}", echo.text)
    });
    if is_gated { Arc::new(tool.permission("plugin")) } else { Arc::new(tool) }
}

/// A source that may be left out.
struct Optional(fn() -> BoxFuture<'static, Tools>);

impl ToolSource for Optional {
    fn tools(&self, _run: RunContext) -> BoxFuture<'static, Tools> {
        (self.0)()
    }

    fn is_optional(&self) -> bool {
        true
    }
}

fn turns(name: &str) -> [ScriptedTurn; 2] {
    let call = ScriptedTurn::new().call(name, json!({ "text": "hi" }));
    [call, ScriptedTurn::new().text("Done.")]
}

fn plain(provider: &ScriptedProvider) -> AgentBuilder {
    Agent::builder(provider.clone()).tool(crate::tools::Calculator)
}

fn offered(provider: &ScriptedProvider) -> Vec<String> {
    let request = provider.requests().remove(0);
    request.tools.iter().map(|tool| tool.name.to_string()).collect()
}

// Covers: T-42
#[tokio::test(start_paused = true)]
async fn sources_are_asked_once_a_run_and_their_tools_come_in_order() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let provider = ScriptedProvider::new(turns("plugin_a"));
    let slow = move |run: RunContext| {
        count.fetch_add(1, Ordering::SeqCst);
        async move {
            tokio::time::sleep(Duration::from_secs(3)).await;
            assert_eq!(run.module(), Some("shop"));
            Ok(vec![plugin("plugin.a", false)])
        }
    };
    let quick = |_: RunContext| async { Ok(vec![plugin("plugin.b", false), plugin("a", false)]) };
    let agent =
        plain(&provider).tool_source(slow).tool_source(quick).build().unwrap().conversation();
    let outcome = agent.run(RunInput::from("Go.").module("shop")).await.unwrap();
    assert_eq!((outcome.text.as_str(), asked.load(Ordering::SeqCst)), ("Done.", 1));
    assert_eq!(offered(&provider), ["calculator", "plugin.a", "plugin.b", "a"]);
    let result = outcome.messages[2].tool_results().next().unwrap();
    assert_eq!(result.content, "plugin.a hi");
    assert_history_is_whole(&agent);
}

/// In text mode the contributed tools are described, and calls of them are read.
// Covers: E-18
#[tokio::test(start_paused = true)]
async fn the_context_decides_which_tools_there_are() {
    let call = r#"<tool>{"tool_name":"plugin.a","arguments":{"text":"hi"}}</tool>"#;
    for (module, is_there) in [("shop", true), ("other", false)] {
        let turns = [ScriptedTurn::new().text(call), ScriptedTurn::new().text("Done.")];
        let provider = ScriptedProvider::new(turns);
        let source = |run: RunContext| async move {
            let is_there = run.module() == Some("shop");
            Ok(is_there.then(|| plugin("plugin.a", false)).into_iter().collect())
        };
        let agent = plain(&provider).call_mode(CallMode::Text).tool_source(source);
        let outcome =
            agent.build().unwrap().conversation().run(RunInput::from("Go.").module(module)).await;
        let outcome = outcome.unwrap();
        let system = provider.requests().remove(0).system.unwrap();
        assert_eq!(system.contains("plugin.a"), is_there);
        let result = outcome.messages[2].tool_results().next().unwrap();
        assert_eq!(result.is_error, !is_there, "{}", result.content);
    }
}

// Covers: T-50
#[tokio::test(start_paused = true)]
async fn a_contributed_tool_needs_its_permission() {
    for may in [false, true] {
        let provider = ScriptedProvider::new(turns("plugin_a"));
        let records = Arc::new(std::sync::Mutex::new(Vec::new()));
        let kept = Arc::clone(&records);
        let agent = plain(&provider)
            .tool_source(|_: RunContext| async { Ok(vec![plugin("plugin.a", true)]) })
            .audit(move |record: AuditRecord| kept.lock().unwrap().push(record.kind))
            .build()
            .unwrap()
            .conversation();
        let caller = Caller::new("ann");
        let caller = if may { caller.permission("plugin") } else { caller };
        let outcome = agent.run(RunInput::from("Go.").caller(caller)).await.unwrap();
        let result = outcome.messages[2].tool_results().next().unwrap();
        assert_eq!(result.is_error, !may, "{}", result.content);
        assert_eq!(offered(&provider).contains(&"plugin.a".to_owned()), may);
        let kinds = records.lock().unwrap().clone();
        assert_eq!(kinds, if may { vec![] } else { vec![AuditKind::UnauthorizedTool] });
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_fails_ends_the_run_or_is_left_out() {
    type Source = fn() -> BoxFuture<'static, Tools>;
    let left_out = ["calculator"].as_slice();
    let no = || AgentError::new(ErrorCode::InvalidRequest, "no plugin");
    let rows: [(Source, ErrorCode, &str, &[&str]); 5] = [
        (
            || Box::pin(async { Err(AgentError::new(ErrorCode::InvalidRequest, "no plugin")) }),
            no().code,
            "no plugin",
            left_out,
        ),
        (|| Box::pin(std::future::pending()), ErrorCode::Timeout, "longer than 10s", left_out),
        (
            || Box::pin(async { std::panic::panic_any("boom") }),
            ErrorCode::Internal,
            "boom",
            left_out,
        ),
        (
            || Box::pin(async { Ok(vec![plugin("calculator", false)]) }),
            ErrorCode::InvalidInput,
            "the tool name `calculator` is taken",
            left_out,
        ),
        (
            || {
                Box::pin(async {
                    Ok(["plugin.a", "_sdk.x", "plugin.b"].map(|name| plugin(name, false)).into())
                })
            },
            ErrorCode::InvalidInput,
            "`_sdk.x` is reserved",
            // The others are there.
            &["calculator", "plugin.a", "plugin.b"],
        ),
    ];
    for (source, code, text, want) in rows {
        let provider = ScriptedProvider::new([ScriptedTurn::new().text("Done.")]);
        let agent = plain(&provider)
            .tool_source(move |_: RunContext| source())
            .build()
            .unwrap()
            .conversation();
        let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
        to_the_end(&mut stream, &mut events).await;
        let failed = stream.outcome().await.unwrap_err();
        assert_eq!(failed.error.code, code, "{failed}");
        assert!(failed.to_string().contains(text), "{failed}");
        assert_eq!(provider.requests().len(), 0, "nothing was asked");

        let agent = plain(&provider).tool_source(Optional(source)).build().unwrap().conversation();
        assert_eq!(agent.run("Go.").await.unwrap().text, "Done.");
        assert_eq!(offered(&provider), want, "{text}");
        assert_no_task_left().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_does_not_wait_for_a_source() {
    let provider = ScriptedProvider::new([]);
    let hangs = |_: RunContext| std::future::pending::<Tools>();
    let agent = plain(&provider).tool_source(hangs).build().unwrap().conversation();
    let mut stream = agent.run_stream("Go.");
    assert!(tokio::time::timeout(SOON, stream.next()).await.is_err(), "it waits for the source");
    let cancelled = Instant::now();
    stream.cancel();
    let mut events = Vec::new();
    to_the_end(&mut stream, &mut events).await;
    assert!(cancelled.elapsed() <= SOON);
    assert_eq!(stream.outcome().await.unwrap_err().error.code, ErrorCode::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_resumed_run_asks_its_sources_again() {
    let journal = MemoryJournal::default();
    let source = |name: &'static str, is_gated: bool| {
        move |_: RunContext| async move { Ok(vec![plugin(name, is_gated)]) }
    };
    let provider = ScriptedProvider::new([ScriptedTurn::new().hang()]);
    let agent = plain(&provider).tool_source(source("plugin.a", false)).build().unwrap();
    let mut stream = agent.conversation().with_journal(journal.clone()).run_stream("Go.");
    while let Ok(Some(_)) = tokio::time::timeout(SOON, stream.next()).await {}
    drop(stream);

    let resumed = |name, is_gated| {
        let provider = ScriptedProvider::new(turns("plugin_a"));
        let lines = MemoryJournal::from(journal.lines());
        let agent = plain(&provider).tool_source(source(name, is_gated)).build().unwrap();
        (agent.conversation().with_journal(lines), provider)
    };
    let (agent, _) = resumed("plugin.b", false);
    let error = agent.resume().await.unwrap_err();
    assert_eq!(error.error.code, ErrorCode::Journal);
    assert!(error.to_string().contains("`plugin.a` is missing"), "{error}");

    let (agent, _) = resumed("plugin.a", false);
    let outcome = agent.resume().await.unwrap().expect("it had not ended");
    let result = outcome.messages[2].tool_results().next().unwrap();
    assert_eq!((result.content.as_str(), outcome.text.as_str()), ("plugin.a hi", "Done."));

    // A permission that the tool names now counts, though it was on offer.
    let (agent, provider) = resumed("plugin.a", true);
    let outcome = agent.resume().await.unwrap().expect("it had not ended");
    let result = outcome.messages[2].tool_results().next().unwrap();
    assert!(result.is_error && result.content.contains("denied"), "{}", result.content);
    assert_eq!(offered(&provider), ["calculator"]);
}

// Rows: N-45
#[tokio::test]
async fn n45_a_run_cut_at_any_step_keeps_its_tools_and_the_next_run_has_those_that_came_since() {
    let both = |first: &'static str, second: &'static str, is_gated: bool| {
        move |_: RunContext| async move { Ok(vec![plugin(first, is_gated), plugin(second, false)]) }
    };
    let one = |_: RunContext| async { Ok(vec![plugin("plugin.a", false)]) };
    let journal = MemoryJournal::default();
    let provider = ScriptedProvider::new(turns("plugin_a"));
    let agent = plain(&provider)
        .tool_source(one)
        .build()
        .unwrap()
        .conversation()
        .with_journal(journal.clone());
    agent.run("Go.").await.unwrap();
    let (lines, want) = (journal.lines(), ["calculator", "plugin.a"]);
    assert_eq!(offered(&provider), want);
    for cut in 1..lines.len() {
        // Before the tool that was there, after that, and one that the caller may not use.
        let rows = [
            (both("plugin.late", "plugin.a", false), vec!["calculator", "plugin.late", "plugin.a"]),
            (both("plugin.a", "plugin.late", false), vec!["calculator", "plugin.a", "plugin.late"]),
            (both("plugin.late", "plugin.a", true), want.to_vec()),
        ];
        for (now, next) in rows {
            let part = MemoryJournal::from(lines[..cut].to_vec());
            let answered = lines[..cut].iter().filter(|line| line.contains("\"answered\"")).count();
            let rest = turns("plugin_a").into_iter().skip(answered);
            let provider = ScriptedProvider::new(rest.chain([ScriptedTurn::new().text("Next.")]));
            let agent = plain(&provider)
                .tool_source(now)
                .build()
                .unwrap()
                .conversation()
                .with_journal(part);
            if let Some(outcome) = agent.resume().await.unwrap() {
                assert_eq!(outcome.text, "Done.", "{cut}");
                assert_history_is_whole(&agent);
            }
            agent.run("And?").await.unwrap();
            let mut requests = provider.requests();
            let names = |request: forgeline_llm::Request| {
                let names = request.tools.iter().map(|tool| tool.name.to_string());
                names.collect::<Vec<_>>()
            };
            assert_eq!(names(requests.pop().unwrap()), next, "{cut}: the next run");
            for request in requests {
                assert_eq!(
                    names(request),
                    want,
                    "{cut}: the beginning of the requests is the same"
                );
            }
        }
    }
}

#[test]
fn a_source_without_time_is_refused() {
    let builder = plain(&ScriptedProvider::new([]));
    let error = builder.source_timeout(Duration::ZERO).build().unwrap_err();
    assert_eq!(error.to_string(), "`source_timeout` is 0; it must be greater than 0");
}

/// A source that asks a person, who takes this long.
struct Asking(Duration);

impl ToolSource for Asking {
    fn tools(&self, _run: RunContext) -> BoxFuture<'static, Tools> {
        let takes = self.0;
        Box::pin(async move {
            tokio::time::sleep(takes).await;
            Ok(vec![plugin("plugin.a", false)])
        })
    }

    fn is_asking(&self) -> bool {
        true
    }

    fn notices(&self) -> Vec<ToolSourceNotice> {
        (0..70).map(|number| ToolSourceNotice::new("asked").field("number", number)).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn a_person_who_is_asked_by_a_source_is_waited_for_and_not_for_ever() {
    for (takes, is_in_time) in [(200, true), (300, true), (3_600, false)] {
        let provider = ScriptedProvider::new(turns("plugin_a"));
        let agent = plain(&provider).tool_source(Asking(Duration::from_secs(takes)));
        let began = Instant::now();
        let ended = agent.build().unwrap().conversation().run("Go.").await;
        assert_eq!(ended.is_ok(), is_in_time, "{takes}: {ended:?}");
        assert!(began.elapsed() <= Duration::from_mins(6), "{:?}", began.elapsed());
        if let Err(error) = ended {
            assert_eq!(error.error.code, ErrorCode::Timeout, "{error}");
        }
    }
    // A cancel does not wait for the person.
    let provider = ScriptedProvider::new(turns("plugin_a"));
    let agent = plain(&provider)
        .tool_source(Asking(Duration::from_hours(1)))
        .build()
        .unwrap()
        .conversation();
    let mut stream = agent.run_stream("Go.");
    let cancel = stream.cancel_token();
    let began = Instant::now();
    tokio::join!(async { while stream.next().await.is_some() {} }, async {
        tokio::time::sleep(Duration::from_mins(1)).await;
        cancel.cancel();
    });
    assert!(began.elapsed() < Duration::from_secs(61), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn what_a_source_says_comes_behind_the_first_event_of_a_run_and_has_a_bound() {
    let provider = ScriptedProvider::new(turns("plugin_a"));
    let agent =
        plain(&provider).tool_source(Asking(Duration::ZERO)).build().unwrap().conversation();
    let mut stream = agent.run_stream("Go.");
    let mut events = Vec::new();
    while let Some(envelope) = stream.next().await {
        events.push(envelope.event);
    }
    assert!(matches!(events[0], AgentEvent::UpdateBusy(UpdateBusyEvent { busy: true, .. })));
    let said = |event: &AgentEvent| {
        let Some(Notice::ToolSource(notice)) = Notice::read(event) else { return None };
        Some(notice.fields["number"].as_u64().unwrap())
    };
    let numbers: Vec<_> = events[1..=64].iter().filter_map(said).collect();
    assert_eq!(numbers, (0..64).collect::<Vec<_>>());
    assert_eq!(events.iter().filter_map(said).count(), 64);
}
