//! All that a caller may see, as one stream: the runs that it began, and the notifications of its scope.
//!
//! Its place is a place in each of them: `RUNS.NOTES~RUN:NEXT,RUN:NEXT`, where `RUNS` and `NOTES` are the numbers of the next run and the next
//! notification, and `RUN` is the number of a run that goes on, of which `NEXT` is the next event.

use std::{
    collections::BTreeMap,
    fmt::{self, Display, Formatter, Write as _},
    pin::Pin,
    sync::Arc,
};

use async_stream::stream;
use bytes::Bytes;
use futures_core::Stream;
use serde::{Deserialize, Serialize};
use tokio_stream::{StreamExt as _, StreamMap};

use super::run::{RUN_END, Run};
use crate::{
    agent::Caller,
    store::{
        EventLog, LogError, LogKey, LogRecord, Notification, NotificationChannel, StoreError,
        follow,
    },
    types::Text,
};

/// Most runs that go on in a place.
const MAX_OPEN: usize = 512;

/// Attempts to note a run, where others are noted at the same time.
const MAX_ATTEMPTS: usize = 16;

/// The kind of the event that tells of a new run.
const RUN_QUEUED: &str = "run_queued";

/// A place in all that a caller may see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    runs: u64,
    notes: u64,
    open: BTreeMap<u64, u64>,
}

impl Display for Place {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.runs, self.notes)?;
        for (number, (run, next)) in self.open.iter().enumerate() {
            let before = if number == 0 { '~' } else { ',' };
            write!(formatter, "{before}{run}:{next}")?;
        }
        Ok(())
    }
}

impl Place {
    /// Reads a place; `None` for anything that was not written by [`Display`].
    pub(super) fn read(text: &str) -> Option<Self> {
        let (heads, open) = text.split_once('~').unwrap_or((text, ""));
        let (runs, notes) = heads.split_once('.')?;
        let number = |text: &str| text.parse::<u64>().ok().filter(|it| it.to_string() == text);
        let (runs, notes) = (number(runs)?, number(notes)?);
        let pair = |pair: &str| {
            let (run, next) = pair.split_once(':')?;
            Some((number(run).filter(|run| *run < runs)?, number(next)?))
        };
        let pairs = open.split(',').filter(|pair| !pair.is_empty()).take(MAX_OPEN + 1);
        let open: BTreeMap<_, _> = pairs.map(pair).collect::<Option<_>>()?;
        (open.len() <= MAX_OPEN).then_some(Self { runs, notes, open })
    }
}

/// A run, as it is noted among those of its caller.
#[derive(Debug, Serialize, Deserialize)]
struct Noted {
    #[serde(rename = "type")]
    kind: Text,
    run_id: Text,
    conversation_id: Text,
}

/// Returns the log of the runs of a caller.
pub(super) fn runs_of(scope: &Text, owner: &str) -> LogKey {
    LogKey::new(scope.clone(), format!("runs-of/{owner}"))
}

/// Notes a run that begins among those of its caller.
pub(super) async fn note(log: &dyn EventLog, run: &Run) -> Result<(), LogError> {
    let key = runs_of(&run.key.scope, &run.owner);
    let (run_id, conversation_id) = (run.key.name.clone(), run.conversation.clone());
    let noted = Noted { kind: RUN_QUEUED.into(), run_id, conversation_id };
    let record = LogRecord::new(RUN_QUEUED, serde_json::to_vec(&noted).unwrap_or_default());
    let (mut at, mut last) = (0, None);
    for _ in 0..MAX_ATTEMPTS {
        match log.append(&key, at, vec![record.clone()]).await {
            Ok(()) => return Ok(()),
            Err(LogError::Behind { end, .. }) => at = end,
            Err(LogError::NotFound { .. }) => match log.create(key.clone()).await {
                Ok(()) | Err(LogError::Exists { .. }) => {}
                Err(error) => return Err(error),
            },
            Err(error) => last = Some(error),
        }
    }
    let reason = || "the runs of the caller cannot be noted".to_owned();
    Err(last.unwrap_or_else(|| LogError::Unavailable { reason: reason() }))
}

/// The places where a reader finds what it reads.
pub(super) struct Sources {
    log: Arc<dyn EventLog>,
    notes: Option<Arc<dyn NotificationChannel>>,
    scope: Text,
    runs: LogKey,
}

impl Sources {
    pub(super) fn new(
        log: Arc<dyn EventLog>,
        notes: Option<Arc<dyn NotificationChannel>>,
        (scope, caller): (Text, &Caller),
    ) -> Self {
        let runs = runs_of(&scope, &caller.id);
        Self { log, notes, scope, runs }
    }

    /// Returns the place of a reader that begins now: behind all runs but those that go on.
    pub(super) async fn now(&self, open: &[Arc<Run>]) -> Result<Place, LogError> {
        let (mut place, mut is_open) = (Place::default(), Vec::new());
        while let Some(page) = self.page(place.runs).await? {
            for noted in page {
                let goes_on = noted.is_some_and(|id| open.iter().any(|run| run.key.name == id));
                is_open.extend(goes_on.then_some(place.runs));
                place.runs += 1;
            }
        }
        place.open = is_open.into_iter().take(MAX_OPEN).map(|run| (run, 0)).collect();
        if let Some(notes) = &self.notes {
            let end = notes.end(&self.scope).await;
            place.notes =
                end.map_err(|error| LogError::Unavailable { reason: error.to_string() })?;
        }
        Ok(place)
    }

    /// Returns the ids of the runs from this number on; `None` when there are no more.
    async fn page(&self, from: u64) -> Result<Option<Vec<Option<Text>>>, LogError> {
        let page = match self.log.read(&self.runs, from, 1_000).await {
            Err(LogError::NotFound { .. }) if from == 0 => return Ok(None),
            page => page?,
        };
        let ids = page.records.iter().map(|record| Some(noted(record)?.run_id));
        Ok(Some(ids.collect()).filter(|ids: &Vec<_>| !ids.is_empty()))
    }

    /// Returns the log of the run with this number.
    async fn run(&self, number: u64) -> Result<LogKey, LogError> {
        let page = self.log.read(&self.runs, number, 1).await?;
        let id = page.records.first().and_then(noted).map(|noted| noted.run_id);
        let missing = || LogError::NotFound { name: self.runs.name.clone() };
        Ok(LogKey::new(self.scope.clone(), id.ok_or_else(missing)?))
    }

    /// Checks that a place is there.
    pub(super) async fn check(&self, place: &Place) -> Result<(), LogError> {
        match self.log.read(&self.runs, place.runs, 1).await {
            Err(LogError::NotFound { .. }) if place.runs == 0 => {}
            page => drop(page?),
        }
        for (run, next) in &place.open {
            match self.log.read(&self.run(*run).await?, *next, 1).await {
                Err(LogError::Retired { .. } | LogError::NotFound { .. }) => {}
                page => drop(page?),
            }
        }
        Ok(())
    }

    /// Reads all from a place on, as frames.
    pub(super) fn read(self, mut place: Place) -> impl Stream<Item = Bytes> + Send {
        stream! {
            let mut all: StreamMap<Of, Pin<Box<dyn Stream<Item = Seen> + Send>>> = StreamMap::new();
            let runs = began(Arc::clone(&self.log), self.runs.clone(), place.runs);
            all.insert(Of::Runs, Box::pin(runs));
            if let Some(notes) = &self.notes {
                let notes = published(Arc::clone(notes), self.scope.clone(), place.notes);
                all.insert(Of::Notes, Box::pin(notes));
            }
            for (run, next) in place.open.clone() {
                match self.run(run).await {
                    Ok(key) => {
                        let events = events(Arc::clone(&self.log), key, next);
                        all.insert(Of::Run(run), Box::pin(events));
                    }
                    Err(error) => return tracing::debug!(%error, "a reader is let go"),
                }
            }
            while let Some((of, seen)) = all.next().await {
                match (of, seen) {
                    (Of::Runs, Seen::Record(number, record)) => {
                        place.runs = number + 1;
                        place.open.insert(number, 0);
                        if let Some(noted) = noted(&record) {
                            let key = LogKey::new(self.scope.clone(), noted.run_id);
                            let events = events(Arc::clone(&self.log), key, 0);
                            all.insert(Of::Run(number), Box::pin(events));
                        }
                        yield frame(&place, &record.kind, &record.data);
                    }
                    (Of::Run(run), Seen::Record(number, record)) => {
                        place.open.insert(run, number + 1);
                        if record.kind == RUN_END {
                            place.open.remove(&run);
                        }
                        yield frame(&place, &record.kind, &record.data);
                    }
                    // What is not kept any more has no events; its end was before.
                    (Of::Run(run), Seen::Gone) => drop(place.open.remove(&run)),
                    (Of::Notes, Seen::Note(number, note)) => {
                        place.notes = number + 1;
                        let data = serde_json::to_vec(&Shown::of(&note)).unwrap_or_default();
                        yield frame(&place, "notification", &data);
                    }
                    (Of::Runs | Of::Notes | Of::Run(_), _) => return,
                }
            }
        }
    }
}

/// The part of all that an event is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Of {
    Runs,
    Notes,
    Run(u64),
}

enum Seen {
    Record(u64, LogRecord),
    Note(u64, Notification),
    /// The records are gone, or cannot be read.
    Gone,
}

/// A notification, as readers see it.
#[derive(Serialize)]
struct Shown<'n> {
    #[serde(rename = "type")]
    event: &'static str,
    id: &'n str,
    kind: &'n str,
    data: serde_json::Value,
    at_ms: u64,
}

impl<'n> Shown<'n> {
    fn of(note: &'n Notification) -> Self {
        let data = serde_json::from_str(&note.data).unwrap_or_default();
        Self { event: "notification", id: &note.id, kind: &note.kind, data, at_ms: note.at_ms }
    }
}

fn noted(record: &LogRecord) -> Option<Noted> {
    serde_json::from_slice(&record.data).ok()
}

fn frame(place: &Place, kind: &str, data: &[u8]) -> Bytes {
    let mut head = String::new();
    // A string takes whatever is written into it.
    let _written = write!(head, "id: {place}\nevent: {kind}\ndata: ");
    let mut out = Vec::with_capacity(head.len() + data.len() + 2);
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(data);
    out.extend_from_slice(b"\n\n");
    out.into()
}

fn events(log: Arc<dyn EventLog>, key: LogKey, from: u64) -> impl Stream<Item = Seen> + Send {
    follow(log, key, from).map(|record| match record {
        Ok((number, record)) => Seen::Record(number, record),
        Err(error) => {
            tracing::debug!(%error, "a run cannot be read");
            Seen::Gone
        }
    })
}

/// Reads the runs of a caller, who may have begun none yet.
fn began(log: Arc<dyn EventLog>, key: LogKey, from: u64) -> impl Stream<Item = Seen> + Send {
    stream! {
        if matches!(log.read(&key, from, 1).await, Err(LogError::NotFound { .. })) {
            let created = log.create(key.clone()).await;
            if !matches!(created, Ok(()) | Err(LogError::Exists { .. })) {
                yield Seen::Gone;
                return;
            }
        }
        let mut records = std::pin::pin!(events(log, key, from));
        while let Some(seen) = records.next().await {
            yield seen;
        }
    }
}

fn published(
    notes: Arc<dyn NotificationChannel>,
    scope: Text,
    from: u64,
) -> impl Stream<Item = Seen> + Send {
    stream! {
        let mut at = from;
        loop {
            let page = match notes.read(&scope, at, 100).await {
                Ok(page) => page,
                // Whoever was away too long goes on with the oldest that is kept.
                Err(StoreError::Dropped { first }) if first > at => {
                    at = first;
                    continue;
                }
                Err(error) => {
                    tracing::debug!(%error, "notifications cannot be read");
                    yield Seen::Gone;
                    return;
                }
            };
            let is_empty = page.is_empty();
            for (number, note) in page {
                at = number + 1;
                yield Seen::Note(number, note);
            }
            if is_empty && notes.wait(&scope, at).await.is_err() {
                yield Seen::Gone;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written_and_nothing_else_is_one() {
        for text in ["0.0", "3.12", "3.0~2:17", "12.4~0:1,7:99,11:0"] {
            assert_eq!(Place::read(text).unwrap().to_string(), text);
        }
        let many = (0..513).map(|run| format!("{run}:0")).collect::<Vec<_>>().join(",");
        for text in
            ["", "1", "-1.0", "1.", "01.0", "1.0~1:0", "1.0~0", "1.0~x:1", &format!("999.0~{many}")]
        {
            assert_eq!(Place::read(text), None, "{text}");
        }
    }
}
