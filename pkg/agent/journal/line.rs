//! The lines of a journal: a number, a digest, a record.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::error::RestoreError;
use crate::support::digest;

/// A position after a line, with the digest of all lines up to there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Chain {
    number: u64,
    digest: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    n: u64,
    /// The digest in hexadecimal, since not every JSON reader keeps 64 bits.
    digest: String,
    #[serde(borrow)]
    record: &'a RawValue,
}

impl Chain {
    /// Returns the number of lines before this position.
    pub(crate) fn number(self) -> u64 {
        self.number
    }

    fn after(self, record: &str) -> Self {
        let before = [self.digest.to_le_bytes(), self.number.to_le_bytes()];
        let bytes = before.as_flattened().iter().chain(record.as_bytes());
        Self { number: self.number + 1, digest: digest(bytes) }
    }

    /// Returns the next line, and the position after it.
    pub(super) fn write(self, record: &str) -> serde_json::Result<(String, Self)> {
        let next = self.after(record);
        let record = serde_json::from_str(record)?;
        let line = Line { n: self.number, digest: format!("{:016x}", next.digest), record };
        Ok((serde_json::to_string(&line)?, next))
    }

    /// Returns the record of the next line, and moves past it.
    ///
    /// # Errors
    ///
    /// Returns an error when the line is not the one that was written at this position.
    pub(crate) fn read(&mut self, text: &str) -> Result<String, RestoreError> {
        let edited = RestoreError::Edited { line: self.number + 1 };
        let Ok(line) = serde_json::from_str::<Line<'_>>(text) else { return Err(edited) };
        let next = self.after(line.record.get());
        if (line.n, line.digest) != (self.number, format!("{:016x}", next.digest)) {
            return Err(edited);
        }
        *self = next;
        Ok(line.record.get().to_owned())
    }
}
