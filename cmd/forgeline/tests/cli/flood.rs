//! A server that writes without end, and the end of a process that reads it.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{Child, Command},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

/// Longest wait for what comes within a second or two on a machine that is not busy: only a test that fails waits so long.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// Longest time for what comes or ends at once: less than the 15 s after which a silent stream says that it lives and a run no longer waits for a server of
/// tools, and than the 20 s that a service gives its runs.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(12);

/// A server that writes as fast as it is read.
pub(crate) struct Flood {
    pub(crate) url: String,
    /// Tells each connection on which nothing was read for a while, and each that was closed.
    pub(crate) seen: Receiver<Seen>,
}

/// What a connection came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Full,
    Closed,
}

/// Starts the server.
pub(crate) fn flood() -> Flood {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (sender, seen) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, sender) = (stream.unwrap(), sender.clone());
            thread::spawn(move || {
                let seen = |it| sender.send(it).unwrap_or_default();
                write_on(stream, &seen);
                seen(Seen::Closed);
            });
        }
    });
    Flood { url, seen }
}

fn write_on(mut stream: TcpStream, seen: &impl Fn(Seen)) {
    let mut request = [0; 4096];
    let _length = stream.read(&mut request).unwrap();
    stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    // An answer that says the same over and over would be cut.
    let mut events = (0..).map(|at| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"on and on {at} \"}}}}]}}\n\n"
        )
    });
    let (mut event, mut written, mut is_full) = (String::new(), 0, false);
    loop {
        if written == event.len() {
            (event, written) = (events.next().unwrap(), 0);
        }
        match stream.write(&event.as_bytes()[written..]) {
            Ok(length) => written += length,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                if !is_full {
                    seen(Seen::Full);
                }
                is_full = true;
            }
            Err(_) => return,
        }
    }
}

/// Sends a signal to the process.
pub(crate) fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
}

/// The exit code; a process that does not end soon is killed and fails the test.
pub(crate) fn ended(mut child: Child) -> Option<i32> {
    let (sender, receiver) = mpsc::channel();
    let id = child.id().to_string();
    let wait = thread::spawn(move || sender.send(child.wait().unwrap().code()).unwrap_or_default());
    let code = receiver.recv_timeout(AT_ONCE);
    if code.is_err() {
        Command::new("kill").args(["-KILL", &id]).status().unwrap();
    }
    wait.join().unwrap();
    code.unwrap()
}
