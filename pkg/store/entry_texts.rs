//! Entries of conversations in their stored form.

use super::{
    Entry, StoreError,
    blobs::{BlobHash, SplitText, split},
    conversation_record::to_json,
};

/// The texts of an entry, without their long parts.
pub(super) struct EntryTexts {
    pub(super) line: Option<String>,
    pub(super) messages: Vec<String>,
    /// The long parts.
    pub(super) blobs: Vec<(BlobHash, String)>,
    pub(super) at_ms: u64,
}

impl EntryTexts {
    pub(super) fn of(entry: &Entry) -> Result<Self, StoreError> {
        let mut blobs = Vec::new();
        let mut keep = |text: &str| {
            let SplitText { text, blobs: parts } = split(text);
            blobs.extend(parts.into_iter().map(|(hash, part)| (hash, part.to_owned())));
            text
        };
        let line = entry.line.as_deref().map(&mut keep);
        let messages =
            entry.messages.iter().map(|message| to_json(message).map(|text| keep(&text)));
        let messages = messages.collect::<Result<_, _>>()?;
        Ok(Self { line, messages, blobs, at_ms: entry.at_ms })
    }
}
