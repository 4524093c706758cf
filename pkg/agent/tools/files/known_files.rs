//! The state of files when the model last read or wrote them.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{support::digest, tools::ToolContext};

/// Maximum number of files that are remembered.
const MAX_KNOWN: usize = 4_096;

/// The memory of a set of tools, and the conversation that asks.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownFiles {
    known: Arc<Mutex<VecDeque<KnownFile>>>,
    /// The conversation; `None` outside of a run, where nothing is known and nothing said.
    reader: Option<String>,
}

/// A file as a conversation knows it.
#[derive(Debug)]
struct KnownFile {
    reader: String,
    path: String,
    digest: u64,
}

/// The state of a file as a conversation knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKnowledge {
    /// The call belongs to no conversation.
    NotTracked,
    /// Neither read nor written.
    NeverRead,
    /// Read or written, with this digest.
    Read(u64),
}

impl KnownFiles {
    /// Returns the memory as the conversation of a call has it.
    pub(crate) fn of_call(&self, context: &ToolContext) -> Self {
        let run = context.run();
        let caller = run.caller().map_or("", |caller| caller.id.as_str());
        let conversation = run.conversation().unwrap_or_default();
        let reader = (!context.run_id().is_empty()).then(|| format!("{caller}\0{conversation}"));
        Self { known: Arc::clone(&self.known), reader }
    }

    /// Returns what is known of a file.
    pub(super) fn find(&self, path: &str) -> FileKnowledge {
        let Some(reader) = &self.reader else { return FileKnowledge::NotTracked };
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().find(|it| it.path == path && it.reader == *reader);
        found.map_or(FileKnowledge::NeverRead, |found| FileKnowledge::Read(found.digest))
    }

    /// Returns the files that are known at a path or below it, with their digests.
    pub(super) fn below(&self, path: &str) -> Vec<(String, u64)> {
        let Some(reader) = &self.reader else { return Vec::new() };
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let own = known.iter().filter(|it| it.reader == *reader && is_at(path, &it.path));
        own.map(|it| (it.path.clone(), it.digest)).collect()
    }

    /// Remembers that a file or a folder has another path.
    pub(super) fn rename(&self, from: &str, to: &str) {
        self.forget(to);
        let Some(reader) = &self.reader else { return };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        for file in known.iter_mut().filter(|it| it.reader == *reader && is_at(from, &it.path)) {
            let rest = file.path.get(from.len()..).unwrap_or_default();
            file.path = format!("{to}{rest}");
        }
    }

    /// Remembers the content of a file.
    pub(super) fn note(&self, path: &str, bytes: &[u8]) {
        let Some(reader) = &self.reader else { return };
        self.forget(path);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() == MAX_KNOWN {
            known.pop_front();
        }
        let (reader, path) = (reader.clone(), path.to_owned());
        known.push_back(KnownFile { reader, path, digest: digest(bytes) });
    }

    /// Forgets a file, and those below a folder.
    pub(super) fn forget(&self, path: &str) {
        let Some(reader) = &self.reader else { return };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|it| it.reader != *reader || !is_at(path, &it.path));
    }
}

/// Returns `true` for this path, and for those below it.
fn is_at(path: &str, found: &str) -> bool {
    let rest = found.strip_prefix(path);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
