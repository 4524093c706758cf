//! Runs whose log takes nothing more, as the store is full or cannot be written: their readers get the end all the same.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use futures_util::future::BoxFuture;

use super::{
    chats::{agui, chat, user, with},
    recovered::over,
    *,
};
use forgeline_store::{
    EventLog, InMemoryLog, LogInfo, LogKey, LogPage, LogRecord, Retention, RunWriter, StoreError,
    Stores,
};

/// A log that takes the first records of a run alone, and may not even be closed then.
struct Full {
    log: InMemoryLog,
    most: AtomicU64,
    closes: bool,
}

type Done<'a, T = ()> = BoxFuture<'a, Result<T, StoreError>>;

fn full<T>() -> Result<T, StoreError> {
    Err(StoreError::full("no room in /planted/service.db"))
}

impl EventLog for Full {
    fn create(&self, key: LogKey) -> Done<'_> {
        self.log.create(key)
    }

    fn append<'a>(
        &'a self,
        key: &'a LogKey,
        at: u64,
        records: Vec<LogRecord>,
        writer: Option<&'a RunWriter>,
    ) -> Done<'a> {
        let is_of_run = !key.name.starts_with("runs-of/");
        if is_of_run && at + records.len() as u64 > self.most.load(Ordering::Acquire) {
            return Box::pin(async { full() });
        }
        self.log.append(key, at, records, writer)
    }

    fn close<'a>(&'a self, key: &'a LogKey, writer: Option<&'a RunWriter>) -> Done<'a> {
        if self.closes { self.log.close(key, writer) } else { Box::pin(async { full() }) }
    }

    fn read<'a>(&'a self, key: &'a LogKey, from: u64, most: usize) -> Done<'a, LogPage> {
        self.log.read(key, from, most)
    }

    fn wait<'a>(&'a self, key: &'a LogKey, from: u64) -> Done<'a> {
        self.log.wait(key, from)
    }

    fn retire<'a>(&'a self, key: &'a LogKey) -> Done<'a> {
        self.log.retire(key)
    }

    fn remove<'a>(&'a self, key: &'a LogKey) -> Done<'a> {
        self.log.remove(key)
    }

    fn trim<'a>(&'a self, key: &'a LogKey, before: u64) -> Done<'a> {
        self.log.trim(key, before)
    }

    fn touch<'a>(&'a self, key: &'a LogKey) -> Done<'a> {
        self.log.touch(key)
    }

    fn list<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a LogKey>,
        most: usize,
    ) -> Done<'a, Vec<LogInfo>> {
        self.log.list(prefix, after, most)
    }

    fn sweep(&self, keep: Retention) -> Done<'_, u64> {
        self.log.sweep(keep)
    }
}

/// Stores whose log takes this number of records of a run.
fn stores(most: u64, closes: bool) -> (Stores, Arc<Full>) {
    let (log, mut stores) = (InMemoryLog::new(), Stores::in_memory());
    let log = Arc::new(Full { log, most: AtomicU64::new(most), closes });
    stores.log = Arc::clone(&log) as _;
    (stores, log)
}

/// Reads a body to its end, which comes.
async fn whole(response: Response) -> String {
    timeout(Duration::from_mins(1), text(response)).await.unwrap()
}

/// The data of the last event of a stream.
fn last(frames: &str) -> Value {
    let data = frames.trim_end().rsplit("data: ").next().unwrap();
    serde_json::from_str(data).unwrap_or_else(|_| panic!("{frames}"))
}

// Covers: T-29
#[tokio::test(start_paused = true)]
async fn a_run_whose_log_takes_nothing_more_has_its_end_in_each_protocol() {
    for (most, closes) in [(0, true), (0, false), (64, true), (64, false)] {
        let of = format!("{most} {closes}");
        // One answer is more than a batch.
        let flood = ScriptedProvider::from_fn(|_: &Asked| {
            (0..200).fold(ScriptedTurn::new(), |turn, at| turn.text(format!("Line {at}.\n")))
        });
        let agent = || Agent::builder(flood.clone()).build().unwrap();
        let (stores, _) = stores(most, closes);
        let (_, app) = over(&stores, agent());
        let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
        let path = format!("{run}/events");
        let frames = whole(get(&app, &path, "ann").await).await;
        let all = events(&frames);
        assert!(all.iter().map(|(number, _)| *number).eq(0..all.len() as u64), "{of}: {all:?}");
        assert_eq!(all.last().unwrap().1, "run_end", "{of}");
        assert!(all.len() as u64 <= most + 1, "{of}: {}", all.len());
        let (end, number) = (last(&frames), all.len() - 1);
        assert_eq!((&end["status"], &end["seq"]), (&json!("failed"), &json!(number)), "{of}");
        let why = end["error"]["message"].as_str().unwrap();
        assert!(why.contains("the store is full") && !why.contains("planted"), "{why}");

        // From each place, and after a restart; nothing follows the end.
        let again = over(&stores, agent()).1;
        for app in [&app, &again] {
            assert_eq!(value(get(app, &run, "ann").await).await.1["status"], "failed", "{of}");
            for seen in 0..number {
                let rest = whole(get(app, &format!("{path}?after={seen}"), "ann").await).await;
                assert_eq!(events(&rest), all[seen + 1..], "{of} {seen}");
            }
            let after = async |seen: usize| {
                get(app, &format!("{path}?after={seen}"), "ann").await.status().as_u16()
            };
            assert_eq!((after(number).await, after(number + 1).await), (204, 409), "{of}");
            stream(app, &run, all.len()).await;
        }

        let (status, parts) =
            agui(&app, "ann", json!({ "messages": [{ "role": "user", "content": "Go." }] })).await;
        let kinds: Vec<_> = parts.iter().map(|part| part["type"].as_str().unwrap()).collect();
        assert_eq!((status, kinds.first()), (200, Some(&"RUN_STARTED")), "{of}");
        assert_eq!(kinds.last(), Some(&"RUN_ERROR"), "{of}");
        let (_, parts, frames) = chat(&app, "ann", user("Go.")).await;
        assert!(frames.ends_with("data: [DONE]\n\n"), "{of}: {frames}");
        let reported = with(&parts, "error")["errorText"].as_str().unwrap();
        assert!(reported.contains("the store is full"), "{of}: {reported}");

        let mut body =
            get(&app, "/v1/events?after=0.0", "ann").await.into_body().into_data_stream();
        let mut seen = String::new();
        while seen.matches("\nevent: run_end\n").count() < 3 {
            let piece = timeout(Duration::from_mins(1), body.next()).await.unwrap().unwrap();
            seen.push_str(std::str::from_utf8(&piece.unwrap()).unwrap());
        }
    }
}

/// Reads a run with this number of events as a Durable Stream in each mode.
async fn stream(app: &Router, run: &str, count: usize) {
    let path = format!("{run}/stream");
    let response = get(app, &path, "ann").await;
    assert_eq!(response.headers()["stream-closed"], "true", "{count}");
    let next = response.headers()["stream-next-offset"].to_str().unwrap().to_owned();
    assert!(next.ends_with(&format!("_{count:016}")), "{next}");
    let (_, all) = value(response).await;
    let all = all.as_array().unwrap();
    assert_eq!((all.len(), &all[count - 1]["type"]), (count, &json!("run_end")));
    let (_, of_ag_ui) = value(get(app, &format!("{path}?as=ag-ui"), "ann").await).await;
    assert_eq!(of_ag_ui.as_array().unwrap().last().unwrap()["type"], "RUN_ERROR");
    for live in ["", "&live=long-poll"] {
        let behind = get(app, &format!("{path}?offset={next}{live}"), "ann").await;
        assert_eq!(behind.headers()["stream-closed"], "true", "{live}");
        assert_eq!(behind.headers()["stream-next-offset"], next.as_str(), "{live}");
        assert!(matches!(whole(behind).await.as_str(), "" | "[]"), "{live}");
    }
    let before = next.replace(&format!("_{count:016}"), &format!("_{:016}", count - 1));
    for live in ["", "&live=long-poll"] {
        let last = get(app, &format!("{path}?offset={before}{live}"), "ann").await;
        let (_, last) = value(last).await;
        assert_eq!(last, json!([all[count - 1]]), "{live}");
    }
    let frames = whole(get(app, &format!("{path}?offset=-1&live=sse"), "ann").await).await;
    assert!(frames.contains("\"run_end\"") && frames.contains("\"streamClosed\":true"), "{frames}");
    let head = request(Method::HEAD, &path, "ann").body(Body::empty()).unwrap();
    let head = app.clone().oneshot(head).await.unwrap();
    assert_eq!(head.headers()["stream-closed"], "true");
    assert_eq!(head.headers()["stream-next-offset"], next.as_str());
}

#[tokio::test(start_paused = true)]
async fn whoever_reads_when_the_log_fails_is_told_the_end() {
    for closes in [true, false] {
        let slow = tool_fn("slow", "", |_: ToolContext, _: Value| async {
            sleep(Duration::from_secs(20)).await;
            "slow"
        });
        let turns = [
            ScriptedTurn::new().text("Wait.").call("slow", json!({})),
            ScriptedTurn::new().text("Done."),
        ];
        let agent = Agent::builder(ScriptedProvider::new(turns)).tool(slow);
        let (stores, log) = stores(u64::MAX, closes);
        let (_, app) = over(&stores, agent.build().unwrap());
        let said = json!({ "id": "c1", "messages": [user("Go.")] });
        let of_chat = post(&app, "/api/chat", "ann", &said).await;
        let (_, shown) = value(get(&app, "/v1/conversations/c1", "ann").await).await;
        let run = format!("/v1/runs/{}", shown["open_run"].as_str().unwrap());
        until(&app, &run, "tool_call_end").await;
        let paths = ["events", "stream?offset=-1&live=sse", "stream?offset=now&live=long-poll"];
        let mut readers = vec![tokio::spawn(whole(of_chat))];
        for path in paths {
            let (app, path) = (app.clone(), format!("{run}/{path}"));
            readers.push(tokio::spawn(async move { whole(get(&app, &path, "ann").await).await }));
        }
        sleep(Duration::from_secs(1)).await;
        log.most.store(0, Ordering::Release);
        for (reader, end) in readers.into_iter().zip(["[DONE]", "run_end", "run_end", ""]) {
            let read = reader.await.unwrap();
            assert!(read.contains(end), "{closes} {end}: {read}");
        }
        let (_, shown) = value(get(&app, &run, "ann").await).await;
        assert_eq!(shown["status"], "failed", "{shown}");
    }
}

#[tokio::test]
async fn a_log_that_takes_nothing_more_is_no_ready_one_and_each_route_says_so() {
    let (stores, log) = stores(u64::MAX, true);
    let (_, app) = over(&stores, chatty());
    let (status, report) = value(get(&app, "/ready", "ann").await).await;
    assert_eq!(status, 200, "{report}");
    log.most.store(0, Ordering::Release);
    let (_, app) = over(&stores, chatty());
    let (status, report) = value(get(&app, "/ready", "ann").await).await;
    assert_eq!((status, &report["status"]), (503, &json!("unready")), "{report}");
    let checks = report["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == "event_log").unwrap();
    assert!(check["detail"].as_str().unwrap().contains("it is full"), "{check}");
    assert!(!report.to_string().contains("planted"), "{report}");
    let put = request(Method::PUT, "/v1/streams/notes", "ann").body(Body::empty()).unwrap();
    let (status, problem) = value(app.clone().oneshot(put).await.unwrap()).await;
    assert_eq!((status, &problem["code"]), (507, &json!("store_full")), "{problem}");
    assert!(!problem.to_string().contains("planted"), "{problem}");
}
