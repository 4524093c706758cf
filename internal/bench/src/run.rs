//! What a run takes besides its chunks: what is the same in every run is made once, with the agent.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use forgeline::{
    agent::{
        Agent, Conversation,
        approval::ApprovalPolicy,
        tools::{ToolContext, tool_fn},
    },
    llm::{
        openai::OpenAi,
        transport::{HttpRequest, HttpResponse, Transport, TransportFuture},
    },
    types::{AgentEvent, MessageContentEvent},
};
use futures_util::{poll, stream::poll_fn};
use stats_alloc::{Region, Stats};
use tokio::{sync::mpsc, task::yield_now};

use crate::{
    ALLOCATOR, Result, corpus,
    gate::Report,
    measure::per,
    provider::{provider, runtime},
    reading::Reading,
    transport::FixedReads,
};

/// The answer of each run.
const ANSWER: [&str; 2] = ["Two ", "chunks."];

/// A provider whose answer has these chunks.
fn saying(chunks: &[&str]) -> Result<OpenAi> {
    let reads = chunks.iter().map(|text| corpus::event(text));
    provider(FixedReads::new(reads, corpus::END))
}

/// Reads answers that are not the one that is measured, and counts those that no check noticed.
fn unseen_faults(report: &mut Report) -> Result<()> {
    let [one, other] = ANSWER;
    let faults: [&[&str]; 5] =
        [&[one], &[one, one, other], &[one, "chunks!"], &[other, one], &["Two chunks."]];
    let (runtime, mut unseen) = (runtime()?, 0);
    for fault in faults {
        let agent = Agent::builder(saying(fault)?).build()?;
        if runtime.block_on(read(&agent.conversation())).is_ok() {
            unseen += 1;
            report.fail("unseen_run_faults", &format!("{fault:?} passes"));
        }
    }
    report.add(
        "unseen_run_faults",
        f64::from(unseen),
        (0.0, 0.0),
        "of 5 faults in the run of `run_kib`",
    );
    Ok(())
}

pub(crate) fn gates(report: &mut Report) -> Result<()> {
    unseen_faults(report)?;
    let provider = saying(&ANSWER)?;
    let runtime = runtime()?;
    // The second agent and its second run: what is made once for the process is there.
    let (mut costs, mut idle) = (Vec::new(), 0);
    for _ in 0..2 {
        let (whole, region) = (Region::new(ALLOCATOR), Region::new(ALLOCATOR));
        let agent = ["first", "second", "third"]
            .into_iter()
            .fold(Agent::builder(provider.clone()).system("Answer briefly."), |agent, name| {
                agent.tool(tool_fn(name, "Finds lines of a file.", find))
            });
        let conversation = agent.build()?.conversation();
        costs.push(region.change());
        for _ in 0..2 {
            let region = Region::new(ALLOCATOR);
            runtime.block_on(read(&conversation))?;
            costs.push(region.change());
        }
        let Stats { bytes_allocated, bytes_deallocated, .. } = whole.change();
        idle = bytes_allocated.saturating_sub(bytes_deallocated) as u64;
    }
    let [.., agent, _, run] = costs.as_slice() else { return Err("no run".into()) };
    report.add("agent_kib", kib(agent), (19.6, 12.0), "KiB allocated to build an agent, 3 tools");
    report.add(
        "idle_agent_kib",
        per(idle, 1 << 10),
        (17.2, 12.0),
        "KiB held by it behind two runs",
    );
    report.add("run_kib", kib(run), (23.3, 16.0), "KiB allocated in a second run of two chunks");
    polls(report);
    let allocations = per(run.allocations as u64, 1);
    report.add("run_allocations", allocations, (100.0, 80.0), "allocations in that run");
    waiting_call(report)
}

/// Reports what a call that waits for a person holds beside one that runs.
fn waiting_call(report: &mut Report) -> Result<()> {
    let (asked, running) = (held(ApprovalPolicy::Always)?, held(ApprovalPolicy::Never)?);
    let more = per(asked.saturating_sub(running) as u64, 1 << 10);
    report.add(
        "waiting_approval_kib",
        more,
        (2.7, 2.0),
        "KiB that a call waiting for a person holds more",
    );
    Ok(())
}

/// The call of the answer that waits.
const CALL: &str = concat!(
    r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","#,
    r#""function":{"name":"find","arguments":"{\"path\":\"a\",\"words\":[]}"}}]}}]}"#,
    "\n\n",
    r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    "\n\n",
);

/// Bytes that a run holds whose call waits: for a person, or in its tool.
fn held(policy: ApprovalPolicy) -> Result<usize> {
    let provider = provider(FixedReads::new([CALL], corpus::END))?;
    let tool = tool_fn("find", "Finds lines of a file.", |_: ToolContext, _: Find| {
        std::future::pending::<String>()
    });
    let agent = Agent::builder(provider).tool(tool).approval(policy).build()?;
    let (runtime, mut held) = (runtime()?, None);
    // The second run: what is made once is there.
    for _ in 0..2 {
        let region = Region::new(ALLOCATOR);
        held = runtime.block_on(async {
            let mut events = agent.run_stream("Where is it?");
            while let Some(envelope) = events.next().await {
                let (AgentEvent::ToolApprovalRequest(_) | AgentEvent::ToolCall(_)) = envelope.event
                else {
                    continue;
                };
                // The tool begins, or the wait does.
                while poll!(pin!(events.next())).is_ready() {}
                yield_now().await;
                let Stats { bytes_allocated, bytes_deallocated, .. } = region.change();
                return Some(bytes_allocated.saturating_sub(bytes_deallocated));
            }
            None
        });
    }
    held.ok_or_else(|| "the call does not wait".into())
}

/// Chunks of the answer whose polls are counted.
const WAITS: usize = 1_000;

/// How often a run is polled that waits for its next chunk.
fn polls(report: &mut Report) {
    let polls = runtime().and_then(|runtime| runtime.block_on(waiting()));
    let unit = "polls of a run for each chunk that it waits for";
    report.known("run_polls", polls.map(|polls| per(polls, WAITS as u64)), (0.99, 1.05), unit);
}

/// Reads an answer whose chunks come one by one from another task; gives the polls that found none.
async fn waiting() -> Result<u64> {
    let (waits, in_vain) = (corpus::words(WAITS), Arc::new(AtomicU64::new(0)));
    let mut reading = Reading::new(waits.concat(), waits.concat().len());
    let transport = Late { words: waits.into(), in_vain: Arc::clone(&in_vain) };
    let provider = OpenAi::builder().base_url("http://127.0.0.1/v1").model("bench");
    let agent = Agent::builder(provider.transport(transport).build()?).build()?;
    let mut events = agent.run_stream("Where is it?");
    while let Some(envelope) = events.next().await {
        reading.add(envelope.event.text());
    }
    reading.finish()?;
    Ok(in_vain.load(Ordering::Relaxed))
}

/// Answers with a body of which one read comes after the other, each after a wait.
struct Late {
    words: Arc<[&'static str]>,
    /// Polls of the body that found nothing to read.
    in_vain: Arc<AtomicU64>,
}

impl Transport for Late {
    fn send(&self, request: HttpRequest) -> TransportFuture {
        drop(request);
        let (words, in_vain) = (Arc::clone(&self.words), Arc::clone(&self.in_vain));
        let (sender, mut reads) = mpsc::channel(1);
        tokio::spawn(async move {
            let events = words.iter().map(|word| corpus::event(word));
            for event in events.chain([corpus::END.to_owned()]) {
                // The reader has taken the one before, and waits.
                yield_now().await;
                sender.send(Ok(event.into())).await.ok();
            }
        });
        let body = poll_fn(move |context| {
            let read = reads.poll_recv(context);
            in_vain.fetch_add(u64::from(read.is_pending()), Ordering::Relaxed);
            read
        });
        Box::pin(async move { Ok(HttpResponse::new(200, Box::pin(body))) })
    }
}

fn kib(change: &Stats) -> f64 {
    per(change.bytes_allocated as u64, 1 << 10)
}

async fn read(conversation: &Conversation) -> Result<()> {
    let (mut events, mut place) = (conversation.run_stream("Where is it?"), 0);
    while let Some(envelope) = events.next().await {
        if let AgentEvent::MessageContent(MessageContentEvent { content, .. }) = &envelope.event {
            if ANSWER.get(place) != Some(&content.as_str()) {
                return Err(format!("{content:?} came as chunk {place}").into());
            }
            place += 1;
        }
    }
    let whole = ANSWER.len();
    if place == whole { Ok(()) } else { Err(format!("{place} of {whole} chunks").into()) }
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
