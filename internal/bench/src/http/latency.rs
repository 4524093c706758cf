//! How long the library keeps an event: from the server's write to the hand of the user, beside bare reqwest.

use std::{
    collections::VecDeque,
    env,
    io::Write as _,
    net::TcpStream,
    process::Command,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Instant,
};

use forgeline::types::{AgentEvent, MessageContentEvent};
use futures_util::StreamExt as _;
use rustix::time::ClockId;
use tokio::sync::{Semaphore, mpsc};

use super::{
    answer::Answer,
    clients::{CONNECTING, agent, bare_body, bare_client, provider, raise_open_files},
    server::{BEAT, framed},
};
use crate::{
    Result,
    callgrind::NO_PROXY,
    gate::Report,
    measure::{median, nanoseconds_of, runs},
    provider::runtime,
};

/// The answer whose events say when they were written; it ends when its reader goes.
pub(super) const STAMPED: &str = "stamped";

/// Takes connections that ask for stamped events, each of which gets one a beat.
pub(super) static PACED: LazyLock<Sender<TcpStream>> = LazyLock::new(|| {
    let (sender, receiver) = channel();
    // It ends with the process.
    thread::spawn(move || pace(&receiver));
    sender
});

/// Writes to one connection after the other, so that the events of many streams come evenly.
fn pace(new: &Receiver<TcpStream>) {
    let mut connections = VecDeque::new();
    let mut next = Instant::now();
    loop {
        connections.extend(new.try_iter());
        let Some(mut connection) = connections.pop_front() else {
            match new.recv() {
                Ok(first) => connections.push_back(first),
                Err(_) => return,
            }
            next = Instant::now();
            continue;
        };
        let now = format!("{:.0}", nanoseconds_of(ClockId::Monotonic));
        if connection.write_all(framed(&Answer::Text.event(&now)).as_bytes()).is_ok() {
            connections.push_back(connection);
        }
        next += BEAT / u32::try_from(connections.len().max(1)).unwrap_or(u32::MAX);
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}

/// Streams at once, each of which gives ten events a second.
const STREAMS: usize = 1_000;

/// Events of each that count, once all streams have begun.
const EVENTS: usize = 15;

/// Pairs of processes, one of each kind.
const ROUNDS: usize = 3;

pub(super) fn gates(report: &mut Report, address: &str) {
    let pairs =
        (0..runs().min(ROUNDS)).map(|_| Ok((run("bare", address)?, run("agent", address)?)));
    let added = pairs.collect::<Result<Vec<_>>>().map(|pairs| {
        for (bare, ours) in &pairs {
            report.note(&format!("p50: reqwest {bare:.1} µs, run_stream {ours:.1} µs"));
        }
        median(pairs.into_iter().map(|(bare, ours)| ours - bare).collect())
    });
    let unit = "µs more than reqwest, p50 of 1,000 streams at 10 events/s";
    report.take("added_latency", added, (20.0, 10.0), unit);
}

/// Measures in a process of its own; gives the median in µs.
fn run(kind: &str, address: &str) -> Result<f64> {
    let arguments = ["latency", kind, address];
    let output = Command::new(env::current_exe()?).args(arguments).envs(NO_PROXY).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| {
        format!("latency {kind}: {}", String::from_utf8_lossy(&output.stderr).trim()).into()
    })
}

/// Reads all streams in this process, bare or with an agent; gives the median in µs.
pub(crate) fn measure(kind: &str, address: &str) -> Result<f64> {
    raise_open_files();
    let base_url = format!("http://{address}/{STAMPED}/1/v1");
    runtime()?.block_on(all(kind == "bare", &base_url))
}

async fn all(is_bare: bool, base_url: &str) -> Result<f64> {
    let (client, provider) = (bare_client(base_url)?, provider(base_url)?);
    let (gate, begun) = (Arc::new(Semaphore::new(CONNECTING)), Arc::new(AtomicUsize::new(0)));
    let (done, mut samples) = mpsc::channel(STREAMS);
    for _ in 0..STREAMS {
        let (gate, done, base_url) = (Arc::clone(&gate), done.clone(), base_url.to_owned());
        let (client, provider) = (client.clone(), provider.clone());
        let mut stream =
            Stamps { begun: Arc::clone(&begun), late: Vec::with_capacity(EVENTS), last: 0.0 };
        tokio::spawn(async move {
            let mut permit = Some(gate.acquire().await);
            if is_bare {
                let Ok(body) = bare_body(&client, &base_url).await else { return };
                let mut body = Box::pin(body);
                while let Some(Ok(read)) = body.next().await {
                    let now = nanoseconds_of(ClockId::Monotonic);
                    let Some(text) = content(&read) else { continue };
                    drop(permit.take());
                    if stream.add(now, text) {
                        break;
                    }
                }
            } else {
                let Ok(agent) = agent(provider) else { return };
                let mut events = agent.run_stream("Go on.");
                while let Some(envelope) = events.next().await {
                    let now = nanoseconds_of(ClockId::Monotonic);
                    let AgentEvent::MessageContent(MessageContentEvent { content, .. }) =
                        &envelope.event
                    else {
                        continue;
                    };
                    drop(permit.take());
                    if stream.add(now, content) {
                        break;
                    }
                }
            }
            done.send(stream.late).await.ok();
        });
    }
    drop(done);
    let mut late = Vec::new();
    while let Some(samples) = samples.recv().await {
        late.extend(samples);
    }
    let expected = STREAMS * EVENTS;
    if late.len() == expected {
        Ok(median(late) / 1e3)
    } else {
        Err(format!("{} events of {expected}", late.len()).into())
    }
}

/// The delta of an event.
fn content(read: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(read).ok()?;
    let (text, _) = text.split_once(r#""content":""#)?.1.split_once('"')?;
    Some(text).filter(|text| !text.is_empty())
}

/// How late the events of one stream came.
struct Stamps {
    /// Streams that have begun.
    begun: Arc<AtomicUsize>,
    /// Nanoseconds of the events that count.
    late: Vec<f64>,
    /// When the last event was written; 0 before the first.
    last: f64,
}

impl Stamps {
    /// Takes what an event says; `true` once enough came, or what can be no time.
    fn add(&mut self, now: f64, text: &str) -> bool {
        let written: f64 = text.parse().unwrap_or(0.0);
        if written <= self.last || written > now {
            return true;
        }
        if self.last == 0.0 {
            self.begun.fetch_add(1, Ordering::Relaxed);
        } else if self.begun.load(Ordering::Relaxed) == STREAMS {
            self.late.push(now - written);
        }
        self.last = written;
        self.late.len() == EVENTS
    }
}
