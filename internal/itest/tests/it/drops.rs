//! Streams that are dropped at random points leave nothing behind.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use forgeline::llm::{Provider, Request};
use futures_util::StreamExt as _;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::wires::{WIRES, Wire};

/// Streams that are opened and dropped, all protocols together.
const STREAMS: usize = 1_000;

/// Deltas of one answer, which then never ends.
const DELTAS: usize = 8;

/// Serves one connection: a head, deltas, silence until the client goes.
async fn serve(mut stream: TcpStream, wire: Wire, open: Arc<AtomicUsize>) {
    open.fetch_add(1, Ordering::SeqCst);
    let mut request = [0; 4096];
    let said = async {
        let _head = stream.read(&mut request).await?;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").await?;
        stream.write_all(wire.begin.as_bytes()).await?;
        for _ in 0..DELTAS {
            stream.write_all(wire.delta("word ").as_bytes()).await?;
            tokio::task::yield_now().await;
        }
        while stream.read(&mut request).await? > 0 {}
        std::io::Result::Ok(())
    };
    // A client that goes breaks the connection; that is what is tested.
    said.await.unwrap_or_default();
    open.fetch_sub(1, Ordering::SeqCst);
}

/// Open sockets of this process; `None` where the system does not tell.
fn sockets() -> Option<usize> {
    let files = std::fs::read_dir("/proc/self/fd").ok()?;
    let targets = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    Some(targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count())
}

/// Resident memory in bytes; `None` where the system does not tell.
fn resident() -> Option<usize> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    pages.split(' ').nth(1)?.parse::<usize>().ok().map(|pages| pages * 4096)
}

/// Opens a stream and drops it where `dice` says: the request before it was sent or answered, the
/// stream after some deltas or inside a wait.
async fn open_and_drop(provider: Arc<dyn Provider>, dice: usize) {
    let request = provider.stream_completion(Request::prompt("x"));
    match dice % (DELTAS + 4) {
        0 => drop(request),
        1 => {
            tokio::select! {
                biased;
                () = tokio::task::yield_now() => {}
                answer = request => drop(answer),
            }
        }
        deltas => {
            let mut stream = request.await.unwrap();
            let mut read = 0;
            while read < deltas - 2 {
                let next = tokio::time::timeout(Duration::from_millis(20), stream.next());
                let Ok(Some(item)) = next.await else { break };
                read += usize::from(item.unwrap().has_content());
            }
        }
    }
}

/// Set in the process that has nothing else to do: sockets and memory are of a whole process.
const ALONE: &str = "FORGELINE_DROPS_ALONE";

#[test]
fn a_thousand_dropped_streams_leave_no_task_no_socket_and_no_memory() {
    if std::env::var_os(ALONE).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        return runtime.block_on(drop_a_thousand());
    }
    let name = "drops::a_thousand_dropped_streams_leave_no_task_no_socket_and_no_memory";
    let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
    let ran = alone.args([name, "--exact", "--nocapture"]).env(ALONE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && said.contains("streams dropped"), "{said}");
    let line = said.lines().find(|line| line.contains("streams dropped"));
    forgeline_testkit::say(line.unwrap_or_default());
}

async fn drop_a_thousand() {
    let metrics = tokio::runtime::Handle::current().metrics();
    let open = Arc::new(AtomicUsize::new(0));
    let mut random = 0x2545_f491_4f6c_dd1d_usize;
    let mut after_first = None;
    let rounds = STREAMS.div_ceil(WIRES.len());
    for (number, wire) in WIRES.iter().enumerate() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (count, its_wire) = (Arc::clone(&open), *wire);
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, its_wire, Arc::clone(&count)));
            }
        });
        let provider = wire.provider(&url, &|setup| setup);
        let tasks = metrics.num_alive_tasks();
        let before = sockets();
        for round in 0..rounds {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            open_and_drop(Arc::clone(&provider), random).await;
            // The first hundred warm up pools and the allocator.
            if number == 0 && round == rounds / 10 {
                after_first = resident();
            }
        }
        drop(provider);
        // The ends of connections are seen by their tasks, in their own time but without a clock.
        let gone = || {
            open.load(Ordering::SeqCst) == 0
                && metrics.num_alive_tasks() <= tasks
                && sockets() <= before
        };
        let waited = async {
            while !gone() {
                tokio::task::yield_now().await;
            }
        };
        let left = tokio::time::timeout(Duration::from_mins(1), waited).await;
        let state = (open.load(Ordering::SeqCst), metrics.num_alive_tasks(), sockets());
        assert!(
            left.is_ok(),
            "{}: left behind {state:?}; before {tasks} tasks, {before:?}",
            wire.name
        );
        server.abort();
    }
    if let (Some(first), Some(last)) = (after_first, resident()) {
        let grown = last.saturating_sub(first) >> 10;
        forgeline_testkit::say(format!("{STREAMS} streams dropped; {grown} KiB more resident"));
        assert!(grown < 8 << 10, "{grown} KiB more resident");
    }
}
