//! What a run takes besides its chunks: what is the same in every run is made once, with the agent.

use forgeline::{
    agent::{
        DefaultAgent,
        tools::{ToolContext, tool_fn},
    },
    types::AgentEvent,
};
use stats_alloc::{Region, Stats};

use crate::{
    ALLOCATOR, Result, corpus,
    gate::Report,
    measure::per,
    provider::{provider, runtime},
    transport::FixedReads,
};

/// The answer of each run.
const ANSWER: [&str; 2] = ["Two ", "chunks."];

pub(crate) fn gates(report: &mut Report) -> Result<()> {
    let reads = ANSWER
        .map(|text| corpus::delta_event(&format!(r#"{{"content":{}}}"#, corpus::quoted(text))));
    let provider = provider(FixedReads::new(reads, corpus::END))?;
    let runtime = runtime()?;
    // The second agent and its second run: what is made once for the process is there.
    let mut costs = Vec::new();
    for _ in 0..2 {
        let region = Region::new(ALLOCATOR);
        let agent = ["first", "second", "third"].into_iter().fold(
            DefaultAgent::builder(provider.clone()).system("Answer briefly."),
            |agent, name| agent.tool(tool_fn(name, "Finds lines of a file.", find)),
        );
        let agent = agent.build()?;
        costs.push(region.change());
        for _ in 0..2 {
            let region = Region::new(ALLOCATOR);
            runtime.block_on(read(&agent))?;
            costs.push(region.change());
        }
    }
    let [.., agent, _, run] = costs.as_slice() else { return Err("no run".into()) };
    report.add("agent_kib", kib(agent), (18.0, 12.0), "KiB allocated to build an agent, 3 tools");
    report.add("run_kib", kib(run), (23.5, 16.0), "KiB allocated in a second run of two chunks");
    let allocations = per(run.allocations as u64, 1);
    report.add("run_allocations", allocations, (95.0, 80.0), "allocations in that run");
    Ok(())
}

fn kib(change: &Stats) -> f64 {
    per(change.bytes_allocated as u64, 1 << 10)
}

async fn read(agent: &DefaultAgent) -> Result<()> {
    let (mut events, mut length) = (agent.run_stream("Where is it?"), 0);
    while let Some(envelope) = events.next().await {
        if let AgentEvent::MessageContent { content, .. } = &envelope.event {
            length += content.len();
        }
    }
    let whole: usize = ANSWER.iter().map(|text| text.len()).sum();
    if length == whole { Ok(()) } else { Err(format!("{length} of {whole} bytes").into()) }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Find {
    /// The file, relative to the root.
    path: String,
    /// The words that the line holds.
    words: Vec<String>,
    /// The most lines that are returned.
    most: Option<u32>,
}

async fn find(_context: ToolContext, find: Find) -> String {
    format!("{} {} {:?}", find.path, find.words.len(), find.most)
}
