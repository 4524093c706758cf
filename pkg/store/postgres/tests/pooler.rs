//! A pooler that shares sessions: pgbouncer in transaction mode.

use std::{
    fs,
    path::PathBuf,
    pin::pin,
    process::{Child, Command, Stdio},
    sync::{Arc, Once},
};

use forgeline_store::{EventLog, PostgresStore, WakeMode, follow};
use forgeline_testing::stores::check_run_store;
use futures_util::StreamExt as _;

use crate::{
    postgres::PostgresServer,
    say,
    servers::{connect, key, options, record},
};

/// A running pooler before a server.
struct Pooler {
    child: Child,
    folder: PathBuf,
}

impl Pooler {
    /// Starts a pooler; returns `None` and prints the reason where none is installed.
    fn start(name: &str, server: &PostgresServer) -> Option<Self> {
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
        let mut command = crate::postgres::as_user("pgbouncer".as_ref());
        crate::postgres::give(&folder);
        let command = command.arg(folder.join("pgbouncer.ini")).stderr(Stdio::null());
        let child = command.stdout(Stdio::null()).spawn().unwrap();
        while !folder.join(".s.PGSQL.5432").exists() {
            std::thread::yield_now();
        }
        Some(Self { child, folder })
    }

    fn url(&self, direct: &str) -> String {
        let (base, _) = direct.split_once('?').unwrap();
        format!("{base}?host={}", self.folder.display())
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        drop(fs::remove_dir_all(&self.folder));
    }
}

#[tokio::test]
async fn behind_a_pooler_readers_look_unless_there_is_a_direct_url() {
    let Some(server) = PostgresServer::shared() else { return };
    let Some(pooler) = Pooler::start("readers", server) else { return };
    let url = server.database();
    let polled = connect(&pooler.url(&url)).await;
    assert_eq!(polled.wake_mode(), WakeMode::Polled);
    let options = options(&pooler.url(&url)).direct_url(&url);
    let notified = Arc::new(PostgresStore::connect(options).await.unwrap());
    assert_eq!(notified.wake_mode(), WakeMode::Notified);
    for (writer, reader) in [(&notified, &polled), (&polled, &notified)] {
        let key = key(&format!("{:?}", writer.wake_mode()));
        writer.create(key.clone()).await.unwrap();
        let mut records = pin!(follow(Arc::clone(reader) as Arc<dyn EventLog>, key.clone(), 0));
        for at in 0..50 {
            writer.append(&key, at, vec![record("x")], None).await.unwrap();
            assert_eq!(records.next().await.unwrap().unwrap().0, at);
        }
        writer.close(&key, None).await.unwrap();
        assert!(records.next().await.is_none());
    }
}

#[tokio::test]
async fn the_runs_of_postgres_behind_a_pooler_conform() {
    let Some(server) = PostgresServer::shared() else { return };
    let Some(pooler) = Pooler::start("runs", server) else { return };
    let report = check_run_store(async || connect(&pooler.url(&server.database())).await).await;
    assert!(report.is_conforming(), "{report}");
}
