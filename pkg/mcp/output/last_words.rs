//! The last output of a process: the end of its standard error.

use std::{
    collections::VecDeque,
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use forgeline_llm::http::Secret;
use tokio::{
    io::{AsyncRead, ReadBuf},
    time::{Sleep, sleep},
};

use forgeline_llm::private::SecretRedactor;

/// Maximum length of the kept end of a process's standard error, in bytes.
const MAX_KEPT_BYTES: usize = 8 << 10;

/// Maximum number of its characters in the message of an error.
const MAX_SHOWN: usize = 2_000;

/// Maximum wait for the last output of a process that has closed its standard output.
pub(crate) const LAST_TIMEOUT: Duration = Duration::from_millis(200);

/// Maximum number of pieces read at once, so that a process that writes endlessly does not block others.
const PIECES: usize = 16;

/// The kept last output of a process.
#[derive(Clone, Default)]
pub(crate) struct LastWords(Arc<LastWordsInner>);

#[derive(Default)]
struct LastWordsInner {
    kept: Mutex<OutputTail>,
    secrets: SecretRedactor,
}

#[derive(Default)]
struct OutputTail {
    bytes: VecDeque<u8>,
    /// `true` once the beginning has been dropped.
    is_cut: bool,
}

impl LastWords {
    /// Creates a store for the last output of a process, from which these secrets are removed.
    pub(crate) fn without<'a>(all: impl IntoIterator<Item = &'a Secret>) -> Self {
        let mut secrets = SecretRedactor::default();
        for secret in all {
            let secret = secret.expose();
            secrets.guess(secret);
            // A secret of several lines may arrive one line at a time.
            secret.lines().for_each(|line| secrets.guess(line));
        }
        Self(Arc::new(LastWordsInner { kept: Mutex::default(), secrets }))
    }

    fn keep(&self, bytes: &[u8]) {
        let mut kept = self.kept();
        kept.bytes.extend(bytes);
        let more = kept.bytes.len().saturating_sub(MAX_KEPT_BYTES);
        if more > 0 {
            kept.is_cut = true;
            kept.bytes.drain(..more);
        }
    }

    /// Returns the output, starting at the beginning of a line and without secrets; may be empty.
    pub(crate) fn text(&self) -> String {
        let (bytes, is_cut) = {
            let kept = self.kept();
            (kept.bytes.iter().copied().collect::<Vec<_>>(), kept.is_cut)
        };
        let text = String::from_utf8_lossy(&bytes);
        // The rest of a line could be the rest of a secret, which would not be recognized.
        let whole = if is_cut { text.split_once('\n').map_or("", |(_, rest)| rest) } else { &text };
        self.0.secrets.text(whole.trim())
    }

    fn kept(&self) -> MutexGuard<'_, OutputTail> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for LastWords {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("LastWords")
    }
}

/// The standard error of a process, which is read in addition to its output. Clones refer to the same one.
#[derive(Clone)]
pub(crate) struct ErrorOutput(Arc<Mutex<ErrorOutputReader>>);

struct ErrorOutputReader {
    errors: Pin<Box<dyn AsyncRead + Send>>,
    words: LastWords,
    has_ended: bool,
    /// The end of the wait for the last output.
    late: Option<Pin<Box<Sleep>>>,
}

impl ErrorOutput {
    pub(crate) fn new(errors: impl AsyncRead + Send + 'static, words: LastWords) -> Self {
        let errors = Box::pin(errors);
        Self(Arc::new(Mutex::new(ErrorOutputReader {
            errors,
            words,
            has_ended: false,
            late: None,
        })))
    }

    /// Keeps the available output.
    pub(crate) fn read_output(&self, context: &mut Context<'_>) {
        self.reader().read_output(context);
    }

    /// Waits for the last output, for a limited time: processes started by this one may never close the pipe.
    pub(crate) fn poll_end(&self, context: &mut Context<'_>) -> Poll<()> {
        self.reader().poll_end(context)
    }

    /// Returns the last output of a process whose standard output is not read any more.
    pub(crate) async fn last_words(&self) -> String {
        poll_fn(|context| self.poll_end(context)).await;
        self.reader().words.text()
    }

    fn reader(&self) -> MutexGuard<'_, ErrorOutputReader> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ErrorOutputReader {
    fn read_output(&mut self, context: &mut Context<'_>) {
        for _ in 0..PIECES {
            if self.has_ended {
                return;
            }
            let mut room = [0; 1 << 10];
            let mut buffer = ReadBuf::new(&mut room);
            match self.errors.as_mut().poll_read(context, &mut buffer) {
                Poll::Pending => return,
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    self.words.keep(buffer.filled());
                }
                Poll::Ready(_) => self.has_ended = true,
            }
        }
        // There may be more output, of which no other wake-up would notify the task.
        context.waker().wake_by_ref();
    }

    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.read_output(context);
        if !self.has_ended {
            let late = self.late.get_or_insert_with(|| Box::pin(sleep(LAST_TIMEOUT)));
            ready!(late.as_mut().poll(context));
        }
        Poll::Ready(())
    }
}

/// Returns the last output as the end of a message; empty if there is none.
pub(crate) fn last_words_note(words: &str) -> String {
    if words.is_empty() {
        return String::new();
    }
    let more = words.chars().count().saturating_sub(MAX_SHOWN);
    let mark = if more > 0 { "…" } else { "" };
    let end: String = words.chars().skip(more).collect();
    format!("; its last words: {mark}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(pieces: &[&str]) -> LastWords {
        let mut secrets = SecretRedactor::default();
        secrets.guess("s3cret-word");
        let words = LastWords(Arc::new(LastWordsInner { kept: Mutex::default(), secrets }));
        for piece in pieces {
            words.keep(piece.as_bytes());
        }
        words
    }

    #[test]
    fn the_end_is_kept_from_the_beginning_of_a_line_and_without_secrets() {
        assert_eq!(words(&[]).text(), "");
        assert_eq!(words(&["no s3cret-", "word here\n"]).text(), "no [key] here");
        let long = "x".repeat(9 << 10);
        assert_eq!(words(&[&long, "\nlast\n"]).text(), "last");
        assert_eq!(words(&[&long]).text(), "", "the end of a line could be that of a secret");
        let many = "a line\n".repeat(2_000);
        let text = words(&[&many]).text();
        assert!(text.len() <= MAX_KEPT_BYTES && text.lines().all(|line| line == "a line"));
    }

    #[test]
    fn an_error_shows_the_end() {
        assert_eq!(last_words_note(""), "");
        assert_eq!(last_words_note("a\nb"), "; its last words: a\nb");
        let long = format!("a{}z", "x".repeat(MAX_SHOWN));
        let end = last_words_note(&long);
        assert!(end.contains("words: …x") && end.ends_with('z'), "{end}");
    }
}
