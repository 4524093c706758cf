//! A journal in a file.

use std::{
    fs::{DirBuilder, File},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::{sync::Mutex, task::spawn_blocking};

use super::{Journal, JournalEntry, JournalError, JournalFuture, JournalLine};
use forgeline_types::private::own_file;

/// Maximum file size, in bytes: a larger file is neither written nor read.
const MAX_BYTES: u64 = 256 << 20;

/// A journal in a file that only its owner can read: JSON lines, appended.
///
/// The file, and its folder if that alone is missing, are created with the first use, for their owner only. A line counts as stored once the operating system has
/// accepted it: the line survives the end of the process, but survives a power failure only if the
/// system has written it to disk by then. An incomplete line left by a killed process is dropped.
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{agent::{Agent, journal::FileJournal}, llm::demo::DemoProvider};
///
/// let journal = FileJournal::new("conversation.jsonl");
/// let agent = Agent::builder(DemoProvider::new()).build()?;
/// let conversation = agent.conversation().with_journal(journal);
/// // Goes on with the conversation of the file, and with the run that had not ended.
/// conversation.resume().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct FileJournal {
    path: Arc<Path>,
    /// The file, once it is open. A task that is writing holds the lock, even if its future is dropped.
    file: Arc<Mutex<Option<OpenFile>>>,
}

/// The open file of a journal.
#[derive(Debug)]
struct OpenFile {
    file: File,
    /// The length of the complete lines, in bytes.
    length: u64,
    /// The maximum number of bytes after them that belong to an incomplete line.
    torn: u64,
}

impl FileJournal {
    /// Returns the journal in the file at `path`, which need not exist. Nothing is read or written yet.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into().into(), file: Arc::default() }
    }

    /// Runs `work` on the open file, on a thread that may block on a disk.
    fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut OpenFile) -> io::Result<T> + Send + 'static,
    ) -> JournalFuture<T> {
        let (path, file) = (Arc::clone(&self.path), Arc::clone(&self.file));
        Box::pin(async move {
            let mut file = file.lock_owned().await;
            let shown = path.display().to_string();
            let work = move || match &mut *file {
                Some(open) => work(open),
                closed => work(closed.insert(OpenFile::at(&path)?)),
            };
            let done = spawn_blocking(work).await.map_err(io::Error::other).flatten();
            done.map_err(|error| JournalError::new(format!("the journal {shown}: {error}")))
        })
    }
}

/// Creates a folder, in one that exists, that only its owner can enter.
fn create_own_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        // Another journal of the folder was first.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}

impl OpenFile {
    fn at(path: &Path) -> io::Result<Self> {
        let open = || own_file().read(true).append(true).create(true).open(path);
        let file = match (open(), path.parent()) {
            (Err(error), Some(folder)) if error.kind() == io::ErrorKind::NotFound => {
                create_own_folder(folder)?;
                open()?
            }
            (opened, _) => opened?,
        };
        let mut open = Self { file, length: 0, torn: 0 };
        open.read()?;
        Ok(open)
    }

    /// Reads the complete lines.
    fn read(&mut self) -> io::Result<Vec<String>> {
        let length = self.file.metadata()?.len();
        if length > MAX_BYTES {
            return Err(too_long(length));
        }
        self.file.seek(SeekFrom::Start(0))?;
        let mut bytes = Vec::new();
        (&self.file).take(MAX_BYTES).read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.torn = (bytes.len() - whole) as u64;
        bytes.truncate(whole);
        self.length = whole as u64;
        let text = String::from_utf8(bytes).map_err(io::Error::other)?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    fn append(&mut self, mut line: String) -> io::Result<()> {
        let end = self.file.metadata()?.len();
        if !(self.length..=self.length.saturating_add(self.torn)).contains(&end) {
            return Err(io::Error::other("another process has written to it"));
        }
        if end > self.length {
            self.file.set_len(self.length)?;
        }
        line.push('\n');
        let length = self.length.saturating_add(line.len() as u64);
        if length > MAX_BYTES {
            return Err(too_long(length));
        }
        self.torn = line.len() as u64;
        self.file.write_all(line.as_bytes())?;
        self.torn = 0;
        self.length = length;
        Ok(())
    }
}

fn too_long(length: u64) -> io::Error {
    io::Error::other(format!("{length} bytes are more than {MAX_BYTES}"))
}

impl Journal for FileJournal {
    fn append(&self, entry: &JournalEntry) -> JournalFuture<()> {
        let line = entry.to_string();
        self.with(move |open| open.append(line))
    }

    fn read(&self) -> JournalFuture<Vec<JournalLine>> {
        self.with(|open| Ok(open.read()?.into_iter().map(JournalLine::new).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_beyond_the_file_limit_is_refused() {
        let path = std::env::temp_dir().join(format!("forgeline-long-{}", std::process::id()));
        let mut open = OpenFile::at(&path).unwrap();
        open.length = MAX_BYTES - 4;
        open.file.set_len(open.length).unwrap();
        let error = open.append("four".to_owned()).unwrap_err().to_string();
        assert_eq!(error, "268435457 bytes are more than 268435456");
        open.append("two".to_owned()).unwrap();
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn the_folder_is_made_and_those_above_it_are_not() {
        let folder = std::env::temp_dir().join(format!("forgeline-folder-{}", std::process::id()));
        let error = OpenFile::at(&folder.join("deep/a.jsonl")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        for name in ["a.jsonl", "b.jsonl"] {
            OpenFile::at(&folder.join(name)).unwrap().append("one".to_owned()).unwrap();
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(&folder).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_line_that_another_process_is_writing_is_not_cut() {
        let path = std::env::temp_dir().join(format!("forgeline-torn-{}", std::process::id()));
        let mut other = own_file().append(true).create(true).open(&path).unwrap();
        other.write_all(b"one\ntw").unwrap();
        let mut open = OpenFile::at(&path).unwrap();
        other.write_all(b"o\n").unwrap();
        let error = open.append("three".to_owned()).unwrap_err().to_string();
        assert_eq!(error, "another process has written to it");
        other.write_all(b"thr").unwrap();
        assert_eq!(open.read().unwrap(), ["one", "two"]);
        open.append("three".to_owned()).unwrap();
        assert_eq!(open.read().unwrap(), ["one", "two", "three"], "what is torn is dropped");
        std::fs::remove_file(path).unwrap();
    }
}
