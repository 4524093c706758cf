//! Text files for the system prompt, read with a size limit.

use std::{
    io::{self, ErrorKind, Read as _},
    path::Path,
};

use crate::tools::files_root::{FolderRoot, OpenedPath, is_hidden};
use forgeline_types::{AgentError, ErrorCode};

/// A text file, or the beginning of one.
#[derive(Debug, PartialEq, Eq)]
pub struct FileText {
    #[doc(hidden)]
    pub text: String,
    /// `true` when the file continues.
    #[doc(hidden)]
    pub is_cut: bool,
}

/// Opens a folder named by the application; links on the path are followed.
///
/// # Errors
///
/// Returns an error if the folder cannot be opened.
pub fn open_folder(path: &Path) -> Result<FolderRoot, AgentError> {
    let opened = path.canonicalize().and_then(|path| FolderRoot::new(&path));
    let mut root = opened.map_err(|error| cannot_open(path, &error))?;
    root.shows_hidden = true;
    Ok(root)
}

/// Returns the error of a folder that cannot be opened.
pub(crate) fn cannot_open(path: &Path, error: &io::Error) -> AgentError {
    let path = path.display();
    let message = format!("the folder `{path}` cannot be opened: {error}; name an existing one");
    AgentError::new(ErrorCode::InvalidInput, message)
}

/// Returns at most `max_bytes` of the file `name` below `root`, without surrounding whitespace;
/// `None` when the file does not exist.
///
/// # Errors
///
/// Returns the problem if the file cannot be read as text.
pub fn read_trimmed(
    root: &FolderRoot,
    name: &str,
    max_bytes: usize,
) -> Result<Option<FileText>, String> {
    let file = read_whole(root, name, max_bytes)?;
    Ok(file.map(|file| FileText { text: file.text.trim().to_owned(), ..file }))
}

/// Returns at most `max_bytes` of the file `name` below `root`, unchanged; `None` when the file does not exist. Links are followed if they stay
/// below the root.
///
/// # Errors
///
/// Returns the problem if the file cannot be read as text.
pub fn read_whole(
    root: &FolderRoot,
    name: &str,
    max_bytes: usize,
) -> Result<Option<FileText>, String> {
    let failed = |error: io::Error| format!("`{name}` cannot be read: {}", error.kind());
    let folder = root.folder().map_err(failed)?;
    match folder.symlink_metadata(name) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        _ => {}
    }
    let target = followed(root, name)?;
    let opened = root.open(target.as_deref().unwrap_or(name)).map_err(|error| error.to_string())?;
    let OpenedPath::File(file) = opened else { return Err(format!("`{name}` is a folder")) };
    let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    // The size that a file reports may be wrong.
    file.take(limit).read_to_end(&mut bytes).map_err(failed)?;
    let is_cut = bytes.len() > max_bytes;
    bytes.truncate(max_bytes);
    let whole = match str::from_utf8(&bytes) {
        Ok(_) => bytes.len(),
        // A character that the limit has cut in two.
        Err(error) if is_cut && error.error_len().is_none() => error.valid_up_to(),
        Err(error) => {
            let at = error.valid_up_to();
            return Err(format!("`{name}` is not UTF-8 from byte {at} on; save it as UTF-8"));
        }
    };
    bytes.truncate(whole);
    let text = String::from_utf8(bytes).map_err(|error| error.to_string())?;
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    Ok(Some(FileText { text, is_cut }))
}

/// Returns the path below `root` to which links on the path `name` lead; `None` if there are none.
///
/// The result is opened without following a link: one that is swapped in meanwhile leads nowhere.
fn followed(root: &FolderRoot, name: &str) -> Result<Option<String>, String> {
    // Opening the link itself tells what is wrong with one that leads nowhere, or out of the root.
    let Some(Ok(target)) = root.target(name) else { return Ok(None) };
    // A link must not bring to light what is hidden by its name.
    let mut parts = target.rsplit('/');
    if parts.next().is_none_or(is_hidden) || parts.any(|part| part == ".git" || part == ".ssh") {
        return Err(format!(
            "`{name}` is a link to a file that is hidden or may contain keys; it is not followed"
        ));
    }
    Ok((target != name).then_some(target))
}

/// Runs file operations on a thread for blocking work.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, AgentError> + Send + 'static,
) -> Result<T, AgentError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(AgentError::new(ErrorCode::Internal, error.to_string())))
}
