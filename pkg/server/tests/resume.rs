//! Readers that are cut off come back with what they saw last, and get each event once, in order.

use std::{collections::BTreeSet, fmt::Write as _};

use axum::body::BodyDataStream;

use super::*;

/// An agent whose run goes on for a while: thinking, text, calls good and bad, a slow one, in `texts` pieces.
fn lively(texts: usize) -> Agent {
    let slow = tool_fn("slow", "", |_: ToolContext, _: Value| async {
        sleep(Duration::from_millis(40)).await;
        "slow <b>&\"\n"
    });
    let provider = ScriptedProvider::from_fn(move |request: &Asked| {
        let results = request.messages.iter().filter(|it| it.tool_results().next().is_some());
        match results.count() {
            0 => ScriptedTurn::new()
                .thinking("Hm. ")
                .thinking("Well.")
                .text("Wait.\n\nid: 9\n\n")
                .call("slow", json!({}))
                .call("calculator", json!({ "expression": "6*7" }))
                .call("nope", "{\"a\":"),
            1 => ScriptedTurn::new().call("slow", json!({})),
            _ => (0..texts).fold(ScriptedTurn::new(), |turn, at| turn.text(format!("{at} "))),
        }
    });
    Agent::builder(provider).tool(slow).tool(Calculator).build().unwrap()
}

/// A protocol in which a run is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Native,
    Chat,
    Durable,
    DurableAgUi,
}

use Protocol::{Chat, Durable, DurableAgUi, Native};

/// A reader of one run, which knows what it saw.
#[derive(Debug)]
struct Reader {
    protocol: Protocol,
    run: String,
    /// The text that was read and is not a whole frame yet.
    rest: String,
    /// The events so far.
    seen: Vec<String>,
    /// The events of this connection.
    here: usize,
    /// The place to come back to.
    last: Option<String>,
    /// Values that come before the place behind them.
    held: Vec<String>,
    has_ended: bool,
}

impl Reader {
    fn new(protocol: Protocol, run: &str) -> Self {
        let (rest, run) = (String::new(), run.to_owned());
        let (seen, held) = (Vec::new(), Vec::new());
        Self { protocol, run, rest, seen, here: 0, last: None, held, has_ended: false }
    }

    /// The path from which it reads on.
    fn path(&self) -> String {
        let run = &self.run;
        let last = self.last.as_deref();
        match self.protocol {
            Native => last.map_or(format!("{run}/events"), |it| format!("{run}/events?after={it}")),
            Chat => "/api/chat/c1/stream".to_owned(),
            Durable => format!("{run}/stream?live=sse&offset={}", last.unwrap_or("-1")),
            DurableAgUi => {
                format!("{run}/stream?as=ag-ui&live=sse&offset={}", last.unwrap_or("-1"))
            }
        }
    }

    /// Begins with another connection: what was cut in the middle is lost.
    fn connect(&mut self) {
        self.rest.clear();
        self.held.clear();
        self.here = 0;
    }

    /// Takes what has come.
    fn take(&mut self, chunk: &[u8]) {
        self.rest.push_str(std::str::from_utf8(chunk).unwrap());
        while let Some((frame, rest)) = self.rest.split_once("\n\n") {
            let (frame, rest) = (frame.to_owned(), rest.to_owned());
            self.rest = rest;
            if !frame.starts_with(':') {
                self.frame(&frame);
            }
        }
    }

    fn frame(&mut self, frame: &str) {
        let field = |name: &str| {
            let fields = frame.lines().filter_map(|line| line.strip_prefix(name));
            fields.collect::<Vec<_>>().join("\n")
        };
        match self.protocol {
            Native => {
                self.last = Some(field("id: "));
                self.has_ended = field("event: ") == "run_end";
                self.see(frame.to_owned());
            }
            // The message comes from its beginning again; a page puts it in place of what it has.
            Chat => {
                self.has_ended = frame == "data: [DONE]";
                self.see_again(frame.to_owned());
            }
            Durable | DurableAgUi => {
                let data = field("data:");
                if field("event: ") == "data" {
                    let values: Vec<Value> = serde_json::from_str(&data).unwrap();
                    self.held.extend(values.iter().map(Value::to_string));
                    return;
                }
                let control: Value = serde_json::from_str(&data).unwrap();
                self.last = control["streamNextOffset"].as_str().map(str::to_owned);
                self.has_ended = control["streamClosed"] == true;
                for value in std::mem::take(&mut self.held) {
                    self.see(value);
                }
            }
        }
    }

    fn see(&mut self, event: String) {
        self.seen.push(event);
        self.here += 1;
    }

    fn see_again(&mut self, event: String) {
        match self.seen.get(self.here) {
            Some(seen) => assert_eq!(*seen, event, "another event at {}", self.here),
            None => self.seen.push(event),
        }
        self.here += 1;
    }

    /// Reads until it has this number of events of this connection, or to its end.
    async fn read_events(&mut self, body: &mut BodyDataStream, most: usize) {
        while self.here < most && !self.has_ended {
            match body.next().await {
                Some(Ok(chunk)) => self.take(&chunk),
                Some(Err(_)) | None => return,
            }
        }
    }

    async fn open(&mut self, app: &Router) -> Option<BodyDataStream> {
        self.connect();
        let response = get(app, &self.path(), "ann").await;
        if response.status() == 204 {
            self.has_ended = true;
            return None;
        }
        assert_eq!(response.status(), 200, "{self:?}");
        Some(response.into_body().into_data_stream())
    }

    /// Reads to the end of the run.
    async fn read_whole(&mut self, app: &Router) {
        while !self.has_ended {
            let Some(mut body) = self.open(app).await else { return };
            self.read_events(&mut body, usize::MAX).await;
        }
    }
}

/// Begins a run in the chat `c1`; returns its path.
async fn begin_chat(app: &Router) -> String {
    begin(app, "ann", &json!({ "input": "Go.", "conversation_id": "c1" })).await
}

/// A reader of the same run that is not cut.
async fn beside(app: &Router, protocol: Protocol, run: &str) -> (Reader, BodyDataStream) {
    let mut reader = Reader::new(protocol, run);
    let body = reader.open(app).await.unwrap();
    (reader, body)
}

/// Each event of a run was seen once, in order.
fn assert_whole(reader: &Reader, whole: &Reader, place: &str) {
    assert!(whole.has_ended && whole.seen.len() > 30, "{place}: {whole:#?}");
    assert_eq!(reader.seen, whole.seen, "{place}");
    if reader.protocol == Native {
        let numbers = reader.seen.iter().map(|it| events(it)[0].0);
        assert!(numbers.eq(0..reader.seen.len() as u64), "{place}");
    }
}

/// A page that comes when the run has ended gets its end, and has the message from the history.
async fn assert_ended(app: &Router, reader: &Reader, whole: &Reader, place: &str) {
    assert!(whole.seen.starts_with(&reader.seen), "{place}");
    let (_, chat) = value(get(app, "/api/chat/history?id=c1", "ann").await).await;
    let last = chat["page"]["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(last.contains("0 1 2 3 4 5 "), "{place}: {last}");
}

// Covers: T-29
#[tokio::test(start_paused = true)]
async fn a_reader_that_closes_at_each_event_of_a_run_that_goes_on_gets_each_once() {
    for protocol in [Native, Chat, Durable, DurableAgUi] {
        let (mut cut, mut ended, mut count) = (0, 0, usize::MAX);
        while cut <= count {
            let (_, app) = service(lively(6));
            let run = begin_chat(&app).await;
            let (mut whole, mut uncut) = beside(&app, protocol, &run).await;
            let (mut reader, mut body) = beside(&app, protocol, &run).await;
            reader.read_events(&mut body, cut).await;
            drop(body);
            // The run goes on meanwhile, or has ended by now.
            if cut % 2 == 1 && protocol != Chat {
                sleep(Duration::from_secs(1)).await;
            }
            reader.read_whole(&app).await;
            whole.read_events(&mut uncut, usize::MAX).await;
            let place = format!("{protocol:?}, cut at {cut}");
            if protocol == Chat && reader.seen.len() < whole.seen.len() {
                assert_ended(&app, &reader, &whole, &place).await;
                ended += 1;
            } else {
                assert_whole(&reader, &whole, &place);
            }
            (cut, count) = (cut + 1, whole.seen.len());
        }
        assert!(ended < count / 2, "{protocol:?}: {ended} of {count} came too late");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_closes_behind_every_few_events_gets_each_once() {
    for protocol in [Native, Chat, Durable, DurableAgUi] {
        for step in [1, 2, 3, 7] {
            let (_, app) = service(lively(40));
            let run = begin_chat(&app).await;
            let (mut whole, mut uncut) = beside(&app, protocol, &run).await;
            let mut reader = Reader::new(protocol, &run);
            while !reader.has_ended {
                let most = if protocol == Chat { reader.seen.len() + step } else { step };
                let Some(mut body) = reader.open(&app).await else { break };
                reader.read_events(&mut body, most).await;
            }
            whole.read_events(&mut uncut, usize::MAX).await;
            let place = format!("{protocol:?}, {step} at a time");
            if protocol == Chat && reader.seen.len() < whole.seen.len() {
                assert_ended(&app, &reader, &whole, &place).await;
            } else {
                assert_whole(&reader, &whole, &place);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_stalls_at_each_event_is_cut_off_and_gets_each_once() {
    let texts = 400;
    for protocol in [Native, Durable, DurableAgUi] {
        let (_, app) = service(lively(texts));
        let run = begin_chat(&app).await;
        let mut first = Reader::new(protocol, &run);
        first.read_whole(&app).await;
        let whole = first.seen;
        let mut cut_off = 0;
        // Each event in turn.
        let step = if protocol == Native { 1 } else { 23 };
        for stall in (0..whole.len()).step_by(step) {
            let mut reader = Reader::new(protocol, &run);
            let mut body = reader.open(&app).await.unwrap();
            reader.read_events(&mut body, stall).await;
            sleep(Duration::from_secs(6)).await;
            reader.read_events(&mut body, usize::MAX).await;
            cut_off += usize::from(!reader.has_ended);
            reader.read_whole(&app).await;
            assert_eq!(reader.seen, whole, "{protocol:?}, stalled at {stall}");
        }
        assert!(cut_off > 0, "{protocol:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_ag_ui_that_is_cut_at_each_event_is_read_on_as_a_durable_stream() {
    let begin = async |app: &Router| {
        let body = json!({ "threadId": "c1", "runId": "r1", "state": {}, "tools": [], "context": [],
            "messages": [{ "id": "u1", "role": "user", "content": "Go." }] });
        post(app, "/agui", "ann", &body).await.into_body().into_data_stream()
    };
    let values = |frames: &str| -> Vec<Value> {
        let data = frames.split("\n\n").filter_map(|it| it.strip_prefix("data: "));
        data.map(|it| serde_json::from_str(it).unwrap()).collect()
    };
    let mut cut = 1;
    loop {
        let (_, app) = service(lively(6));
        let (mut body, mut seen) = (begin(&app).await, String::new());
        while values(&seen).len() < cut {
            let Some(Ok(chunk)) = body.next().await else { break };
            seen.push_str(std::str::from_utf8(&chunk).unwrap());
        }
        drop(body);
        let seen = values(&seen);
        let run = format!("/v1/runs/{}", seen[0]["runId"].as_str().unwrap());
        let mut reader = Reader::new(DurableAgUi, &run);
        reader.read_whole(&app).await;
        let all: Vec<Value> =
            reader.seen.iter().map(|it| serde_json::from_str(it).unwrap()).collect();
        assert!(all.starts_with(&seen), "cut at {cut}: {seen:#?}");
        if seen.len() == all.len() {
            break;
        }
        assert!(seen.len() >= cut);
        cut += 1;
    }
    assert!(cut > 30, "{cut}");
}

// Covers: T-18, T-64, E-39
#[tokio::test(start_paused = true)]
async fn a_chat_that_is_loaded_again_behind_its_end_has_its_messages() {
    let (_, app) = service(lively(6));
    let run = begin_chat(&app).await;
    let mut reader = Reader::new(Native, &run);
    reader.read_whole(&app).await;
    for _ in 0..2 {
        assert_eq!(get(&app, "/api/chat/c1/stream", "ann").await.status(), 204);
        let (status, chat) = value(get(&app, "/api/chat/history?id=c1", "ann").await).await;
        let messages = chat["page"]["messages"].as_array().unwrap();
        assert_eq!((status, &messages[0]["message"]["role"]), (200, &json!("user")));
        assert!(messages.last().unwrap().to_string().contains("0 1 2 3 4 5 "));
        let mut again = Reader::new(Native, &run);
        again.read_whole(&app).await;
        assert_eq!(again.seen, reader.seen);
    }
}

#[tokio::test(start_paused = true)]
async fn cursors_that_are_none_are_told_with_words() {
    let (_, app) = service(lively(6));
    let run = begin_chat(&app).await;
    text(get(&app, &format!("{run}/events"), "ann").await).await;
    let (_, short) = service(chatty());
    // The number of an event that only the longer run has.
    let other = begin(&short, "ann", &json!({ "input": "a" })).await;
    text(get(&short, &format!("{other}/events"), "ann").await).await;
    let wrong = ["-1", "+1", "01", "1e3", "0x1", "1.0", " 1", "1 ", "", "NaN", "last", "１", "1,2"];
    let huge = ["18446744073709551615", "18446744073709551616", "99999999999999999999999999"];
    let mut words = BTreeSet::new();
    for (app, run, cursor, want) in wrong
        .iter()
        .chain(&huge)
        .map(|it| (&app, &run, *it, 400))
        .chain([(&app, &run, "18446744073709551614", 409), (&short, &other, "50", 409)])
    {
        let mut escaped = String::new();
        for byte in cursor.bytes() {
            write!(escaped, "%{byte:02x}").unwrap();
        }
        let path = format!("{run}/events?after={escaped}");
        let (status, problem) = value(get(app, &path, "ann").await).await;
        assert_eq!(status, want, "{cursor:?}: {problem}");
        words.insert(problem["detail"].as_str().unwrap().to_owned());
        let by_header = request(Method::GET, &format!("{run}/events"), "ann")
            .header("last-event-id", cursor.as_bytes())
            .body(Body::empty());
        let (status, by_header) =
            value(app.clone().oneshot(by_header.unwrap()).await.unwrap()).await;
        assert_eq!((status, &by_header["detail"]), (want, &problem["detail"]), "{cursor:?}");
    }
    assert!(words.iter().any(|it| it.contains("must be the number of an event")), "{words:?}");
    assert!(words.iter().any(|it| it.contains("has no such event yet")), "{words:?}");
}
