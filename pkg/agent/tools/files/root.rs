//! The folder to which file tools are confined.

use std::{
    io::{self, Read as _},
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use cap_fs_ext::{
    DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsMaybeDirExt as _,
    OpenOptionsSyncExt as _,
};
use cap_std::{
    ambient_authority,
    fs::{Dir, File, Metadata, OpenOptions},
};

use super::{known_files::KnownFiles, text_form::FormedText, withheld::WithheldFiles};
use crate::tools::{ToolContext, ToolError};
use forgeline_types::TextOrigin;

/// The depth to which folders are walked.
pub(super) const MAX_DEPTH: usize = 32;

/// Maximum number of files that a walk visits.
pub(super) const MAX_FILES: usize = 20_000;

/// Endings of the names of files that contain keys.
const KEY_ENDINGS: [&str; 8] =
    [".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk"];

/// Names of files that contain keys.
const KEY_NAMES: [&str; 4] = ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"];

/// A folder with everything below it.
///
/// A path is opened name by name below the open folder, and no link is followed: changes in the
/// meantime cannot lead out of the folder.
#[derive(Debug, Clone)]
pub struct FolderRoot {
    folder: Arc<Dir>,
    /// The path of the folder, for links that name a place by its whole path.
    path: Arc<Path>,
    /// `true` to show hidden files and keys.
    #[doc(hidden)]
    pub shows_hidden: bool,
    /// The origin of the text of the folder's files.
    pub(crate) origin: TextOrigin,
    /// Files of the program itself.
    pub(crate) withheld: WithheldFiles,
    /// The files that the conversation knows.
    pub(super) known: KnownFiles,
}

/// An opened path.
pub(crate) enum OpenedPath {
    Folder(Dir),
    File(File),
}

/// One file found by a walk.
#[derive(Debug)]
pub struct FoundFile {
    /// The path relative to the root, with `/` between its parts.
    #[doc(hidden)]
    pub name: String,
    pub(super) bytes: u64,
}

/// The files below a folder, sorted by name, and what a walk left out.
#[derive(Debug, Default)]
pub struct FolderWalk {
    #[doc(hidden)]
    pub files: Vec<FoundFile>,
    /// `true` when there were more files than a walk visits.
    pub(super) is_cut: bool,
    /// The number of folders that are nested too deeply.
    pub(super) too_deep: usize,
    /// The number of folders that cannot be read.
    pub(super) unreadable: usize,
}

impl FolderRoot {
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let folder = Dir::open_ambient_dir(path, ambient_authority())?;
        if !folder.dir_metadata()?.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "the root is not a folder"));
        }
        let (shows_hidden, origin) = (false, TextOrigin::Project);
        let (withheld, known) = (WithheldFiles::default(), KnownFiles::default());
        let path = path.canonicalize()?.into();
        Ok(Self { folder: Arc::new(folder), path, shows_hidden, origin, withheld, known })
    }

    /// Withholds files of the program itself, which are never below the root.
    ///
    /// # Errors
    ///
    /// Returns an error if one is.
    #[doc(hidden)]
    pub fn withhold(&mut self, files: &[PathBuf]) -> io::Result<()> {
        self.withheld = WithheldFiles::new(&self.path, files.to_vec())?;
        Ok(())
    }

    /// Returns the root as a call works with it.
    pub(super) fn of_call(&self, context: &ToolContext) -> Self {
        Self { known: self.known.of_call(context), ..self.clone() }
    }

    /// Returns the one spelling of a path below the root.
    pub(super) fn spelled(&self, name: &str) -> Result<String, ToolError> {
        Ok(self.parts(name)?.join("/"))
    }

    /// Opens the folder or regular file of this name.
    pub(crate) fn open(&self, name: &str) -> Result<OpenedPath, ToolError> {
        let mut parts = self.parts(name)?;
        let failed = |error: io::Error| {
            ToolError::failed(format!("`{name}` cannot be opened: {}", error.kind()))
        };
        let mut folder = self.folder.try_clone().map_err(failed)?;
        let Some(last) = parts.pop() else { return Ok(OpenedPath::Folder(folder)) };
        for part in parts {
            folder = folder.open_dir_nofollow(part).map_err(failed)?;
        }
        // Merely opening a device can have effects.
        let found = folder.symlink_metadata(last).map_err(failed)?;
        self.check_withheld(name, &found)?;
        let kind = found.file_type();
        if kind.is_symlink() {
            return Err(ToolError::failed(format!("`{name}` is a link; links are not followed")));
        }
        if kind.is_dir() {
            return folder.open_dir_nofollow(last).map(OpenedPath::Folder).map_err(failed);
        }
        let special =
            || ToolError::failed(format!("`{name}` is not a regular file; it is not read"));
        if !kind.is_file() {
            return Err(special());
        }
        let file = open_file(&folder, last).map_err(failed)?;
        // Another file may have taken its place.
        let found = file.metadata().map_err(failed)?;
        if !found.is_file() {
            return Err(special());
        }
        self.check_withheld(name, &found)?;
        Ok(OpenedPath::File(file))
    }

    /// Refuses a file of the program itself.
    pub(crate) fn check_withheld(&self, name: &str, found: &Metadata) -> Result<(), ToolError> {
        if !self.withheld.contains(found) {
            return Ok(());
        }
        let problem =
            format!("`{name}` is a file of this program; it is neither shown nor changed");
        Err(ToolError::failed(problem))
    }

    /// Returns the folder of this name as a root of its own.
    #[doc(hidden)]
    pub fn below(&self, name: &str) -> Result<Self, ToolError> {
        match self.open(name)? {
            OpenedPath::Folder(folder) => {
                let path = self.path.join(name).into();
                Ok(Self { folder: Arc::new(folder), path, ..self.clone() })
            }
            OpenedPath::File(_) => Err(ToolError::failed(format!("`{name}` is not a folder"))),
        }
    }

    /// Returns the path below the root to which links on the path `name` lead; `None` if there are none.
    ///
    /// # Errors
    ///
    /// Returns an error if they lead nowhere, or out of the root.
    pub(crate) fn target(&self, name: &str) -> Option<io::Result<String>> {
        let parts = self.parts(name).ok()?;
        let mut folder = PathBuf::new();
        let is_link = |part: &&str| {
            folder.push(part);
            self.folder.symlink_metadata(&folder).is_ok_and(|found| found.is_symlink())
        };
        parts.iter().any(is_link).then(|| {
            let outside = || io::Error::from(io::ErrorKind::PermissionDenied);
            let target = self.path.join(name).canonicalize()?;
            let below = target.strip_prefix(&self.path).map_err(|_| outside())?;
            let names: Option<Vec<_>> = below.iter().map(|part| part.to_str()).collect();
            names.map(|names| names.join("/")).ok_or_else(outside)
        })
    }

    /// Returns the open root.
    #[doc(hidden)]
    pub fn folder(&self) -> io::Result<Dir> {
        self.folder.try_clone()
    }

    /// Returns the names in the path `name`, which must be below the root.
    #[doc(hidden)]
    pub fn parts<'n>(&self, name: &'n str) -> Result<Vec<&'n str>, ToolError> {
        let mut parts = Vec::new();
        for part in Path::new(name).components() {
            match part {
                Component::CurDir => {}
                Component::Normal(part) => parts.extend(part.to_str()),
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(ToolError::invalid(
                        "path",
                        "must be relative to the root and must not contain `..`",
                    ));
                }
            }
        }
        if !self.shows_hidden && parts.iter().any(|part| is_hidden(part)) {
            return Err(ToolError::failed(format!(
                "`{name}` is hidden or may contain keys; it is not shown"
            )));
        }
        Ok(parts)
    }

    /// Returns `false` when a link is on the path `name`, as far as the path exists.
    ///
    /// # Errors
    ///
    /// Returns an error when a part of the path that exists is hidden or contains keys.
    #[cfg(feature = "local-tools")]
    pub(crate) fn is_shown(&self, name: &str) -> Result<bool, ToolError> {
        let all = Self { shows_hidden: true, ..self.clone() };
        let mut folder = self.folder().map_err(|error| ToolError::failed(error.to_string()))?;
        for part in all.parts(name)? {
            let Ok(found) = folder.symlink_metadata(part) else { return Ok(true) };
            if found.is_symlink() {
                return Ok(false);
            }
            self.check_withheld(name, &found)?;
            if !self.shows_hidden && is_hidden(part) {
                return Err(ToolError::failed(format!("`{name}` is hidden or may contain keys")));
            }
            match folder.open_dir_nofollow(part) {
                Ok(inner) => folder = inner,
                Err(_) => return Ok(true),
            }
        }
        Ok(true)
    }

    /// Returns every regular file below `folder`, whose path is `name`. Hidden entries, `target`
    /// folders and links are left out.
    #[doc(hidden)]
    pub fn walk(
        &self,
        name: &str,
        folder: Dir,
        stop: &dyn Fn() -> bool,
    ) -> Result<FolderWalk, ToolError> {
        let prefix: String = self.parts(name)?.into_iter().flat_map(|part| [part, "/"]).collect();
        let mut walk = FolderWalk::default();
        let mut folders = vec![(folder, prefix, 0)];
        while let Some((folder, prefix, depth)) = folders.pop() {
            if stop() {
                return Err(ToolError::Cancelled { abandoned: false });
            }
            let Ok(entries) = folder.entries() else {
                walk.unreadable += 1;
                continue;
            };
            for entry in entries.flatten() {
                if walk.files.len() >= MAX_FILES {
                    walk.is_cut = true;
                    folders.clear();
                    break;
                }
                let name = entry.file_name();
                let (Ok(kind), Some(name)) = (entry.file_type(), name.to_str()) else { continue };
                if !self.shows_hidden && is_hidden(name) || kind.is_dir() && name == "target" {
                    continue;
                }
                if kind.is_dir() && depth == MAX_DEPTH {
                    walk.too_deep += 1;
                } else if kind.is_dir() {
                    match folder.open_dir_nofollow(name) {
                        Ok(inner) => folders.push((inner, format!("{prefix}{name}/"), depth + 1)),
                        Err(_) => walk.unreadable += 1,
                    }
                } else if kind.is_file()
                    && let Ok(metadata) = entry.metadata()
                    && !self.withheld.contains(&metadata)
                {
                    let name = format!("{prefix}{name}");
                    walk.files.push(FoundFile { name, bytes: metadata.len() });
                }
            }
        }
        walk.files.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(walk)
    }
}

impl FolderWalk {
    /// Describes what was left out, for the model; empty when nothing was.
    pub(crate) fn left_out(&self) -> String {
        let cut = format!("files past the first {MAX_FILES}");
        let deep = format!("{} folders below depth {MAX_DEPTH}", self.too_deep);
        let unreadable = format!("{} folders that cannot be read", self.unreadable);
        let all =
            [(self.is_cut, cut), (self.too_deep > 0, deep), (self.unreadable > 0, unreadable)];
        let parts = all.into_iter().filter(|(is_true, _)| *is_true).map(|(_, part)| part);
        parts.collect::<Vec<_>>().join(", ")
    }
}

/// Opens a file for reading; a pipe or a device does not block.
pub(super) fn open_file(folder: &Dir, name: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true).maybe_dir(true);
    folder.open_with(name, &options)
}

/// Returns `true` for names of hidden files and of files that contain keys.
pub(crate) fn is_hidden(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let stem = name.strip_suffix(".pub").unwrap_or(&name);
    name.starts_with('.')
        || KEY_ENDINGS.iter().any(|ending| name.ends_with(ending))
        || KEY_NAMES.contains(&stem)
}

/// Returns the bytes of a file of at most `max_bytes`; `None` when it is larger.
pub(super) fn bytes(file: File, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    // The size that a file reports may be wrong.
    file.take(max_bytes + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= max_bytes).then_some(bytes))
}

/// Returns the text of a file of at most `max_bytes`; `None` when it is binary or larger.
pub(super) fn text(file: File, max_bytes: u64) -> io::Result<Option<String>> {
    let bytes = bytes(file, max_bytes)?;
    Ok(bytes.and_then(|bytes| FormedText::read(&bytes, true)).map(|(formed, _)| formed.text))
}
