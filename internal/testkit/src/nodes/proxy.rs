//! A proxy that takes the next node for each request.

use std::{
    io::{self, BufReader, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use super::http::read_head;

/// Longest wait for a connection with a node.
const CONNECTING: Duration = Duration::from_millis(500);

/// The response where no node can be reached.
const NONE: &str = "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// The place at which a proxy cuts event streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamCut {
    /// Nowhere.
    Never,
    /// Behind this number of events.
    Events(usize),
    /// Behind this number of bytes of the next response alone.
    NextAt(usize),
}

/// A proxy on 127.0.0.1: each request has a connection of its own, and goes to the node after that of the request before. A node that cannot be connected to
/// is passed over. Clones are handles to the same proxy.
#[derive(Debug, Clone)]
pub struct NodeProxy {
    address: SocketAddr,
    routes: Arc<Mutex<ProxyRoutes>>,
}

#[derive(Debug)]
struct ProxyRoutes {
    nodes: Vec<SocketAddr>,
    next: usize,
    cut: StreamCut,
}

impl NodeProxy {
    /// Starts a proxy on a free port.
    ///
    /// # Panics
    ///
    /// Panics when no port is free.
    #[must_use]
    pub fn start(nodes: Vec<SocketAddr>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let routes = ProxyRoutes { nodes, next: 0, cut: StreamCut::Never };
        let proxy = Self { address, routes: Arc::new(Mutex::new(routes)) };
        let served = proxy.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let served = served.clone();
                thread::spawn(move || drop(served.serve(stream)));
            }
        });
        proxy
    }

    /// Returns its address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the nodes among which it chooses.
    pub fn set_nodes(&self, nodes: Vec<SocketAddr>) {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner).nodes = nodes;
    }

    /// Sets where it cuts the event streams of later requests.
    pub fn set_cut(&self, cut: StreamCut) {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner).cut = cut;
    }

    fn serve(&self, mut client: TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        let mut reader = BufReader::new(client.try_clone()?);
        let head = read_head(&mut reader)?;
        let Some(mut node) = self.connect() else { return client.write_all(NONE.as_bytes()) };
        node.set_nodelay(true)?;
        let lines = head.trim_end().split("\r\n");
        let lines = lines.filter(|line| !line.to_ascii_lowercase().starts_with("connection:"));
        let head = lines.collect::<Vec<_>>().join("\r\n");
        node.write_all(format!("{head}\r\nconnection: close\r\n\r\n").as_bytes())?;
        let cut = self.cut();
        let mut sends = node.try_clone()?;
        thread::spawn(move || {
            drop(io::copy(&mut reader, &mut sends));
            drop(sends.shutdown(Shutdown::Both));
        });
        let passed = pass(&mut node, &mut client, cut);
        drop((client.shutdown(Shutdown::Both), node.shutdown(Shutdown::Both)));
        passed
    }

    /// Returns where a stream is cut.
    fn cut(&self) -> StreamCut {
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        let cut = routes.cut;
        if matches!(cut, StreamCut::NextAt(_)) {
            routes.cut = StreamCut::Never;
        }
        cut
    }

    /// Connects to the next node that can be reached.
    fn connect(&self) -> Option<TcpStream> {
        let (nodes, first) = {
            let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
            routes.next = routes.next.wrapping_add(1);
            (routes.nodes.clone(), routes.next)
        };
        let mut order = (0..nodes.len()).map(|at| nodes[first.wrapping_add(at) % nodes.len()]);
        order.find_map(|node| TcpStream::connect_timeout(&node, CONNECTING).ok())
    }
}

/// Passes a response on, up to its cut.
fn pass(from: &mut impl Read, to: &mut impl Write, cut: StreamCut) -> io::Result<()> {
    let mut passed = PassedStream::default();
    let mut piece = vec![0; 16 << 10];
    loop {
        let count = from.read(&mut piece)?;
        let read = &piece[..count];
        let end = read.iter().position(|byte| passed.take(*byte, cut));
        to.write_all(&read[..end.map_or(count, |at| at + 1)])?;
        if count == 0 || end.is_some() {
            return Ok(());
        }
    }
}

/// The part of a response that was passed on.
#[derive(Debug, Default)]
struct PassedStream {
    head: String,
    /// The beginning of the line.
    line: String,
    bytes: usize,
    events: usize,
    /// Lines with an id since the last blank line.
    ids: usize,
}

impl PassedStream {
    /// Takes a byte; returns `true` if the response is to be cut there.
    fn take(&mut self, byte: u8, cut: StreamCut) -> bool {
        if !self.head.ends_with("\r\n\r\n") {
            self.head.push(char::from(byte));
            return false;
        }
        if !self.head.contains("text/event-stream") {
            return false;
        }
        self.bytes += 1;
        if byte != b'\n' {
            if self.line.len() < 4 {
                self.line.push(char::from(byte));
            }
        } else if self.line.is_empty() {
            self.events += usize::from(std::mem::take(&mut self.ids) > 0);
        } else {
            self.ids += usize::from(self.line.starts_with("id:"));
            self.line.clear();
        }
        match cut {
            StreamCut::Never => false,
            StreamCut::Events(most) => self.events >= most,
            StreamCut::NextAt(most) => self.bytes >= most,
        }
    }
}
