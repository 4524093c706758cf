//! Two versions of the program on one database, for as long as `make two-versions` says: nodes of both are asked to end, killed and started again under load.

use std::{
    collections::VecDeque,
    env, fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, Scope},
    time::{Duration, Instant},
};

use forgeline_testkit::{
    nodes::{NodeBench, RunReader},
    say,
};
use serde_json::json;

use super::{
    clients::{KINDS, RunClients},
    pass,
};

/// Longest wait for a response, and for the end of a run; the machine may do other work beside.
const PATIENCE: Duration = Duration::from_mins(5);

/// Pause between the beginnings of two runs.
const BEGINNING: Duration = Duration::from_millis(500);

/// Most runs at once: a machine that is slow begins fewer.
const AT_ONCE: usize = 10;

/// Pause between two steps.
const PAUSE: Duration = Duration::from_secs(5);

/// One step in so many kills its node, one more holds a run until its node has ended, and two that follow each other change versions.
const KILLED: usize = 5;
const HELD: usize = 4;
const CHANGED: usize = 6;

/// Logs of nodes that have ended that are kept to explain a failure.
const KEPT_LOGS: usize = 40;

/// Two versions of the program, and the clients of the nodes that run it.
struct TwoVersions {
    bench: NodeBench,
    /// Copies of both programs: what is built meanwhile changes nothing.
    programs: [PathBuf; 2],
    /// The number of each node, and which of the programs it runs.
    places: [(usize, usize); 2],
    steps: usize,
    kills: usize,
    /// Runs that their nodes held until they ended, by the programs of that node and of the next one.
    moved: [[usize; 2]; 2],
    /// Lines of the nodes that report errors.
    errors: Vec<String>,
    /// The logs of the nodes that ended last.
    logs: VecDeque<String>,
    /// `true` once no node runs.
    has_ended: bool,
}

/// The load of a campaign, as its clients count it.
#[derive(Clone)]
struct RunLoad {
    clients: RunClients,
    /// Runs that have begun, and those that were read to their end.
    begun: Arc<AtomicUsize>,
    ended: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
    /// The number of results that the programs of runs reported.
    results: Arc<AtomicUsize>,
    failures: Arc<Mutex<Vec<String>>>,
}

/// `FORGELINE_OLDER` names another program, and `FORGELINE_MINUTES` the time; without them, the same program runs twice, for a minute.
#[test]
fn two_versions_that_share_a_database_lose_nothing_and_report_no_error() {
    let minutes = env::var("FORGELINE_MINUTES").map_or(1, |minutes| minutes.parse().unwrap());
    let newer = PathBuf::from(env!("CARGO_BIN_EXE_forgeline"));
    let older = env::var_os("FORGELINE_OLDER").map_or_else(|| newer.clone(), PathBuf::from);
    let Some(mut versions) = TwoVersions::start([&older, &newer]) else { return };
    let load = versions.load();
    let begun = Instant::now();
    thread::scope(|threads| {
        threads.spawn(|| load.begin_runs(threads));
        let mut minute = 0;
        while begun.elapsed() < Duration::from_mins(minutes) && !load.has_failed() {
            versions.step(&load);
            pass(PAUSE);
            if begun.elapsed().as_secs() / 60 > minute {
                minute = begun.elapsed().as_secs() / 60;
                say(format!("two versions: minute {minute}: {}", versions.progress(&load)));
            }
        }
        load.is_over.store(true, Ordering::SeqCst);
    });
    versions.check(&load);
    say(format!(
        "nodes: two versions shared a database for {minutes} minutes: {}",
        versions.progress(&load)
    ));
}

impl TwoVersions {
    /// Starts a node of each program; `None` where there is no `PostgreSQL`.
    fn start(programs: [&Path; 2]) -> Option<Self> {
        let settings = ["autovacuum=on", "log_min_messages=error"];
        let mut bench = NodeBench::start_with(programs[0], 0, &settings)?;
        let work = bench.work();
        let script = "echo begun >> begun.txt\nsleep 0.3\n";
        fs::write(work.join("work.sh"), script).unwrap();
        let copies = ["older", "newer"].map(|name| work.with_file_name(name));
        for (program, copy) in programs.iter().zip(&copies) {
            fs::copy(program, copy).unwrap();
        }
        let places = [0, 1].map(|program| (bench.add_program(&copies[program]), program));
        Some(Self {
            bench,
            programs: copies,
            places,
            steps: 0,
            kills: 0,
            moved: [[0; 2]; 2],
            errors: Vec::new(),
            logs: VecDeque::new(),
            has_ended: false,
        })
    }

    fn load(&self) -> RunLoad {
        let clients = RunClients {
            number: 0,
            nodes: [self.bench.proxy().address(); 2],
            model: self.bench.model().clone(),
            moves: Arc::default(),
            loses_node: true,
            patience: PATIENCE,
        };
        RunLoad {
            clients,
            begun: Arc::default(),
            ended: Arc::default(),
            is_over: Arc::default(),
            results: Arc::default(),
            failures: Arc::default(),
        }
    }

    /// Ends a node in one of the ways, and starts one in its place.
    fn step(&mut self, load: &RunLoad) {
        let (step, place) = (self.steps, self.steps % 2);
        let (node, program) = self.places[place];
        let next = if (2..4).contains(&(step % CHANGED)) { 1 - program } else { program };
        let is_kill = step % KILLED == KILLED - 1;
        let held = (is_kill || step.is_multiple_of(HELD)).then(|| self.hold(step));
        let log = if is_kill { self.kill(load, node) } else { self.terminate(load, node) };
        if let Some((mut reader, prompt)) = held {
            reader.until_end();
            assert!(reader.text().ends_with("w10 w11 "), "step {step}: {}", reader.text());
            assert_eq!(self.bench.model().requests(&prompt), 2, "the next owner asks again");
            self.moved[program][self.places[1 - place].1] += 1;
        }
        self.keep_errors(&log);
        self.places[place] = (self.bench.add_program(&self.programs[next]), next);
        self.steps += 1;
    }

    /// Kills a node whose runs are taken at once, by one that has lived for some time.
    fn kill(&mut self, load: &RunLoad, node: usize) -> String {
        self.bench.settle();
        load.clients.moves.fetch_add(1, Ordering::SeqCst);
        let log = self.bench.node(node).log();
        self.bench.kill(node);
        self.kills += 1;
        log
    }

    fn terminate(&mut self, load: &RunLoad, node: usize) -> String {
        load.clients.moves.fetch_add(1, Ordering::SeqCst);
        let (code, log) = self.bench.terminate_node(node);
        assert_eq!(code, Some(0), "{log}");
        log
    }

    /// Begins a run at the node that is to end; only its next owner can finish it.
    fn hold(&self, step: usize) -> (RunReader, String) {
        let node = self.bench.address(self.places[step % 2].0);
        let prompt = format!("write 12 words, one each 5 ms and hold 6, step {step}");
        let body = json!({ "agent": "paced", "input": prompt });
        let begun = Instant::now();
        // A busy machine may keep a statement for longer than it may take.
        let reply = loop {
            let reply = self.bench.post(node, "/v1/runs", &body);
            if reply.status != 503 || begun.elapsed() > PATIENCE {
                break reply;
            }
            say(format!("two versions: step {step}: {reply:?}"));
            pass(PAUSE);
        };
        assert_eq!(reply.status, 202, "{reply:?}");
        let run = reply.json()["run_id"].as_str().unwrap().to_owned();
        let mut reader = RunReader::new(vec![self.bench.proxy().address()], &run, PATIENCE);
        reader.until(|event| event.data["content"].as_str().is_some_and(|it| it.contains("w5")));
        (reader, prompt)
    }

    fn keep_errors(&mut self, log: &str) {
        assert!(log.contains("INFO"), "a log has levels: {log}");
        let lines = log.lines().filter(|line| line.contains("ERROR") || line.contains("panicked"));
        for line in lines {
            say(format!("two versions: step {}: {line}", self.steps));
            self.errors.push(line.to_owned());
        }
        self.logs.push_back(log.to_owned());
        if self.logs.len() > KEPT_LOGS {
            self.logs.pop_front();
        }
    }

    /// Returns what the database and the nodes say about the first run that a text names.
    fn explain(&self, text: &str) -> String {
        let mut words = text.split(|sign: char| !sign.is_alphanumeric() && sign != '-');
        let Some(run) = words.find(|word| word.starts_with("run-")) else { return String::new() };
        let row = format!(
            "SELECT row_to_json(run), (SELECT json_agg(command) FROM forgeline.command WHERE command.run = run.no)
             FROM forgeline.run WHERE id = '{run}'"
        );
        let living = if self.has_ended { &[][..] } else { &self.places[..] };
        let living = living.iter().map(|(node, _)| self.bench.node(*node).log());
        let logs: Vec<_> = self.logs.iter().cloned().chain(living).collect();
        let lines = logs.iter().enumerate().flat_map(|(node, log)| {
            let about = log.lines().filter(|line| line.contains(run));
            about.map(move |line| format!("node {node}: {line}"))
        });
        let lines: Vec<_> = lines.collect();
        format!("{}\n{}", self.bench.sql(&row), lines.join("\n"))
    }

    fn progress(&self, load: &RunLoad) -> String {
        let [begun, ended] = [&load.begun, &load.ended].map(|it| it.load(Ordering::SeqCst));
        let [[old_old, old_new], [new_old, new_new]] = self.moved;
        let takeovers = "SELECT coalesce(sum(takeovers), 0) FROM forgeline.run";
        format!(
            "{begun} runs begun, {ended} read to their end; {} nodes ended, {} of them killed; {} takeovers; held runs \
             went from the older to the newer {old_new} times, back {new_old}, to the same {}",
            self.steps,
            self.kills,
            self.bench.sql(takeovers),
            old_old + new_new,
        )
    }

    /// Looks at everything that the clients were promised.
    fn check(&mut self, load: &RunLoad) {
        let failures = load.failures.lock().unwrap_or_else(PoisonError::into_inner).join("\n");
        assert!(failures.is_empty(), "{failures}\n{}", self.explain(&failures));
        for (node, _) in self.places {
            let (code, log) = self.bench.terminate_node(node);
            assert_eq!(code, Some(0), "{log}");
            self.keep_errors(&log);
        }
        self.has_ended = true;
        let about = self.errors.first().map(|line| self.explain(line)).unwrap_or_default();
        assert!(self.errors.is_empty(), "errors of nodes: {:#?} {about}", self.errors);
        let log = self.bench.server_log();
        assert!(log.contains("LOG:"), "a log has levels: {log}");
        let wrong: Vec<_> = log.lines().filter(|line| line.contains("ERROR:")).collect();
        assert!(wrong.is_empty(), "errors of statements: {wrong:#?}");
        assert_eq!(
            self.bench.sql("SELECT count(*) FROM forgeline.run WHERE ended_ms IS NULL"),
            "0"
        );
        // The records of each log are as many as its end says, and none is twice.
        let gaps = "SELECT count(*) FROM forgeline.log WHERE head <> first
                 + (SELECT count(*) FROM forgeline.event WHERE log = log.no AND seq >= packed)
                 + (SELECT coalesce(sum(count), 0) FROM forgeline.event_pack WHERE log = log.no)";
        assert_eq!(self.bench.sql(gaps), "0", "logs with gaps");
        // A program that may not be repeated was begun for each of its results, and at most once a run.
        let begun = fs::read_to_string(self.bench.work().join("begun.txt")).unwrap_or_default();
        let (begun, results) = (begun.lines().count(), load.results.load(Ordering::SeqCst));
        let runs = load.begun.load(Ordering::SeqCst).div_ceil(KINDS);
        assert!((results..=runs).contains(&begun), "{results} results, {begun} begun, {runs} runs");
    }
}

impl RunLoad {
    /// Begins runs of all kinds, one after the other, until the campaign is over.
    fn begin_runs<'s>(&'s self, threads: &'s Scope<'s, '_>) {
        let mut next = Instant::now();
        while !self.is_over.load(Ordering::SeqCst) && !self.has_failed() {
            pass(next.saturating_duration_since(Instant::now()));
            next = Instant::now() + BEGINNING;
            let number = self.begun.load(Ordering::SeqCst);
            if number - self.ended.load(Ordering::SeqCst) >= AT_ONCE {
                continue;
            }
            self.begun.fetch_add(1, Ordering::SeqCst);
            threads.spawn(move || self.play(number));
        }
    }

    fn play(&self, number: usize) {
        let clients = RunClients { number, ..self.clients.clone() };
        let kind = number % KINDS;
        let played = std::panic::catch_unwind(|| clients.play(kind));
        match played {
            Ok(reader) if kind == KINDS - 1 => {
                self.results.fetch_add(completed_calls(&reader), Ordering::SeqCst);
            }
            Ok(_) => {}
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
                failures.push(format!("run {number}: {text}"));
            }
        }
        self.ended.fetch_add(1, Ordering::SeqCst);
    }

    fn has_failed(&self) -> bool {
        !self.failures.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

/// Returns the number of calls whose program has ended.
fn completed_calls(reader: &RunReader) -> usize {
    let results = reader.events().iter().filter(|event| event.kind == "tool_result");
    results.filter(|event| event.data["is_error"] != true).count()
}
