//! Measures the time from an append by one node to its reader at another one, with a private server that waits for its disk.
//!
//! `cargo run --release -p forgeline-store --features postgres --example postgres_latency -- [runs] [events a second and run] [seconds]`

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a program for measurements"
)]

#[path = "../../../../internal/testkit/src/postgres.rs"]
#[allow(dead_code, unreachable_pub, reason = "what this program does not use, others do")]
mod postgres;

use std::{
    env, fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use forgeline_store::{
    EventLog, LogKey, LogRecord, NodeId, PostgresOptions, PostgresStore, RunStore, RunWriter,
    StoredRun, follow,
};
use futures_util::StreamExt as _;
use tokio::time::{MissedTickBehavior, interval_at};

/// Prints a line about what is not run.
fn say(line: impl std::fmt::Display) {
    println!("{line}");
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let given: Vec<u64> = env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let [runs, rate, seconds] =
        [(0, 200), (1, 20), (2, 10)].map(|(at, usual)| given.get(at).copied().unwrap_or(usual));
    let Some(programs) = postgres::programs().pop() else { return };
    let settings = ["fsync=on", "full_page_writes=on", "autovacuum=on", "synchronous_commit=on"];
    let server = postgres::PostgresServer::start(&programs, &settings);
    let url = server.database();
    let connect =
        async || Arc::new(PostgresStore::connect(PostgresOptions::new(&url)).await.unwrap());
    let (writer, reader, node) = (connect().await, connect().await, NodeId::random());
    let began = Instant::now();
    let mut tasks = Vec::new();
    let count = rate * seconds;
    for at in 0..runs {
        let key = LogKey::new("team-a", format!("run_{at}"));
        let run = StoredRun::new(key.clone(), "c", "ann", "main", 1);
        RunStore::begin(&*writer, run, Some(&node)).await.unwrap();
        writer.create(key.clone()).await.unwrap();
        let records = follow(Arc::clone(&reader) as Arc<dyn EventLog>, key.clone(), 0);
        let seen = tokio::spawn(async move {
            let times = records.map(|next| {
                let (_, record) = next.unwrap();
                let text = std::str::from_utf8(&record.data).unwrap();
                let sent: u128 = text.split(' ').next().unwrap().parse().unwrap();
                began.elapsed().saturating_sub(Duration::from_nanos(u64::try_from(sent).unwrap()))
            });
            times.collect::<Vec<_>>().await
        });
        tasks.push((key, seen));
    }
    // What autovacuum does within a minute.
    server.sql(url.split(['/', '?']).find(|part| part.starts_with("test_")).unwrap(), "ANALYZE");
    let cpu = server_cpu(server.folder());
    let start = tokio::time::Instant::now() + Duration::from_millis(200);
    let period = Duration::from_nanos(1_000_000_000 / rate);
    let mut appends = Vec::new();
    for (at, (key, _)) in (0_u32..).zip(&tasks) {
        let (writer, key) = (Arc::clone(&writer), key.clone());
        let runs = u32::try_from(runs).unwrap();
        appends.push(tokio::spawn(async move {
            let right = RunWriter::new(key.clone(), 1);
            // Spread over the period.
            let mut ticks = interval_at(start + period * at / runs, period);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut times = Vec::new();
            for number in 0..count {
                ticks.tick().await;
                let sent = began.elapsed();
                let text = format!("{} {}", sent.as_nanos(), "x".repeat(150));
                let record = LogRecord::new("message_content", text);
                writer.append(&key, number, vec![record], Some(&right)).await.unwrap();
                times.push(began.elapsed().saturating_sub(sent));
            }
            writer.close(&key, Some(&right)).await.unwrap();
            times
        }));
    }
    let mut acknowledged = Vec::new();
    for append in appends {
        acknowledged.extend(append.await.unwrap());
    }
    let mut seen = Vec::new();
    for (_, task) in tasks {
        seen.extend(task.await.unwrap());
    }
    let used = server_cpu(server.folder()).saturating_sub(cpu);
    let events = runs * count;
    assert_eq!(seen.len() as u64, events, "each event was seen once");
    println!("{}: {runs} runs x {rate} events/s, {events} events", programs.display());
    println!("append -> acknowledged: {}", percentiles(acknowledged));
    println!("append -> reader of the other node: {}", percentiles(seen));
    println!("CPU of the server: {} us an event", used.as_micros() / u128::from(events));
}

fn percentiles(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |permille: usize| times[(times.len() * permille / 1_000).min(times.len() - 1)];
    format!("p50 {:.2?}, p99 {:.2?}, most {:.2?}", at(500), at(990), at(1_000))
}

/// Returns the time that the processes of a server have used; zero where `/proc` does not say.
fn server_cpu(folder: &Path) -> Duration {
    let main = fs::read_to_string(folder.join("data/postmaster.pid")).unwrap_or_default();
    let main = main.lines().next().unwrap_or_default().to_owned();
    let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let ticks = processes.filter_map(|process| {
        let stat = fs::read_to_string(process.path().join("stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
        let is_main = process.file_name().to_str() == Some(&main);
        if !is_main && fields.get(1) != Some(&main.as_str()) {
            return None;
        }
        // Its own time, and of the main process that of those that have ended.
        let places = if is_main { 11..15 } else { 11..13 };
        Some(fields.get(places)?.iter().filter_map(|text| text.parse::<u64>().ok()).sum::<u64>())
    });
    // A tick is a hundredth of a second.
    Duration::from_millis(10 * ticks.sum::<u64>())
}
