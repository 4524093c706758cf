//! The repository's own test data: the files below `testdata/`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use forgeline::llm::Protocol;

/// A response body of our own, in `testdata/bodies/PROTOCOL/`.
#[derive(Debug)]
pub struct OwnBody {
    /// The protocol that the folder is named after.
    pub protocol: Protocol,
    /// The path of the file.
    pub path: PathBuf,
    /// The body itself.
    pub bytes: Vec<u8>,
}

impl OwnBody {
    /// Returns the file's name without its ending, such as `call-no-arguments`.
    ///
    /// # Panics
    ///
    /// Panics when the name is not UTF-8.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.file_stem().unwrap().to_str().unwrap()
    }

    /// Tells a stream of events or lines from a whole answer.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.path.extension().is_some_and(|ending| ending != "json")
    }
}

/// Returns the folder of the test data.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

/// Returns the response bodies, in the order of their paths.
///
/// # Panics
///
/// Panics when a file cannot be read, or its folder is not named after a protocol.
#[must_use]
pub fn bodies() -> Vec<OwnBody> {
    let is_body = |path: &Path| {
        let name = path.to_str().unwrap();
        !name.ends_with(".expected.json") && !name.ends_with(".parts.json")
    };
    let paths = files(&folder().join("bodies")).into_iter().filter(|path| is_body(path));
    let bodies = paths.map(|path| {
        let folder = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let protocol = Protocol::by_name(folder);
        let protocol = protocol.unwrap_or_else(|| panic!("{folder} is not a protocol"));
        OwnBody { protocol, bytes: fs::read(&path).unwrap(), path }
    });
    bodies.collect()
}

/// Returns the files below `folder`, in the order of their paths.
///
/// # Panics
///
/// Panics when a folder cannot be read.
#[must_use]
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}
