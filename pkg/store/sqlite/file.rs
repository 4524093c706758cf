//! The file: its lock, its connections and its version.

use std::{fs::File, io::ErrorKind, path::Path, time::Duration};

use rusqlite::{Connection, OpenFlags};
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, SqliteConnection, SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use super::{
    at_once::AtOnce,
    bounded::WAIT,
    errors,
    schema::{APPLICATION_ID, MIGRATIONS},
    setup::{Durability, SqliteOptions},
};
use crate::StoreError;
use forgeline_types::private::own_file;

/// Maximum wait for a lock of the database.
const BUSY: Duration = Duration::from_secs(5);

/// Maximum number of connections for reading.
const MAX_READERS: u32 = 4;

/// Size of the write-ahead log (WAL) that is kept between commits, in bytes.
const WAL_BYTES: u64 = 64 << 20;

/// Number of WAL pages at which a commit runs a checkpoint itself: if the checkpoint task fell behind, or the WAL could not restart.
const WAL_PAGES: &str = "12000";

/// A lock that keeps other processes out until it is dropped or the process ends.
pub(super) struct Lock(#[expect(dead_code, reason = "it is held")] File);

/// An open file.
pub(super) struct Opened {
    pub(super) writer: SqliteConnection,
    /// The connection for checkpoints.
    pub(super) mover: SqliteConnection,
    pub(super) at_once: AtOnce,
    pub(super) readers: SqlitePool,
    pub(super) lock: Lock,
}

/// Checks whether a file can be opened or created.
pub(super) async fn look(path: &Path) -> Result<(), StoreError> {
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
    known(path).await
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
async fn known(path: &Path) -> Result<(), StoreError> {
    if std::fs::metadata(path).is_ok_and(|file| file.len() > 0) {
        let mut reader = base(path).read_only(true).connect().await.map_err(errors::of)?;
        version(&mut reader).await?;
        reader.close().await.map_err(errors::of)?;
    }
    Ok(())
}

/// Opens the file, and migrates it to the newest version.
pub(super) async fn open(options: &SqliteOptions) -> Result<Opened, StoreError> {
    let path = &options.path;
    named(path)?;
    let lock = lock(path)?;
    // A file of another program is left unchanged, including its journal mode.
    known(path).await?;
    made(path)?;
    let synchronous = match options.durability {
        Durability::Process => SqliteSynchronous::Normal,
        Durability::Power => SqliteSynchronous::Full,
    };
    let writing = base(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(synchronous)
        .pragma("wal_autocheckpoint", WAL_PAGES)
        .pragma("journal_size_limit", WAL_BYTES.to_string())
        // Deleted data is overwritten with zeros.
        .pragma("secure_delete", "ON");
    let mut writer = writing.connect().await.map_err(errors::of)?;
    migrate(&mut writer).await?;
    let mover = writing.connect().await.map_err(errors::of)?;
    let mut max_pages = None;
    if let Some(bytes) = options.max_bytes {
        let page: i64 = scalar(&mut writer, "PRAGMA page_size").await?;
        let pages = (bytes / u64::try_from(page).unwrap_or(4_096).max(1)).max(1);
        let limit = format!("PRAGMA max_page_count = {pages}");
        let set = sqlx::query(AssertSqlSafe(limit)).execute(&mut writer).await;
        set.map_err(errors::of)?;
        max_pages = Some(pages);
    }
    let at_once = match options.durability {
        Durability::Process => Some(connect(path, max_pages).map_err(|error| {
            let reason = format!("{}: {error}", path.display());
            StoreError::Unavailable { reason }
        })?),
        Durability::Power => None,
    };
    let at_once = AtOnce::new(at_once);
    // Connections for reading never create or change the file.
    let reading = base(path).pragma("query_only", "1");
    let pool = SqlitePoolOptions::new().max_connections(MAX_READERS).acquire_timeout(WAIT);
    let readers = pool.connect_with(reading).await.map_err(errors::of)?;
    Ok(Opened { writer, mover, at_once, readers, lock })
}

/// Opens a connection for appends on runtime threads: it waits for no lock and runs no checkpoints.
fn connect(path: &Path, max_pages: Option<u64>) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::ZERO)?;
    connection.execute_batch(&format!(
        "PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON; \
         PRAGMA journal_size_limit = {WAL_BYTES}"
    ))?;
    if let Some(pages) = max_pages {
        connection.execute_batch(&format!("PRAGMA max_page_count = {pages}"))?;
    }
    Ok(connection)
}

fn base(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(BUSY)
        .foreign_keys(false)
        .thread_name(|number| format!("forgeline-sqlite-{number}"))
        .disable_statement_logging()
}

/// Runs a checkpoint and empties the WAL, which contains data deleted since; returns `false` if a reader prevents it.
pub(super) async fn purge(path: &Path) -> Result<bool, StoreError> {
    let mut connection = base(path).connect().await.map_err(errors::of)?;
    let purged = async {
        // Most is moved while others write; the rest blocks the writer.
        sqlx::raw_sql("PRAGMA wal_checkpoint(PASSIVE)").execute(&mut connection).await?;
        let truncate = sqlx::query_scalar::<_, i64>("PRAGMA wal_checkpoint(TRUNCATE)");
        truncate.fetch_one(&mut connection).await
    };
    let is_busy = purged.await.map_err(errors::of)?;
    connection.close().await.map_err(errors::of)?;
    Ok(is_busy == 0)
}

/// Rewrites the file, including its WAL, so that nothing is left of deleted data.
pub(super) async fn compact(path: &Path) -> Result<(), StoreError> {
    let mut connection = base(path).connect().await.map_err(errors::of)?;
    let done = sqlx::raw_sql("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection);
    done.await.map_err(errors::of)?;
    connection.close().await.map_err(errors::of)
}

/// Locks the file against other processes: two processes that resume the same runs would run their tools twice.
fn lock(path: &Path) -> Result<Lock, StoreError> {
    let mut beside = path.as_os_str().to_owned();
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
        Ok(()) => Ok(Lock(file)),
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

async fn scalar(connection: &mut SqliteConnection, sql: &'static str) -> Result<i64, StoreError> {
    sqlx::query_scalar(sql).fetch_one(connection).await.map_err(errors::of)
}

/// Returns the version of the file; 0 if it has no tables.
async fn version(connection: &mut SqliteConnection) -> Result<usize, StoreError> {
    let tables = scalar(connection, "SELECT count(*) FROM sqlite_schema").await?;
    if tables == 0 {
        return Ok(0);
    }
    let mark = scalar(connection, "PRAGMA application_id").await?;
    if mark != APPLICATION_ID {
        let reason = "the file is a database of another program; use another file".to_owned();
        return Err(StoreError::Corrupt { reason });
    }
    let version = scalar(connection, "PRAGMA user_version").await?;
    let known = usize::try_from(version).ok().filter(|version| *version <= MIGRATIONS.len());
    known.ok_or(StoreError::Newer {
        found: u64::try_from(version).unwrap_or_default(),
        own: MIGRATIONS.len() as u64,
    })
}

async fn migrate(writer: &mut SqliteConnection) -> Result<(), StoreError> {
    let from = version(writer).await?;
    for (at, migration) in MIGRATIONS.iter().enumerate().skip(from) {
        let mark = format!(
            "BEGIN IMMEDIATE; {migration} PRAGMA application_id = {APPLICATION_ID}; \
             PRAGMA user_version = {}; COMMIT;",
            at + 1
        );
        // A migration is applied completely or not at all.
        let done = sqlx::raw_sql(AssertSqlSafe(mark)).execute(&mut *writer).await;
        done.map_err(errors::of)?;
    }
    Ok(())
}
