//! Readers that a proxy cuts, or whose service is killed, come back with what they saw last, and get each event once, in order.

use std::{env, fs, time::Duration};

use forgeline::{
    server::encode::{Encode as _, RunEnd, UiMessageStream},
    types::Envelope,
};
use futures_util::{StreamExt as _, stream};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::{
    io::{self, AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    time::timeout,
};

use super::service_process::{Process, client, folder, pass};

/// The longest time for a run and its readers.
const LONG: Duration = Duration::from_mins(1);

/// The events from one cut to the next; `make kills-serve` asks for each.
fn step() -> usize {
    env::var("FORGELINE_CUTS_STEP").map_or(6, |step| step.parse().unwrap())
}

/// A protocol in which a run is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Native,
    Chat,
    Durable,
    AgUi,
}

const ALL: [Protocol; 4] = [Protocol::Native, Protocol::Chat, Protocol::Durable, Protocol::AgUi];

/// The place of a reader in its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Reads,
    Ended,
    /// The run had ended before it came back, and the answer was 204.
    Late,
}

/// A reader of one run, which knows what it saw.
#[derive(Debug)]
struct Reader {
    protocol: Protocol,
    run: String,
    conversation: String,
    seen: Vec<String>,
    /// The place to come back to.
    last: Option<String>,
    /// Values that come before the place behind them.
    held: Vec<String>,
    progress: Progress,
    cuts: usize,
}

impl Reader {
    fn new(protocol: Protocol, run: &str, conversation: &str) -> Self {
        let (run, conversation) = (run.to_owned(), conversation.to_owned());
        let (seen, held, last) = (Vec::new(), Vec::new(), None);
        let (progress, cuts) = (Progress::Reads, 0);
        Self { protocol, run, conversation, seen, last, held, progress, cuts }
    }

    fn has_ended(&self) -> bool {
        self.progress != Progress::Reads
    }

    fn end_if(&mut self, is_end: bool) {
        if is_end {
            self.progress = Progress::Ended;
        }
    }

    /// The path from which it reads on.
    fn path(&self) -> String {
        let (run, last) = (format!("/v1/runs/{}", self.run), self.last.as_deref());
        match self.protocol {
            Protocol::Native => {
                last.map_or(format!("{run}/events"), |it| format!("{run}/events?after={it}"))
            }
            Protocol::Chat => format!("/api/chat/{}/stream", self.conversation),
            Protocol::Durable => format!("{run}/stream?live=sse&offset={}", last.unwrap_or("-1")),
            Protocol::AgUi => {
                format!("{run}/stream?as=ag-ui&live=sse&offset={}", last.unwrap_or("-1"))
            }
        }
    }

    /// Reads on one connection, until it ends or breaks.
    async fn connect(&mut self, client: &Client, address: &str, count: &watch::Sender<usize>) {
        self.held.clear();
        let Ok(answer) = client.get(format!("{address}{}", self.path())).send().await else {
            return;
        };
        if answer.status() == 204 {
            self.progress = Progress::Late;
            return;
        }
        assert_eq!(answer.status(), 200, "{self:?}");
        if self.protocol == Protocol::Chat {
            // The message comes from its beginning again; a page puts it in place of what it has.
            self.seen.clear();
        }
        let (mut stream, mut rest) = (answer.bytes_stream(), Vec::new());
        while let Some(Ok(chunk)) = stream.next().await {
            rest.extend_from_slice(&chunk);
            while let Some(at) = rest.windows(2).position(|pair| pair == b"\n\n") {
                let frame: Vec<_> = rest.drain(..at + 2).collect();
                let frame = String::from_utf8(frame).unwrap();
                if !frame.starts_with(':') {
                    self.frame(frame.trim_end());
                    count.send_replace(self.seen.len());
                }
            }
            if self.has_ended() {
                return;
            }
        }
    }

    fn frame(&mut self, frame: &str) {
        let field = |name: &str| {
            frame.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim_start()
        };
        match self.protocol {
            Protocol::Native => {
                self.last = Some(field("id:").to_owned());
                self.end_if(field("event:") == "run_end");
                self.seen.push(field("data:").to_owned());
            }
            Protocol::Chat => {
                self.end_if(frame == "data: [DONE]");
                self.seen.push(frame.to_owned());
            }
            Protocol::Durable | Protocol::AgUi => {
                let data = serde_json::from_str::<Value>(field("data:")).unwrap();
                if field("event:") == "data" {
                    self.held.extend(data.as_array().unwrap().iter().map(Value::to_string));
                    return;
                }
                self.last = data["streamNextOffset"].as_str().map(str::to_owned);
                self.end_if(data["streamClosed"] == true);
                self.seen.append(&mut self.held);
            }
        }
    }

    /// Reads to the end of the run, wherever the service is then.
    async fn read_whole(
        mut self,
        client: Client,
        address: watch::Receiver<String>,
        count: watch::Sender<usize>,
    ) -> Self {
        while !self.has_ended() {
            let now = address.borrow().clone();
            self.connect(&client, &now, &count).await;
            if !self.has_ended() {
                self.cuts += 1;
                pass(Duration::from_millis(1)).await;
            }
        }
        self
    }

    /// Checks that it saw all of the run, once and in order.
    async fn check(&self, client: &Client, address: &str, place: &str) {
        let get = async |path: &str| {
            let (mut all, mut offset) = (Vec::new(), "-1".to_owned());
            loop {
                let path = format!("{address}{path}offset={offset}");
                let answer = client.get(&path).send().await.unwrap();
                assert_eq!(answer.status(), 200, "{path}");
                let headers = answer.headers().clone();
                let body = answer.bytes().await.unwrap();
                all.extend(serde_json::from_slice::<Vec<Value>>(&body).unwrap());
                if headers.contains_key("stream-up-to-date") {
                    return all;
                }
                headers["stream-next-offset"].to_str().unwrap().clone_into(&mut offset);
            }
        };
        let run = format!("/v1/runs/{}/stream", self.run);
        let events = get(&format!("{run}?")).await;
        assert!(events.len() > 20, "{place}: {} events", events.len());
        for (at, event) in events.iter().enumerate() {
            assert_eq!(event["seq"], json!(at), "{place}");
        }
        let want: Vec<String> = match self.protocol {
            Protocol::Native | Protocol::Durable => events.iter().map(Value::to_string).collect(),
            Protocol::AgUi => {
                let all = get(&format!("{run}?as=ag-ui&")).await;
                all.iter().map(Value::to_string).collect()
            }
            Protocol::Chat => {
                let frames = as_chat(&events);
                if self.progress == Progress::Late {
                    // It has the message from the history of the chat.
                    assert!(frames.starts_with(&self.seen), "{place}");
                    return;
                }
                frames
            }
        };
        let seen: Vec<_> = self.seen.iter().map(|it| normal(it)).collect();
        let want: Vec<_> = want.iter().map(|it| normal(it)).collect();
        assert_eq!(seen, want, "{place}");
    }
}

/// The same text for the same value.
fn normal(text: &str) -> String {
    serde_json::from_str::<Value>(text).map_or_else(|_| text.to_owned(), |it| it.to_string())
}

/// The frames of the whole message.
fn as_chat(events: &[Value]) -> Vec<String> {
    let (mut encoder, mut out) = (UiMessageStream::new(), Vec::new());
    for event in events {
        if event["type"] == "run_end" {
            let end: RunEnd = serde_json::from_value(event.clone()).unwrap();
            encoder.end(&end, &mut out);
        } else {
            let envelope: Envelope = serde_json::from_value(event.clone()).unwrap();
            encoder.event(&envelope, &mut out);
        }
    }
    let frames = String::from_utf8(out).unwrap();
    frames.split_terminator("\n\n").map(str::to_owned).collect()
}

/// Begins a run in a conversation of its own; returns its id.
async fn begin(client: &Client, address: &str, conversation: &str) -> String {
    let answer = client
        .post(format!("{address}/v1/runs"))
        .header("content-type", "application/json")
        .body(json!({ "input": "Go.", "conversation_id": conversation }).to_string())
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 202);
    let body = answer.bytes().await.unwrap();
    let begun: Value = serde_json::from_slice(&body).unwrap();
    begun["run_id"].as_str().unwrap().to_owned()
}

/// A generator of numbers, the same each time.
fn dice(seed: usize) -> usize {
    let mixed = (seed as u64).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    usize::try_from((mixed ^ (mixed >> 31)) >> 33).unwrap()
}

/// A proxy before a service: it drops each connection behind a number of frames, and some bytes of the next. Returns its address.
async fn proxy(
    upstream: &str,
    cuts: impl Iterator<Item = (usize, usize)> + Send + 'static,
) -> String {
    let upstream = upstream.strip_prefix("http://").unwrap().to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut cuts = cuts;
        while let Ok((near, _)) = listener.accept().await {
            let Ok(far) = TcpStream::connect(&upstream).await else { return };
            let ((mut asks, answers), (reads, mut writes)) = (near.into_split(), far.into_split());
            let cut = cuts.next();
            tokio::spawn(async move {
                let asking = io::copy(&mut asks, &mut writes);
                // Both sides are gone when the answer is cut.
                tokio::select! {
                    () = forward(reads, answers, cut) => {}
                    Err(_) = asking => {}
                }
            });
        }
    });
    address
}

async fn forward(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, cut: Option<(usize, usize)>) {
    let (mut buffer, mut frames, mut more, mut last) = ([0; 4096], 0, 0, 0);
    loop {
        let Ok(count @ 1..) = from.read(&mut buffer).await else { return };
        let mut passed = count;
        if let Some((most, bytes)) = cut {
            for (at, byte) in buffer[..count].iter().enumerate() {
                if frames == most {
                    if more == bytes {
                        passed = at;
                        break;
                    }
                    more += 1;
                } else if (last, *byte) == (b'\n', b'\n') {
                    (frames, last) = (frames + 1, 0);
                } else {
                    last = *byte;
                }
            }
        }
        if to.write_all(&buffer[..passed]).await.is_err() || passed < count {
            return;
        }
    }
}

// Covers: T-29
#[tokio::test]
async fn a_reader_behind_a_proxy_that_drops_gets_each_event_once() {
    let (client, folder) = (client(), folder("proxy"));
    let process = Process::start(&folder);
    let upstream = process.address.clone();
    let whole = begin(&client, &upstream, "whole").await;
    let (address, _kept) = watch::channel(upstream.clone());
    let reader = Reader::new(Protocol::Native, &whole, "whole");
    let whole = reader.read_whole(client.clone(), address.subscribe(), watch::Sender::new(0));
    let count = timeout(LONG, whole).await.unwrap().seen.len();
    let cuts = (0..=count).step_by(step()).flat_map(|at| ALL.map(|protocol| (at, protocol)));
    let cut = async |at: usize, protocol: Protocol| {
        let place = format!("{protocol:?}, cut at {at}");
        let conversation = format!("{protocol:?}-{at}");
        let run = begin(&client, &upstream, &conversation).await;
        // The first connection is cut here, those that follow somewhere; the first reader's are cut at each event in turn. A chat comes from
        // its beginning again.
        let more = match (protocol, at) {
            (Protocol::Chat, _) => 2,
            (_, 0) => 1_000,
            _ => 40,
        };
        let first = (at, dice(at) % 300);
        let rest = (0..more).map(move |next| {
            let seed = dice(at * 100 + next);
            // A value of a stream has its place in a frame of its own.
            let least = if protocol == Protocol::Native { 1 } else { 2 };
            (if at == 0 { least } else { least + seed % 12 }, seed % 300)
        });
        let address = proxy(&upstream, std::iter::once(first).chain(rest)).await;
        let (address, _kept) = watch::channel(address);
        let reader = Reader::new(protocol, &run, &conversation);
        let all = reader.read_whole(client.clone(), address.subscribe(), watch::Sender::new(0));
        let reader = timeout(LONG, all).await.unwrap_or_else(|_| panic!("{place}: no end"));
        reader.check(&client, &upstream, &place).await;
        reader.cuts
    };
    let cuts = stream::iter(cuts).map(|(at, protocol)| cut(at, protocol)).buffer_unordered(8);
    let cuts: Vec<usize> = cuts.collect().await;
    let sum: usize = cuts.iter().sum();
    assert!(sum > cuts.len(), "{sum} cuts of {} readers", cuts.len());
    println!("{} readers, cut {sum} times by a proxy", cuts.len());
    process.kill();
    fs::remove_dir_all(&folder).unwrap();
}

// Covers: T-22, T-29
#[tokio::test]
async fn a_reader_whose_service_is_killed_at_an_event_gets_each_event_once() {
    let (client, folder) = (client(), folder("cut"));
    let mut process = Process::start(&folder);
    let (mut at, mut most, mut late) = (0, usize::MAX, 0);
    let (mut kills, mut restarted) = (0, 0);
    while at <= most {
        let conversation = format!("c-{at}");
        let run = begin(&client, &process.address, &conversation).await;
        let address = watch::Sender::new(process.address.clone());
        let (count, mut seen) = watch::channel(0);
        let readers = ALL.map(|protocol| {
            let reader = Reader::new(protocol, &run, &conversation);
            let own = watch::Sender::new(0);
            let count = if protocol == Protocol::Native { count.clone() } else { own };
            tokio::spawn(reader.read_whole(client.clone(), address.subscribe(), count))
        });
        timeout(LONG, seen.wait_for(|seen| *seen >= at)).await.unwrap().unwrap();
        process.kill();
        kills += 1;
        process = Process::start(&folder);
        address.send_replace(process.address.clone());
        for reader in readers {
            let place = format!("killed at {at}");
            let reader = timeout(LONG, reader).await.unwrap_or_else(|_| panic!("{place}: no end"));
            let reader = reader.unwrap();
            reader.check(&client, &process.address, &place).await;
            late += usize::from(reader.progress == Progress::Late);
            if reader.protocol == Protocol::Native {
                most = most.min(reader.seen.len());
                let is_restarted = |event: &String| event.contains("answer_restarted");
                restarted += usize::from(reader.seen.iter().any(is_restarted));
            }
        }
        at += step();
    }
    println!("{kills} kills, {restarted} answers that were begun anew, {late} readers came late");
    assert!(restarted > 0, "no answer was under way");
    assert!(late < kills, "{late} of {kills} came too late");
    process.kill();
    fs::remove_dir_all(&folder).unwrap();
}
