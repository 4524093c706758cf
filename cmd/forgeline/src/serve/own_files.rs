//! The files of the service itself, which no tool may reach.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// The endings of the files that `SQLite` keeps beside a database.
const BESIDE_DATABASE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Returns the files of the service: those that these paths name, what belongs to a database, and a file into which the log goes.
pub(super) fn own_files<'p>(
    named: impl IntoIterator<Item = &'p Path>,
    database: Option<&Path>,
) -> Vec<PathBuf> {
    let mut files: Vec<_> = named.into_iter().map(Path::to_owned).collect();
    if let Some(database) = database {
        files.push(database.to_owned());
        files.extend(BESIDE_DATABASE.map(|ending| {
            let mut name = OsString::from(database);
            name.push(ending);
            PathBuf::from(name)
        }));
    }
    files.extend(["/dev/stdout", "/dev/stderr"].iter().filter_map(|stream| log_file(stream)));
    files
}

/// Returns the file that this stream of the process writes to, if it is one.
fn log_file(stream: &str) -> Option<PathBuf> {
    let file = Path::new(stream).canonicalize().ok()?;
    file.is_file().then_some(file)
}
