//! The input of a run: its context, its budget, and what is refused.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use super::*;
use crate::{
    AgentBuilder, BuildError, Caller, OutcomeKind, RunInput,
    config::AtLimit,
    journal::MemoryJournal,
    prompts::PromptContext,
    run::{Budget, Limit, RunContext},
    tools::Calculator,
};
use forgeline_llm::{Cost, Prices};
use forgeline_types::{Capabilities, CustomEvent, ErrorCode, Message, ModelInfo, Part, UsageInfo};

/// A context in short.
fn seen(run: &RunContext, state: Option<&u32>) -> String {
    let caller = run.caller().map(|caller| {
        (caller.id.to_string(), caller.scope.clone(), caller.has_permission("files.read"))
    });
    let deadline = run.deadline().is_some();
    let rest = (run.module(), run.page(), run.conversation(), run.metadata("tier"));
    format!("{caller:?} {rest:?} {deadline} {state:?}")
}

fn full_input() -> RunInput {
    RunInput::from("Go")
        .caller(Caller::new("ann").scope("team-a").permission("files.read"))
        .module("shop")
        .page("basket")
        .conversation("c-1")
        .metadata("tier", "gold")
        .deadline(SystemTime::now() + Duration::from_hours(1))
        .state(Arc::new(7_u32))
}

const FULL: &str = "Some((\"ann\", Some(\"team-a\"), true)) (Some(\"shop\"), Some(\"basket\"), \
    Some(\"c-1\"), Some(String(\"gold\"))) true Some(7)";
const BARE: &str = "None (None, None, None, None) false Some(1)";

/// An agent that notes what its prompt part and its tool see.
fn watched(provider: &ScriptedProvider, notes: &Arc<Mutex<Vec<String>>>) -> AgentBuilder {
    let (in_part, in_tool) = (Arc::clone(notes), Arc::clone(notes));
    builder(provider)
        .state(Arc::new(1_u32))
        .system(move |context: PromptContext| {
            in_part.lock().unwrap().push(seen(&context.run, context.state().as_deref()));
            std::future::ready(Ok(String::new()))
        })
        .tool(tool_fn("look", "Looks.", move |context: ToolContext, _: Nothing| {
            in_tool.lock().unwrap().push(seen(context.run(), context.state().as_deref()));
            std::future::ready("ok")
        }))
}

fn looking(times: usize) -> ScriptedProvider {
    let turn = || [ScriptedTurn::new().call("look", json!({})), ScriptedTurn::new().text("Done.")];
    ScriptedProvider::new((0..times).flat_map(|_| turn()))
}

// Covers: E-08
#[tokio::test]
async fn prompt_parts_and_tools_see_the_context_of_their_run_in_all_drivers() {
    let (provider, notes) = (looking(4), Arc::default());
    let agent = watched(&provider, &notes).build().unwrap().conversation();
    agent.run(full_input()).await.unwrap();
    agent.run_stream(full_input()).outcome().await.unwrap();
    let (handle, mut channels) = agent.start();
    channels.input.send(full_input()).await.unwrap();
    while channels.events.recv().await.unwrap().event != AgentEvent::TurnEnd {}
    handle.shutdown().await;
    assert_eq!(*notes.lock().unwrap(), [FULL; 6]);
    notes.lock().unwrap().clear();
    agent.run("Go").await.unwrap();
    assert_eq!(*notes.lock().unwrap(), [BARE; 2], "the context of a run ends with it");
}

#[tokio::test]
async fn the_context_goes_on_with_a_run_that_was_put_away_but_for_its_state() {
    let (provider, notes) = (looking(1), Arc::default());
    let journal = MemoryJournal::default();
    let agent =
        watched(&provider, &notes).build().unwrap().conversation().with_journal(journal.clone());
    agent.run(full_input()).await.unwrap();
    let lines = journal.lines();
    assert!(lines.len() > 3);
    for put_away in 1..4 {
        let (provider, notes) = (looking(1), Arc::default());
        let provider = if put_away < 3 {
            provider
        } else {
            ScriptedProvider::new([ScriptedTurn::new().text("Done.")])
        };
        let journal = MemoryJournal::from(lines[..put_away].to_vec());
        let agent =
            watched(&provider, &notes).build().unwrap().conversation().with_journal(journal);
        agent.resume().await.unwrap().unwrap();
        let notes = notes.lock().unwrap();
        assert!(notes.iter().all(|note| *note == FULL.replace("Some(7)", "Some(1)")), "{notes:?}");
    }
}

/// A provider whose answers call a tool for ever, and use 100 tokens each.
fn endless(model: &str) -> ScriptedProvider {
    let usage = UsageInfo::default().input_tokens(60).output_tokens(40);
    let turns = (0..20).map(|at| {
        ScriptedTurn::new()
            .text("So far.")
            .call("echo", json!({ "text": at.to_string() }))
            .usage(usage)
    });
    ScriptedProvider::new(turns).info_of(ModelInfo::new("scripted", model))
}

// Covers: H-29
#[tokio::test(start_paused = true)]
async fn at_each_limit_the_answer_is_asked_for_or_the_run_fails() {
    let cost = |micro| Budget::default().cost(Cost::from_micro_dollars(micro));
    let time = Budget::default().time(Duration::from_nanos(1));
    // Of gpt-4o-mini, 60 tokens in and 40 out cost 33 millionths of a dollar.
    let rows = [
        (Budget::default().turns(3), Limit::Turns, 3, ErrorCode::MaxTurns, "the limit of 3 turns"),
        (
            Budget::default().tokens(250),
            Limit::Tokens,
            3,
            ErrorCode::Budget,
            "the budget of 250 tokens is spent (300 used)",
        ),
        (
            Budget::default().tokens(200),
            Limit::Tokens,
            2,
            ErrorCode::Budget,
            "the budget of 200 tokens is spent (200 used)",
        ),
        (
            cost(34),
            Limit::Cost,
            2,
            ErrorCode::Budget,
            "the budget of $0.000034 is spent ($0.000066 used)",
        ),
        (
            cost(33),
            Limit::Cost,
            1,
            ErrorCode::Budget,
            "the budget of $0.000033 is spent ($0.000033 used)",
        ),
    ];
    for (budget, limit, turns, code, message) in rows {
        let agent = builder(&endless("gpt-4o-mini")).max_turns(9);
        let input = || RunInput::from("Go").budget(budget);
        let outcome = agent.clone().build().unwrap().conversation().run(input()).await.unwrap();
        assert_eq!(outcome.reason, OutcomeKind::LimitReached { limit });
        assert_eq!((outcome.turns, outcome.text.as_str()), (turns + 1, "So far."));
        let asked = outcome.messages[outcome.messages.len() - 3].text();
        assert!(asked.starts_with(&format!("The limit of {limit} is reached")), "{asked}");
        assert_eq!(outcome.spent.tokens, u64::from(turns + 1) * 100);
        assert_eq!(outcome.spent.cost.unwrap().micro_dollars(), u64::from(turns + 1) * 33);

        // The same limit of the agent, and one of the input that is wider.
        let agent =
            builder(&endless("gpt-4o-mini")).max_turns(9).budget(budget).at_limit(AtLimit::Fail);
        let wide = Budget::default().turns(9).tokens(9_999).cost(Cost::from_micro_dollars(9_999));
        let error = agent
            .build()
            .unwrap()
            .conversation()
            .run(RunInput::from("Go").budget(wide))
            .await
            .unwrap_err();
        assert_eq!((error.error.code, error.outcome.turns), (code, turns));
        assert!(error.error.message.starts_with(message), "{}", error.error.message);
    }
    // Time passes while a tool waits; the clock of runs is that of the system.
    let slow = tool_fn("echo", "Waits.", |_: ToolContext, _: Echo| async {
        let began = std::time::Instant::now();
        while began.elapsed() < Duration::from_millis(2) {
            tokio::task::yield_now().await;
        }
        ""
    });
    let agent = Agent::builder(endless("gpt-4o-mini")).tool(slow).budget(time);
    let outcome = agent.build().unwrap().conversation().run("Go").await.unwrap();
    assert_eq!(outcome.reason, OutcomeKind::LimitReached { limit: Limit::Time });
    assert!(outcome.turns <= 2 && outcome.spent.time >= Duration::from_millis(1), "{outcome:?}");
}

#[tokio::test]
async fn unmeasured_limit_is_reported_once_and_not_enforced() {
    let budget = Budget::default().cost(Cost::from_micro_dollars(1)).tokens(1_000_000);
    let info = ModelInfo::new("scripted", "gpt-4o-mini");
    let provider = ScriptedProvider::new([ScriptedTurn::new().text("Done.")]).info_of(info);
    let mut stream = builder(&provider)
        .build()
        .unwrap()
        .conversation()
        .run_stream(RunInput::from("Go").budget(budget));
    let mut told = Vec::new();
    while let Some(envelope) = stream.next().await {
        if let AgentEvent::Custom(CustomEvent { name, data, .. }) = envelope.event {
            assert_eq!(name, crate::notice::BUDGET_UNMEASURED);
            told.push(data);
        }
    }
    let want = [json!({ "limit": "tokens" }), json!({ "limit": "cost" })];
    assert_eq!(told, want, "the answer reports neither");
}

// Rows: N-07
#[tokio::test]
async fn limit_of_cost_needs_a_price_before_the_first_request() {
    let budget = || Budget::default().cost(Cost::from_micro_dollars(34));
    let price = Some(Prices::new(150_000, 600_000));
    // 60 tokens in and 40 out cost 33 millionths of a dollar.
    let rows = [
        ("of nobody", None, true, None),
        ("", None, true, None),
        ("of nobody", None, false, None),
        ("of nobody", price, true, Some(66)),
        ("of nobody", price, false, Some(66)),
        ("gpt-4o-mini", None, true, Some(66)),
        ("gpt-4o-mini", Some(Prices::new(1_000_000, 0)), true, Some(60)),
    ];
    for (model, prices, is_of_input, spent) in rows {
        let provider = endless(model);
        let builder = builder(&provider).max_turns(9).at_limit(AtLimit::Fail);
        let builder = if is_of_input { builder } else { builder.budget(budget()) };
        let builder = prices.into_iter().fold(builder, AgentBuilder::prices);
        let input = RunInput::from("Go");
        let input = if is_of_input { input.budget(budget()) } else { input };
        let error = builder.build().unwrap().conversation().run(input).await.unwrap_err();
        let Some(spent) = spent else {
            assert_eq!((error.error.code, provider.requests().len()), (ErrorCode::InvalidInput, 0));
            let message = &error.error.message;
            for word in ["$0.000034", "price of the model", "--price", "catalog"] {
                assert!(message.contains(word), "{word} in {message}");
            }
            continue;
        };
        assert_eq!(error.error.code, ErrorCode::Budget, "{model}");
        assert_eq!(error.outcome.spent.cost.unwrap().micro_dollars(), spent, "{model}");
    }
}

#[tokio::test]
async fn inputs_that_cannot_be_served_are_refused_by_name_and_leave_nothing() {
    let blind = || {
        ModelInfo::new("scripted", "blind-1")
            .capabilities(Capabilities::ALL.vision(false).documents(false))
    };
    let picture = Part::image("image/png", "iVBORw0KGgo=");
    let image = |kind: &str, data: &str| Part::image(kind, data);
    let (svg, raw) = (image("image/svg+xml", "PHN2Zy8+"), image("image/png", "not base64!"));
    let document = Part::document("application/pdf", "AAAA", None);
    let zero = "of the input is 0; it must be more, or not set";
    let budget = |budget: Budget| RunInput::from("Go").budget(budget);
    let past = SystemTime::now() - Duration::from_mins(1);
    let rows = [
        (budget(Budget::default().turns(0)), ErrorCode::InvalidInput, format!("`budget.turns` {zero}")),
        (budget(Budget::default().tokens(0)), ErrorCode::InvalidInput, format!("`budget.tokens` {zero}")),
        (budget(Budget::default().time(Duration::ZERO)), ErrorCode::InvalidInput, format!("`budget.time` {zero}")),
        (budget(Budget::default().cost(Cost::ZERO)), ErrorCode::InvalidInput, format!("`budget.cost` {zero}")),
        (RunInput::from("Go").deadline(past), ErrorCode::InvalidInput, "the deadline of the input passed 60".to_owned()),
        (RunInput::from("Go").part(picture.clone()), ErrorCode::Unsupported, "the model `blind-1` does not accept pictures; send the input without them, or choose a model that does".to_owned()),
        (RunInput::from("Go").part(svg), ErrorCode::InvalidInput, "a picture of the input (image/svg+xml, 6 bytes) cannot be read: models accept PNG, JPEG, GIF and WebP".to_owned()),
        (RunInput::from("Go").part(raw), ErrorCode::InvalidInput, "a picture of the input (image/png, 11 bytes) cannot be read: its data are not base64".to_owned()),
        (RunInput::from(vec![document]), ErrorCode::Unsupported, "the model `blind-1` does not accept documents".to_owned()),
    ];
    let provider = ScriptedProvider::new([ScriptedTurn::new().text("Done.")]).info_of(blind());
    let journal = MemoryJournal::default();
    let agent = builder(&provider).build().unwrap().conversation().with_journal(journal.clone());
    for (input, code, message) in rows {
        let error = agent.run(input.clone()).await.unwrap_err();
        assert_eq!(error.error.code, code, "{message}");
        assert!(error.error.message.starts_with(&message), "{}", error.error.message);
        let mut stream = agent.run_stream(input);
        let mut events = Vec::new();
        while let Some(event) = stream.next().await {
            events.push(event);
        }
        assert_whole(&events);
        assert_eq!(
            kinds(&events),
            [
                "busy true".to_owned(),
                format!("error {code:?}"),
                "turn_end".to_owned(),
                "busy false".to_owned()
            ]
        );
    }
    assert!(
        agent.transcript().is_empty()
            && journal.lines().is_empty()
            && provider.requests().is_empty()
    );
    assert_eq!(agent.run("Go").await.unwrap().text, "Done.");

    let sighted = ScriptedProvider::new([ScriptedTurn::new().text("A cat.")])
        .info_of(ModelInfo::new("scripted", "sighted").capabilities(Capabilities::ALL));
    let outcome = builder(&sighted)
        .build()
        .unwrap()
        .conversation()
        .run(RunInput::from("Look").part(picture))
        .await
        .unwrap();
    assert_eq!(outcome.messages[0].parts.len(), 2);
    let error = builder(&sighted).budget(Budget::default().tokens(0)).build().unwrap_err();
    assert_eq!(error, BuildError::Zero { option: "budget.tokens" });
    assert_eq!(Message::from("Go").text(), RunInput::from(&"Go".to_owned()).message.text());
}

// Covers: G-37
#[tokio::test(start_paused = true)]
async fn a_deadline_cuts_a_run_and_holds_after_it_was_put_away() {
    let hanging = || ScriptedProvider::new([ScriptedTurn::new().text("Once").hang()]);
    let in_a_second = || RunInput::from("Go").deadline(SystemTime::now() + Duration::from_secs(1));
    let journal = MemoryJournal::default();
    let agent = builder(&hanging()).run_timeout(Duration::from_secs(90));
    let agent = agent.build().unwrap().conversation().with_journal(journal.clone());
    let began = tokio::time::Instant::now();
    let error = agent.run(in_a_second()).await.unwrap_err();
    assert_eq!(error.error.message, "the deadline of the run passed; what had arrived is kept");
    assert_eq!((error.error.code, error.outcome.text.as_str()), (ErrorCode::Timeout, "Once"));
    assert!(began.elapsed() <= Duration::from_secs(1), "{:?}", began.elapsed());

    // Put away before its deadline, and taken up after it.
    let (journal, at) = (MemoryJournal::default(), SystemTime::now() + Duration::from_millis(200));
    let agent = builder(&hanging()).build().unwrap().conversation().with_journal(journal.clone());
    let mut stream = agent.run_stream(RunInput::from("Go").deadline(at));
    while stream.next().await.unwrap().event.kind() != "message_content" {}
    drop(stream);
    while SystemTime::now() < at {
        std::hint::spin_loop();
    }
    let agent = builder(&hanging())
        .build()
        .unwrap()
        .conversation()
        .with_journal(MemoryJournal::from(journal.lines()));
    let error = agent.resume().await.unwrap_err();
    assert_eq!(error.error.message, "the deadline of the run passed; what had arrived is kept");
    let timeout = Duration::from_millis(5);
    let error = builder(&hanging())
        .run_timeout(timeout)
        .build()
        .unwrap()
        .conversation()
        .run(in_a_second())
        .await;
    assert_eq!(
        error.unwrap_err().error.message,
        "the run took longer than 5ms; what had arrived is kept"
    );
}

#[tokio::test]
async fn the_debug_form_of_an_input_shows_no_metadata_and_no_state() {
    let shown = format!("{:?}", full_input());
    assert!(shown.contains("ann") && !shown.contains("gold"), "{shown}");
}

#[tokio::test]
async fn an_input_chooses_a_model_whose_abilities_and_names_are_its_own() {
    let ready = |name: &'static str, vision: bool, tools: bool| {
        let provider = ScriptedProvider::from_fn(move |_: &forgeline_llm::Request| {
            ScriptedTurn::new().text(name)
        });
        let able = Capabilities::ALL.vision(vision).tools(tools);
        provider.info_of(ModelInfo::new("scripted", name).capabilities(able))
    };
    let (own, other) = (ready("own-1", false, true), ready("other-1", true, false));
    let agent = Agent::builder(own.clone()).model("other", other.clone()).tool(Calculator);
    let agent = agent.build().unwrap().conversation();
    let picture = Part::image("image/png", "iVBORw0KGgo=");
    let look = || RunInput::from("Look.").part(picture.clone());
    assert_eq!(agent.run(look().model("other")).await.unwrap().text, "other-1");
    let request = &other.requests()[0];
    assert!(request.tools.is_empty() && request.system.as_deref().unwrap().contains("calculator"));
    for model in [None, Some("own-1")] {
        let input = model.map_or_else(look, |model| look().model(model));
        let error = agent.run(input).await.unwrap_err().error;
        assert!(error.message.contains("`own-1` does not accept pictures"), "{error}");
    }
    let error = agent.run(RunInput::from("Go.").model("other-1")).await.unwrap_err().error;
    assert_eq!(error.code, ErrorCode::InvalidInput);
    assert_eq!(error.message, "the agent has no model `other-1`; choose one of `own-1`, `other`");
    agent.run("Go.").await.unwrap();
    assert_eq!(own.requests()[0].tools.len(), 1, "the next run has the agent's own");
    let forked = agent.fork();
    assert_eq!(forked.run(RunInput::from("Go.").model("other")).await.unwrap().text, "other-1");
}
