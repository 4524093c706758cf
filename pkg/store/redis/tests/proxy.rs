//! A proxy that cuts connections after a request was sent and before its answer.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{UnixListener, UnixStream},
    sync::watch,
};

use crate::redis::RedisServer;

/// A proxy on a socket of its own before a server.
pub(crate) struct CuttingProxy {
    folder: PathBuf,
    /// The number of requests to cut.
    cuts: Arc<AtomicUsize>,
    all: watch::Sender<()>,
}

impl CuttingProxy {
    pub(crate) fn start(server: &RedisServer) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("forgeline-redis-proxy-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let listener = UnixListener::bind(folder.join("socket")).unwrap();
        let (cuts, server) = (Arc::<AtomicUsize>::default(), server.socket());
        let (shared, all) = (Arc::clone(&cuts), watch::Sender::new(()));
        let stop = all.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = UnixStream::connect(&server).await else { continue };
                let (cuts, mut stop) = (Arc::clone(&shared), stop.subscribe());
                tokio::spawn(async move {
                    tokio::select! {
                        () = pass(client, server, cuts) => {}
                        _ = stop.changed() => {}
                    }
                });
            }
        });
        Self { folder, cuts, all }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis+unix://{}", self.folder.join("socket").display())
    }

    /// Cuts that many of the next requests that write.
    pub(crate) fn cut(&self, count: usize) {
        self.cuts.store(count, Ordering::SeqCst);
    }

    /// Returns how many of them are left.
    pub(crate) fn left(&self) -> usize {
        self.cuts.load(Ordering::SeqCst)
    }

    /// Cuts all connections now.
    pub(crate) fn cut_all(&self) {
        self.all.send_replace(());
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
                let writes = String::from_utf8_lossy(&to[..count]).contains("XADD");
                let less = |left: usize| left.checked_sub(1);
                if writes && cuts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok() {
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
