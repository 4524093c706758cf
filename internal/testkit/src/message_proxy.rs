//! A proxy before a server of `PostgreSQL` that knows its messages: it cuts or holds a connection at one of them.

use std::{
    collections::HashMap,
    fs, io,
    io::{Read as _, Write as _},
    net::Shutdown,
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// The socket of a server in its folder.
const SOCKET: &str = ".s.PGSQL.5432";

/// The length of the request for TLS, to which the server answers one byte.
const TLS_REQUEST: usize = 8;

/// Longest wait for what the proxy is asked to wait for.
const PATIENCE: Duration = Duration::from_secs(30);

/// The end of a connection that sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxySide {
    /// The client, which sends statements.
    Client,
    /// The server, which sends their results.
    Server,
}

/// The fate of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyFault {
    /// Both ends see its end. What the server has received, it executes.
    Cut,
    /// Nothing more is passed on to one end until [`MessageProxy::release`].
    Hold,
}

/// A fault at a place, which is that of the first connection to get there. Connections that listen or notify are passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultPlace {
    /// The end whose messages count.
    pub sender: ProxySide,
    /// The number of half messages that are passed on: 3 is a message and a half.
    pub halves: usize,
    /// The fate.
    pub fault: ProxyFault,
}

/// The fate of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StatementFate {
    /// The proxy holds it, or its result, back.
    Hold(ProxySide),
    /// Its connection ends once it is executed, before its result.
    CutResult,
    /// The connection of its client ends, and the server gets it later.
    Delay,
}

/// The fate of the first statement that contains some text.
#[derive(Debug, Clone)]
struct MarkedStatement {
    text: String,
    /// A part of one of its values.
    value: Option<String>,
    fate: StatementFate,
}

/// A proxy on a socket of its own before a server. Clones are handles to the same proxy.
#[derive(Debug, Clone)]
pub struct MessageProxy(Arc<ProxyCore>);

#[derive(Debug)]
struct ProxyCore {
    folder: PathBuf,
    server: PathBuf,
    state: Mutex<ProxyState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
struct ProxyState {
    /// `true` while messages are counted.
    is_armed: bool,
    /// Messages of the client and of the server since then.
    counts: [usize; 2],
    place: Option<FaultPlace>,
    statements: Vec<MarkedStatement>,
    /// Faults that were met.
    hits: usize,
    /// The numbers of the last release and delivery; a hold ends with the next one.
    releases: usize,
    deliveries: usize,
    /// Connections that a fault has met and that the server has not ended.
    ending: usize,
    /// Connections that listen, and that notify.
    listening: usize,
    notifying: usize,
    /// Notifications that were passed on.
    news: usize,
    /// `true` while notifications are dropped.
    is_deaf: bool,
}

/// A connection through the proxy.
#[derive(Debug)]
struct ProxyLine {
    client: UnixStream,
    server: UnixStream,
    /// `true` for one that listens or notifies.
    is_passed_over: AtomicBool,
    /// `true` once a fault has met it.
    is_cut: AtomicBool,
    /// `true` once its results are held back, or it is to be cut behind the next ones.
    holds_results: AtomicBool,
    cuts_results: AtomicBool,
}

impl MessageProxy {
    /// Starts a proxy before the server whose socket is in a folder.
    ///
    /// # Panics
    ///
    /// Panics when its own socket cannot be made.
    #[must_use]
    pub fn start(name: &str, server: &Path) -> Self {
        let name = format!("forgeline-messages-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).unwrap();
        let listener = UnixListener::bind(folder.join(SOCKET)).unwrap();
        let server = server.join(SOCKET);
        let (state, changed) = (Mutex::default(), Condvar::new());
        let core = Arc::new(ProxyCore { folder, server, state, changed });
        let proxied = Arc::downgrade(&core);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Some(core) = proxied.upgrade() else { return };
                thread::spawn(move || drop(core.serve(client)));
            }
        });
        Self(core)
    }

    /// Returns the URL of a database behind the proxy.
    ///
    /// # Panics
    ///
    /// Panics when the direct URL names no socket.
    #[must_use]
    pub fn url(&self, direct: &str) -> String {
        let (base, _) = direct.split_once('?').unwrap();
        format!("{base}?host={}", self.0.folder.display())
    }

    /// Counts messages from now on, and lets the fault happen when they get to its place.
    pub fn arm(&self, place: Option<FaultPlace>) {
        let mut state = self.0.lock();
        (state.is_armed, state.counts, state.place, state.hits) = (true, [0; 2], place, 0);
    }

    /// Ends the counting; returns the numbers of messages of the client and of the server, and whether the fault has happened.
    #[must_use]
    pub fn disarm(&self) -> ([usize; 2], bool) {
        let mut state = self.0.lock();
        (state.is_armed, state.place) = (false, None);
        (state.counts, state.hits > 0)
    }

    /// Holds the next statement that contains this text, from now until [`release`](Self::release): before the server has it, or its result.
    pub fn hold_statement(&self, text: &str, held: ProxySide) {
        self.mark(text, None, StatementFate::Hold(held));
    }

    /// Holds the next statement that contains this text, with a value that contains another one, as [`hold_statement`](Self::hold_statement) does.
    pub fn hold_statement_with(&self, text: &str, value: &str, held: ProxySide) {
        self.mark(text, Some(value), StatementFate::Hold(held));
    }

    /// Cuts the connection of the next statement that contains this text, behind the statement and before its result.
    pub fn cut_result(&self, text: &str) {
        self.mark(text, None, StatementFate::CutResult);
    }

    /// Ends the connection of the next statement that contains this text, with a value that contains another one, for its client; the server gets the
    /// statement with [`deliver`](Self::deliver).
    pub fn delay_statement(&self, text: &str, value: &str) {
        self.mark(text, Some(value), StatementFate::Delay);
    }

    fn mark(&self, text: &str, value: Option<&str>, fate: StatementFate) {
        let mut state = self.0.lock();
        state.hits = 0;
        let (text, value) = (text.to_owned(), value.map(str::to_owned));
        state.statements.push(MarkedStatement { text, value, fate });
    }

    /// Gives the server the statements that were delayed.
    pub fn deliver(&self) {
        self.0.lock().deliveries += 1;
        self.0.changed.notify_all();
    }

    /// Waits until a fault has happened, or a statement is held.
    ///
    /// # Panics
    ///
    /// Panics when that takes longer than 30 s.
    pub fn wait_for_hit(&self) {
        self.wait_for_hits(1);
    }

    /// Waits until this number of faults have happened.
    ///
    /// # Panics
    ///
    /// As [`wait_for_hit`](Self::wait_for_hit).
    pub fn wait_for_hits(&self, count: usize) {
        self.0.wait_until("a fault", |state| state.hits >= count);
    }

    /// Passes on the messages that are held.
    pub fn release(&self) {
        let mut state = self.0.lock();
        state.releases += 1;
        state.statements.clear();
        self.0.changed.notify_all();
    }

    /// Drops what the server says to connections that listen, while `is_deaf`: notifications are lost, and nothing else.
    pub fn drop_news(&self, is_deaf: bool) {
        self.0.lock().is_deaf = is_deaf;
    }

    /// Returns the number of notifications that were passed on.
    #[must_use]
    pub fn news(&self) -> usize {
        self.0.lock().news
    }

    /// Waits until the server has ended the connections that a fault has met.
    ///
    /// At most 30 s: one that was held for less than its client waits stays open.
    pub fn settle(&self) {
        let state = self.0.lock();
        let settled = self.0.changed.wait_timeout_while(state, PATIENCE, |it| it.ending > 0);
        drop(settled.unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits until a connection listens.
    ///
    /// # Panics
    ///
    /// Panics when that takes longer than 30 s.
    pub fn wait_for_listener(&self) {
        self.0.wait_until("the listener", |state| state.listening > 0);
    }

    /// Waits until a connection listens and another one has notified.
    ///
    /// # Panics
    ///
    /// Panics when that takes longer than 30 s.
    pub fn wait_for_news(&self) {
        self.0.wait_until("the listener", |state| state.listening > 0 && state.notifying > 0);
    }
}

impl ProxyCore {
    fn lock(&self) -> MutexGuard<'_, ProxyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_until(&self, what: &str, is_it: impl Fn(&ProxyState) -> bool) {
        let (state, waited) = self
            .changed
            .wait_timeout_while(self.lock(), PATIENCE, |state| !is_it(state))
            .unwrap_or_else(PoisonError::into_inner);
        assert!(!waited.timed_out(), "the proxy waits for {what}: {state:?}");
    }

    fn serve(self: &Arc<Self>, mut client: UnixStream) -> io::Result<()> {
        let mut server = UnixStream::connect(&self.server)?;
        let mut first = read_sized(&mut client, Vec::new())?;
        while first.len() == TLS_REQUEST {
            server.write_all(&first)?;
            let mut answer = [0];
            server.read_exact(&mut answer)?;
            client.write_all(&answer)?;
            first = read_sized(&mut client, Vec::new())?;
        }
        let line = Arc::new(ProxyLine {
            client,
            server,
            is_passed_over: AtomicBool::new(false),
            is_cut: AtomicBool::new(false),
            holds_results: AtomicBool::new(false),
            cuts_results: AtomicBool::new(false),
        });
        let (core, results) = (Arc::clone(self), Arc::clone(&line));
        thread::spawn(move || {
            drop(core.pass_results(&results));
            drop(results.client.shutdown(Shutdown::Both));
            // A connection that was cut is done once the server closes it.
            drop(io::copy(&mut &results.server, &mut io::sink()));
            if results.is_cut.load(Ordering::SeqCst) {
                core.lock().ending -= 1;
                core.changed.notify_all();
            }
        });
        let passed = self.pass_statements(&line, first);
        drop(line.server.shutdown(Shutdown::Write));
        passed
    }

    fn pass_statements(&self, line: &ProxyLine, first: Vec<u8>) -> io::Result<()> {
        let mut message = first;
        let mut kept = HashMap::new();
        loop {
            match self.statement_of(line, &message, &mut kept) {
                Some(StatementFate::Hold(ProxySide::Client)) => {
                    self.hit_and_wait(|state| state.releases);
                }
                Some(StatementFate::Delay) => return self.delay(line, message),
                Some(StatementFate::Hold(ProxySide::Server) | StatementFate::CutResult) | None => {}
            }
            if !self.pass(line, ProxySide::Client, &message)? {
                return Ok(());
            }
            message = read_message(&mut &line.client)?;
        }
    }

    /// Ends the connection of the client behind a statement, and passes the statement on later.
    fn delay(&self, line: &ProxyLine, mut message: Vec<u8>) -> io::Result<()> {
        let mut statement = Vec::new();
        loop {
            let is_last = matches!(message.first(), Some(b'S' | b'Q'));
            statement.append(&mut message);
            if is_last {
                break;
            }
            message = read_message(&mut &line.client)?;
        }
        line.client.shutdown(Shutdown::Both)?;
        self.hit_and_wait(|state| state.deliveries);
        (&line.server).write_all(&statement)
    }

    fn pass_results(&self, line: &ProxyLine) -> io::Result<()> {
        loop {
            let message = read_message(&mut &line.server)?;
            if message.first() == Some(&b'A') {
                let mut state = self.lock();
                if state.is_deaf {
                    continue;
                }
                state.news += 1;
            }
            if line.holds_results.swap(false, Ordering::SeqCst) {
                self.hit_and_wait(|state| state.releases);
            }
            if line.cuts_results.load(Ordering::SeqCst) {
                // The server is ready for the next statement once it has committed this one.
                if message.first() != Some(&b'Z') {
                    continue;
                }
                drop((line.client.shutdown(Shutdown::Both), line.server.shutdown(Shutdown::Write)));
                self.lock().hits += 1;
                self.changed.notify_all();
                return Ok(());
            }
            if !self.pass(line, ProxySide::Server, &message)? {
                return Ok(());
            }
        }
    }

    /// Recognizes a statement, with the names of those that the server keeps for the connection; returns its fate if it is marked.
    fn statement_of(
        &self,
        line: &ProxyLine,
        message: &[u8],
        kept: &mut HashMap<Vec<u8>, String>,
    ) -> Option<StatementFate> {
        // Behind the type and the length: the name of a statement that is parsed, those of a portal and of its statement that is bound.
        let mut parts = message.get(5..)?.split(|byte| *byte == 0);
        let text = String::from_utf8_lossy(message).into_owned();
        let (text, is_executed) = match message.first()? {
            b'Q' => (text, true),
            b'P' => {
                let name = parts.next()?.to_vec();
                let is_executed = name.is_empty();
                kept.insert(name, text.clone());
                (text, is_executed)
            }
            b'B' => {
                let name = parts.nth(1).filter(|name| !name.is_empty())?;
                (kept.get(name)?.clone(), true)
            }
            _ => return None,
        };
        let mut state = self.lock();
        let (listens, notifies) = (text.contains("LISTEN "), text.contains("pg_notify("));
        if listens || notifies {
            line.is_passed_over.store(true, Ordering::SeqCst);
            state.listening += usize::from(listens);
            state.notifying += usize::from(notifies);
            self.changed.notify_all();
        }
        let has = |value: &String| message.windows(value.len()).any(|it| it == value.as_bytes());
        let is_marked = |it: &MarkedStatement| {
            is_executed && text.contains(&it.text) && it.value.as_ref().is_none_or(has)
        };
        let at = state.statements.iter().position(is_marked)?;
        let fate = state.statements.remove(at).fate;
        match fate {
            StatementFate::Hold(ProxySide::Server) => {
                line.holds_results.store(true, Ordering::SeqCst);
            }
            StatementFate::CutResult => line.cuts_results.store(true, Ordering::SeqCst),
            StatementFate::Hold(ProxySide::Client) | StatementFate::Delay => {}
        }
        Some(fate)
    }

    /// Passes a message on, as far as its place allows; returns `false` for a connection that has ended.
    fn pass(&self, line: &ProxyLine, sender: ProxySide, message: &[u8]) -> io::Result<bool> {
        let mut to = match sender {
            ProxySide::Client => &line.server,
            ProxySide::Server => &line.client,
        };
        let Some((before, place)) = self.count(line, sender) else {
            return to.write_all(message).map(|()| true);
        };
        let Some(place) = place else { return to.write_all(message).map(|()| true) };
        let (head, tail) = message.split_at(message.len() * (place.halves - before) / 2);
        to.write_all(head)?;
        match place.fault {
            ProxyFault::Hold => {
                self.wait_for_release();
                to.write_all(tail).map(|()| true)
            }
            ProxyFault::Cut => {
                drop((line.client.shutdown(Shutdown::Both), line.server.shutdown(Shutdown::Write)));
                Ok(false)
            }
        }
    }

    /// Counts a message; returns the half messages before it, and the fault that has not happened. `None` while nothing is counted.
    fn count(&self, line: &ProxyLine, sender: ProxySide) -> Option<(usize, Option<FaultPlace>)> {
        let mut state = self.lock();
        if !state.is_armed || line.is_passed_over.load(Ordering::SeqCst) {
            return None;
        }
        let before = 2 * state.counts[sender as usize];
        state.counts[sender as usize] += 1;
        let is_here = |place: &FaultPlace| {
            place.sender == sender && (before..=before + 2).contains(&place.halves)
        };
        let place = state.place.take_if(|place| is_here(place));
        if place.is_some() {
            line.is_cut.store(true, Ordering::SeqCst);
            state.hits += 1;
            state.ending += 1;
            self.changed.notify_all();
        }
        Some((before, place))
    }

    fn wait_for_release(&self) {
        let state = self.lock();
        let release = state.releases;
        let waited = self.changed.wait_while(state, |state| state.releases == release);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Says that a fault has happened, and waits until a number has changed.
    fn hit_and_wait(&self, number: impl Fn(&ProxyState) -> usize) {
        let mut state = self.lock();
        state.hits += 1;
        self.changed.notify_all();
        let before = number(&state);
        let waited = self.changed.wait_while(state, |state| number(state) == before);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for ProxyCore {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// Reads a message with its type.
fn read_message(from: &mut impl io::Read) -> io::Result<Vec<u8>> {
    let mut kind = vec![0];
    from.read_exact(&mut kind)?;
    read_sized(from, kind)
}

/// Reads a message whose length comes next.
fn read_sized(from: &mut impl io::Read, mut message: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut size = [0; 4];
    from.read_exact(&mut size)?;
    message.extend(size);
    let before = message.len();
    let size = usize::try_from(u32::from_be_bytes(size)).unwrap_or(usize::MAX);
    message.resize(before + size.saturating_sub(4), 0);
    from.read_exact(&mut message[before..])?;
    Ok(message)
}
