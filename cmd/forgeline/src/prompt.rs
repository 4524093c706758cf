//! The prompt of `run`: words of the command line, and text on stdin.

use std::{
    io::{self, IsTerminal as _, Read as _},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use anyhow::Context as _;

use crate::exit::{note, usage};

/// Longest text that is read from stdin or a file, in bytes.
const MAX_BYTES: u64 = 32 << 20;
/// The time in which text on stdin has to begin, where it is not the whole prompt.
const BEGINS_WITHIN: Duration = Duration::from_secs(3);

/// Returns what to ask; invalid UTF-8 on stdin becomes U+FFFD.
pub(crate) fn prompt(words: &[String]) -> anyhow::Result<String> {
    let mut prompt = words.join(" ");
    if prompt == "-" {
        prompt = read_text(io::stdin().lock(), "stdin")?;
    } else if !io::stdin().is_terminal() {
        let beside = beside()?;
        let beside = beside.trim_end_matches(['\n', '\r']);
        if !beside.trim().is_empty() {
            prompt = format!("{prompt}\n\n{beside}");
        }
    }
    if prompt.trim().is_empty() {
        return Err(usage("the prompt is empty; write what to ask after `run`"));
    }
    Ok(prompt)
}

/// Reads the text beside the prompt. A pipe that is open and silent, as some programs leave it to
/// their children, does not hold up the question.
fn beside() -> anyhow::Result<String> {
    let (begins, begun) = mpsc::sync_channel(1);
    let reader = thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        let mut first = [0];
        let read_first = stdin.read(&mut first);
        // The other side may have stopped waiting.
        let _told = begins.send(());
        match read_first? {
            0 => Ok(String::new()),
            _ => read_text(first.as_slice().chain(stdin), "stdin"),
        }
    });
    if begun.recv_timeout(BEGINS_WITHIN) == Err(RecvTimeoutError::Timeout) {
        note(
            "nothing arrived on stdin, so the question is sent without it; < /dev/null avoids the wait",
        );
        return Ok(String::new());
    }
    reader.join().unwrap_or_else(|_| Ok(String::new()))
}

/// Reads a text that goes to the model; `name` is where it comes from.
pub(crate) fn read_text(source: impl io::Read, name: &str) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let read = source.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    if read.with_context(|| format!("cannot read {name}"))? as u64 > MAX_BYTES {
        let most = MAX_BYTES >> 20;
        return Err(usage(format!("the text of {name} is longer than {most} MiB; shorten it")));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Found: R12
    #[test]
    fn invalid_bytes_are_replaced_and_too_many_refused() {
        assert_eq!(read_text(b"a\xffb\xe2\x82c".as_slice(), "x").unwrap(), "a\u{fffd}b\u{fffd}c");
        let endless = io::repeat(b'x');
        let error = read_text(endless, "x").unwrap_err().to_string();
        assert!(error.contains("longer than 32 MiB"), "{error}");
    }
}
