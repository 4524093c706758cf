//! Tokens in files of the user.

use std::{
    fs::{self, TryLockError},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use forgeline_llm::http::Secret;
use futures_core::future::BoxFuture;
use ring::digest::{SHA256, digest};

use super::{
    mcp_logins::McpLoginError,
    token_store::{TokenLock, TokenStore},
};
use forgeline_types::private::own_file;

/// Maximum size of a token file, in bytes.
const MAX_TOKENS_BYTES: u64 = 64 << 10;

/// The pause before another attempt at a lock that another program holds.
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// The number of files that this process has written.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// A store of tokens in a folder that only the user can read, with one file per server.
///
/// The folder is created with the first login. Files are replaced as a whole. A file that others can read is refused. While tokens are renewed, a file
/// next to them is locked, so that programs of the same user wait for each other.
///
/// # Examples
///
/// ```
/// use forgeline::agent::mcp::FileTokens;
///
/// let tokens = FileTokens::new("/home/me/.config/forgeline/mcp");
/// assert_eq!(tokens.folder().to_str(), Some("/home/me/.config/forgeline/mcp"));
/// ```
#[derive(Debug, Clone)]
pub struct FileTokens(PathBuf);

impl FileTokens {
    /// Creates a store below this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// Returns the store of this user: `forgeline/mcp` below `$XDG_CONFIG_HOME`, `~/.config` or `%APPDATA%`; `None` if there is no such folder.
    #[must_use]
    pub fn of_user() -> Option<Self> {
        let named =
            |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = named("XDG_CONFIG_HOME")
            .or_else(|| named("HOME").map(|home| home.join(".config")))
            .or_else(|| named("APPDATA"))
            .filter(|folder| folder.is_absolute())?;
        Some(Self(folder.join("forgeline").join("mcp")))
    }

    /// Returns the folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Returns the file of a server, whose name does not reveal the URL.
    fn file(&self, server: &str) -> PathBuf {
        let digest = digest(&SHA256, server.as_bytes());
        let name = digest.as_ref().iter().take(16).map(|byte| format!("{byte:02x}"));
        self.0.join(name.collect::<String>() + ".json")
    }
}

impl TokenStore for FileTokens {
    fn load(&self, server: &str) -> BoxFuture<'static, Result<Option<Secret>, McpLoginError>> {
        let path = self.file(server);
        in_background(move || (read_secret(&path).map_err(|error| (path, error)), "read"))
    }

    fn save(
        &self,
        server: &str,
        tokens: Option<Secret>,
    ) -> BoxFuture<'static, Result<(), McpLoginError>> {
        let (folder, path) = (self.0.clone(), self.file(server));
        in_background(move || {
            let done = match tokens {
                Some(tokens) => write(&folder, &path, tokens.expose()),
                None => match fs::remove_file(&path) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                    done => done,
                },
            };
            (done.map_err(|error| (path, error)), "written")
        })
    }

    fn lock(&self, server: &str) -> BoxFuture<'static, Result<TokenLock, McpLoginError>> {
        let path = self.file(server).with_extension("lock");
        Box::pin(async move {
            let opened = path.clone();
            let lock = in_background(move || {
                let lock = own_file().create(true).truncate(false).open(&opened);
                (lock.map_err(|error| (opened, error)), "locked")
            });
            let lock = lock.await?;
            loop {
                match lock.try_lock() {
                    Ok(()) => return Ok(TokenLock::of(lock)),
                    Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_PAUSE).await,
                    Err(TryLockError::Error(error)) => {
                        let path = path.display();
                        let message = format!("the tokens in {path} cannot be locked: {error}");
                        return Err(McpLoginError::new(message));
                    }
                }
            }
        })
    }
}

/// Runs blocking file operations outside of the async tasks.
fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> (Result<T, (PathBuf, io::Error)>, &'static str) + Send + 'static,
) -> BoxFuture<'static, Result<T, McpLoginError>> {
    Box::pin(async move {
        let done = tokio::task::spawn_blocking(work).await;
        let (done, what) = done.map_err(|_| McpLoginError::new("the tokens cannot be reached"))?;
        done.map_err(|(path, error)| {
            let path = path.display();
            McpLoginError::new(format!("the tokens in {path} cannot be {what}: {error}"))
        })
    })
}

fn read_secret(path: &Path) -> io::Result<Option<Secret>> {
    let file = match fs::File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&file.metadata()?.permissions()) & 0o077 != 0 {
        return Err(io::Error::other("other users may read it; remove it, or set its mode to 600"));
    }
    let mut text = String::new();
    file.take(MAX_TOKENS_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_TOKENS_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(Some(text.into()))
}

/// Writes a file that only the user can read, either completely or not at all.
fn write(folder: &Path, path: &Path, text: &str) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let beside = path.with_extension(format!("{}-{number}.tmp", std::process::id()));
    let fill = |mut file: fs::File| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    let written = own_file()
        .create_new(true)
        .open(&beside)
        .and_then(fill)
        .and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // A leftover temporary file is useless to everyone.
        let _removed = fs::remove_file(&beside);
    }
    written
}
