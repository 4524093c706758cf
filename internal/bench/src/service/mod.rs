//! The service as a process of its own: the real binary on `SQLite`, a paced model behind it, many readers before it; and beside it a server
//! that sends prepared frames to the same readers.

mod floor;
mod model;
mod nodes;
mod process;
mod reader;
mod row;

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::{task::JoinSet, time};

pub(crate) use self::floor::serve as floor;
use self::{
    model::{Ask, Model},
    process::{Process, ServedDatabase, Source},
    reader::{Reader, Seen},
    row::{Rows, percentile},
};
use crate::measure::per;

/// What a task of a reader may fail with.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Longest time of one row.
const PATIENCE: Duration = Duration::from_mins(2);
/// Between two chunks of a live answer: 20 a second.
const PACE: Duration = Duration::from_millis(50);
/// Readers of each run.
const READERS: usize = 10;
/// Events of each run whose latency is measured.
const EVENTS: usize = 200;
/// Times that a few readers are measured, ours and the floor's in turn: one disturbance is more than one event in a hundred of theirs.
const ROUNDS: usize = 9;
/// Runs that wait for an approval whose memory counts, and those before, which take what is taken once.
const WAITING: usize = 1_000;
const WARMING: usize = 100;
/// Idle connections that are wanted, and open files that the rest needs.
const IDLE: usize = 10_000;
const OTHER_FILES: usize = 500;

/// Prints the rows of these loads, of all when none is named, a JSON line each; the exit code says whether all hold.
pub(crate) async fn rows(binary: &Path, wanted: &[&str]) -> Result<ExitCode> {
    let files = allow_many();
    let bench =
        Bench { binary, model: Model::start().await?, folder: folder()?, rows: Rows::default() };
    let done = bench.measure(files, wanted).await;
    drop(fs::remove_dir_all(&bench.folder));
    done.map(|()| bench.rows.finish())
}

struct Bench<'b> {
    binary: &'b Path,
    model: Model,
    folder: PathBuf,
    rows: Rows,
}

/// The figures of many live readers.
#[derive(Debug, Default)]
struct Live {
    /// Readers that were cut off, or to which an event did not come, or came twice.
    lost: f64,
    /// Microseconds, the 50th and the 99th of a hundred.
    p50: f64,
    p99: f64,
    /// Microseconds of CPU for each event that was delivered, the system's among them.
    cpu: f64,
    /// KiB of memory for each reader.
    kib: f64,
}

impl Live {
    /// Returns the medians of rounds, and the readers that were lost in all of them.
    fn middle(rounds: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| {
            percentile(&mut rounds.iter().map(figure).collect::<Vec<_>>(), 50)
        };
        let lost = rounds.iter().map(|round| round.lost).sum();
        let (p50, p99) = (of(|round| round.p50), of(|round| round.p99));
        Self { lost, p50, p99, cpu: of(|round| round.cpu), kib: of(|round| round.kib) }
    }
}

impl Bench<'_> {
    async fn measure(&self, files: usize, wanted: &[&str]) -> Result<()> {
        let is_wanted = |load: &str| wanted.is_empty() || wanted.contains(&load);
        for (runs, names, must) in [
            (5, ["lost_50", "added_us_50", "p50_us_50", "cpu_us_50", "live_kib_50"], 300.0),
            (
                200,
                ["lost_2000", "added_us_2000", "p50_us_2000", "cpu_us_2000", "live_kib_2000"],
                5_000.0,
            ),
        ] {
            if !is_wanted(&(runs * READERS).to_string()) {
                continue;
            }
            let (mut ours, mut floor) = (Vec::new(), Vec::new());
            for round in 0..if runs == 5 { ROUNDS } else { 1 } {
                ours.push(live_at(&self.service()?, runs, round).await?);
                floor.push(live_at(&self.floor()?, runs, round).await?);
            }
            let (ours, floor) = (Live::middle(&ours), Live::middle(&floor));
            let [lost, added, p50, cpu, kib] = names;
            self.rows.add(
                lost,
                ours.lost,
                Some(0.0),
                floor.lost,
                "readers that were cut off or did not get each event once",
            );
            self.rows.added(
                added,
                ours.p99,
                must,
                floor.p99,
                "µs p99 from the model to the reader, more than the floor (50: the medians of 9 rounds)",
            );
            let unit = "µs p50 from the model to the reader, the floor's not taken away";
            self.rows.add(p50, ours.p50, None, floor.p50, unit);
            self.rows.add(cpu, ours.cpu, None, floor.cpu, "µs of CPU a delivered event");
            let must = (runs == 200).then_some(64.0);
            self.rows.add(
                kib,
                ours.kib,
                must,
                floor.kib,
                "KiB of resident memory a live connection",
            );
        }
        if is_wanted("nodes") {
            self.nodes().await?;
        }
        if is_wanted("resume") {
            self.resume().await?;
        }
        if is_wanted("submits") {
            self.submits().await?;
        }
        if is_wanted("waiting") {
            self.waiting().await?;
        }
        if is_wanted("idle") {
            self.idle(files).await?;
        }
        Ok(())
    }

    /// Starts the service with an empty database.
    fn service(&self) -> Result<Process> {
        self.service_of(Source::Model(self.model.address))
    }

    fn floor(&self) -> Result<Process> {
        Process::floor(self.model.address)
    }

    fn service_of(&self, source: Source) -> Result<Process> {
        let database = self.new_file();
        Process::service(self.binary, source, ServedDatabase::File(&database))
    }

    /// Returns the path of a database that does not exist yet.
    fn new_file(&self) -> PathBuf {
        let database = self.folder.join("service.db");
        for end in ["", "-wal", "-shm", ".lock"] {
            drop(fs::remove_file(self.folder.join(format!("service.db{end}"))));
        }
        database
    }

    /// Reads the second half of a run of 10,000 events that has ended.
    async fn resume(&self) -> Result<()> {
        let (ours, floor) = (resume(&self.service()?).await?, resume(&self.floor()?).await?);
        let unit = "ms, the median of 11, to read the rest of 10,000 events from the middle";
        self.rows.add("resume_10000_ms", ours, Some(50.0), floor, unit);
        Ok(())
    }

    /// The time from the submit to the first event, at 100 submits a second.
    async fn submits(&self) -> Result<()> {
        let ours = submits(&self.service_of(Source::Demo)?).await?;
        let floor = submits(&self.floor()?).await?;
        let unit = "ms p99 from the submit to the first event, at 100 submits/s, demo model";
        self.rows.add("submit_ms", ours, Some(10.0), floor, unit);
        Ok(())
    }

    /// Lets runs without readers wait for an approval.
    async fn waiting(&self) -> Result<()> {
        let service = self.service_of(Source::Demo)?;
        wait_for_approval(&service, WARMING).await?;
        let before = service.resident_kib()?;
        wait_for_approval(&service, WAITING).await?;
        let kib = (service.resident_kib()? - before) / float(WAITING);
        let unit = "KiB of resident memory a run that waits for an approval, demo model";
        self.rows.add("waiting_kib", kib, Some(96.0), 0.0, unit);
        Ok(())
    }

    /// Holds readers of a run that says nothing, and lets it end: each must get the end.
    async fn idle(&self, files: usize) -> Result<()> {
        let count = IDLE.min(files.saturating_sub(OTHER_FILES));
        let service = self.service()?;
        let ask = Ask { waits: true, ..Ask::at_once(2) };
        let (ours, mut readers) = held(&service, ask, count).await?;
        time::sleep(Duration::from_secs(1)).await;
        self.model.release();
        let mut ends = JoinSet::new();
        while let Some(mut reader) = readers.pop() {
            ends.spawn(async move { reader.read(|_| false).await.is_ok() && reader.seen.is_whole });
        }
        let ended = time::timeout(PATIENCE, ends.join_all()).await?;
        let lost = ended.iter().filter(|is_whole| !**is_whole).count();
        drop(service);
        let (floor, _readers) = held(&self.floor()?, ask, count).await?;
        let unit = format!(
            "of {count} idle readers did not get the events behind (10,000 need `ulimit -n` of 10,500 here and of 10,100 for the service)"
        );
        self.rows.add("idle_lost", float(lost + IDLE - count), Some(0.0), 0.0, &unit);
        self.rows.add(
            "idle_kib",
            held_kib(ours),
            Some(24.0),
            held_kib(floor),
            "KiB of resident memory an idle reader",
        );
        Ok(())
    }
}

/// Lets readers read this many live runs of a process, all at once.
async fn live_at(process: &Process, runs: usize, round: usize) -> Result<Live> {
    live([process, process], runs, round).await
}

/// Lets readers read this many live runs, all at once: the process that has the runs, and the one that is read and measured.
async fn live([owner, process]: [&Process; 2], runs: usize, round: usize) -> Result<Live> {
    let mut ids = Vec::new();
    for run in 0..runs {
        let begins = PACE.mul_f64(by_chance(round * runs + run));
        let ask = Ask { count: EVENTS, pace: PACE, begins, waits: false };
        ids.push(reader::submit(owner.address, ask).await?);
    }
    let (before, began) = (process.resident_kib()?, process.cpu_seconds()?);
    let mut readers = JoinSet::new();
    for id in ids.iter().flat_map(|id| std::iter::repeat_n(id, READERS)) {
        let mut reader = Reader::open(process.address, id, 0).await?;
        readers.spawn(async move {
            let read = time::timeout(PATIENCE, reader.read(|_| false)).await;
            matches!(read, Ok(Ok(()))).then_some(reader.seen)
        });
    }
    let count = runs * READERS;
    let kib = (process.resident_kib()? - before) / float(count);
    let all: Vec<Option<Seen>> = readers.join_all().await;
    let cpu = process.cpu_seconds()? - began;
    let is_right = |seen: &&Seen| seen.is_whole && seen.times.len() == EVENTS;
    let whole = all.iter().flatten().filter(is_right).count();
    let delivered: u64 = all.iter().flatten().map(|seen| seen.events).sum();
    // What was said before a reader came was not delivered as it was said.
    let said = all.iter().flatten().flat_map(|seen| seen.times.iter().skip(EVENTS / 2));
    let mut times: Vec<f64> = said.copied().collect();
    let (p50, p99) = (percentile(&mut times, 50), percentile(&mut times, 99));
    Ok(Live { lost: float(count - whole), p50, p99, cpu: cpu * 1e6 / per(delivered, 1), kib })
}

async fn resume(process: &Process) -> Result<f64> {
    let ask = Ask::at_once(10_000);
    let id = reader::submit(process.address, ask).await?;
    let whole = time::timeout(PATIENCE, reader::read(process.address, &id, 0)).await??;
    let middle = whole.events / 2;
    let mut times = Vec::new();
    for _ in 0..11 {
        let begun = Instant::now();
        let rest = time::timeout(PATIENCE, reader::read(process.address, &id, middle)).await??;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        if !rest.is_whole || rest.events + middle != whole.events {
            return Err("a reader that came back got other events".into());
        }
    }
    Ok(percentile(&mut times, 50))
}

async fn submits(process: &Process) -> Result<f64> {
    let (mut submits, mut beat) = (JoinSet::new(), time::interval(Duration::from_millis(10)));
    for _ in 0..500 {
        beat.tick().await;
        let first = reader::first_event(process.address, Ask::at_once(1));
        submits.spawn(time::timeout(PATIENCE, first));
    }
    let mut times = Vec::new();
    while let Some(time) = submits.join_next().await {
        times.push(time???.as_secs_f64() * 1e3);
    }
    Ok(percentile(&mut times, 99))
}

/// Begins so many runs, and waits until each waits for an approval.
async fn wait_for_approval(process: &Process, count: usize) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    let mut ids = Vec::new();
    for _ in 0..count {
        ids.push(reader::begin(process.address, "Call notes.keep with \"Buy milk.\"").await?);
    }
    for id in ids {
        loop {
            let status = reader::status(process.address, &id).await?;
            if status == "waiting" {
                break;
            }
            if !["queued", "running"].contains(&status.as_str()) || Instant::now() > until {
                return Err(format!("a run that is to wait for an approval is {status}").into());
            }
            time::sleep(Duration::from_millis(5)).await;
        }
    }
    Ok(())
}

/// Opens so many readers of one run; gives the KiB and the number, and the readers.
async fn held(process: &Process, ask: Ask, count: usize) -> Result<((f64, usize), Vec<Reader>)> {
    let id = reader::submit(process.address, ask).await?;
    let before = process.resident_kib()?;
    let mut readers = Vec::new();
    for _ in 0..count {
        readers.push(Reader::open(process.address, &id, 0).await?);
    }
    Ok(((process.resident_kib()? - before, count), readers))
}

fn held_kib((kib, count): (f64, usize)) -> f64 {
    kib / float(count)
}

/// Lets this process, and those that it starts, have as many files open as the system allows; gives their number.
fn allow_many() -> usize {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let is_set = setrlimit(Resource::Nofile, limit).is_ok();
    let files = if is_set { limit.maximum } else { getrlimit(Resource::Nofile).current };
    files.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX))
}

/// Returns a part of one that follows no rule, and is the same in each run of the bench.
fn by_chance(number: usize) -> f64 {
    let mixed = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    per((mixed ^ (mixed >> 27)) >> 48, 1 << 16)
}

fn float(count: usize) -> f64 {
    per(count as u64, 1)
}

/// A folder for the database.
fn folder() -> Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("forgeline-bench-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    Ok(folder)
}
