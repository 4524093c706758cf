//! What a turn that calls a tool costs, and whether later turns cost more.

mod tool_search;

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Instant,
};

use forgeline::{
    agent::{
        Agent, AgentBuilder, Caller,
        access::{AuditRecord, Authorization, ClientCall, ToolAccess},
        approval::{ApprovalContext, ApprovalPolicy, Decision},
        config::CallStart,
        journal::MemoryJournal,
        observe::LatencyRecords,
        search::ToolSearch,
        sub_agents::SubAgent,
        tools::{ToolContext, tool_fn},
    },
    types::{AgentEvent, ToolResultEvent},
};

use crate::{
    Result,
    gate::Report,
    measure::{median, runs},
    provider::{provider, runtime},
    transport::FixedReads,
};

const TURNS: u32 = 500;
/// Turns of the first and of the last stretch that are compared.
const STRETCH: usize = 50;

pub(crate) fn gates(report: &mut Report) -> Result<()> {
    turns(report, ["tool_turn", "tool_turn_flatness"], Setup::default)?;
    let journal = || Setup { journal: Some(MemoryJournal::default()), ..Setup::default() };
    turns(report, ["tool_turn_journal", "tool_turn_journal_flatness"], journal)?;
    turns(report, ["tool_turn_all", "tool_turn_all_flatness"], Setup::all)?;
    snapshot(report)?;
    record(report)?;
    approval(report)?;
    sub_agent(report)?;
    many_tools(report)?;
    tool_search::gate(report)
}

/// The part of a run that differs from row to row.
#[derive(Default)]
struct Setup {
    journal: Option<MemoryJournal>,
    observer: Option<LatencyRecords>,
    rules: Rules,
    /// The tools that are not called.
    others: usize,
    /// `true`: the tool that is called is an agent.
    below: bool,
}

/// What stands between a call and its tool.
#[derive(Clone, Copy, Default, PartialEq)]
enum Rules {
    #[default]
    None,
    /// Every call is asked about, and allowed by the run's reader.
    Ask,
    /// An authorizer, permissions, an approver and an audit, which all allow everything.
    Allow,
}

impl Setup {
    /// Everything that may be switched on, and has nothing to do.
    fn all() -> Self {
        let (journal, observer) = (MemoryJournal::default(), LatencyRecords::default());
        let (journal, observer) = (Some(journal), Some(observer));
        Self { journal, observer, rules: Rules::Allow, ..Self::default() }
    }

    fn apply(self, mut builder: AgentBuilder) -> AgentBuilder {
        if let Some(observer) = self.observer {
            builder = builder.observer(observer);
        }
        builder = match self.rules {
            Rules::None => builder,
            Rules::Ask => builder.approval(ApprovalPolicy::Always),
            Rules::Allow => builder
                .authorizer(|_: &ClientCall<'_>| Authorization::Allow)
                .permissions(|_: Option<&Caller>, _: &ToolAccess<'_>| true)
                .approver(|_: ApprovalContext| async { Decision::reject("nobody asks") })
                .audit(|_: AuditRecord| {}),
        };
        // All are offered, however many there are.
        let builder = builder.tool_search(ToolSearch::default().share(u32::MAX));
        let other = |at| tool_fn(format!("other{at}"), "Adds too.", async |_, _: Add| "0");
        (0..self.others).fold(builder, |builder, at| builder.tool(other(at)))
    }
}

/// Reports the time that a question to a person adds to a turn, which is answered at once.
fn approval(report: &mut Report) -> Result<()> {
    let mut added = Vec::new();
    for _ in 0..runs() {
        let plain = run(TURNS, "", Setup::default())?;
        let asked = run(TURNS, "", Setup { rules: Rules::Ask, ..Setup::default() })?;
        added.push(median(asked) - median(plain));
    }
    report.add(
        "approval",
        median(added),
        (50.0, 25.0),
        "µs/turn that a question and its answer add",
    );
    Ok(())
}

/// Reports the time that a call of an agent below adds to a turn: a run of its own, whose model answers at once.
fn sub_agent(report: &mut Report) -> Result<()> {
    let mut added = Vec::new();
    for _ in 0..runs() {
        let plain = run(TURNS, "", Setup::default())?;
        let below = run(TURNS, "", Setup { below: true, ..Setup::default() })?;
        added.push(median(below) - median(plain));
    }
    report.add(
        "sub_agent",
        median(added),
        (200.0, 100.0),
        "µs/call of an agent below, its run included",
    );
    Ok(())
}

/// An agent that answers with one word, as a tool.
fn below() -> Result<SubAgent> {
    let word = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"42 \"}}]}\n\n".to_owned();
    let end = concat!(
        r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        "\n\ndata: [DONE]\n\n",
    );
    let agent = Agent::builder(provider(FixedReads::new(vec![word], end))?).build()?;
    Ok(agent.into_tool("add", "Adds two numbers."))
}

/// Turns of the runs with many tools.
const FEW_TURNS: u32 = 60;

/// Reports the growth of a turn with the number of tools that are not called.
fn many_tools(report: &mut Report) -> Result<()> {
    let mut growths = Vec::new();
    for _ in 0..runs() {
        let [few, many] = [10, 1_000]
            .map(|others| run(FEW_TURNS, "", Setup { others, ..Setup::default() }).map(median));
        growths.push(many? / few?);
    }
    report.add(
        "tools_1000",
        median(growths),
        (2.0, 1.1),
        "× of a turn with 10 tools to one with 1,000",
    );
    Ok(())
}

/// Reports the time that records add to a turn.
fn record(report: &mut Report) -> Result<()> {
    let mut added = Vec::new();
    for _ in 0..runs() {
        let (plain, recorded) = (run(TURNS, "", Setup::default())?, {
            let latency = LatencyRecords::default();
            let observer = Some(latency.clone());
            let turns = run(TURNS, "", Setup { observer, ..Setup::default() })?;
            let kept = latency.windows().turn.len();
            if kept < TURNS as usize {
                return Err(format!("{kept} of {TURNS} turns were recorded").into());
            }
            turns
        });
        added.push(median(recorded) - median(plain));
    }
    report.add("record", median(added), (3.0, 2.0), "µs/turn that an observer adds");
    Ok(())
}

/// Reports the time of a turn, and its growth.
fn turns(
    report: &mut Report,
    [turn, flatness]: [&'static str; 2],
    setup: impl Fn() -> Setup,
) -> Result<()> {
    let (mut times, mut growths) = (Vec::new(), Vec::new());
    for _ in 0..runs() {
        let turns = run(TURNS, "", setup())?;
        let (first, last) = (turns.iter().skip(1).take(STRETCH), turns.iter().rev().take(STRETCH));
        growths.push(median(last.copied().collect()) / median(first.copied().collect()));
        times.push(median(turns));
    }
    report.add(turn, median(times), (100.0, 70.0), "µs/turn");
    report.add(flatness, median(growths), (1.2, 1.1), "× of turns 451-500 to turns 2-51");
    Ok(())
}

/// Turns of the run that is put away: its conversation has twice as many messages, and one.
const KEPT_TURNS: u32 = 100;
/// Bytes of each of its results.
const RESULT: usize = 2_000;

/// Reports the time to put a run away: to write its journal as one text.
fn snapshot(report: &mut Report) -> Result<()> {
    let journal = MemoryJournal::default();
    let setup = Setup { journal: Some(journal.clone()), ..Setup::default() };
    run(KEPT_TURNS, &"a".repeat(RESULT), setup)?;
    let mut times = Vec::new();
    for _ in 0..runs() {
        let started = Instant::now();
        let text = std::hint::black_box(&journal).to_string();
        times.push(started.elapsed().as_secs_f64() * 1e6);
        let results = text.matches("\"messages\":[{\"role\":\"tool\"").count();
        if results < KEPT_TURNS as usize {
            return Err(format!("{results} results are in the text").into());
        }
        report.note(&format!("{} bytes", text.len()));
    }
    report.add(
        "snapshot",
        median(times),
        (1000.0, 200.0),
        "µs for a run of 100 turns, 201 messages",
    );
    Ok(())
}

/// Reports the time from a call's last byte to its tool, while the answer goes on.
pub(crate) fn early_start(report: &mut Report) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..runs() {
        times.push(wait_for_tool()?);
    }
    report.add(
        "early_start",
        median(times),
        (1000.0, 200.0),
        "µs from a call's last byte to its tool",
    );
    Ok(())
}

/// Microseconds between the read that ends a call and its tool; the answer has hundreds of reads to come.
fn wait_for_tool() -> Result<f64> {
    let call = concat!(
        r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","#,
        r#""function":{"name":"note","arguments":"{}"}}]}}]}"#,
        "\n\n",
    );
    let text = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"More.\"}}]}\n\n";
    let end = concat!(
        r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
        "\n\ndata: [DONE]\n\n",
    );
    let reads: Vec<_> = [call].into_iter().chain([text; 1000]).map(str::to_owned).collect();
    let began = Arc::new(OnceLock::new());
    let note = Arc::clone(&began);
    let tool = move |_: ToolContext, _: Nothing| {
        note.get_or_init(Instant::now);
        async { "noted" }
    };
    let agent = Agent::builder(provider(FixedReads::new(reads, end))?)
        .tool(tool_fn("note", "Takes a note.", tool))
        .call_start(CallStart::AsComplete)
        .max_turns(1)
        .build()?;
    let (mut whole, mut rest) = (None, 0);
    runtime()?.block_on(async {
        let mut events = agent.run_stream("Take a note.");
        while let Some(envelope) = events.next().await {
            if let AgentEvent::ToolCallEnd(_) = &envelope.event {
                whole = whole.or_else(|| Some(Instant::now()));
            }
            let goes_on = matches!(envelope.event, AgentEvent::MessageContent(_));
            rest += u32::from(goes_on && began.get().is_some());
        }
    });
    match (whole, began.get()) {
        (Some(whole), Some(began)) if rest > 0 => {
            Ok(began.saturating_duration_since(whole).as_secs_f64() * 1e6)
        }
        _ => {
            Err(format!("the tool did not begin early: {rest} pieces of the answer behind it")
                .into())
        }
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

/// Microseconds of each turn of one run, whose results end with this text.
fn run(turns: u32, tail: &str, setup: Setup) -> Result<Vec<f64>> {
    let call = concat!(
        r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"call_1","#,
        r#""type":"function","function":{"name":"add","arguments":""}}]}}]}"#,
        "\n\n",
    );
    let arguments = |text: &str| {
        let text = serde_json::Value::from(text);
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"index\":0,\
             \"function\":{{\"arguments\":{text}}}}}]}}}}]}}\n\n"
        )
    };
    let end = concat!(
        r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
        "\n\ndata: [DONE]\n\n",
    );
    let mut reads = vec![call.to_owned()];
    let written = if setup.below {
        [r#"{"task":"#, r#""What is"#, " 19 + 23?", r#""}"#]
    } else {
        [r#"{"left":"#, "19", r#","right""#, ":23}"]
    };
    reads.extend(written.map(arguments));
    let transport = FixedReads::new(reads, end).timed();
    // Each result is another: calls that go round in a circle end the run.
    let sums = AtomicU32::new(0);
    let tail = tail.to_owned();
    let add = move |_: ToolContext, add: Add| {
        let result = format!(
            "{} is sum {}{tail}",
            add.left + add.right,
            sums.fetch_add(1, Ordering::Relaxed)
        );
        async move { result }
    };
    let asks = setup.rules == Rules::Ask;
    let builder = Agent::builder(provider(transport.clone())?).max_turns(turns);
    // The results of an agent below are the same.
    let builder = if setup.below {
        builder.tool(below()?).loop_guard(false)
    } else {
        builder.tool(tool_fn("add", "Adds two numbers.", add))
    };
    let journal = setup.journal.clone();
    let conversation = setup.apply(builder).build()?.conversation();
    let conversation = match journal {
        Some(journal) => conversation.with_journal(journal),
        None => conversation,
    };
    let (mut right, mut asked) = (0, 0);
    runtime()?.block_on(async {
        let mut events = conversation.run_stream("Add them, again and again.");
        let approvals = events.approvals();
        while let Some(envelope) = events.next().await {
            if let AgentEvent::ToolResult(ToolResultEvent { content, .. }) = &envelope.event {
                right += u32::from(content.starts_with("42 "));
            } else if let AgentEvent::ToolApprovalRequest(request) = &envelope.event {
                let answered = approvals.answer(&request.approval_id, Decision::Grant);
                asked += u32::from(answered.is_ok());
            }
        }
    });
    if asks && asked < turns {
        return Err(format!("{asked} of {turns} calls were asked about").into());
    }
    let asked = transport.take_asked();
    if asked.len() < turns as usize || right < turns {
        return Err(format!("{} of {turns} turns ran, {right} sums are right", asked.len()).into());
    }
    let pairs = asked.iter().zip(asked.iter().skip(1));
    Ok(pairs.map(|(one, next)| (next - one) / 1e3).collect())
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    left: i64,
    right: i64,
}
