//! The records that are read of a log.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use futures_core::{future::BoxFuture, stream::BoxStream};

use super::*;
use forgeline_store::{
    EventLog, InMemoryLog, LogInfo, LogKey, LogPage, LogRecord, Retention, RunWriter, StoreError,
    StoredRun, Stores, private::now_ms,
};

/// A log that counts the records that are read, does something once behind a run that is noted, and refuses new logs for a while.
#[derive(Clone, Default)]
struct Counted(
    InMemoryLog,
    Arc<AtomicUsize>,
    Arc<Mutex<Option<BoxFuture<'static, ()>>>>,
    Arc<AtomicBool>,
);

type Done<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

impl EventLog for Counted {
    fn create(&self, key: LogKey) -> Done<'_, ()> {
        if self.3.load(Ordering::Relaxed) {
            let reason = "it refuses".to_owned();
            return Box::pin(std::future::ready(Err(StoreError::unavailable(reason))));
        }
        self.0.create(key)
    }
    fn append<'a>(
        &'a self,
        key: &'a LogKey,
        at: u64,
        records: Vec<LogRecord>,
        writer: Option<&'a RunWriter>,
    ) -> Done<'a, ()> {
        Box::pin(async move {
            self.0.append(key, at, records, writer).await?;
            let is_noted = key.name.starts_with("runs-of/");
            let noted = is_noted.then(|| self.2.lock().unwrap().take()).flatten();
            if let Some(then) = noted {
                then.await;
            }
            Ok(())
        })
    }
    fn close<'a>(&'a self, key: &'a LogKey, writer: Option<&'a RunWriter>) -> Done<'a, ()> {
        self.0.close(key, writer)
    }
    fn read<'a>(&'a self, key: &'a LogKey, from: u64, most: usize) -> Done<'a, LogPage> {
        Box::pin(async move {
            let page = self.0.read(key, from, most).await?;
            self.1.fetch_add(page.records.len(), Ordering::Relaxed);
            Ok(page)
        })
    }
    fn wait<'a>(&'a self, key: &'a LogKey, from: u64) -> Done<'a, ()> {
        self.0.wait(key, from)
    }
    fn follow(
        self: Arc<Self>,
        key: LogKey,
        from: u64,
    ) -> BoxStream<'static, Result<(u64, LogRecord), StoreError>> {
        Arc::new(self.0.clone()).follow(key, from)
    }
    fn retire<'a>(&'a self, key: &'a LogKey) -> Done<'a, ()> {
        self.0.retire(key)
    }
    fn remove<'a>(&'a self, key: &'a LogKey) -> Done<'a, ()> {
        self.0.remove(key)
    }
    fn trim<'a>(&'a self, key: &'a LogKey, before: u64) -> Done<'a, ()> {
        self.0.trim(key, before)
    }
    fn touch<'a>(&'a self, key: &'a LogKey) -> Done<'a, ()> {
        self.0.touch(key)
    }
    fn list<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a LogKey>,
        most: usize,
    ) -> Done<'a, Vec<LogInfo>> {
        self.0.list(prefix, after, most)
    }
    fn sweep(&self, keep: Retention) -> Done<'_, u64> {
        self.0.sweep(keep)
    }
}

/// A service over a log that counts, and a run of Ann with this many events that has ended.
async fn ended(events: u64) -> (Counted, Router, Stores) {
    let (log, mut stores) = (Counted::default(), Stores::in_memory());
    stores.log = Arc::new(log.clone());
    let key = LogKey::new("team-a", "run-1");
    let run = StoredRun::new(key.clone(), "c", "ann", "main", now_ms());
    stores.runs.begin(run, None).await.unwrap();
    log.create(key.clone()).await.unwrap();
    let records = (0..events).map(|at| LogRecord::new("x", at.to_string())).collect();
    log.append(&key, 0, records, None).await.unwrap();
    log.close(&key, None).await.unwrap();
    let app = router(built(chatty()).stores(stores.clone()).build().unwrap());
    (log, app, stores)
}

#[tokio::test]
async fn the_end_of_a_run_is_found_without_its_events() {
    let (log, app, _) = ended(10_000).await;
    let path = "/v1/runs/run-1/stream";
    let head = request(Method::HEAD, path, "ann").body(Body::empty()).unwrap();
    let head = app.clone().oneshot(head).await.unwrap();
    let now = get(&app, &format!("{path}?offset=now"), "ann").await;
    for response in [head, now] {
        assert_eq!(response.headers()["stream-closed"], "true");
        assert!(response.headers()["stream-next-offset"].to_str().unwrap().ends_with("010000"));
    }
    assert_eq!(log.1.load(Ordering::Relaxed), 0, "records are read");
}

#[tokio::test]
async fn a_reader_of_all_begins_without_a_look_at_each_earlier_run() {
    let (log, app, stores) = ended(1).await;
    let runs = forgeline_store::private::runs_of(&"team-a".into(), "ann");
    log.create(runs.clone()).await.unwrap();
    let records = (0..5_000).map(|_| LogRecord::new("run_queued", "{}")).collect();
    log.append(&runs, 0, records, None).await.unwrap();
    drop(get(&app, "/v1/events", "ann").await);
    assert_eq!(log.1.load(Ordering::Relaxed), 0, "nothing goes on, and nothing is looked for");
    drop(stores);
}

#[tokio::test]
async fn a_reader_of_ag_ui_that_comes_back_reads_no_event_again() {
    let (log, app, _) = ended(640).await;
    let (mut offset, mut pages) = ("-1".to_owned(), 0);
    loop {
        let path = format!("/v1/runs/run-1/stream?as=ag-ui&offset={offset}");
        let response = get(&app, &path, "ann").await;
        let next = response.headers()["stream-next-offset"].to_str().unwrap();
        if next == offset {
            break;
        }
        (offset, pages) = (next.to_owned(), pages + 1);
    }
    let read = log.1.load(Ordering::Relaxed);
    // Each look whether a place is there reads one more.
    assert!(pages > 1 && read <= 640 + pages + 1, "{read} records for {pages} pages");
}

#[tokio::test]
async fn a_reader_of_all_that_begins_while_a_run_is_noted_reads_it() {
    let (log, app, _stores) = ended(1).await;
    let (sender, reader) = tokio::sync::oneshot::channel();
    let own = app.clone();
    *log.2.lock().unwrap() = Some(Box::pin(async move {
        drop(sender.send(get(&own, "/v1/events", "ann").await));
    }));
    begin(&app, "ann", &json!({ "input": "What is 6*7?" })).await;
    let mut frames = reader.await.unwrap().into_body().into_data_stream();
    let mut seen = String::new();
    let read = async {
        while !seen.contains("event: run_end") {
            seen.push_str(std::str::from_utf8(&frames.next().await.unwrap().unwrap()).unwrap());
        }
    };
    assert!(timeout(Duration::from_secs(30), read).await.is_ok(), "the run is missed");
    assert_eq!(seen.matches("event: run_end").count(), 1, "{seen}");
}

#[tokio::test]
async fn a_request_whose_run_could_not_begin_begins_it_when_it_is_sent_again() {
    let (log, app, stores) = ended(1).await;
    let send = async || {
        let request = request(Method::POST, "/v1/runs", "ann")
            .header("content-type", "application/json")
            .header("idempotency-key", "one")
            .body(Body::from(json!({ "input": "What is 6*7?" }).to_string()));
        value(app.clone().oneshot(request.unwrap()).await.unwrap()).await
    };
    log.3.store(true, Ordering::Relaxed);
    assert_eq!(send().await.0, 503);
    log.3.store(false, Ordering::Relaxed);
    let (status, begun) = send().await;
    assert_eq!(status, 202, "{begun}");
    let run = format!("/v1/runs/{}", begun["run_id"].as_str().unwrap());
    assert_eq!(until(&app, &run, "run_end").await["status"], "completed");
    let runs = stores.runs.list(forgeline_store::RunQuery::new("team-a", 9)).await.unwrap().runs;
    assert_eq!(runs.len(), 2, "what could not begin does not exist: {runs:?}");
}
