//! Files that only their owner can read.

use std::fs::OpenOptions;

/// Returns the options of a file to write, which only its owner can read where it is made anew.
pub fn own_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
