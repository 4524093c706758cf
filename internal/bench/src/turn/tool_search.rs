//! What a search costs among a thousand tools, of which one is found.

use std::time::Instant;

use forgeline::{
    agent::{Agent, search::ToolSearch, tools::tool_fn},
    types::{AgentEvent, ToolResultEvent},
};
use forgeline_testing::{ScriptedProvider, ScriptedTurn};
use serde_json::json;

use super::runtime;
use crate::{
    Result,
    gate::Report,
    measure::{median, per, runs},
};

const TOOLS: usize = 1_000;
/// Searches of one run, each for another tool.
const SEARCHES: usize = 50;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Entry {
    /// The title of the entry, as people would write it.
    #[expect(dead_code, reason = "it is in the schema")]
    title: String,
}

/// Reports the time of a turn: that of a whole run by its turns, as events of several turns may come together.
pub(super) fn gate(report: &mut Report) -> Result<()> {
    let times = (0..runs()).map(|_| search()).collect::<Result<Vec<_>>>()?;
    report.add("tool_search", median(times), (1000.0, 500.0), "µs/turn that searches 1,000 tools");
    Ok(())
}

fn search() -> Result<f64> {
    let find = |at| {
        let query = format!("change an entry of the calendar in department {at}");
        ScriptedTurn::new().call("tool_search", json!({ "query": query }))
    };
    let turns = (0..SEARCHES).map(find).chain([ScriptedTurn::new().text("Done.")]);
    let tool = |at| {
        let about = format!("Use this to change an entry of the calendar in department {at}.");
        tool_fn(format!("calendar.n{at}_change"), about, async |_, _: Entry| "changed")
    };
    let builder = Agent::builder(ScriptedProvider::new(turns))
        .max_turns(u32::try_from(SEARCHES)? + 1)
        .tool_search(ToolSearch::default().share(0));
    let agent = (0..TOOLS).fold(builder, |builder, at| builder.tool(tool(at))).build()?;
    let (began, mut results, mut right) = (Instant::now(), 0, 0);
    runtime()?.block_on(async {
        let mut events = agent.run_stream("Change them all.");
        while let Some(envelope) = events.next().await {
            if let AgentEvent::ToolResult(ToolResultEvent { content, .. }) = &envelope.event {
                let name = format!(r#"{{"name":"calendar.n{results}_change","#);
                right += usize::from(content.contains(&name));
                results += 1;
            }
        }
    });
    let micros = began.elapsed().as_secs_f64() * 1e6;
    if right < SEARCHES || results != SEARCHES {
        return Err(format!("{right} of {SEARCHES} searches found their tool").into());
    }
    Ok(micros / per(SEARCHES as u64, 1))
}
