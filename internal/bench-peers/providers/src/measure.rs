//! What each client takes, in a process of its own each time.

use std::{
    env,
    io::{BufRead as _, BufReader, ErrorKind},
    process::{Child, Command, Stdio},
};

use crate::{Result, clients::Client};

/// Two lengths of the same answer; their difference leaves start-up out.
pub(crate) const LENGTHS: (u64, u64) = (2_000, 22_000);
/// The same under valgrind, which makes a client some 50 times as slow.
pub(crate) const TRACED_LENGTHS: (u64, u64) = (2_000, 12_000);
/// Runs of each; odd, so that a median is a run that happened.
pub(crate) const RUNS: usize = 5;

/// How a client fared.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) client: Client,
    /// What went wrong, where something did.
    pub(crate) cost: std::result::Result<Cost, String>,
}

/// What a client takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    /// A chunk; `None` without valgrind.
    pub(crate) instructions: Option<f64>,
    /// A chunk.
    pub(crate) allocations: f64,
    /// Median of the processor time of a chunk.
    pub(crate) microseconds: f64,
    /// Median over the rounds of its time over bare reqwest's; `None` when that failed.
    pub(crate) times_reqwest: Option<f64>,
    /// Most memory that was resident, in MiB.
    pub(crate) peak_mib: f64,
}

/// Measures all `clients` against one server.
pub(crate) fn all(clients: &[Client]) -> Result<Vec<Outcome>> {
    let server = Server::start()?;
    let rounds: Vec<Vec<_>> = (0..RUNS).map(|round| server.round(clients, round)).collect();
    let nth = |client: Client, round: &[(Client, Drained)]| {
        round.iter().find(|(other, _)| *other == client).map(|(_, drained)| drained.clone())
    };
    let outcomes = clients.iter().map(|&client| {
        let (mut times, mut ratios, mut last) = (Vec::new(), Vec::new(), None);
        for round in &rounds {
            let floor = nth(Client::Reqwest, round).and_then(Drained::ok);
            match nth(client, round).ok_or("was not run")? {
                Err(why) => return Err(why),
                Ok(run) => {
                    times.push(run.nanoseconds);
                    ratios.extend(floor.map(|floor| run.nanoseconds / floor.nanoseconds));
                    last = Some(run);
                }
            }
        }
        let (few, many) = LENGTHS;
        let (less, more) = (server.drain(client, few)?, last.ok_or("was not run")?);
        Ok(Cost {
            instructions: server.instructions_per_chunk(client)?,
            allocations: per(more.allocations.saturating_sub(less.allocations), many - few),
            microseconds: median(times) / per(many, 1) / 1e3,
            times_reqwest: Some(median(ratios)).filter(|ratio| ratio.is_finite()),
            peak_mib: per(more.peak_bytes, 1 << 20),
        })
    });
    Ok(clients
        .iter()
        .copied()
        .zip(outcomes)
        .map(|(client, cost)| Outcome { client, cost })
        .collect())
}

/// What `drain` printed, or why it did not.
type Drained = std::result::Result<Run, String>;

#[derive(Debug, Clone, Copy)]
struct Run {
    allocations: u64,
    peak_bytes: u64,
    nanoseconds: f64,
}

/// The server's process; it ends with its standard input.
#[derive(Debug)]
struct Server {
    process: Child,
    url: String,
}

impl Server {
    fn start() -> Result<Self> {
        let mut process = Command::new(env::current_exe()?)
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut port = String::new();
        BufReader::new(process.stdout.take().ok_or("no output")?).read_line(&mut port)?;
        Ok(Self { process, url: format!("http://127.0.0.1:{}", port.trim()) })
    }

    /// All clients in turns, every other time in reverse, so that none always follows the same.
    fn round(&self, clients: &[Client], round: usize) -> Vec<(Client, Drained)> {
        let mut clients = clients.to_vec();
        if round % 2 == 1 {
            clients.reverse();
        }
        clients.into_iter().map(|client| (client, self.drain(client, LENGTHS.1))).collect()
    }

    /// Lets `client` read `count` chunks, bare.
    fn drain(&self, client: Client, count: u64) -> Drained {
        let this = env::current_exe().map_err(|error| error.to_string())?;
        let output = self.ask(Command::new(this), client, count).output();
        let output = output.map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut numbers = text.split_whitespace().map(str::parse);
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(Ok(allocations)), Some(Ok(peak_bytes)), Some(Ok(time))) => {
                Ok(Run { allocations, peak_bytes, nanoseconds: per(time, 1) })
            }
            _ => Err(start_of(&String::from_utf8_lossy(&output.stderr))),
        }
    }

    fn instructions_per_chunk(&self, client: Client) -> std::result::Result<Option<f64>, String> {
        let (few, many) = TRACED_LENGTHS;
        let less = self.instructions(client, few)?;
        let Some(less) = less else { return Ok(None) };
        let more = self.instructions(client, many)?;
        Ok(more.map(|more| per(more.saturating_sub(less), many - few)))
    }

    /// Instructions of a whole process; `None` without valgrind.
    fn instructions(&self, client: Client, count: u64) -> std::result::Result<Option<u64>, String> {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        valgrind.arg(env::current_exe().map_err(|error| error.to_string())?);
        let output = match self.ask(valgrind, client, count).output() {
            Ok(output) => output,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let text = String::from_utf8_lossy(&output.stderr);
        let collected = text.lines().find_map(|line| line.split_once("Collected : "));
        match collected.map(|(_, count)| count.trim().parse()) {
            Some(Ok(count)) if output.status.success() => Ok(Some(count)),
            _ => {
                // Its own lines begin with `==`.
                let own = |line: &&str| line.starts_with("==") && !line.contains("terminating");
                let lines: Vec<_> = text.lines().filter(|line| !own(line)).collect();
                Err(format!("under valgrind: {}", start_of(&lines.join("\n"))))
            }
        }
    }

    /// The command that lets `client` read; a proxy of the user's is none of the comparison's.
    fn ask(&self, mut command: Command, client: Client, count: u64) -> Command {
        command.args(["drain", client.name(), &self.url, &count.to_string()]);
        command.env("NO_PROXY", "127.0.0.1").env_remove("no_proxy");
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        // Nothing is left to be done for a process that cannot be waited for.
        drop(self.process.wait());
    }
}

/// The first two lines, as one: of a panic the rest is its backtrace.
fn start_of(text: &str) -> String {
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).take(2).collect();
    lines.join(" ")
}

/// The middle value.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// `amount` spread over `count`.
#[expect(clippy::cast_precision_loss, reason = "amounts are far below 2^52")]
fn per(amount: u64, count: u64) -> f64 {
    amount as f64 / count as f64
}
