//! The tokens file of a service that runs, which is read again when it changes.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::{Duration, SystemTime},
};

use axum::http::request::Parts;
use forgeline::{
    agent::Caller,
    server::{Identify, Problem, Tokens},
};
use tokio::{task::spawn_blocking, time::sleep};

use super::{
    hangup::HangupSignal,
    tokens::{read_any_tokens, read_tokens},
};

/// The time between two looks at the file.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The callers of a tokens file. Clones refer to the same callers.
#[derive(Debug, Clone)]
pub(super) struct TokenFile(Arc<TokenFileState>);

#[derive(Debug)]
struct TokenFileState {
    path: PathBuf,
    tokens: RwLock<Tokens>,
    versions: Mutex<SeenVersions>,
}

/// The facts that distinguish two versions of a file without reading it; `None` for a file that does not exist.
type FileVersion = Option<(SystemTime, u64, u64)>;

#[derive(Debug)]
struct SeenVersions {
    /// The one whose tokens are in force, or that cannot be used.
    read: FileVersion,
    /// The one that the last look saw.
    seen: FileVersion,
}

impl TokenFile {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// All that is wrong with it, a line each. No token is in them.
    pub(super) fn open(path: PathBuf) -> Result<Self, Vec<String>> {
        let read = version(&path);
        let tokens = RwLock::new(read_tokens(&path)?);
        let versions = Mutex::new(SeenVersions { read, seen: read });
        Ok(Self(Arc::new(TokenFileState { path, tokens, versions })))
    }

    /// Reads the file again when it changes, and when a signal asks for it.
    pub(super) async fn follow(self, mut hangups: HangupSignal) {
        loop {
            let is_asked = tokio::select! {
                () = hangups.next() => true,
                () = sleep(LOOK_EVERY) => false,
            };
            let this = self.clone();
            if spawn_blocking(move || this.look(is_asked)).await.is_err() {
                tracing::error!("the tokens file could not be looked at");
            }
        }
    }

    /// Reads the file again if it has changed and is not being written, or if it is asked to; of a file that cannot be used the earlier tokens stay.
    fn look(&self, is_asked: bool) {
        let mut versions = self.0.versions.lock().unwrap_or_else(PoisonError::into_inner);
        let now = version(&self.0.path);
        let is_new = now != versions.read && now == versions.seen;
        versions.seen = now;
        if !is_asked && !is_new {
            return;
        }
        versions.read = now;
        match read_any_tokens(&self.0.path) {
            Ok(tokens) => {
                let count = tokens.len();
                *self.0.tokens.write().unwrap_or_else(PoisonError::into_inner) = tokens;
                tracing::info!(tokens = count, "the tokens file was read again");
                if count == 0 {
                    tracing::warn!("the tokens file has no tokens any more: no caller is let in");
                }
            }
            Err(wrong) => {
                let wrong = wrong.join("; ");
                tracing::warn!(%wrong, "the tokens file cannot be used; the tokens read before stay");
            }
        }
    }
}

impl Identify for TokenFile {
    fn identify(&self, parts: &Parts) -> Result<Caller, Problem> {
        self.0.tokens.read().unwrap_or_else(PoisonError::into_inner).identify(parts)
    }
}

fn version(path: &Path) -> FileVersion {
    let file = fs::metadata(path).ok()?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&file);
    #[cfg(not(unix))]
    let number = 0;
    Some((file.modified().ok()?, file.len(), number))
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;

    fn line(token: &str, caller: &str) -> String {
        let digest = Sha256::digest(token);
        let digits: Vec<_> = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("sha256:{} {caller}\n", digits.concat())
    }

    fn is_in(file: &TokenFile, token: &str) -> bool {
        let request = axum::http::Request::builder();
        let request = request.header("authorization", format!("Bearer {token}")).body(()).unwrap();
        file.identify(&request.into_parts().0).is_ok()
    }

    // Rows: N-64
    #[test]
    fn a_tokens_file_is_read_again_once_it_was_written() {
        let folder = std::env::temp_dir().join(format!("forgeline-tokens-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("tokens.txt");
        let (ann, bob) = (line("one", "ann"), line("second", "bob"));
        fs::write(&path, &ann).unwrap();
        let file = TokenFile::open(path.clone()).unwrap();
        assert_eq!((is_in(&file, "one"), is_in(&file, "second")), (true, false));
        // What is being written is left alone until it stays as it is.
        fs::write(&path, format!("{ann}{bob}")).unwrap();
        file.look(false);
        assert!(!is_in(&file, "second"));
        file.look(false);
        assert_eq!((is_in(&file, "one"), is_in(&file, "second")), (true, true));
        // One that is asked for is read at once; what cannot be used leaves the callers as they were.
        fs::write(&path, format!("{bob}nonsense\n")).unwrap();
        file.look(true);
        assert_eq!((is_in(&file, "one"), is_in(&file, "second")), (true, true));
        fs::remove_file(&path).unwrap();
        file.look(true);
        assert!(is_in(&file, "one"));
        // A file in place of another, and one without tokens.
        fs::write(folder.join("next.txt"), &bob).unwrap();
        fs::rename(folder.join("next.txt"), &path).unwrap();
        file.look(true);
        assert_eq!((is_in(&file, "one"), is_in(&file, "second")), (false, true));
        fs::write(&path, "# none\n").unwrap();
        file.look(true);
        assert_eq!((is_in(&file, "one"), is_in(&file, "second")), (false, false));
        assert!(TokenFile::open(path).unwrap_err()[0].contains("forgeline token"));
        fs::remove_dir_all(folder).unwrap();
    }
}
