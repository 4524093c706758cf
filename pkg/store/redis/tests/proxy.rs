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
    mode: watch::Sender<ProxyMode>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ProxyMode {
    /// Connections are let through.
    Open,
    /// Connections are cut, and no new one is let through.
    Shut,
    /// Connections are open, and nothing arrives any more; new ones are let through.
    Stalled,
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
        let (shared, mode) = (Arc::clone(&cuts), watch::Sender::new(ProxyMode::Open));
        let modes = mode.clone();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let (cuts, mut mode) = (Arc::clone(&shared), modes.subscribe());
                if *mode.borrow_and_update() == ProxyMode::Shut {
                    continue;
                }
                let Ok(mut server) = UnixStream::connect(&server).await else { continue };
                tokio::spawn(async move {
                    tokio::select! {
                        () = pass(&mut client, &mut server, cuts) => return,
                        _ = mode.changed() => {}
                    }
                    if *mode.borrow() == ProxyMode::Stalled {
                        std::future::pending::<()>().await;
                    }
                });
            }
        });
        Self { folder, cuts, mode }
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

    /// Cuts all connections, and lets no new one through.
    pub(crate) fn shut(&self) {
        self.mode.send_replace(ProxyMode::Shut);
    }

    /// Lets nothing through the connections that there are.
    pub(crate) fn stall(&self) {
        self.mode.send_replace(ProxyMode::Stalled);
    }

    /// Lets connections through again.
    pub(crate) fn open(&self) {
        self.mode.send_replace(ProxyMode::Open);
    }
}

impl Drop for CuttingProxy {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

async fn pass(client: &mut UnixStream, server: &mut UnixStream, cuts: Arc<AtomicUsize>) {
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
                    // The server has the request; its answer goes nowhere.
                    drop(client.shutdown().await);
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
