//! Connections: accepted, served, and ended.

use std::{net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

use axum::{Router, body::Body, extract::ConnectInfo};
use hyper::{Request, body::Incoming, server::conn::http1, service::Service as _};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time,
};
use tokio_io_timeout::TimeoutStream;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::refused::RefusalStream;

/// Most connections at a time; the next ones wait in the system's queue.
const MAX_CONNECTIONS: usize = 16_384;
/// Longest time that a client takes for the head of a request, or leaves a connection idle.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest time in which a client reads nothing although data is available.
const STALLED: Duration = Duration::from_secs(5);
/// Most headers of a request; beyond them the answer is 431. Room for more of them costs each connection 4 KiB that stay.
pub(super) const MAX_HEADERS: usize = 100;
/// Longest head of a request that is read, in bytes, more than the service takes: it says what is wrong. Beyond it the answer is 431.
pub(super) const MAX_HEAD_BYTES: usize = 64 << 10;
/// Pause after a connection that could not be accepted, such as for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// The connections of the service.
#[derive(Debug)]
pub(super) struct OpenConnections {
    places: Arc<Semaphore>,
    tasks: TaskTracker,
    /// Asks connections to end behind the answer under way.
    ends: CancellationToken,
    /// Ends what is still there.
    cut: CancellationToken,
}

impl Default for OpenConnections {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
            tasks: TaskTracker::new(),
            ends: CancellationToken::new(),
            cut: CancellationToken::new(),
        }
    }
}

impl OpenConnections {
    /// Accepts connections until `stop` ends. Those that are there go on: what runs wait for comes on them.
    pub(super) async fn accept(
        &self,
        listener: TcpListener,
        app: Router,
        stop: impl Future<Output = ()>,
    ) {
        let accepting = async {
            loop {
                // Cannot fail: the places are never closed.
                let Ok(place) = Arc::clone(&self.places).acquire_owned().await else { return };
                match listener.accept().await {
                    Ok((stream, peer)) => self.serve(stream, peer, app.clone(), place),
                    Err(error) => {
                        tracing::warn!(%error, "a connection could not be accepted");
                        time::sleep(PAUSE).await;
                    }
                }
            }
        };
        tokio::select! {
            biased;
            () = stop => {}
            () = accepting => {}
        }
    }

    fn serve(&self, stream: TcpStream, peer: SocketAddr, app: Router, place: OwnedSemaphorePermit) {
        // Events are small and are to be there at once.
        let _not_possible = stream.set_nodelay(true);
        let app = TowerToHyperService::new(app);
        let service = hyper::service::service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo(peer));
            app.call(request.map(Body::new))
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_headers(MAX_HEADERS)
            .max_header_size(MAX_HEAD_BYTES);
        let (ends, cut) = (self.ends.clone(), self.cut.clone());
        self.tasks.spawn(async move {
            let _place = place;
            let connection = http
                .serve_connection(TokioIo::new(RefusalStream::new(patient(stream))), service)
                .with_upgrades();
            tokio::pin!(connection);
            let ended = tokio::select! {
                biased;
                ended = &mut connection => Some(ended),
                () = ends.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    cut.run_until_cancelled(&mut connection).await
                }
            };
            if let Some(Err(error)) = ended {
                tracing::debug!(%error, "a connection broke");
            }
        });
    }

    /// Lets connections come to their end for this long, then cuts those that have not.
    pub(super) async fn end(&self, patience: Duration) {
        self.tasks.close();
        self.ends.cancel();
        if time::timeout(patience, self.tasks.wait()).await.is_err() {
            self.cut.cancel();
            self.tasks.wait().await;
        }
    }
}

/// Returns a connection that breaks once its client took nothing for [`STALLED`]: nothing else would end it, for it is not asked for more.
fn patient<S: AsyncRead + AsyncWrite>(stream: S) -> Pin<Box<TimeoutStream<S>>> {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(STALLED));
    Box::pin(stream)
}

#[cfg(test)]
mod tests {
    use std::{future::pending, io::ErrorKind};

    use forgeline::{
        agent::Agent,
        llm::demo::DemoProvider,
        server::{Service, router},
    };
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _, duplex},
        time::Instant,
    };

    use super::*;

    const AGENTS: &str = "GET /v1/agents HTTP/1.1\r\nhost: 127.0.0.1\r\n";
    const RUNS: &str =
        "POST /v1/runs HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n";

    /// Sends a beginning, then this each second until the connection ends; returns the answer.
    async fn drip(address: SocketAddr, begin: &str, then: &[u8]) -> String {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(begin.as_bytes()).await.unwrap();
        let (mut seen, mut piece) = (Vec::new(), [0; 1024]);
        loop {
            match time::timeout(Duration::from_secs(1), client.read(&mut piece)).await {
                Ok(Ok(0) | Err(_)) => return String::from_utf8(seen).unwrap(),
                Ok(Ok(count)) => seen.extend_from_slice(&piece[..count]),
                // One that was closed is read to its end.
                Err(_) => drop(client.write_all(then).await),
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_or_a_body_that_drips_ends_its_connection_after_30_s() {
        let agent = Agent::builder(DemoProvider::new()).build().unwrap();
        let app = router(Service::builder().agent("main", agent).build().unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let chunked = format!("{RUNS}transfer-encoding: chunked\r\n\r\n");
        let sized = format!("{RUNS}content-length: 100000\r\n\r\n");
        let clients = async {
            #[rustfmt::skip]
            let rows: [(&str, &str, &[u8], &str); 6] = [
                ("nothing at all",        "",                             b"",              ""),
                ("a byte of the head",    AGENTS,                         b"x",             ""),
                ("a line of the head",    AGENTS,                         b"x: a\r\n",      ""),
                ("an empty line first",   "",                             b"\r\n",          ""),
                ("a byte of a body",      &sized,                         b"x",             "408"),
                ("a chunk of a body",     &chunked,                       b"1\r\nx\r\n",    "408"),
            ];
            for (name, begin, then, status) in rows {
                let begun = Instant::now();
                let answer = drip(address, begin, then).await;
                let took = begun.elapsed().as_secs();
                assert!((29..=35).contains(&took), "{name}: {took} s, {answer}");
                let is_it = answer.split(' ').nth(1).unwrap_or_default() == status;
                assert!(is_it, "{name}: {answer}");
            }
        };
        let connections = OpenConnections::default();
        tokio::select! {
            () = connections.accept(listener, app, pending()) => {}
            () = clients => {}
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_for_5_s_is_cut_off_and_a_slow_one_is_not() {
        let (ours, mut client) = duplex(10);
        let mut ours = patient(ours);
        let slow = tokio::spawn(async move {
            let mut taken = [0; 10];
            for _ in 0..5 {
                time::sleep(STALLED.saturating_sub(Duration::from_millis(10))).await;
                client.read_exact(&mut taken).await.unwrap();
            }
            client
        });
        ours.write_all(&[0; 50]).await.unwrap();
        let _stuck = slow.await.unwrap();
        let begun = Instant::now();
        let cut = ours.write_all(&[0; 50]).await.unwrap_err();
        assert_eq!((cut.kind(), begun.elapsed().as_secs()), (ErrorKind::TimedOut, 5));
    }
}
