//! A disk that is small enough to be filled: a file system in memory, which only root may mount (Linux).

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

/// Keeps the disk until this process ends, however it does. Arguments: the folder.
const GUARD: &str = r#"trap '' HUP INT TERM; cat >/dev/null; umount -l "$1"; rmdir "$1""#;

/// Bytes that are written at a time.
const PIECE: usize = 4096;

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A small disk of its own; dropping it removes it.
#[derive(Debug)]
pub struct SmallDisk {
    folder: PathBuf,
    guard: Child,
}

impl SmallDisk {
    /// Mounts a disk with this number of megabytes.
    ///
    /// Returns `None` and prints the reason where that is not allowed.
    ///
    /// # Panics
    ///
    /// Panics when its folder cannot be made, or has no guard.
    #[must_use]
    pub fn mount(megabytes: usize) -> Option<Self> {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("forgeline-disk-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={megabytes}m,mode=0777"), "tmpfs"]);
        let mounted = mount.arg(&folder).stderr(Stdio::null()).status();
        if !mounted.is_ok_and(|status| status.success()) {
            drop(fs::remove_dir(&folder));
            crate::say("not run: a full disk; only root may mount a small one, on Linux");
            return None;
        }
        let mut guard = Command::new("sh");
        guard.args(["-c", GUARD, "sh"]).arg(&folder).stdin(Stdio::piped()).stderr(Stdio::null());
        let guard = guard.spawn().unwrap();
        Some(Self { folder, guard })
    }

    /// Returns its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Fills it, down to the last byte.
    ///
    /// # Panics
    ///
    /// Panics when it cannot be written for another reason than that it is full.
    pub fn fill(&self) {
        let mut file = File::options().create(true).append(true).open(self.filler()).unwrap();
        loop {
            if let Err(error) = file.write_all(&[0; PIECE]) {
                assert_eq!(error.kind(), std::io::ErrorKind::StorageFull, "{error}");
                return;
            }
        }
    }

    /// Makes the room again that [`fill`](Self::fill) took.
    ///
    /// # Panics
    ///
    /// Panics when it was not filled.
    pub fn make_room(&self) {
        fs::remove_file(self.filler()).unwrap();
    }

    fn filler(&self) -> PathBuf {
        self.folder.join("filler")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        drop(self.guard.wait());
    }
}
