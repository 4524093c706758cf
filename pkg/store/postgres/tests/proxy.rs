//! A proxy that cuts connections after a request was sent and before its answer.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{UnixListener, UnixStream},
};

/// A proxy on a socket of its own before a server.
pub(crate) struct CuttingProxy {
    folder: PathBuf,
    /// The number of requests to cut.
    cuts: Arc<AtomicUsize>,
}

impl CuttingProxy {
    pub(crate) fn start(name: &str, server: &Path) -> Self {
        let name = format!("forgeline-proxy-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let listener = UnixListener::bind(folder.join(".s.PGSQL.5432")).unwrap();
        let (cuts, server) = (Arc::<AtomicUsize>::default(), server.join(".s.PGSQL.5432"));
        let shared = Arc::clone(&cuts);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = UnixStream::connect(&server).await else { continue };
                tokio::spawn(pass(client, server, Arc::clone(&shared)));
            }
        });
        Self { folder, cuts }
    }

    /// Returns the URL of a database behind the proxy.
    pub(crate) fn url(&self, direct: &str) -> String {
        let (base, _) = direct.split_once('?').unwrap();
        format!("{base}?host={}", self.folder.display())
    }

    /// Cuts that many of the next requests.
    pub(crate) fn cut(&self, count: usize) {
        self.cuts.store(count, Ordering::SeqCst);
    }
}

impl Drop for CuttingProxy {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

async fn pass(mut client: UnixStream, mut server: UnixStream, cuts: Arc<AtomicUsize>) {
    let (mut to, mut from) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        tokio::select! {
            read = client.read(&mut to) => {
                let Ok(count @ 1..) = read else { return };
                if server.write_all(&to[..count]).await.is_err() {
                    return;
                }
                // A large request comes in several reads; its last byte ends a `Sync`.
                let is_whole = to[..count].ends_with(&[b'S', 0, 0, 0, 4]);
                let less = |left: usize| left.checked_sub(1);
                if is_whole && cuts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok() {
                    drop(client);
                    // The server has the request; its answer goes nowhere.
                    drop(server.read(&mut from).await);
                    return;
                }
            }
            read = server.read(&mut from) => {
                let Ok(count @ 1..) = read else { return };
                if client.write_all(&from[..count]).await.is_err() {
                    return;
                }
            }
        }
    }
}
