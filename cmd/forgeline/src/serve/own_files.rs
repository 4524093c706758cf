//! The files of the service itself, which no tool may reach.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// The endings of the files that `SQLite` and the store keep beside a database.
const BESIDE_DATABASE: [&str; 4] = ["-wal", "-shm", "-journal", ".lock"];

/// Maximum number of links followed to a file.
const MAX_LINKS: usize = 40;

/// Returns the files of the service: those that these paths name, what belongs to a database, and a file into which the log goes.
pub(super) fn own_files<'p>(
    named: impl IntoIterator<Item = &'p Path>,
    database: Option<&Path>,
) -> Vec<PathBuf> {
    let mut files: Vec<_> = named.into_iter().map(Path::to_owned).collect();
    if let Some(database) = database {
        // The files beside it are those of the file itself, to which links may lead.
        let itself = link_target(database);
        files.extend([database, &itself].into_iter().flat_map(files_of_database));
    }
    files.extend(["/dev/stdout", "/dev/stderr"].iter().filter_map(|stream| log_file(stream)));
    files
}

fn files_of_database(database: &Path) -> impl Iterator<Item = PathBuf> {
    let beside = BESIDE_DATABASE.into_iter().map(move |ending| {
        let mut name = OsString::from(database);
        name.push(ending);
        PathBuf::from(name)
    });
    std::iter::once(database.to_owned()).chain(beside)
}

/// Returns the path to which the links at a path lead, which need not exist.
fn link_target(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(target) = path.read_link() else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    path
}

/// Returns the file that this stream of the process writes to, if it is one.
fn log_file(stream: &str) -> Option<PathBuf> {
    let file = Path::new(stream).canonicalize().ok()?;
    file.is_file().then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rows: N-60
    #[cfg(unix)]
    #[test]
    fn what_is_beside_a_database_is_beside_the_file_that_links_lead_to() {
        use std::{fs, os::unix::fs::symlink};

        let folder = std::env::temp_dir().join(format!("forgeline-beside-{}", std::process::id()));
        let at = |name: &str| folder.join(name);
        fs::create_dir_all(at("data")).unwrap();
        symlink("data/real.db", at("link.db")).unwrap();
        symlink(at("link.db"), at("again.db")).unwrap();
        symlink("round.db", at("round.db")).unwrap();
        // The file of the last link does not exist yet.
        let files = own_files([Path::new("tokens.txt")], Some(&at("again.db")));
        for ending in ["", "-wal", "-shm", "-journal", ".lock"] {
            for name in ["again.db", "data/real.db"] {
                let want = at(&format!("{name}{ending}"));
                assert!(files.contains(&want), "{} is not in {files:?}", want.display());
            }
        }
        assert!(files.contains(&PathBuf::from("tokens.txt")));
        assert!(own_files([], Some(&at("round.db"))).contains(&at("round.db")));
        fs::remove_dir_all(&folder).unwrap();
    }
}
