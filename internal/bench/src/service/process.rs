//! The process that is measured: the real binary, or the floor.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use super::Result;
use crate::callgrind::NO_PROXY;

/// The limits of the service that the load must not reach.
const LIMITS: [(&str, &str); 5] = [
    ("FORGELINE_LIMITS_RUNS", "256"),
    ("FORGELINE_LIMITS_WAITING_RUNS", "1024"),
    ("FORGELINE_LIMITS_RUNS_PER_MINUTE", "100000"),
    ("FORGELINE_LIMITS_SCOPE_RUNS", "4096"),
    ("FORGELINE_LIMITS_SCOPE_CONNECTIONS", "16000"),
];

/// Where the answers of a service come from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source {
    /// A model at this address, which speaks OpenAI's protocol.
    Model(SocketAddr),
    /// The demo model.
    Demo,
}

/// The database of a service.
#[derive(Debug, Clone, Copy)]
pub(super) enum ServedDatabase<'d> {
    /// A file of `SQLite`.
    File(&'d Path),
    /// A file of `SQLite`, each commit of which waits for the disk.
    DurableFile(&'d Path),
    /// A URL of `PostgreSQL`.
    Shared(&'d str),
}

/// A process with an address; it ends with this.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) address: SocketAddr,
    child: Child,
    /// It is written to until the end.
    _stdout: BufReader<ChildStdout>,
}

impl Process {
    /// Starts the service on this database.
    pub(super) fn service(
        binary: &Path,
        source: Source,
        database: ServedDatabase<'_>,
    ) -> Result<Self> {
        let mut command = Command::new(binary);
        command.args(["serve", "--listen", "127.0.0.1:0", "--quiet", "--no-auth"]);
        match database {
            ServedDatabase::File(file) => command.arg("--database").arg(file),
            ServedDatabase::DurableFile(file) => {
                command.arg("--database").arg(file).env("FORGELINE_DATABASE_DURABILITY", "power")
            }
            ServedDatabase::Shared(url) => command.args(["--postgres", url]),
        };
        command.envs(LIMITS).env("OPENAI_API_KEY", "none");
        match source {
            // Its tools ask for an approval.
            Source::Demo => command.args(["--provider", "demo"]),
            Source::Model(address) => command
                .args(["--no-tools", "--provider", "openai", "--model", "bench", "--base-url"])
                .arg(format!("http://{address}/v1")),
        };
        Self::start(&mut command)
    }

    /// Starts the server that sends a prepared frame for each chunk of this model.
    pub(super) fn floor(model: SocketAddr) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        Self::start(command.arg("floor").arg(model.to_string()))
    }

    fn start(command: &mut Command) -> Result<Self> {
        let name = command.get_program().to_owned();
        let child = command.envs(NO_PROXY).stdout(Stdio::piped()).spawn();
        let mut child =
            child.map_err(|error| format!("{} does not start: {error}", name.display()))?;
        let stdout = child.stdout.take().ok_or("the process has no output")?;
        let (mut stdout, mut line) = (BufReader::new(stdout), String::new());
        stdout.read_line(&mut line)?;
        let address = line.trim().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let address = address.parse().map_err(|_| format!("the process says {line:?}"))?;
        Ok(Self { address, child, _stdout: stdout })
    }

    /// KiB of resident memory.
    pub(super) fn resident_kib(&self) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()).ok_or("no VmRSS")?;
        Ok(kib.parse()?)
    }

    /// Seconds of CPU that it took so far, those of the system for it too.
    pub(super) fn cpu_seconds(&self) -> Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The name of the program may hold spaces; behind it `utime` is the 12th field, in hundredths of a second.
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
        let ticks = fields.skip(11).take(2).map(str::parse::<f64>);
        Ok(ticks.sum::<std::result::Result<f64, _>>()? / 100.0)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended already is as good.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
