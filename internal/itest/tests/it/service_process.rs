//! A service as a process of its own, which a test may kill at any moment.

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use reqwest::Client;
use tokio::time::timeout;

/// A service that runs, and is killed when it is dropped: also by a test that fails.
pub(super) struct Process {
    child: Child,
    pub(super) address: String,
    /// What became of the runs of the process before.
    pub(super) recovered: String,
}

impl Process {
    /// Starts the service of a folder.
    pub(super) fn start(folder: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kept_service"));
        let child = command.arg(folder).stdout(Stdio::piped()).spawn().unwrap();
        let (address, recovered) = (String::new(), String::new());
        let mut process = Self { child, address, recovered };
        let output = process.child.stdout.take().unwrap();
        let line = BufReader::new(output).lines().next().expect("the process fails").unwrap();
        let (address, recovered) = line.split_once(' ').unwrap();
        println!("{recovered}");
        address.clone_into(&mut process.address);
        recovered.clone_into(&mut process.recovered);
        process
    }

    pub(super) fn kill(self) {
        drop(self);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be gone.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Returns an empty folder of a test's own.
pub(super) fn folder(name: &str) -> PathBuf {
    let folder = env::temp_dir().join(format!("forgeline-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Returns a client that knows no proxy of the machine's.
pub(super) fn client() -> Client {
    Client::builder().no_proxy().build().unwrap()
}

/// Lets time pass in which nothing is waited for: the moment of a kill, and the pace of questions to another process.
pub(super) async fn pass(time: Duration) {
    let _passed = timeout(time, std::future::pending::<()>()).await;
}

#[test]
fn a_process_does_not_outlive_its_test() {
    let folder = folder("dropped");
    let (sender, receiver) = std::sync::mpsc::channel();
    let of = folder.clone();
    let test = std::thread::spawn(move || {
        let process = Process::start(&of);
        sender.send(process.child.id()).unwrap();
        panic!("the test fails");
    });
    assert!(test.join().is_err());
    forgeline_testkit::process::wait_for_end(receiver.recv().unwrap());
    fs::remove_dir_all(&folder).unwrap();
}
