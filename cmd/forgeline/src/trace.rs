//! `--trace`: what the library does, on stderr, with times.

use std::{
    cell::RefCell,
    collections::HashMap,
    fmt::{self, Write as _},
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{SyncSender, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

use crate::{exit::note, render::escape_controls};

/// Lines that wait for stderr; further ones are dropped, for a trace must not hold up a run.
const QUEUE: usize = 1024;

/// The longest wait, at the end, for lines that stderr has not taken.
const LAST_LINES: Duration = Duration::from_millis(250);

/// What the thread that writes the trace is sent.
enum Order {
    Line(String),
    /// All lines before were written: says so.
    Finish(SyncSender<()>),
}

/// The queue of the trace, if there is one.
static ORDERS: OnceLock<SyncSender<Order>> = OnceLock::new();

thread_local! {
    /// The spans that this thread is in.
    static INSIDE: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Writes a line for each event, and one for each span when it begins and when it ends.
struct Trace {
    begun: Instant,
    lines: SyncSender<Order>,
    next: AtomicU64,
    spans: Mutex<HashMap<u64, Span>>,
}

struct Span {
    name: String,
    depth: usize,
    begun: Instant,
    handles: usize,
}

/// Shows the trace from now on; once a process.
pub(crate) fn start() {
    let (lines, queue) = sync_channel(QUEUE);
    thread::spawn(move || {
        for order in queue {
            match order {
                Order::Line(line) => note(&line),
                Order::Finish(done) => drop(done.try_send(())),
            }
        }
    });
    ORDERS.get_or_init(|| lines.clone());
    let (spans, next) = (Mutex::default(), AtomicU64::new(1));
    let trace = Trace { begun: Instant::now(), lines, next, spans };
    // Another one can only be the same: nothing else sets it.
    drop(tracing::subscriber::set_global_default(trace));
}

/// Waits until the lines so far are written, for a short time at most.
pub(crate) fn finish() {
    let (done, written) = sync_channel(1);
    if let Some(orders) = ORDERS.get()
        && orders.try_send(Order::Finish(done)).is_ok()
    {
        written.recv_timeout(LAST_LINES).unwrap_or_default();
    }
}

impl Trace {
    fn line(&self, depth: usize, text: &str) {
        let at = self.begun.elapsed();
        let indent = depth * 2;
        let text = escape_controls(text).replace('\n', " ");
        let line = format!("{:>4}.{:03} s  {:indent$}{text}", at.as_secs(), at.subsec_millis(), "");
        drop(self.lines.try_send(Order::Line(line)));
    }

    fn with<T>(&self, use_spans: impl FnOnce(&mut HashMap<u64, Span>) -> T) -> T {
        use_spans(&mut self.spans.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn depth(&self, parent: Option<u64>) -> usize {
        self.with(|spans| parent.and_then(|id| spans.get(&id)).map_or(0, |span| span.depth + 1))
    }
}

fn inside() -> Option<u64> {
    INSIDE.with_borrow(|inside| inside.last().copied())
}

impl Subscriber for Trace {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // HTTP clients show headers.
        metadata.target().split("::").next().is_some_and(|name| name.starts_with("forgeline"))
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let parent = attributes.parent().map(Id::into_u64);
        let depth = self.depth(parent.or_else(|| inside().filter(|_| attributes.is_contextual())));
        let mut name = attributes.metadata().name().to_owned();
        attributes.record(&mut Fields(&mut name));
        self.line(depth, &name);
        let span = Span { name, depth, begun: Instant::now(), handles: 1 };
        self.with(|spans| spans.insert(id, span));
        Id::from_u64(id)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        self.with(|spans| {
            if let Some(span) = spans.get_mut(&id.into_u64()) {
                values.record(&mut Fields(&mut span.name));
            }
        });
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = event.metadata().level().to_string().to_lowercase();
        event.record(&mut Fields(&mut text));
        self.line(self.depth(inside()), &text);
    }

    fn enter(&self, id: &Id) {
        INSIDE.with_borrow_mut(|inside| inside.push(id.into_u64()));
    }

    fn exit(&self, id: &Id) {
        INSIDE.with_borrow_mut(|inside| {
            if let Some(at) = inside.iter().rposition(|it| *it == id.into_u64()) {
                inside.remove(at);
            }
        });
    }

    fn clone_span(&self, id: &Id) -> Id {
        self.with(|spans| {
            if let Some(span) = spans.get_mut(&id.into_u64()) {
                span.handles += 1;
            }
        });
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let id = id.into_u64();
        let ended = self.with(|spans| {
            let span = spans.get_mut(&id)?;
            span.handles -= 1;
            if span.handles == 0 { spans.remove(&id) } else { None }
        });
        let Some(span) = ended else { return false };
        let took = span.begun.elapsed();
        let took = format!("{} took {}.{:03} s", span.name, took.as_secs(), took.subsec_millis());
        self.line(span.depth, &took);
        true
    }
}

/// Appends the fields of an event or span to a text.
struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let written = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
        debug_assert!(written.is_ok(), "writing to a string does not fail");
    }
}
