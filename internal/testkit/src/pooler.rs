//! A pooler that shares sessions: pgbouncer in transaction mode.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::Once,
    time::{Duration, Instant},
};

use crate::{
    postgres::{self, PostgresServer},
    say,
};

/// A pooler before a server, which shares its sessions; dropping it ends the pooler.
#[derive(Debug)]
pub struct PostgresPooler {
    child: Child,
    folder: PathBuf,
}

impl PostgresPooler {
    /// Starts a pooler in transaction mode.
    ///
    /// Returns `None` and prints the reason when none is installed.
    ///
    /// # Panics
    ///
    /// Panics when it does not start, and when none is installed although the environment variable `FORGELINE_REQUIRE_POSTGRES` is set.
    #[must_use]
    pub fn start(name: &str, server: &PostgresServer) -> Option<Self> {
        static NOTICE: Once = Once::new();
        let is_there = Command::new("pgbouncer").arg("--version").stdout(Stdio::null()).status();
        if is_there.is_err() {
            let reason = "pgbouncer is not installed; install Debian's `pgbouncer`";
            assert!(std::env::var_os("FORGELINE_REQUIRE_POSTGRES").is_none(), "{reason}");
            NOTICE.call_once(|| say(format!("not run: PostgreSQL behind a pooler; {reason}")));
            return None;
        }
        let folder =
            std::env::temp_dir().join(format!("forgeline-pooler-{}-{name}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).unwrap();
        let settings = format!(
            "[databases]\n* = host={} user=tests\n[pgbouncer]\nunix_socket_dir={}\nlisten_port=5432\nauth_type=any\n\
             pool_mode=transaction\ndefault_pool_size=20\n",
            server.folder().display(),
            folder.display(),
        );
        fs::write(folder.join("pgbouncer.ini"), settings).unwrap();
        let mut command = postgres::as_user("pgbouncer".as_ref());
        postgres::give(&folder);
        let command = command.arg(folder.join("pgbouncer.ini")).stderr(Stdio::null());
        let child = command.stdout(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        while !folder.join(".s.PGSQL.5432").exists() {
            assert!(begun.elapsed() < Duration::from_mins(1), "pgbouncer does not start");
            std::thread::yield_now();
        }
        Some(Self { child, folder })
    }

    /// Returns the URL of a database through the pooler.
    ///
    /// # Panics
    ///
    /// Panics for the URL of another kind of server.
    #[must_use]
    pub fn url(&self, direct: &str) -> String {
        let (base, _) = direct.split_once('?').unwrap();
        format!("{base}?host={}", self.folder.display())
    }
}

impl Drop for PostgresPooler {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        drop(fs::remove_dir_all(&self.folder));
    }
}
