//! A service is killed at any moment under load, and the next process goes on with all that was acknowledged.

use std::{
    collections::BTreeMap,
    env, fs,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use forgeline::store::{
    ConversationKey, ConversationStore as _, EventLog as _, LogKey, RunProgress, RunStore as _,
    SqliteStore,
};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::service_process::{Process, client, folder, pass};

/// The scope of a caller without a token.
const SCOPE: &str = "local";

/// The moments at which the process is killed; `make kills-serve` asks for more.
fn moments() -> u64 {
    env::var("FORGELINE_KILLS_SERVE").map_or(10, |moments| moments.parse().unwrap())
}

/// What was acknowledged, and what readers saw: by run.
#[derive(Debug, Default)]
struct Seen {
    conversation: String,
    said: String,
    events: BTreeMap<u64, String>,
}

type All = Arc<Mutex<BTreeMap<String, Seen>>>;

/// Begins runs in conversations of its own, reads some of them, until the process is gone.
async fn load(client: reqwest::Client, address: String, all: All, name: String) {
    for at in 0.. {
        // Two runs in each conversation, the second while the first goes on.
        let (conversation, said) = (format!("{name}-{}", at / 2), format!("{name}, step {at}."));
        let begun = client
            .post(format!("{address}/v1/runs"))
            .header("content-type", "application/json")
            .body(json!({ "input": said, "conversation_id": conversation }).to_string())
            .send()
            .await;
        let Ok(answer) = begun else { return };
        if answer.status() == 503 {
            tokio::task::yield_now().await;
            continue;
        }
        assert_eq!(answer.status(), 202);
        let Ok(body) = answer.bytes().await else { return };
        let run = serde_json::from_slice::<Value>(&body).unwrap()["run_id"].clone();
        let run = run.as_str().unwrap().to_owned();
        let seen = Seen { conversation, said, events: BTreeMap::new() };
        all.lock().unwrap().insert(run.clone(), seen);
        if at % 3 > 0 {
            read_events(&client, &address, &all, &run).await;
        }
    }
}

/// Reads the events of a run until they end, or the process does.
async fn read_events(client: &reqwest::Client, address: &str, all: &All, run: &str) {
    let Ok(answer) = client.get(format!("{address}/v1/runs/{run}/events")).send().await else {
        return;
    };
    let (mut stream, mut text) = (answer.bytes_stream(), String::new());
    while let Some(Ok(chunk)) = stream.next().await {
        text.push_str(std::str::from_utf8(&chunk).unwrap());
        while let Some((frame, rest)) = text.split_once("\n\n") {
            let id = frame.lines().find_map(|line| line.strip_prefix("id: "));
            let data = frame.lines().find_map(|line| line.strip_prefix("data: "));
            if let (Some(id), Some(data)) = (id, data) {
                let mut all = all.lock().unwrap();
                let seen = all.get_mut(run).unwrap();
                seen.events.insert(id.parse().unwrap(), data.to_owned());
            }
            text = rest.to_owned();
        }
    }
}

/// Waits until no run is open any more.
async fn settle(process: &Process, client: &reqwest::Client, all: &All) {
    let runs: Vec<_> = all.lock().unwrap().keys().cloned().collect();
    for run in runs {
        loop {
            let answer =
                client.get(format!("{}/v1/runs/{run}", process.address)).send().await.unwrap();
            assert_eq!(answer.status(), 200, "the run {run} was acknowledged");
            let shown: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
            if !matches!(shown["status"].as_str().unwrap(), "queued" | "running" | "waiting") {
                break;
            }
            pass(Duration::from_millis(10)).await;
        }
    }
}

// Covers: T-22, T-66, E-39
#[tokio::test]
async fn a_service_that_is_killed_at_any_moment_loses_nothing_that_it_acknowledged() {
    let (started, folder, all) = (Instant::now(), folder("kept"), All::default());
    let client = client();
    for moment in 0..moments() {
        let process = Process::start(&folder);
        let loads: Vec<_> = (0..4)
            .map(|task| {
                let (client, address) = (client.clone(), process.address.clone());
                tokio::spawn(load(client, address, Arc::clone(&all), format!("{moment}-{task}")))
            })
            .collect();
        pass(Duration::from_millis(5 + moment * 97 % 290)).await;
        process.kill();
        for load in loads {
            load.await.unwrap();
        }
    }
    // Runs whose acknowledgement was on the way may be open when the others have ended.
    for life in 0.. {
        let process = Process::start(&folder);
        let is_quiet = process.recovered.contains("{ resumed: 0, interrupted: 0, ended: 0 }");
        timeout(Duration::from_mins(5), settle(&process, &client, &all)).await.unwrap();
        process.kill();
        if is_quiet {
            break;
        }
        assert!(life < 9, "runs stay open");
    }

    let store = SqliteStore::open(folder.join("service.db")).await.unwrap();
    store.check().await.unwrap();
    assert!(store.open(1).await.unwrap().is_empty(), "each run has ended");
    let all = std::mem::take(&mut *all.lock().unwrap());
    let mut ends = BTreeMap::<_, usize>::new();
    for (run, seen) in &all {
        let key = LogKey::new(SCOPE, run.as_str());
        let record = forgeline::store::RunStore::get(&store, &key).await.unwrap();
        let conversation = ConversationKey::new(SCOPE, seen.conversation.as_str());
        let messages = store.messages(&conversation, 0, usize::MAX).await.unwrap();
        let is_there = messages.iter().any(|stored| stored.message.text() == seen.said);
        *ends.entry(record.progress.as_str()).or_default() += 1;
        assert!(is_there, "{run}: `{}` is lost: {record:?}", seen.said);
        if record.progress == RunProgress::Interrupted {
            let why = record.end.unwrap();
            assert!(why.contains("was resumed in 3 processes"), "{run}: {why}");
        }
        let records = store.read(&key, 0, usize::MAX).await.unwrap();
        assert!(records.is_end, "{run}");
        assert_eq!(records.records.last().unwrap().kind, "run_end", "{run}");
        for (at, record) in records.records.iter().enumerate() {
            let data: Value = serde_json::from_slice(&record.data).unwrap();
            assert_eq!((&data["run_id"], &data["seq"]), (&json!(run), &json!(at)), "{run}");
        }
        for (at, event) in &seen.events {
            let kept = &records.records[usize::try_from(*at).unwrap()];
            assert_eq!(event.as_bytes(), &kept.data[..], "{run}: what was read stays");
        }
    }
    store.close_file().await;
    let ran = fs::read_to_string(folder.join("ran")).unwrap_or_default();
    let mut once: Vec<_> = ran.lines().filter(|line| line.starts_with("once ")).collect();
    let executions = once.len();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), executions, "a tool that is not idempotent ran twice");
    fs::remove_dir_all(&folder).unwrap();
    assert!(ends.contains_key("completed"), "{ends:?}");
    println!("{} runs: {ends:?}, {executions} executions: {:?}", all.len(), started.elapsed());
}
