//! Output on a thread of its own: a reader who does not read holds up nothing but the output.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use tokio::sync::{mpsc, oneshot};

/// Most pieces that wait for their reader.
const PIECES: usize = 64;

/// The stream that a piece of output goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputTarget {
    /// Stdout.
    Out,
    /// Stderr.
    Err,
}

#[derive(Debug)]
enum WriteJob {
    Write(OutputTarget, Vec<u8>),
    Tell(oneshot::Sender<()>),
}

/// Writes pieces to stdout and stderr in their order.
#[derive(Debug)]
pub struct OutputWriter {
    jobs: mpsc::Sender<WriteJob>,
    failure: Arc<Mutex<Option<io::Error>>>,
}

impl OutputWriter {
    /// Starts the thread; `out` and `err` are what it writes to.
    ///
    /// # Errors
    ///
    /// When the thread cannot be started.
    pub fn start(
        out: impl Write + Send + 'static,
        err: impl Write + Send + 'static,
    ) -> io::Result<Self> {
        let (jobs, mut queue) = mpsc::channel(PIECES);
        let failure: Arc<Mutex<Option<io::Error>>> = Arc::default();
        let told = Arc::clone(&failure);
        let write = move || {
            // The failure is there before the queue closes, which tells the senders.
            if let Err(error) = serve(&mut queue, out, err) {
                *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        };
        thread::Builder::new().name("output".to_owned()).spawn(write)?;
        Ok(Self { jobs, failure })
    }

    /// Hands over a piece; waits for a place in the queue.
    ///
    /// # Errors
    ///
    /// When writing failed.
    ///
    /// # Cancel safety
    ///
    /// A dropped wait has written nothing of the piece.
    pub async fn write(&self, target: OutputTarget, piece: Vec<u8>) -> io::Result<()> {
        let sent = self.jobs.send(WriteJob::Write(target, piece)).await;
        sent.map_err(|_| self.failure())
    }

    /// Hands over a piece that is not worth a wait.
    pub fn offer(&self, target: OutputTarget, piece: Vec<u8>) {
        drop(self.jobs.try_send(WriteJob::Write(target, piece)));
    }

    /// Waits until everything is written.
    ///
    /// # Errors
    ///
    /// When writing failed.
    pub async fn finish(&self) -> io::Result<()> {
        let (tell, told) = oneshot::channel();
        self.jobs.send(WriteJob::Tell(tell)).await.map_err(|_| self.failure())?;
        told.await.map_err(|_| self.failure())
    }

    /// Returns the error that ended the thread.
    fn failure(&self) -> io::Error {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        let kind = failure.as_ref().map_or(io::ErrorKind::BrokenPipe, io::Error::kind);
        failure.replace(kind.into()).unwrap_or_else(|| kind.into())
    }
}

/// Writes what is queued; flushes when the queue is empty.
fn serve(
    queue: &mut mpsc::Receiver<WriteJob>,
    mut out: impl Write,
    mut err: impl Write,
) -> io::Result<()> {
    while let Some(job) = queue.blocking_recv() {
        match job {
            WriteJob::Write(OutputTarget::Out, piece) => {
                out.write_all(&piece)?;
                if queue.is_empty() {
                    out.flush()?;
                }
            }
            WriteJob::Write(OutputTarget::Err, piece) => {
                out.flush()?;
                // Words beside the answer may get lost; the answer goes on.
                drop(err.write_all(&piece).and_then(|()| err.flush()));
            }
            WriteJob::Tell(tell) => {
                out.flush()?;
                // Whoever asked may have gone.
                let _told = tell.send(());
            }
        }
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Broken;

    impl Write for Broken {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    // Found: R2
    #[tokio::test]
    async fn pieces_arrive_in_order_and_failures_are_reported() {
        let (out, err) = (Kept::default(), Kept::default());
        let writer = OutputWriter::start(out.clone(), err.clone()).unwrap();
        for (target, piece) in
            [(OutputTarget::Out, "a"), (OutputTarget::Err, "x"), (OutputTarget::Out, "b")]
        {
            writer.write(target, piece.into()).await.unwrap();
        }
        writer.finish().await.unwrap();
        assert_eq!(*out.0.lock().unwrap(), b"ab");
        assert_eq!(*err.0.lock().unwrap(), b"x");

        let broken = OutputWriter::start(Broken, err).unwrap();
        broken.write(OutputTarget::Out, b"a".to_vec()).await.unwrap();
        let error = broken.finish().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        let error = broken.write(OutputTarget::Out, b"b".to_vec()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull, "still");
    }
}
