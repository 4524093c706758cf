//! The state of files that a change was shown with, to which its approval is bound.

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;

use super::{
    super::{
        known_files::FileKnowledge,
        root::{self, FolderRoot, MAX_DEPTH, MAX_FILES},
    },
    file_change::FileChange,
    folder_entry::{self, EntryKind, FolderEntry, MAX_BYTES},
};
use crate::{support::digest, tools::ToolError};
use forgeline_types::Preview;

/// Maximum number of bytes of a folder's files that are read; of the others, size and times are taken.
const MAX_READ: u64 = 64 << 20;

/// Number of times that a preview is made anew because files changed meanwhile.
const ATTEMPTS: usize = 3;

/// Returns the preview of a change, bound to the state of its files.
pub(super) fn preview<C: FileChange>(root: &FolderRoot, change: &C) -> Result<Preview, ToolError> {
    for _ in 0..ATTEMPTS {
        let before = state(root, change);
        check_known(root, change)?;
        let preview = change.preview(root)?;
        if state(root, change) == before {
            return Ok(preview.bound_to(before));
        }
    }
    Err(ToolError::transient("the files change while they are looked at; try again"))
}

/// Checks that nothing has changed since the change was shown, and that nothing is lost that the model does not know.
pub(super) fn check<C: FileChange>(
    root: &FolderRoot,
    change: &C,
    shown: Option<&str>,
) -> Result<(), ToolError> {
    if shown.is_some_and(|shown| state(root, change) != shown) {
        let paths: Vec<_> = change.paths().iter().map(|path| format!("`{path}`")).collect();
        let problem = format!(
            "{} changed after this call was shown for approval; nothing was done. Read it again, then repeat the call, \
             which will be shown anew",
            paths.join(" or ")
        );
        return Err(ToolError::transient(problem));
    }
    check_known(root, change)
}

/// Checks that the files that will be lost are as the conversation last read them, if it did.
fn check_known<C: FileChange>(root: &FolderRoot, change: &C) -> Result<(), ToolError> {
    let Some(path) = change.lost() else { return Ok(()) };
    for (path, known) in root.known.below(&root.spelled(path)?) {
        let now = match folder_entry::found(root, &path)? {
            EntryKind::File(_) => Some(digest(&folder_entry::bytes(root, &path)?)),
            EntryKind::Nothing | EntryKind::Folder => None,
        };
        if now != Some(known) {
            let problem = format!(
                "`{path}` changed since it was read; nothing was done. Read it again first"
            );
            return Err(ToolError::transient(problem));
        }
    }
    Ok(())
}

/// Returns `true` if there is a file that the conversation has never read.
pub(super) fn is_unread(root: &FolderRoot, path: &str) -> Result<bool, ToolError> {
    let is_file = matches!(folder_entry::found(root, path)?, EntryKind::File(_));
    Ok(is_file && root.known.find(&root.spelled(path)?) == FileKnowledge::NeverRead)
}

/// Returns `true` if the conversation knows the present content of a file.
pub(super) fn is_known(root: &FolderRoot, path: &str) -> Result<bool, ToolError> {
    let FileKnowledge::Read(known) = root.known.find(&root.spelled(path)?) else {
        return Ok(false);
    };
    Ok(digest(&folder_entry::bytes(root, path)?) == known)
}

/// Returns the digest of the files at the paths of a change.
fn state<C: FileChange>(root: &FolderRoot, change: &C) -> String {
    let (mut facts, mut left) = (Vec::new(), MAX_READ);
    for path in change.paths() {
        note(&mut facts, path, "path");
        match FolderEntry::find(root, path) {
            Ok(Some(place)) => {
                let mut walk = StateWalk { root, facts: &mut facts, left: &mut left, count: 0 };
                walk.entry(&place.folder, place.last, 0);
            }
            Ok(None) => {
                note(&mut facts, path.rsplit('/').next().unwrap_or_default(), "name");
                note(&mut facts, "", "nothing");
            }
            Err(error) => note(&mut facts, &error.to_string(), "unknown"),
        }
    }
    format!("{:016x}", digest(&facts))
}

/// Adds a fact; texts cannot run into each other.
fn note(facts: &mut Vec<u8>, text: &str, kind: &str) {
    facts.extend_from_slice(format!("{kind}:{}:{text}\n", text.len()).as_bytes());
}

/// A walk over what is at a path.
struct StateWalk<'a> {
    root: &'a FolderRoot,
    facts: &'a mut Vec<u8>,
    /// Number of bytes that may still be read.
    left: &'a mut u64,
    count: usize,
}

impl StateWalk<'_> {
    fn entry(&mut self, parent: &Dir, name: &str, depth: usize) {
        note(self.facts, name, "name");
        let Ok(found) = parent.symlink_metadata(name) else {
            return note(self.facts, "", "nothing");
        };
        let kind = found.file_type();
        if kind.is_dir() {
            note(self.facts, "", "folder");
            self.folder(parent, name, depth);
        } else if kind.is_symlink() {
            let target = parent.read_link_contents(name).unwrap_or_default();
            note(self.facts, &target.to_string_lossy(), "link");
        } else if !kind.is_file() || self.root.withheld.contains(&found) {
            note(self.facts, "", "other");
        } else {
            let most = MAX_BYTES.min(*self.left);
            let read = || root::bytes(root::open_file(parent, name)?, most);
            let bytes = if found.len() > most { Ok(None) } else { read() };
            let fact = match bytes {
                Ok(Some(bytes)) => {
                    *self.left = self.left.saturating_sub(bytes.len() as u64);
                    format!("{:016x}", digest(&bytes))
                }
                _ => format!("{} {:?}", found.len(), found.modified().ok()),
            };
            note(self.facts, &fact, "file");
        }
    }

    fn folder(&mut self, parent: &Dir, name: &str, depth: usize) {
        let opened = parent.open_dir_nofollow(name);
        let Ok(folder) = opened else { return note(self.facts, "", "closed") };
        let Ok(entries) = folder.entries() else { return note(self.facts, "", "closed") };
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        names.sort_unstable();
        note(self.facts, &names.len().to_string(), "entries");
        for name in names {
            self.count += 1;
            let (Some(name), true) = (name.to_str(), self.count <= MAX_FILES && depth < MAX_DEPTH)
            else {
                // The change itself refuses such a folder.
                return note(self.facts, &name.to_string_lossy(), "too much");
            };
            self.entry(&folder, name, depth + 1);
        }
    }
}
