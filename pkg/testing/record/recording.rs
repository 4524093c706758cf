//! Recordings read from a file.

use std::{fs, io, path::Path, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Exchange;
use forgeline_types::Text;

/// The version of the format that this library writes and reads.
const VERSION: u64 = 1;

/// The first line of a recording.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RecordingHeader {
    forgeline_recording: u64,
    #[serde(default)]
    recorded: Text,
}

impl RecordingHeader {
    /// Creates the header of a recording made on the date `recorded`.
    pub(super) fn new(recorded: impl Into<Text>) -> Self {
        Self { forgeline_recording: VERSION, recorded: recorded.into() }
    }
}

/// The exchanges in a file written by [`RecordingTransport`](super::RecordingTransport). Clones share
/// them.
///
/// # Examples
///
/// ```
/// use forgeline::testing::record::{Recording, RecordingError};
///
/// let file = r#"{"forgeline_recording":1,"recorded":"2026-11-22T09:00:00Z"}
/// {"turn":1,"request":{"method":"POST","url":"http://h/v1/chat/completions","headers":{},"body":{"model":"m"}},"response":{"status":503,"head_ms":12,"headers":{},"body":"busy","reads":[[4,12]]},"ended":"whole"}
/// "#;
/// let recording: Recording = file.parse()?;
/// assert_eq!(recording.exchanges()[0].response.as_ref().unwrap().status, 503);
///
/// let other = "{\"forgeline_recording\":9}\n".parse::<Recording>().unwrap_err();
/// assert_eq!(other.to_string(), "unsupported recording format 9, expected 1; record it anew");
/// # Ok::<(), RecordingError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Recording {
    recorded: Text,
    exchanges: Arc<[Exchange]>,
    cut_at: Option<u64>,
}

/// An error in reading a recording.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file cannot be read or is not UTF-8.
    #[error("cannot read the recording; check that the file exists and may be read")]
    Read(#[source] io::Error),
    /// The first line is not that of a recording.
    #[error(
        "not a recording: \"forgeline_recording\" is missing from the first line; give a file that `RecordingTransport` wrote"
    )]
    NotARecording,
    /// The file was written by another version of the library.
    #[error("unsupported recording format {found}, expected {VERSION}; record it anew")]
    #[non_exhaustive]
    Version {
        /// The version in the file.
        found: Text,
    },
    /// The recording has no exchange.
    #[error("the recording is empty; record it anew and let the run come to its end")]
    Empty,
    /// The program that wrote the file was stopped during its first exchange.
    #[error("the recording ends inside its first exchange, at byte {offset}; record it anew")]
    #[non_exhaustive]
    Cut {
        /// The offset at which the exchange begins, in bytes.
        offset: u64,
    },
    /// A line is not an exchange.
    #[error("invalid exchange in line {line} of the recording: {reason}; record it anew")]
    #[non_exhaustive]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// The cause.
        reason: Text,
    },
}

impl Recording {
    /// Reads the file at `path`.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, is not a recording, has another version, is empty, or has an
    /// invalid line.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, RecordingError> {
        Self::from_bytes(&fs::read(path).map_err(RecordingError::Read)?)
    }

    /// Reads the content of a file. If the program that wrote it was killed in the middle of a line, the exchanges
    /// before that line are read, and [`cut_at`](Self::cut_at) returns its offset.
    ///
    /// # Errors
    ///
    /// As for [`load`](Self::load).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RecordingError> {
        match str::from_utf8(bytes) {
            Ok(text) => text.parse(),
            // The end is inside a character, and therefore inside a line.
            Err(error) if error.error_len().is_none() => {
                let whole = bytes.get(..error.valid_up_to()).unwrap_or_default();
                String::from_utf8_lossy(whole).parse()
            }
            Err(error) => {
                Err(RecordingError::Read(io::Error::new(io::ErrorKind::InvalidData, error)))
            }
        }
    }

    /// Returns the offset, in bytes, of an incomplete exchange at the end; `None` if the recording is
    /// complete.
    #[must_use]
    pub fn cut_at(&self) -> Option<u64> {
        self.cut_at
    }

    /// Returns `true` if a file that begins with `head` is a recording, valid or not.
    #[must_use]
    pub fn is_start(head: &[u8]) -> bool {
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        serde_json::from_slice::<Value>(line)
            .is_ok_and(|line| line.get("forgeline_recording").is_some())
    }

    /// Returns a recording of only the exchange with number `turn`; `None` if there is no such exchange.
    #[must_use]
    pub fn only(&self, turn: u32) -> Option<Self> {
        let exchange = self.exchanges.iter().find(|exchange| exchange.turn == turn)?;
        Some(Self { exchanges: Arc::from([exchange.clone()]), ..self.clone() })
    }

    /// Returns the exchanges, in the order of their requests.
    #[must_use]
    pub fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    /// Returns the date of the recording, in the format of RFC 3339.
    #[must_use]
    pub fn recorded(&self) -> &str {
        &self.recorded
    }
}

impl FromStr for Recording {
    type Err = RecordingError;

    fn from_str(text: &str) -> Result<Self, RecordingError> {
        let mut lines = text.lines().zip(1..);
        let first = lines.next().map_or("", |(line, _)| line);
        if first.trim().is_empty() {
            return Err(RecordingError::Empty);
        }
        let header: Value =
            serde_json::from_str(first).map_err(|_| RecordingError::NotARecording)?;
        let version = header.get("forgeline_recording").ok_or(RecordingError::NotARecording)?;
        if version.as_u64() != Some(VERSION) {
            return Err(RecordingError::Version { found: Text::from(version.to_string()) });
        }
        let header: RecordingHeader =
            serde_json::from_value(header).map_err(|_| RecordingError::NotARecording)?;
        let mut exchanges: Vec<Exchange> = Vec::new();
        let mut cut_at = None;
        let (whole, is_last) = (text, |line: &str| text.ends_with(line));
        for (text, line) in lines.filter(|(line, _)| !line.trim().is_empty()) {
            let bad = |reason: String| RecordingError::Line { line, reason: Text::from(reason) };
            let exchange = match serde_json::from_str::<Exchange>(text) {
                Err(error) if error.is_eof() && is_last(text) => {
                    cut_at = Some((whole.len() - text.len()) as u64);
                    break;
                }
                exchange => exchange.map_err(|error| bad(error.to_string()))?,
            };
            exchange.check().map_err(bad)?;
            if exchanges.iter().any(|other| other.turn == exchange.turn) {
                return Err(bad(format!("duplicate turn {}", exchange.turn)));
            }
            exchanges.push(exchange);
        }
        if exchanges.is_empty() {
            return Err(
                cut_at.map_or(RecordingError::Empty, |offset| RecordingError::Cut { offset })
            );
        }
        exchanges.sort_by_key(|exchange| exchange.turn);
        Ok(Self { recorded: header.recorded, exchanges: exchanges.into(), cut_at })
    }
}
