//! A node as a process.

use std::{
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

#[cfg(unix)]
use std::os::unix::process::CommandExt as _;

/// Longest wait for the end of a process that was asked to end.
const ENDING: Duration = Duration::from_secs(30);

/// Pause between two looks at what has no signal of its own.
const LOOK: Duration = Duration::from_millis(5);

/// A process of `forgeline serve`; dropping it kills it.
#[derive(Debug)]
pub struct NodeProcess {
    child: Child,
    address: SocketAddr,
    log: Arc<Mutex<String>>,
}

impl NodeProcess {
    /// Starts a node with these arguments behind `serve`, on a free port, and waits until it serves.
    ///
    /// # Panics
    ///
    /// Panics when it ends instead, with what it said.
    #[must_use]
    pub fn start(program: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--no-auth"]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for setting in ["POSTGRES_BIN", "POSTGRES_DIR"] {
            command.env_remove(format!("FORGELINE_{setting}"));
        }
        // Ctrl-C goes to whoever started it, who then ends the nodes in turn.
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn().unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let kept = Arc::clone(&log);
        let reading = thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.push_str(&line);
                kept.push('\n');
            }
        });
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let address = first.trim_end().split_once("http://").map(|(_, address)| address);
        let address = address.and_then(|address| address.trim_end_matches('/').parse().ok());
        let Some(address) = address else {
            drop(reading.join());
            let said = log.lock().unwrap_or_else(PoisonError::into_inner).clone();
            panic!("the node does not serve: {first:?} {said}");
        };
        Self { child, address, log }
    }

    /// Returns its address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns what it has said on stderr.
    #[must_use]
    pub fn log(&self) -> String {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until it has said this on stderr.
    ///
    /// # Panics
    ///
    /// Panics when that takes longer than `patience`.
    pub fn wait_for_log(&self, words: &str, patience: Duration) {
        let begun = Instant::now();
        while !self.log().contains(words) {
            assert!(begun.elapsed() < patience, "the node never says {words:?}: {}", self.log());
            thread::park_timeout(LOOK);
        }
    }

    /// Sends it a signal, such as `-STOP`.
    ///
    /// # Panics
    ///
    /// Panics when it cannot be sent.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(name).arg(self.child.id().to_string()).status();
        assert!(sent.unwrap().success(), "{name}");
    }

    /// Returns `true` while it runs.
    ///
    /// # Panics
    ///
    /// Panics when the system does not say so.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Kills it, as `kill -9` does, and waits for its end.
    ///
    /// # Panics
    ///
    /// Panics when it cannot be killed.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to end, and returns its exit code.
    ///
    /// # Panics
    ///
    /// Panics when that takes longer than 30 s.
    pub fn terminate(&mut self) -> Option<i32> {
        self.signal("-TERM");
        self.wait()
    }

    /// Waits for its end, and returns its exit code.
    ///
    /// # Panics
    ///
    /// Panics when that takes longer than 30 s.
    pub fn wait(&mut self) -> Option<i32> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(begun.elapsed() < ENDING, "the node does not end: {}", self.log());
            thread::park_timeout(LOOK);
        }
    }
}

impl Drop for NodeProcess {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
