//! Journals by the ids of conversations.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::{FileJournal, Journal, MemoryJournal};

/// Journals by the ids of conversations: the store of an agent's conversations; see
/// [`AgentBuilder::conversations`](crate::AgentBuilder::conversations).
///
/// # Examples
///
/// Journals of one team in a folder of its own:
///
/// ```
/// use std::sync::Arc;
/// use forgeline::agent::journal::{FileJournals, Journal, JournalStore};
///
/// struct Team(FileJournals);
///
/// impl JournalStore for Team {
///     fn journal(&self, conversation: &str) -> Arc<dyn Journal> {
///         self.0.journal(&format!("team-a/{conversation}"))
///     }
/// }
/// ```
pub trait JournalStore: Send + Sync {
    /// Returns the journal of a conversation, which is empty if there is no such conversation. Nothing is read or written yet: an error of the store is one of
    /// the journal's first operation.
    fn journal(&self, conversation: &str) -> Arc<dyn Journal>;
}

/// Journals in memory, which clones share. They are kept until the last clone is dropped.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::{Agent, journal::MemoryJournals}, llm::demo::DemoProvider};
///
/// let agent = Agent::builder(DemoProvider::new()).conversations(MemoryJournals::default()).build()?;
/// # Ok::<(), forgeline::agent::BuildError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct MemoryJournals(Arc<Mutex<HashMap<String, MemoryJournal>>>);

impl JournalStore for MemoryJournals {
    fn journal(&self, conversation: &str) -> Arc<dyn Journal> {
        let mut journals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = journals.get(conversation) {
            return Arc::new(known.clone());
        }
        let journal = MemoryJournal::default();
        journals.insert(conversation.to_owned(), journal.clone());
        Arc::new(journal)
    }
}

/// Journals in the files of a folder, each a [`FileJournal`]; the folder is created with the first one. The name of a file is the id of its conversation followed by `.jsonl`,
/// with the bytes other than lower-case ASCII letters, digits, `-` and `_` as `%` and two hexadecimal digits.
///
/// One process at a time may use a conversation.
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{agent::{Agent, RunInput, journal::FileJournals}, llm::demo::DemoProvider};
///
/// let store = FileJournals::new("conversations");
/// let agent = Agent::builder(DemoProvider::new()).conversations(store).build()?;
/// agent.run(RunInput::from("Hello").conversation("ann-1")).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct FileJournals {
    folder: Arc<Path>,
}

impl FileJournals {
    /// Returns the journals in this folder.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into().into() }
    }
}

impl JournalStore for FileJournals {
    fn journal(&self, conversation: &str) -> Arc<dyn Journal> {
        Arc::new(FileJournal::new(self.folder.join(file_name(conversation))))
    }
}

/// Returns the name of the file of a conversation; two conversations never have the same one, also where a file system ignores case.
fn file_name(conversation: &str) -> String {
    let mut name = String::new();
    for byte in conversation.bytes() {
        // An upper-case letter is escaped, since some file systems do not tell it from a lower-case one.
        if byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_') {
            name.push(char::from(byte));
        } else {
            name.push('%');
            name.extend(
                [byte >> 4, byte & 15]
                    .map(|digit| char::from_digit(digit.into(), 16).unwrap_or('0')),
            );
        }
    }
    name.push_str(".jsonl");
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_conversation_has_a_file_of_its_own_inside_the_folder() {
        let rows = [
            ("ann-1", "ann-1.jsonl"),
            ("", ".jsonl"),
            ("..", "%2e%2e.jsonl"),
            ("../etc/passwd", "%2e%2e%2fetc%2fpasswd.jsonl"),
            ("Ann", "%41nn.jsonl"),
            ("%41nn", "%2541nn.jsonl"),
            ("a\0b", "a%00b.jsonl"),
            ("é", "%c3%a9.jsonl"),
        ];
        for (conversation, want) in rows {
            assert_eq!(file_name(conversation), want, "{conversation}");
        }
    }
}
