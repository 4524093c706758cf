//! The file: its lock, its connections and its version.

use std::{
    fs::File,
    io::ErrorKind,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};

use super::{
    errors::store_error,
    schema::{APPLICATION_ID, MIGRATIONS},
    setup::{Durability, SqliteOptions},
    statements::integer,
};
use crate::StoreError;
use forgeline_types::private::own_file;

/// Maximum wait for a lock of the database.
const BUSY: Duration = Duration::from_secs(5);

/// Size of the write-ahead log (WAL) that is kept between commits, in bytes.
const WAL_BYTES: u64 = 64 << 20;

/// Number of WAL pages at which a commit runs a checkpoint itself: if the checkpoint task fell behind, or the WAL could not restart.
const WAL_PAGES: u32 = 12_000;

/// Maximum number of statements that a connection keeps prepared.
const MAX_STATEMENTS: usize = 128;

/// A lock that keeps other processes out until it is dropped or the process ends.
pub(super) struct FileLock(#[expect(dead_code, reason = "it is held")] File);

/// The connections for writing.
pub(super) struct WriteConnections {
    pub(super) writer: Connection,
    /// The connection for checkpoints.
    pub(super) mover: Connection,
    /// The connection for appends on runtime threads; `None` if each commit waits for the disk.
    pub(super) direct: Option<Connection>,
}

/// Checks whether a file can be opened or created.
pub(super) fn look(path: &Path) -> Result<(), StoreError> {
    named(path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let place = if path.exists() { path } else { folder };
    match std::fs::metadata(place) {
        Err(error) => {
            let reason = format!("{}: {error}", place.display());
            return Err(StoreError::Unavailable { reason });
        }
        Ok(found) if found.permissions().readonly() => {
            let reason = format!("{}: it is read-only", place.display());
            return Err(StoreError::ReadOnly { reason });
        }
        Ok(found) if found.is_dir() != (place == folder) => {
            let reason = format!("{}: expected a file in a folder", path.display());
            return Err(StoreError::Unavailable { reason });
        }
        Ok(_) => {}
    }
    check_names(path)?;
    known(path)
}

/// Refuses paths for which `SQLite` gives each connection a database of its own, without the tables of the others.
fn named(path: &Path) -> Result<(), StoreError> {
    if path.as_os_str().is_empty() || path == Path::new(":memory:") {
        let reason = format!(
            "expected the path of a file for the database, not {:?}; `Stores::in_memory` keeps data in memory",
            path.display().to_string()
        );
        return Err(StoreError::Unavailable { reason });
    }
    Ok(())
}

/// Creates the file if missing, readable by its owner only; files that `SQLite` adds get the same permissions.
fn made(path: &Path) -> Result<(), StoreError> {
    match own_file().create_new(true).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => {
            let reason = format!("{}: {error}", path.display());
            Err(StoreError::Unavailable { reason })
        }
    }
}

/// Checks the version of an existing file.
fn known(path: &Path) -> Result<(), StoreError> {
    if std::fs::metadata(path).is_ok_and(|file| file.len() > 0) {
        version(&connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?)?;
    }
    Ok(())
}

/// Opens the file for writing, and migrates it to the newest version.
pub(super) fn open(options: &SqliteOptions) -> Result<(WriteConnections, FileLock), StoreError> {
    let path = &options.path;
    named(path)?;
    let lock = lock(path)?;
    check_names(path)?;
    // A file of another program is left unchanged, including its journal mode.
    known(path)?;
    made(path)?;
    let synchronous = match options.durability {
        Durability::Process => "NORMAL",
        Durability::Power => "FULL",
    };
    // Deleted data is overwritten with zeros.
    let mut pragmas = format!(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}; \
         PRAGMA journal_size_limit = {WAL_BYTES}; PRAGMA secure_delete = ON;"
    );
    let writer = open_writer(path, BUSY, WAL_PAGES, &pragmas)?;
    migrate(&writer)?;
    let mover = open_writer(path, BUSY, WAL_PAGES, &pragmas)?;
    if let Some(bytes) = options.max_bytes {
        let page = integer(&writer, "PRAGMA page_size", [])?;
        let pages = (bytes / u64::try_from(page).unwrap_or(4_096).max(1)).max(1);
        let limit = format!("PRAGMA max_page_count = {pages};");
        writer.execute_batch(&limit).map_err(store_error)?;
        pragmas.push_str(&limit);
    }
    // It waits for no lock and runs no checkpoints.
    let direct = match options.durability {
        Durability::Process => Some(open_writer(path, Duration::ZERO, 0, &pragmas)?),
        Durability::Power => None,
    };
    Ok((WriteConnections { writer, mover, direct }, lock))
}

/// Opens a connection for writing, which waits for a lock and runs a checkpoint after this number of pages.
fn open_writer(
    path: &Path,
    busy: Duration,
    wal_pages: u32,
    pragmas: &str,
) -> Result<Connection, StoreError> {
    let connection = open_file(path)?;
    connection.busy_timeout(busy).map_err(store_error)?;
    let pragmas = format!("{pragmas} PRAGMA wal_autocheckpoint = {wal_pages}");
    connection.execute_batch(&pragmas).map_err(store_error)?;
    Ok(connection)
}

/// Opens a connection that neither creates nor changes the file.
pub(super) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    let connection = open_file(path)?;
    connection.execute_batch("PRAGMA query_only = 1").map_err(store_error)?;
    Ok(connection)
}

fn open_file(path: &Path) -> Result<Connection, StoreError> {
    connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    // Without `SQLITE_OPEN_URI`, each path is the name of a file.
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(store_error)?;
    connection.busy_timeout(BUSY).map_err(store_error)?;
    connection.set_prepared_statement_cache_capacity(MAX_STATEMENTS);
    Ok(connection)
}

/// Runs a checkpoint and empties the WAL, which contains data deleted since; returns `false` if a reader prevents it.
pub(super) fn purge(path: &Path) -> Result<bool, StoreError> {
    let connection = open_file(path)?;
    // Most is moved while others write; the rest blocks the writer.
    integer(&connection, "PRAGMA wal_checkpoint(PASSIVE)", [])?;
    let is_busy = integer(&connection, "PRAGMA wal_checkpoint(TRUNCATE)", [])?;
    Ok(is_busy == 0)
}

/// Rewrites the file, including its WAL, so that nothing is left of deleted data.
pub(super) fn compact(path: &Path) -> Result<(), StoreError> {
    let rewrite = "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)";
    open_file(path)?.execute_batch(rewrite).map_err(store_error)
}

/// Returns the path of the file itself, without links; a file that does not exist yet is in the folder itself.
fn real_path(path: &Path) -> PathBuf {
    let real = path.canonicalize().or_else(|_| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize()?;
        Ok::<_, std::io::Error>(folder.join(path.file_name().unwrap_or_default()))
    });
    real.unwrap_or_else(|_| path.to_owned())
}

/// Refuses a file with another name (a hard link): `SQLite` keeps the newest writes in a file that is called like the database, so that those of two names
/// would not see each other and damage the file.
fn check_names(path: &Path) -> Result<(), StoreError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let names = std::fs::metadata(path).map_or(1, |file| file.nlink());
        if names > 1 {
            let reason = format!(
                "{}: the file has {names} names (hard links), which damages databases; remove the others, or use a copy",
                path.display()
            );
            return Err(StoreError::Unavailable { reason });
        }
    }
    #[cfg(not(unix))]
    let _only_one_name = path;
    Ok(())
}

/// Locks the file against other processes, whatever link leads to it: two processes that resume the same runs would run their tools twice.
fn lock(path: &Path) -> Result<FileLock, StoreError> {
    let mut beside = real_path(path).into_os_string();
    beside.push(".lock");
    let failed = |error: &std::io::Error| StoreError::Unavailable {
        reason: format!("{}: {error}", Path::new(&beside).display()),
    };
    let options = own_file().read(true).create(true).truncate(false).open(&beside);
    let file = match options {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            let reason = format!("{}: {error}; allow this process to write there", path.display());
            return Err(StoreError::ReadOnly { reason });
        }
        file => file.map_err(|error| failed(&error))?,
    };
    match file.try_lock() {
        Ok(()) => Ok(FileLock(file)),
        Err(std::fs::TryLockError::WouldBlock) => {
            let reason = format!(
                "another process has {} open; stop it, or use another file",
                path.display()
            );
            Err(StoreError::Unavailable { reason })
        }
        Err(std::fs::TryLockError::Error(error)) => Err(failed(&error)),
    }
}

/// Returns the version of the file; 0 if it has no tables.
fn version(connection: &Connection) -> Result<usize, StoreError> {
    if integer(connection, "SELECT count(*) FROM sqlite_schema", [])? == 0 {
        return Ok(0);
    }
    if integer(connection, "PRAGMA application_id", [])? != APPLICATION_ID {
        let reason = "the file is a database of another program; use another file".to_owned();
        return Err(StoreError::Corrupt { reason });
    }
    let version = integer(connection, "PRAGMA user_version", [])?;
    let known = usize::try_from(version).ok().filter(|version| *version <= MIGRATIONS.len());
    known.ok_or(StoreError::Newer {
        found: u64::try_from(version).unwrap_or_default(),
        own: MIGRATIONS.len() as u64,
    })
}

fn migrate(writer: &Connection) -> Result<(), StoreError> {
    let from = version(writer)?;
    for (at, migration) in MIGRATIONS.iter().enumerate().skip(from) {
        // A migration is applied completely or not at all.
        let whole = format!(
            "BEGIN IMMEDIATE; {migration} PRAGMA application_id = {APPLICATION_ID}; \
             PRAGMA user_version = {}; COMMIT;",
            at + 1
        );
        writer.execute_batch(&whole).map_err(store_error)?;
    }
    Ok(())
}
