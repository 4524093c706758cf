//! The thread that writes recordings, so that no stream waits for a disk.

use std::{
    fs::File,
    io,
    path::Path,
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::{self, JoinHandle},
    time::SystemTime,
};

use serde::Serialize;

use super::{date::rfc3339, finished::SecretExchange, recording::RecordingHeader};
use forgeline_types::private::own_file;

/// Maximum number of exchanges waiting to be written; further ones are lost and counted.
const QUEUE: usize = 64;

enum WriterJob {
    Exchange(Box<SecretExchange>),
    /// Requests the outcome of all previous jobs.
    Flush(SyncSender<Result<u64, WriteError>>),
}

/// An error in writing, kept for each [`flush`](RecordingWriter::flush).
#[derive(Debug, Clone)]
struct WriteError(io::ErrorKind, String);

/// A file and the thread that writes exchanges to it; dropping it ends the thread.
#[derive(Debug)]
pub(super) struct RecordingWriter {
    jobs: Option<SyncSender<WriterJob>>,
    thread: Option<JoinHandle<()>>,
    lost: Mutex<u64>,
}

impl RecordingWriter {
    /// Creates the file, which only its owner can read; an existing path, including a symbolic link, is an error.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let mut file = own_file().create_new(true).open(path)?;
        line(&mut file, &RecordingHeader::new(rfc3339(SystemTime::now())))?;
        let (jobs, queue) = sync_channel(QUEUE);
        let thread = thread::Builder::new().name("forgeline-recording".to_owned());
        let thread = thread.spawn(move || write(file, &queue))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), lost: Mutex::default() })
    }

    /// Queues an exchange without waiting.
    pub(super) fn push(&self, finished: SecretExchange) {
        let job = WriterJob::Exchange(Box::new(finished));
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
        jobs.send(WriterJob::Flush(sender)).map_err(|_| gone())?;
        let written = answer.recv().map_err(|_| gone())?;
        let written = written.map_err(|WriteError(kind, message)| io::Error::new(kind, message))?;
        match *self.lost.lock().unwrap_or_else(PoisonError::into_inner) {
            0 => Ok(written),
            lost => Err(io::Error::other(format!(
                "{lost} exchanges are missing from the recording: the disk is too slow"
            ))),
        }
    }
}

impl Drop for RecordingWriter {
    /// Waits for the thread, so that the file is complete when the last handle is dropped.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic there was already reported by its hook.
            drop(thread.join());
        }
    }
}

fn write(file: File, queue: &Receiver<WriterJob>) {
    let mut lines = RecordingLines { file, written: Ok(0) };
    while let Ok(job) = queue.recv() {
        match job {
            WriterJob::Exchange(finished) => lines.add(&finished.into_exchange()),
            // The caller may be gone.
            WriterJob::Flush(answer) => drop(answer.try_send(lines.written.clone())),
        }
    }
}

/// The lines of a file, up to the first one that could not be written completely; none are written after it.
struct RecordingLines<W> {
    file: W,
    written: Result<u64, WriteError>,
}

impl<W: io::Write> RecordingLines<W> {
    fn add(&mut self, value: &impl Serialize) {
        let Ok(count) = self.written else { return };
        self.written = line(&mut self.file, value).map(|()| count + 1).map_err(|error| {
            tracing::warn!("the recording cannot be written: {error}");
            WriteError(error.kind(), error.to_string())
        });
    }
}

fn line(file: &mut impl io::Write, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    file.write_all(&line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk that is full for a while.
    struct Disk {
        bytes: Vec<u8>,
        room: usize,
    }

    impl io::Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let fits = bytes.len().min(std::mem::take(&mut self.room));
            if fits == 0 {
                self.room = usize::MAX;
                return Err(io::Error::from(io::ErrorKind::StorageFull));
            }
            self.bytes.extend(bytes.iter().take(fits));
            Ok(fits)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    // Found: R7
    #[test]
    fn behind_a_line_that_is_not_whole_nothing_is_written() {
        let mut lines =
            RecordingLines { file: Disk { bytes: Vec::new(), room: 7 }, written: Ok(0) };
        for text in ["a long word", "b", "c"] {
            lines.add(&text);
        }
        assert_eq!(lines.file.bytes, b"\"a long");
        assert!(matches!(lines.written, Err(WriteError(io::ErrorKind::StorageFull, _))));
    }
}
