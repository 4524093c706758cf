//! Encrypted secrets in a folder, one file each.

use std::{
    fs::{self, File},
    io::{ErrorKind, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{SecretRow, SecretRows, keys::hex};
use crate::{
    StoreError, StoreFuture,
    time_limit::{WAIT, within},
};
use forgeline_types::{Text, private::own_file};

/// Maximum size of a file, in bytes: a container and a name as JSON, and a sealed value as digits.
const MAX_FILE: u64 = 64 << 10;

/// The wait before the lock of the folder is tried again.
const PAUSE: Duration = Duration::from_millis(5);

/// The end of the name of a file with a secret.
const ENDING: &str = ".json";

/// Encrypted secrets in a folder (mode 0700) with one file for each (mode 0600), for the processes of one machine. Clones share it.
///
/// A file is replaced in one step, so that a reader finds the old secret or the new one; a lock in the folder keeps writers apart.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::store::{SealedSecrets, SealingKeys, SecretFiles, SecretName, SecretScope, SecretStore, SecretValue};
///
/// let folder = std::env::temp_dir().join(format!("forgeline-doc-secrets-{}", std::process::id()));
/// let keys = SealingKeys::parse(&"0f".repeat(32))?;
/// let secrets = SealedSecrets::new(SecretFiles::open(&folder).await?, keys);
/// let (scope, name) = (SecretScope::platform(), SecretName::new("openai")?);
/// secrets.set(&scope, &name, SecretValue::new("sk-1")?).await?;
/// assert!(secrets.has(&scope, &name).await?);
/// std::fs::remove_dir_all(folder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct SecretFiles {
    folder: Arc<Path>,
}

/// The content of a file.
#[derive(Serialize, Deserialize)]
struct SecretFile {
    container: Text,
    name: Text,
    key: Text,
    sealed: String,
}

impl SecretFiles {
    /// Opens a folder, which is made if missing, in an existing one.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Unavailable`] if the folder cannot be used, or if others than its owner may use it.
    pub async fn open(folder: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let folder: Arc<Path> = folder.into().into();
        let this = Self { folder };
        this.blocking(|this| {
            make_folder(&this.folder)?;
            check_owner(&this.folder)
        })
        .await?;
        Ok(this)
    }

    /// Runs blocking work on a thread for such work, where it ends even if the future is dropped.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let this = self.clone();
        let gone = |_| StoreError::unavailable("the process is shutting down");
        let work = tokio::task::spawn_blocking(move || work(&this));
        within(async { work.await.map_err(gone)? }).await
    }

    fn container(&self, container: &str) -> PathBuf {
        self.folder.join(hex(&Sha256::digest(container)))
    }

    fn path(&self, container: &str, name: &str) -> PathBuf {
        let file = format!("{}{ENDING}", hex(&Sha256::digest(name)));
        self.container(container).join(file)
    }

    /// Keeps other writers out until the file is dropped.
    fn lock(&self) -> Result<File, StoreError> {
        let path = self.folder.join(".lock");
        let file = own_file().read(true).create(true).truncate(false).open(&path);
        let file = file.map_err(|error| failed(&path, &error))?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(fs::TryLockError::WouldBlock) if begun.elapsed() < WAIT => {
                    std::thread::sleep(PAUSE);
                }
                Err(fs::TryLockError::WouldBlock) => return Err(StoreError::slow(WAIT)),
                Err(fs::TryLockError::Error(error)) => return Err(failed(&path, &error)),
            }
        }
    }

    fn write(&self, row: &SecretRow) -> Result<(), StoreError> {
        let folder = self.container(&row.container);
        make_folder(&folder)?;
        let path = self.path(&row.container, &row.name);
        let file = SecretFile {
            container: row.container.clone(),
            name: row.name.clone(),
            key: row.key.clone(),
            sealed: hex(&row.sealed),
        };
        let json = serde_json::to_vec(&file).map_err(|it| StoreError::corrupt(it.to_string()))?;
        let new = path.with_extension("new");
        let written = own_file().create(true).truncate(true).open(&new).and_then(|mut file| {
            file.write_all(&json)?;
            file.sync_all()?;
            fs::rename(&new, &path)
        });
        written.map_err(|error| failed(&path, &error))?;
        sync_folder(&folder)
    }

    /// Returns the containers, sorted; none if the folder is empty.
    fn containers(&self) -> Result<Vec<PathBuf>, StoreError> {
        let entries = entries(&self.folder)?;
        Ok(entries.into_iter().filter(|path| path.is_dir()).collect())
    }

    /// Returns the rows of the folder of a container.
    fn rows_in(&self, folder: &Path) -> Result<Vec<SecretRow>, StoreError> {
        let mut rows = Vec::new();
        for path in secret_paths(folder)? {
            let Some(row) = read(&path)? else { continue };
            if self.path(&row.container, &row.name) != path {
                return Err(corrupt(&path));
            }
            rows.push(row);
        }
        rows.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(rows)
    }
}

/// Makes a folder that its owner alone may use, if it is missing.
fn make_folder(path: &Path) -> Result<(), StoreError> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(failed(path, &error)),
        _ => Ok(()),
    }
}

/// Refuses a folder that others may use.
fn check_owner(path: &Path) -> Result<(), StoreError> {
    let about = fs::metadata(path).map_err(|error| failed(path, &error))?;
    if !about.is_dir() {
        let reason = format!("{}: expected a folder for secrets", path.display());
        return Err(StoreError::unavailable(reason));
    }
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o077 != 0 {
        let reason = format!("others may use {}; run `chmod 700` on it", path.display());
        return Err(StoreError::unavailable(reason));
    }
    Ok(())
}

/// Writes the entries of a folder to the disk.
fn sync_folder(path: &Path) -> Result<(), StoreError> {
    #[cfg(unix)]
    File::open(path).and_then(|folder| folder.sync_all()).map_err(|error| failed(path, &error))?;
    #[cfg(not(unix))]
    let _has_no_such_call = path;
    Ok(())
}

/// Returns the paths in a folder, sorted; none if it is missing.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let paths = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.and_then(|all| all.map(|entry| Ok(entry?.path())).collect()),
    };
    let mut paths: Vec<PathBuf> = paths.map_err(|error| failed(folder, &error))?;
    paths.sort();
    Ok(paths)
}

/// Returns the paths of the files with secrets in a folder.
fn secret_paths(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut paths = entries(folder)?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    Ok(paths)
}

/// Reads a file; `None` if it is missing.
fn read(path: &Path) -> Result<Option<SecretRow>, StoreError> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.map_err(|error| failed(path, &error))?,
    };
    let mut json = Vec::new();
    file.take(MAX_FILE).read_to_end(&mut json).map_err(|error| failed(path, &error))?;
    let file: SecretFile = serde_json::from_slice(&json).map_err(|_| corrupt(path))?;
    let sealed = bytes(&file.sealed).ok_or_else(|| corrupt(path))?;
    Ok(Some(SecretRow::new(file.container, file.name, file.key, sealed)))
}

/// Reads hexadecimal digits, as [`hex`] writes them; `None` for others.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digit = |sign: u8| match sign {
        b'0'..=b'9' => Some(sign - b'0'),
        b'a'..=b'f' => Some(sign - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let pair = |[high, low]: &[u8; 2]| Some(digit(*high)? << 4 | digit(*low)?);
    rest.is_empty().then(|| pairs.iter().map(pair).collect())?
}

fn failed(path: &Path, error: &std::io::Error) -> StoreError {
    let reason = format!("{}: {error}", path.display());
    let is = |kinds: [ErrorKind; 2]| kinds.contains(&error.kind());
    if is([ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem]) {
        StoreError::read_only(format!("{reason}; allow this process to write there"))
    } else if is([ErrorKind::StorageFull, ErrorKind::QuotaExceeded]) {
        StoreError::full(reason)
    } else {
        StoreError::unavailable(reason)
    }
}

fn corrupt(path: &Path) -> StoreError {
    let path = path.display();
    StoreError::corrupt(format!(
        "{path} is not a file of a secret; remove it, and set the secret again"
    ))
}

impl SecretRows for SecretFiles {
    fn row<'a>(&'a self, container: &'a str, name: &'a str) -> StoreFuture<'a, Option<SecretRow>> {
        let path = self.path(container, name);
        Box::pin(self.blocking(move |_| read(&path)))
    }

    fn put(&self, row: SecretRow, most: usize) -> StoreFuture<'_, bool> {
        Box::pin(self.blocking(move |this| {
            let _lock = this.lock()?;
            let is_known = this.path(&row.container, &row.name).exists();
            if !is_known && secret_paths(&this.container(&row.container))?.len() >= most {
                return Ok(false);
            }
            this.write(&row).map(|()| true)
        }))
    }

    fn replace(&self, old: SecretRow, new: SecretRow) -> StoreFuture<'_, bool> {
        Box::pin(self.blocking(move |this| {
            let _lock = this.lock()?;
            if read(&this.path(&old.container, &old.name))?.as_ref() != Some(&old) {
                return Ok(false);
            }
            this.write(&new).map(|()| true)
        }))
    }

    fn remove<'a>(&'a self, container: &'a str, name: &'a str) -> StoreFuture<'a, bool> {
        let (folder, path) = (self.container(container), self.path(container, name));
        Box::pin(self.blocking(move |this| {
            let _lock = this.lock()?;
            match fs::remove_file(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
                removed => removed.map_err(|error| failed(&path, &error))?,
            }
            sync_folder(&folder).map(|()| true)
        }))
    }

    fn row_names<'a>(&'a self, container: &'a str) -> StoreFuture<'a, Vec<Text>> {
        let folder = self.container(container);
        Box::pin(self.blocking(move |this| {
            Ok(this.rows_in(&folder)?.into_iter().map(|row| row.name).collect())
        }))
    }

    fn rows_of_other_keys<'a>(
        &'a self,
        key: &'a str,
        after: Option<(Text, Text)>,
        most: usize,
    ) -> StoreFuture<'a, Vec<SecretRow>> {
        let key = key.to_owned();
        Box::pin(self.blocking(move |this| {
            let mut rows = Vec::new();
            for folder in this.containers()? {
                rows.extend(this.rows_in(&folder)?);
            }
            let place = |row: &SecretRow| (row.container.clone(), row.name.clone());
            rows.retain(|row| *row.key != *key && after.as_ref().is_none_or(|it| place(row) > *it));
            rows.sort_by_key(place);
            rows.truncate(most);
            Ok(rows)
        }))
    }
}
