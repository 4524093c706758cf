//! Whose cost over HTTP is counted: each reads an answer whole, and fails unless all of it came.

use std::{error::Error, hint::black_box, sync::Arc};

use forgeline::{
    agent::{
        Agent, CancellationToken, RunStream,
        channels::AgentChannels,
        core::{StreamOptions, process_into},
        tools::{ToolContext, tool_fn},
    },
    llm::{Provider as _, Request, channel::channel, openai::OpenAi, sse::SseLimits},
    types::{AgentEvent, ErrorEvent, MessageContentEvent, ToolCallContentEvent},
};
use futures_util::StreamExt as _;
use tokio::sync::{Semaphore, mpsc};

use super::{
    answer::{AROUND, Answer},
    browser,
    server::{EACH, HELD},
};
use crate::{Result, fault, provider::runtime, reading::Reading};

/// Events of a live answer that are read before the memory is looked at.
const LIVE_EVENTS: usize = 10;
/// Connections that are made at the same time.
pub(super) const CONNECTING: usize = 100;

/// Runs the client `name` for `count` deltas or streams of the server at `address`; `None` when none
/// has this name.
pub(super) fn run(name: &str, address: &str, count: usize) -> Option<Result<()>> {
    let base = |kind: &str, count: usize| match fault::own() {
        "" => format!("http://{address}/{kind}/{count}/v1"),
        fault => format!("http://{address}/{kind}!{fault}/{count}/v1"),
    };
    let text = base("text", count);
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return Some(Err(error)),
    };
    Some(match name {
        "bare" => runtime.block_on(bare(&text, count)),
        "chunks" => runtime.block_on(chunks(&text, count, |_| ())),
        "copied-chunks" => {
            runtime.block_on(chunks(&text, count, |text| drop(black_box(text.to_owned()))))
        }
        "events" => runtime.block_on(events(&text, Answer::Text, count)),
        "call-events" => runtime.block_on(events(&base("calls", count), Answer::Call, count)),
        "start" => runtime.block_on(start(&text, count)),
        "run" => runtime.block_on(run_stream(&text, Answer::Text, count)),
        "call-run" => runtime.block_on(run_stream(&base("calls", count), Answer::Call, count)),
        "browser" => runtime.block_on(browser::served(address, &base(HELD, count), count)),
        "browser-each" => runtime.block_on(browser::served(address, &base(EACH, count), count)),
        "proxy" => runtime.block_on(browser::proxy(address, &base(HELD, count), count)),
        "proxy-each" => runtime.block_on(browser::proxy(address, &base(EACH, count), count)),
        "live-bare" => runtime.block_on(live(Live::Bare, &base("live", LIVE_EVENTS), count)),
        "live" => runtime.block_on(live(Live::Agent, &base("live", LIVE_EVENTS), count)),
        "idle" => idle(&text, count),
        _ => return None,
    })
}

pub(super) fn provider(base_url: &str) -> Result<OpenAi> {
    // The longest answers here are longer than one may be by default.
    let limits = SseLimits::default().max_response_bytes(1 << 30);
    Ok(OpenAi::builder().base_url(base_url).model("bench").limits(limits).build()?)
}

/// An agent with one tool.
pub(super) fn agent(provider: OpenAi) -> Result<Agent> {
    let tool = tool_fn("write", "Writes a text.", write);
    Ok(Agent::builder(provider).system("Answer at length.").tool(tool).build()?)
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Write {
    /// The text.
    text: String,
}

async fn write(_context: ToolContext, write: Write) -> String {
    write.text.len().to_string()
}

/// The floor: bytes that are thrown away.
async fn bare(base_url: &str, count: usize) -> Result<()> {
    let mut body = Box::pin(bare_body(&bare_client(base_url)?, base_url).await?);
    let (mut bytes, mut reads) = (0, 0);
    while let Some(read) = body.next().await {
        bytes += read?.len();
        reads += 1;
    }
    let answer = Answer::Text;
    let lengths: Vec<_> = answer.deltas().iter().map(|delta| answer.event(delta).len()).collect();
    let rest: usize = lengths.iter().take(count % lengths.len()).sum();
    let around = answer.first().len() + answer.last().concat().len();
    let whole = lengths.iter().sum::<usize>() * (count / lengths.len()) + rest + around;
    if bytes != whole || reads < count {
        return Err(format!("{bytes} of {whole} bytes in {reads} reads of {count}").into());
    }
    Ok(())
}

/// A client without a TLS of its own; it finds the one that building a provider makes the process's.
pub(super) fn bare_client(base_url: &str) -> Result<reqwest::Client> {
    drop(provider(base_url)?);
    Ok(reqwest::Client::new())
}

pub(super) async fn bare_body(
    client: &reqwest::Client,
    base_url: &str,
) -> Result<impl futures_core::Stream<Item = reqwest::Result<bytes::Bytes>> + use<>> {
    Ok(client.post(format!("{base_url}/chat")).body("{}").send().await?.bytes_stream())
}

async fn chunks(base_url: &str, count: usize, also: fn(&str)) -> Result<()> {
    let mut reading = Answer::Text.reading(count);
    let mut chunks = provider(base_url)?.stream_completion(Request::prompt("Go on.")).await?;
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        if chunk.is_message() {
            reading.add(&chunk.content);
            also(&chunk.content);
        }
    }
    reading.finish()
}

/// Takes an event of the answer.
#[inline]
fn take(event: &AgentEvent, reading: &mut Reading) {
    if let AgentEvent::MessageContent(MessageContentEvent { content, .. }) = event {
        reading.add(content);
    } else if let AgentEvent::ToolCallContent(ToolCallContentEvent { arguments, .. }) = event
        && !AROUND.contains(&arguments.as_str())
    {
        reading.add(arguments);
    }
}

async fn events(base_url: &str, answer: Answer, count: usize) -> Result<()> {
    let mut reading = answer.reading(count);
    let options = StreamOptions::default().keep_content(false);
    let (sender, mut events) = channel(64);
    let cancel = CancellationToken::new();
    let chunks = provider(base_url)?.stream_completion(Request::prompt("Go on.")).await?;
    let producing = async {
        let completion = process_into(chunks, &options, &sender, &cancel).await;
        drop(sender);
        completion
    };
    let consuming = async {
        while let Some(event) = events.recv().await {
            take(&event, &mut reading);
        }
    };
    let (completion, ()) = tokio::join!(producing, consuming);
    completion.error.map_or(Ok(()), |error| Err(Box::<dyn Error>::from(error)))?;
    reading.finish()
}

async fn start(base_url: &str, count: usize) -> Result<()> {
    let mut reading = Answer::Text.reading(count);
    let (handle, channels) = agent(provider(base_url)?)?.start();
    let AgentChannels { input, mut events, .. } = channels;
    input.send("Go on.").await?;
    while let Some(envelope) = events.recv().await {
        take(&envelope.event, &mut reading);
        if let AgentEvent::Error(ErrorEvent { error, .. }) = envelope.event {
            return Err(error.into());
        }
        if let AgentEvent::TurnEnd = envelope.event {
            break;
        }
    }
    handle.shutdown().await;
    reading.finish()
}

async fn run_stream(base_url: &str, answer: Answer, count: usize) -> Result<()> {
    let mut reading = answer.reading(count);
    let mut stream = agent(provider(base_url)?)?.run_stream("Go on.");
    let mut results = 0;
    while let Some(envelope) = stream.next().await {
        if let AgentEvent::ToolResult(_) = &envelope.event {
            results += 1;
        }
        // What follows the call's result is another answer.
        if results == 0 {
            take(&envelope.event, &mut reading);
        }
    }
    let outcome = stream.outcome().await?;
    let turns = if answer == Answer::Call { 2 } else { 1 };
    if (outcome.turns, results + 1) != (turns, turns) {
        return Err(format!("{} turns, {results} calls", outcome.turns).into());
    }
    reading.finish()
}

/// What is held of each of many answers that are read at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Live {
    Bare,
    Agent,
}

/// Opens `count` streams, and holds all of them until each has given some events.
async fn live(kind: Live, base_url: &str, count: usize) -> Result<()> {
    raise_open_files();
    let (client, provider) = (bare_client(base_url)?, provider(base_url)?);
    let gate = Arc::new(Semaphore::new(CONNECTING));
    let (arrived, mut arrivals) = mpsc::channel::<bool>(1);
    for _ in 0..count {
        let (gate, arrived, base_url) = (Arc::clone(&gate), arrived.clone(), base_url.to_owned());
        let (client, provider) = (client.clone(), provider.clone());
        tokio::spawn(async move {
            let permit = gate.acquire().await;
            if kind == Live::Bare {
                let Ok(body) = bare_body(&client, &base_url).await else { return };
                let mut body = Box::pin(body);
                drop(body.next().await);
                drop(permit);
                let mut is_whole = true;
                for _ in 0..LIVE_EVENTS {
                    is_whole &= matches!(body.next().await, Some(Ok(_)));
                }
                arrived.send(is_whole).await.ok();
                drop(body.next().await);
                return;
            }
            let Ok(agent) = agent(provider) else { return };
            let mut stream = agent.run_stream("Go on.");
            let is_whole = read_live(&mut stream, permit).await;
            arrived.send(is_whole).await.ok();
            drop(stream.next().await);
        });
    }
    drop(arrived);
    for _ in 0..count {
        if arrivals.recv().await != Some(true) {
            return Err("a live stream ended, or differs".into());
        }
    }
    Ok(())
}

async fn read_live<P>(stream: &mut RunStream, permit: P) -> bool {
    let mut reading = Answer::Text.reading(LIVE_EVENTS);
    let (mut permit, mut seen) = (Some(permit), 0);
    while seen < LIVE_EVENTS {
        let Some(envelope) = stream.next().await else { return false };
        if let AgentEvent::MessageContent(MessageContentEvent { content, .. }) = &envelope.event {
            drop(permit.take());
            reading.add(content);
            seen += 1;
        }
    }
    reading.finish().is_ok()
}

/// Providers that are built and not used.
fn idle(base_url: &str, count: usize) -> Result<()> {
    let providers: Vec<_> = (0..count).map(|_| provider(base_url)).collect::<Result<_>>()?;
    if providers.iter().all(|provider| provider.info().model == "bench") {
        Ok(())
    } else {
        Err("a provider differs".into())
    }
}

/// Lets this process have as many connections as the system allows it.
pub(super) fn raise_open_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Without it, the connections that fail say so.
    setrlimit(Resource::Nofile, limit).ok();
}
