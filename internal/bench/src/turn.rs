//! What a turn that calls a tool costs, and whether later turns cost more.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Instant,
};

use forgeline::{
    agent::{
        CallStart, DefaultAgent,
        tools::{ToolContext, tool_fn},
    },
    types::AgentEvent,
};

use crate::{
    Result,
    gate::Report,
    measure::median,
    provider::{provider, runtime},
    transport::FixedReads,
};

const TURNS: u32 = 500;
/// Turns of the first and of the last stretch that are compared.
const STRETCH: usize = 50;
const RUNS: usize = 11;

pub(crate) fn gates(report: &mut Report) -> Result<()> {
    let (mut times, mut growths) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let turns = run()?;
        let (first, last) = (turns.iter().skip(1).take(STRETCH), turns.iter().rev().take(STRETCH));
        growths.push(median(last.copied().collect()) / median(first.copied().collect()));
        times.push(median(turns));
    }
    report.add("tool_turn", median(times), (100.0, 70.0), "µs/turn");
    report.add(
        "tool_turn_flatness",
        median(growths),
        (1.5, 1.1),
        "× of turns 451-500 to turns 2-51",
    );
    Ok(())
}

/// Reports the time from a call's last byte to its tool, while the answer goes on.
pub(crate) fn early_start(report: &mut Report) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..RUNS {
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
    let agent = DefaultAgent::builder(provider(FixedReads::new(reads, end))?)
        .tool(tool_fn("note", "Takes a note.", tool))
        .call_start(CallStart::AsComplete)
        .max_turns(1)
        .build()?;
    let (mut whole, mut rest) = (None, 0);
    runtime()?.block_on(async {
        let mut events = agent.run_stream("Take a note.");
        while let Some(envelope) = events.next().await {
            if let AgentEvent::ToolCallEnd { .. } = &envelope.event {
                whole = whole.or_else(|| Some(Instant::now()));
            }
            let goes_on = matches!(envelope.event, AgentEvent::MessageContent { .. });
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

/// Microseconds of each turn of one run.
fn run() -> Result<Vec<f64>> {
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
    reads.extend([r#"{"left":"#, "19", r#","right""#, ":23}"].map(arguments));
    let transport = FixedReads::new(reads, end).timed();
    // Each result is another: calls that go round in a circle end the run.
    let sums = AtomicU32::new(0);
    let add = move |_: ToolContext, add: Add| {
        let count = sums.fetch_add(1, Ordering::Relaxed);
        async move { format!("{} is sum {count}", add.left + add.right) }
    };
    let agent = DefaultAgent::builder(provider(transport.clone())?)
        .tool(tool_fn("add", "Adds two numbers.", add))
        .max_turns(TURNS)
        .build()?;
    let mut right = 0;
    runtime()?.block_on(async {
        let mut events = agent.run_stream("Add them, again and again.");
        while let Some(envelope) = events.next().await {
            if let AgentEvent::ToolResult { content, .. } = &envelope.event {
                right += u32::from(content.starts_with("42 "));
            }
        }
    });
    let asked = transport.take_asked();
    if asked.len() < TURNS as usize || right < TURNS {
        return Err(format!("{} of {TURNS} turns ran, {right} sums are right", asked.len()).into());
    }
    let pairs = asked.iter().zip(asked.iter().skip(1));
    Ok(pairs.map(|(one, next)| (next - one) / 1e3).collect())
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    left: i64,
    right: i64,
}
