//! The memories of all owners, as plain data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{KnowledgeError, Note, Owner, lines};
use crate::lexical::WordRanking;
use forgeline_types::Text;

/// Maximum length of a key, in bytes.
const MAX_KEY_BYTES: usize = 128;
/// Maximum length of a memory's text, in bytes.
const MAX_TEXT_BYTES: usize = 16 << 10;
/// Maximum number of memories of one owner.
const MAX_NOTES: usize = 1_000;
/// Maximum bytes of one owner's memories.
const MAX_OWNER_BYTES: usize = 1 << 20;
/// Maximum bytes of all memories.
const MAX_BYTES: usize = 16 << 20;
/// The bytes counted for a memory in addition to its text.
const NOTE_BYTES: usize = 64;

/// The kind of the file, in its header.
const KIND: &str = "memories";

/// The memories of all owners.
#[derive(Debug, Default)]
pub(super) struct OwnedNotes {
    owners: BTreeMap<Owner, BTreeMap<Text, String>>,
    bytes: usize,
}

/// A memory in a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoteLine {
    owner: Owner,
    key: Text,
    text: String,
}

impl OwnedNotes {
    /// Stores a memory. Returns `true` when that changed something.
    pub(super) fn save(&mut self, owner: &Owner, note: Note) -> Result<bool, KnowledgeError> {
        within("key", note.key.len(), MAX_KEY_BYTES)?;
        within("text", note.text.len(), MAX_TEXT_BYTES)?;
        let size = size(owner, &note.key, &note.text);
        if let Some(notes) = self.owners.get(owner) {
            match notes.get(&note.key) {
                Some(text) if *text == note.text => return Ok(false),
                Some(_) => return Err(KnowledgeError::Taken { key: note.key }),
                None => {}
            }
            if notes.len() >= MAX_NOTES {
                return Err(KnowledgeError::Full { what: "memories", most: MAX_NOTES });
            }
            let own: usize = notes.iter().map(|(key, text)| self::size(owner, key, text)).sum();
            if own.saturating_add(size) > MAX_OWNER_BYTES {
                let what = "bytes of memories";
                return Err(KnowledgeError::Full { what, most: MAX_OWNER_BYTES });
            }
        }
        if self.bytes.saturating_add(size) > MAX_BYTES {
            let what = "bytes of all memories";
            return Err(KnowledgeError::Full { what, most: MAX_BYTES });
        }
        self.bytes += size;
        self.owners.entry(owner.clone()).or_default().insert(note.key, note.text);
        Ok(true)
    }

    /// Returns the memory under a key.
    pub(super) fn load(&self, owner: &Owner, key: &str) -> Option<Note> {
        let (key, text) = self.owners.get(owner)?.get_key_value(key)?;
        Some(Note::new(key.clone(), text.clone()))
    }

    /// Returns the memories that contain words of `query` in key or text, the best first.
    pub(super) fn find(&self, owner: &Owner, query: &str, most: usize) -> Vec<Note> {
        let Some(notes) = self.owners.get(owner) else { return Vec::new() };
        let texts: Vec<_> = notes.iter().map(|(key, text)| format!("{key}\n{text}")).collect();
        let found = WordRanking::new(texts.iter().map(String::as_str)).find(query, most);
        let numbered: Vec<_> = notes.iter().collect();
        let note = |(number, _)| numbered.get(number);
        found
            .into_iter()
            .filter_map(note)
            .map(|(key, text)| Note::new((*key).clone(), text.as_str()))
            .collect()
    }

    /// Returns the first keys, at most `most`.
    pub(super) fn keys(&self, owner: &Owner, most: usize) -> Vec<Text> {
        self.owners.get(owner).into_iter().flat_map(BTreeMap::keys).take(most).cloned().collect()
    }

    /// Removes the memory under a key. Returns `false` when the key is unknown.
    pub(super) fn delete(&mut self, owner: &Owner, key: &str) -> bool {
        let Some(notes) = self.owners.get_mut(owner) else { return false };
        let Some(text) = notes.remove(key) else { return false };
        self.bytes = self.bytes.saturating_sub(size(owner, key, &text));
        if notes.is_empty() {
            self.owners.remove(owner);
        }
        true
    }

    /// Returns the memories as the content of a file.
    pub(super) fn to_file(&self) -> Result<Vec<u8>, KnowledgeError> {
        let lines = self.owners.iter().flat_map(|(owner, notes)| {
            notes.iter().map(|(key, text)| NoteLine {
                owner: owner.clone(),
                key: key.clone(),
                text: text.clone(),
            })
        });
        lines::write(KIND, lines)
    }

    /// Parses the content of a file.
    pub(super) fn from_file(bytes: &[u8]) -> Result<Self, KnowledgeError> {
        let mut notes = Self::default();
        lines::read_lines(bytes, KIND, |NoteLine { owner, key, text }| {
            match notes.save(&owner, Note { key, text }) {
                Ok(true) => Ok(()),
                Ok(false) | Err(KnowledgeError::Taken { .. }) => Err("duplicate key"),
                Err(_) => Err("a memory is not within the limits"),
            }
        })?;
        Ok(notes)
    }
}

/// Checks that a part is not empty and not too large.
fn within(what: &'static str, bytes: usize, most: usize) -> Result<(), KnowledgeError> {
    match bytes {
        0 => Err(KnowledgeError::Empty { what }),
        _ if bytes > most => Err(KnowledgeError::TooLarge { what, bytes, most }),
        _ => Ok(()),
    }
}

/// Returns the number of bytes that a memory counts for.
fn size(owner: &Owner, key: &str, text: &str) -> usize {
    owner.len() + key.len() + text.len() + NOTE_BYTES
}
