//! Files of JSON lines: a header with kind, version and number of lines, then the items.

use std::fmt;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::KnowledgeError;

/// The version that is written and read.
const VERSION: u64 = 1;

/// The first line.
#[derive(Serialize, Deserialize)]
struct FileHeader {
    kind: String,
    version: u64,
    /// The number of lines that follow.
    #[serde(default)]
    lines: u64,
}

/// Writes a file of `items`.
pub(super) fn write(
    kind: &str,
    items: impl Iterator<Item: Serialize> + Clone,
) -> Result<Vec<u8>, KnowledgeError> {
    let lines = items.clone().count() as u64;
    let mut bytes = Vec::new();
    line(&mut bytes, &FileHeader { kind: kind.to_owned(), version: VERSION, lines })?;
    for item in items {
        line(&mut bytes, &item)?;
    }
    Ok(bytes)
}

fn line(bytes: &mut Vec<u8>, item: &impl Serialize) -> Result<(), KnowledgeError> {
    serde_json::to_writer(&mut *bytes, item).map_err(|error| failed(&error))?;
    bytes.push(b'\n');
    Ok(())
}

fn failed(error: &impl fmt::Display) -> KnowledgeError {
    KnowledgeError::failed(format!("an item cannot be written: {error}"))
}

/// The position of a line.
struct LinePosition {
    line: u64,
    offset: u64,
}

impl LinePosition {
    fn damaged(&self, problem: &'static str) -> KnowledgeError {
        KnowledgeError::Damaged { line: self.line, offset: self.offset, problem }
    }

    /// Parses the line as an item. Its content is not quoted: it may belong to another owner.
    fn parse<T: DeserializeOwned>(
        &self,
        line: &[u8],
        what: &'static str,
    ) -> Result<T, KnowledgeError> {
        let Some(content) = line.strip_suffix(b"\n") else {
            let offset = self.offset + line.len() as u64;
            return Err(Self { offset, ..*self }.damaged("the line is incomplete"));
        };
        serde_json::from_slice(content).map_err(|error| {
            let column = error.column().saturating_sub(1).min(content.len());
            Self { offset: self.offset + column as u64, ..*self }.damaged(what)
        })
    }
}

/// Reads a file and passes each item to `take`, which returns the problem of an invalid item.
pub(crate) fn read_lines<T: DeserializeOwned>(
    bytes: &[u8],
    kind: &str,
    mut take: impl FnMut(T) -> Result<(), &'static str>,
) -> Result<(), KnowledgeError> {
    let mut place = LinePosition { line: 1, offset: 0 };
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let header: FileHeader = place.parse(first, "it is not a valid header")?;
    if header.version != VERSION {
        return Err(KnowledgeError::Version { found: header.version, own: VERSION });
    }
    if header.kind != kind {
        return Err(place.damaged("the file contains something else"));
    }
    let mut length = first.len();
    for line in lines {
        place = LinePosition { line: place.line + 1, offset: place.offset + length as u64 };
        length = line.len();
        take(place.parse(line, "it is not an item of this file")?)
            .map_err(|problem| place.damaged(problem))?;
    }
    if place.line - 1 != header.lines {
        place.offset += length as u64;
        return Err(place.damaged("its number of lines is not the one in its header"));
    }
    Ok(())
}
