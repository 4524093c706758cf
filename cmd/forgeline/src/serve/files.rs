//! Open files: each connection is one.

/// Allows as many open files as the system lets this process have.
pub(super) fn allow_many() {
    #[cfg(unix)]
    {
        use nix::sys::resource::{Resource, getrlimit, setrlimit};
        let allowed = getrlimit(Resource::RLIMIT_NOFILE)
            .and_then(|(_, most)| setrlimit(Resource::RLIMIT_NOFILE, most, most));
        if let Err(error) = allowed {
            tracing::warn!(%error, "cannot raise the limit of open files");
        }
    }
}
