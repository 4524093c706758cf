//! The thread that writes recordings, so that no stream waits for a disk.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    path::Path,
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::{self, JoinHandle},
    time::SystemTime,
};

use serde::Serialize;

use super::{date::rfc3339, finished::Finished, recording::Header};

/// Most exchanges that wait to be written; another one is lost and counted.
const QUEUE: usize = 64;

enum Job {
    Exchange(Box<Finished>),
    /// Asks for the outcome of everything before.
    Flush(SyncSender<Result<u64, Failed>>),
}

/// A failure of writing, kept for each [`flush`](Writer::flush).
#[derive(Debug, Clone)]
struct Failed(io::ErrorKind, String);

/// A file and the thread that writes exchanges to it; dropping it ends the thread.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
    lost: Mutex<u64>,
}

impl Writer {
    /// Creates the file, which only its owner can read; a path that exists, a link too, is refused.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path)?;
        line(&mut file, &Header::new(rfc3339(SystemTime::now())))?;
        let (jobs, queue) = sync_channel(QUEUE);
        let thread = thread::Builder::new().name("forgeline-recording".to_owned());
        let thread = thread.spawn(move || write(file, &queue))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), lost: Mutex::default() })
    }

    /// Queues an exchange without waiting.
    pub(super) fn push(&self, finished: Finished) {
        let job = Job::Exchange(Box::new(finished));
        let sent = self.jobs.as_ref().map(|jobs| jobs.try_send(job));
        if let Some(Err(TrySendError::Full(_) | TrySendError::Disconnected(_))) = sent {
            *self.lost.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            tracing::warn!("an exchange is missing from the recording: the disk is too slow");
        }
    }

    /// Waits until everything queued is written, and returns the number of exchanges.
    pub(super) fn flush(&self) -> io::Result<u64> {
        let (sender, answer) = sync_channel(1);
        let gone = || io::Error::other("the thread that writes the recording has ended");
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        jobs.send(Job::Flush(sender)).map_err(|_| gone())?;
        let written = answer.recv().map_err(|_| gone())?;
        let written = written.map_err(|Failed(kind, message)| io::Error::new(kind, message))?;
        match *self.lost.lock().unwrap_or_else(PoisonError::into_inner) {
            0 => Ok(written),
            lost => Err(io::Error::other(format!(
                "{lost} exchanges are missing from the recording: the disk is too slow"
            ))),
        }
    }
}

impl Drop for Writer {
    /// Waits for the thread, so that the file is complete when the last handle is dropped.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic there was reported by its own hook.
            drop(thread.join());
        }
    }
}

fn write(mut file: File, queue: &Receiver<Job>) {
    let mut written = Ok(0);
    while let Ok(job) = queue.recv() {
        match job {
            Job::Exchange(finished) => {
                let result = line(&mut file, &finished.into_exchange());
                written = match (written, result) {
                    (Ok(count), Ok(())) => Ok(count + 1),
                    (Ok(_), Err(error)) => {
                        tracing::warn!("the recording cannot be written: {error}");
                        Err(Failed(error.kind(), error.to_string()))
                    }
                    (failed @ Err(_), _) => failed,
                };
            }
            // The caller may have gone.
            Job::Flush(answer) => drop(answer.try_send(written.clone())),
        }
    }
}

fn line(file: &mut File, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    file.write_all(&line)
}
