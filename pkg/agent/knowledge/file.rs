//! Files that are read and replaced as a whole.

use std::{
    ffi::OsString,
    fs::{self, File, TryLockError},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use tokio::task::spawn_blocking;

use super::KnowledgeError;
use forgeline_types::private::own_file;

/// Maximum file size, in bytes: a larger file is neither written nor read.
const MAX_BYTES: u64 = 64 << 20;

/// Runs `work` on a thread that may block on a disk. The work completes even if the future is dropped.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, KnowledgeError> + Send + 'static,
) -> Result<T, KnowledgeError> {
    spawn_blocking(work).await.map_err(|error| failed(&io::Error::other(error))).flatten()
}

/// Returns the content of the file; `None` when it does not exist.
pub(crate) fn read_file(path: &Path) -> Result<Option<Vec<u8>>, KnowledgeError> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(|error| failed(&error))?,
    };
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    within(&bytes)?;
    Ok(Some(bytes))
}

/// Replaces the file at `path` with one of this content, atomically: either the old file is there or the new one, complete.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), KnowledgeError> {
    within(bytes)?;
    let beside = beside(path, ".new");
    let write = || {
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = own_file().create_new(true).open(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    write().map_err(|error| failed(&error))
}

/// Locks the file at `path` for a change, by a lock file beside it; the lock ends when the returned file is dropped.
pub(super) fn lock(path: &Path) -> Result<File, KnowledgeError> {
    let lock = own_file().create(true).truncate(false).open(beside(path, ".lock"));
    let lock = lock.map_err(|error| failed(&error))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(KnowledgeError::Busy),
        Err(TryLockError::Error(error)) => Err(failed(&error)),
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

fn within(bytes: &[u8]) -> Result<(), KnowledgeError> {
    if bytes.len() as u64 > MAX_BYTES {
        return Err(KnowledgeError::failed(format!("the file has more than {MAX_BYTES} bytes")));
    }
    Ok(())
}

fn failed(error: &io::Error) -> KnowledgeError {
    KnowledgeError::failed(format!("the file cannot be used: {error}"))
}
