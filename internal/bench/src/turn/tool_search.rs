//! What a search costs among a thousand tools, of which one is found.

use std::time::Instant;

use forgeline::{
    agent::{DefaultAgent, ToolSearch, tools::tool_fn},
    testing::{ScriptedProvider, ScriptedTurn},
    types::AgentEvent,
};
use serde_json::json;

use super::{RUNS, runtime};
use crate::{Result, gate::Report, measure::median};

const TOOLS: usize = 1_000;
/// Searches of one run, each for another tool.
const SEARCHES: usize = 50;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Entry {
    /// The title of the entry, as people would write it.
    #[expect(dead_code, reason = "it is in the schema")]
    title: String,
}

/// Reports the time from the call of a search to its result.
pub(super) fn gate(report: &mut Report) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..RUNS {
        times.extend(search()?);
    }
    report.add("tool_search", median(times), (1000.0, 500.0), "µs/turn that searches 1,000 tools");
    Ok(())
}

fn search() -> Result<Vec<f64>> {
    let find = |at| {
        let query = format!("change an entry of the calendar in department {at}");
        ScriptedTurn::new().call("tool_search", json!({ "query": query }))
    };
    let turns = (0..SEARCHES).map(find).chain([ScriptedTurn::new().text("Done.")]);
    let tool = |at| {
        let about = format!("Use this to change an entry of the calendar in department {at}.");
        tool_fn(format!("calendar.n{at}_change"), about, async |_, _: Entry| "changed")
    };
    let builder = DefaultAgent::builder(ScriptedProvider::new(turns))
        .max_turns(u32::try_from(SEARCHES)? + 1)
        .tool_search(ToolSearch::default().share(0));
    let agent = (0..TOOLS).fold(builder, |builder, at| builder.tool(tool(at))).build()?;
    let (mut times, mut began, mut right) = (Vec::new(), Instant::now(), 0);
    runtime()?.block_on(async {
        let mut events = agent.run_stream("Change them all.");
        while let Some(envelope) = events.next().await {
            if let AgentEvent::ToolResult { content, .. } = &envelope.event {
                // A whole turn: its events may come together, so that those of the call alone tell nothing.
                let name = format!(r#"{{"name":"calendar.n{}_change","#, times.len());
                right += usize::from(content.contains(&name));
                times.push(began.elapsed().as_secs_f64() * 1e6);
                began = Instant::now();
            }
        }
    });
    if right < SEARCHES || times.len() < SEARCHES {
        return Err(format!("{right} of {SEARCHES} searches found their tool").into());
    }
    Ok(times)
}
