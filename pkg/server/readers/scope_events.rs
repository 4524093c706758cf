//! Everything that a caller may see, as one stream: the runs that it started, and the notifications of its scope.
//!
//! A position in the stream is a position in each of them: `RUNS.NOTES~RUN:NEXT,RUN:NEXT`, where `RUNS` and `NOTES` are the numbers of the next run and
//! the next notification, and `RUN` is the number of an active run whose next event is `NEXT`.
//!
//! A `gap` event tells a reader that was away too long which part is no longer kept.

use std::{
    collections::{BTreeMap, HashSet},
    pin::Pin,
    sync::Arc,
};

use async_stream::stream;
use bytes::Bytes;
use futures_core::{Stream, future::BoxFuture, stream::BoxStream};
use serde::{Deserialize, Serialize};
use tokio_stream::{StreamExt as _, StreamMap};

use super::{
    note_turns,
    scope_cursor::ScopeCursor,
    scope_frames::{self as frames, GapEvent},
};
use crate::runs::{
    record_stream::RecordStream,
    run::{RUN_END, ServiceRun},
};
use forgeline_agent::Caller;
use forgeline_store::{
    EventLog, LogKey, LogRecord, Notification, NotificationChannel, StoreError, follow,
    private::runs_of,
};
use forgeline_types::Text;

/// Maximum number of runs noted for a caller, apart from some that are dropped together with later ones.
const MAX_NOTED: u64 = 1_000;

/// Number of runs after which the older ones are dropped.
const DROPPED_AT_A_TIME: u64 = 64;

/// Number of runs read at a time.
const PAGE: u64 = 256;

/// Maximum attempts to note a run while other nodes note runs of the caller: those of this node take turns.
const MAX_ATTEMPTS: usize = 64;

/// The kind of the event that announces a new run.
const RUN_QUEUED: &str = "run_queued";

/// The note of a run in the log of its caller's runs.
#[derive(Debug, Serialize, Deserialize)]
struct RunNote {
    #[serde(rename = "type")]
    kind: Text,
    run_id: Text,
    conversation_id: Text,
}

/// Notes a run that starts, in the log of its caller's runs.
pub(crate) async fn note(log: &dyn EventLog, run: &ServiceRun) -> Result<(), StoreError> {
    let key = runs_of(&run.key.scope, &run.owner);
    let (run_id, conversation_id) = (run.key.name.clone(), run.conversation.clone());
    let noted = RunNote { kind: RUN_QUEUED.into(), run_id, conversation_id };
    let record = LogRecord::new(RUN_QUEUED, serde_json::to_vec(&noted).unwrap_or_default());
    let (mut at, mut last) = (0, None);
    // Without turns, each of many runs that begin at once would take the end that another one has taken.
    let _turn = note_turns::wait(&key).await;
    for _ in 0..MAX_ATTEMPTS {
        match log.append(&key, at, vec![record.clone()], None).await {
            Ok(()) => {
                drop_old(log, &key, at + 1).await;
                return Ok(());
            }
            Err(StoreError::Behind { end, .. }) => at = end,
            Err(StoreError::NotFound { .. } | StoreError::Retired { .. }) => {
                begin(log, &key).await?;
            }
            Err(error) => last = Some(error),
        }
    }
    let reason = || "the runs of the caller cannot be recorded".to_owned();
    Err(last.unwrap_or_else(|| StoreError::unavailable(reason())))
}

/// Drops the oldest noted runs, several at a time.
async fn drop_old(log: &dyn EventLog, key: &LogKey, end: u64) {
    let before = end.saturating_sub(MAX_NOTED);
    if before > 0
        && end.is_multiple_of(DROPPED_AT_A_TIME)
        && let Err(error) = log.trim(key, before).await
    {
        // The run is noted anyway, and later runs try again.
        tracing::warn!(%error, "the oldest runs of a caller cannot be dropped");
    }
}

/// Creates the log of a caller's runs, if the caller had none or its runs were erased.
async fn begin(log: &dyn EventLog, key: &LogKey) -> Result<(), StoreError> {
    match log.create(key.clone()).await {
        Err(StoreError::Exists { .. }) => {
            let was_erased = matches!(log.read(key, 0, 1).await, Err(StoreError::Retired { .. }));
            if was_erased { log.remove(key).await } else { Ok(()) }
        }
        created => created,
    }
}

/// Returns `true` for a run that is no longer kept but noted among the runs of the caller.
pub(crate) async fn was_of(
    log: Arc<dyn EventLog>,
    key: &LogKey,
    caller: &Caller,
) -> Result<bool, StoreError> {
    match log.read(key, u64::MAX, 1).await {
        Err(StoreError::NotFound { .. }) => return Ok(false),
        Err(StoreError::Retired { .. } | StoreError::Behind { .. }) => {}
        page => drop(page?),
    }
    let sources = ScopeSources::new(log, None, (key.scope.clone(), caller));
    sources.is_noted(&key.name).await
}

/// Notes a run started by another process, which may have died before noting it.
pub(crate) async fn note_left(log: &Arc<dyn EventLog>, run: &ServiceRun) -> Result<(), StoreError> {
    let caller = Caller::new(run.owner.clone());
    let sources = ScopeSources::new(Arc::clone(log), None, (run.key.scope.clone(), &caller));
    if sources.is_noted(&run.key.name).await? { Ok(()) } else { note(&**log, run).await }
}

/// The sources that a reader reads.
pub(crate) struct ScopeSources {
    log: Arc<dyn EventLog>,
    notes: Option<Arc<dyn NotificationChannel>>,
    scope: Text,
    runs: LogKey,
    find: Option<RunFinder>,
}

/// A function that finds a run; the log of the run may lack its end.
pub(crate) type RunFinder =
    Arc<dyn Fn(LogKey) -> BoxFuture<'static, Option<Arc<ServiceRun>>> + Send + Sync>;

impl ScopeSources {
    pub(crate) fn new(
        log: Arc<dyn EventLog>,
        notes: Option<Arc<dyn NotificationChannel>>,
        (scope, caller): (Text, &Caller),
    ) -> Self {
        let runs = runs_of(&scope, &caller.id);
        Self { log, notes, scope, runs, find: None }
    }

    /// Sets the function that finds runs, so that the end of a run is sent even if its log lacks it.
    pub(crate) fn finding(mut self, find: RunFinder) -> Self {
        self.find = Some(find);
        self
    }

    /// Returns the position of a reader that starts now: after all runs except the active ones, which `open` returns once the end is known.
    pub(crate) async fn now(
        &self,
        open: impl AsyncFnOnce() -> Result<Vec<Arc<ServiceRun>>, StoreError>,
    ) -> Result<ScopeCursor, StoreError> {
        let mut place = ScopeCursor { runs: self.end().await?, ..ScopeCursor::default() };
        place.notes = self.notes_end().await?;
        let open = open().await?;
        let mut left: HashSet<&str> = open.iter().map(|run| run.id()).collect();
        let mut to = place.runs;
        while to > 0 && !left.is_empty() {
            let from = to.saturating_sub(PAGE);
            let (noted, first) = self.notes_between(from, to).await?;
            for (number, id) in noted {
                if left.remove(id.as_str()) {
                    place.open.insert(number, 0);
                }
            }
            if first > from {
                break;
            }
            to = from;
        }
        Ok(place)
    }

    /// Returns `true` if the run is noted.
    async fn is_noted(&self, id: &str) -> Result<bool, StoreError> {
        let mut to = self.end().await?;
        while to > 0 {
            let from = to.saturating_sub(PAGE);
            let (noted, first) = self.notes_between(from, to).await?;
            if noted.iter().any(|(_, noted)| noted == id) {
                return Ok(true);
            }
            if first > from {
                break;
            }
            to = from;
        }
        Ok(false)
    }

    /// Returns the number of the next run.
    async fn end(&self) -> Result<u64, StoreError> {
        match self.log.read(&self.runs, u64::MAX, 1).await {
            Err(StoreError::Behind { end, .. }) => Ok(end),
            Err(StoreError::NotFound { .. } | StoreError::Retired { .. }) => Ok(0),
            page => page.map(|page| page.next),
        }
    }

    /// Returns the number of the next notification.
    async fn notes_end(&self) -> Result<u64, StoreError> {
        let Some(notes) = &self.notes else { return Ok(0) };
        notes.end(&self.scope).await
    }

    /// Returns the numbers and ids of the runs between two numbers, and the number of the first one that is kept.
    async fn notes_between(
        &self,
        from: u64,
        to: u64,
    ) -> Result<(Vec<(u64, Text)>, u64), StoreError> {
        let (mut at, mut first, mut found) = (from, from, Vec::new());
        while at < to {
            let most = usize::try_from(to - at).unwrap_or(usize::MAX);
            let page = match self.log.read(&self.runs, at, most).await {
                Err(StoreError::Dropped { first: there, .. }) if there > at => {
                    (at, first) = (there, there);
                    continue;
                }
                page => page?,
            };
            if page.records.is_empty() {
                break;
            }
            let ids = (at..).zip(&page.records);
            found.extend(ids.filter_map(|(number, it)| Some((number, parse_note(it)?.run_id))));
            at = page.next;
        }
        Ok((found, first))
    }

    /// Returns the log of the run with this number; `None` if the run is no longer noted.
    async fn run(&self, number: u64) -> Result<Option<LogKey>, StoreError> {
        let page = match self.log.read(&self.runs, number, 1).await {
            Err(StoreError::Dropped { .. }) => return Ok(None),
            page => page?,
        };
        let id = page.records.first().and_then(parse_note).map(|noted| noted.run_id);
        Ok(id.map(|id| LogKey::new(self.scope.clone(), id)))
    }

    /// Returns `true` for a position that exists or existed: no part of it is beyond its end.
    pub(crate) async fn has(&self, place: &ScopeCursor) -> Result<bool, StoreError> {
        if place.runs > self.end().await? || place.notes > self.notes_end().await? {
            return Ok(false);
        }
        for (run, next) in &place.open {
            let Some(key) = self.run(*run).await? else { continue };
            match self.log.read(&key, *next, 1).await {
                Err(StoreError::Behind { .. }) => return Ok(false),
                Err(StoreError::Retired { .. } | StoreError::NotFound { .. }) => {}
                page => drop(page?),
            }
        }
        Ok(true)
    }

    /// Reads everything from a position on, as frames.
    pub(crate) fn into_frames(self, mut place: ScopeCursor) -> impl Stream<Item = Bytes> + Send {
        stream! {
            let mut all: StreamMap<EventOrigin, Pin<Box<dyn Stream<Item = SourceItem> + Send>>> = StreamMap::new();
            let mut ids = BTreeMap::new();
            let runs = began(Arc::clone(&self.log), self.runs.clone(), place.runs);
            all.insert(EventOrigin::Runs, Box::pin(runs));
            if let Some(notes) = &self.notes {
                let notes = published(Arc::clone(notes), self.scope.clone(), place.notes);
                all.insert(EventOrigin::Notes, Box::pin(notes));
            }
            for left_out in place.leave_out() {
                match self.run(left_out).await {
                    Ok(Some(key)) => yield frames::gap(&place, &GapEvent::of_run(&key.name)),
                    Ok(None) => yield frames::gap(&place, &GapEvent::runs(1)),
                    Err(error) => return tracing::debug!(%error, "disconnected a reader"),
                }
            }
            for (run, next) in place.open.clone() {
                match self.run(run).await {
                    Ok(Some(key)) => {
                        ids.insert(run, key.name.clone());
                        let events = events(Arc::clone(&self.log), self.find.clone(), key, next);
                        all.insert(EventOrigin::Run(run), Box::pin(events));
                    }
                    Ok(None) => {
                        place.open.remove(&run);
                        yield frames::gap(&place, &GapEvent::runs(1));
                    }
                    Err(error) => return tracing::debug!(%error, "disconnected a reader"),
                }
            }
            while let Some((of, seen)) = all.next().await {
                match (of, seen) {
                    (EventOrigin::Runs, SourceItem::Record(number, record)) => {
                        place.runs = number + 1;
                        place.open.insert(number, 0);
                        if let Some(noted) = parse_note(&record) {
                            ids.insert(number, noted.run_id.clone());
                            let key = LogKey::new(self.scope.clone(), noted.run_id);
                            let events = events(Arc::clone(&self.log), self.find.clone(), key, 0);
                            all.insert(EventOrigin::Run(number), Box::pin(events));
                        }
                        for left_out in place.leave_out() {
                            all.remove(&EventOrigin::Run(left_out));
                            let id = ids.remove(&left_out).unwrap_or_default();
                            yield frames::gap(&place, &GapEvent::of_run(&id));
                        }
                        yield frames::event_frame(&place, &record.kind, &record.data);
                    }
                    (EventOrigin::Run(run), SourceItem::Record(number, record)) => {
                        place.open.insert(run, number + 1);
                        if record.kind == RUN_END {
                            place.open.remove(&run);
                            ids.remove(&run);
                        }
                        yield frames::event_frame(&place, &record.kind, &record.data);
                    }
                    (EventOrigin::Run(run), SourceItem::Gone) => {
                        place.open.remove(&run);
                        let id = ids.remove(&run).unwrap_or_default();
                        yield frames::gap(&place, &GapEvent::of_run(&id));
                    }
                    (EventOrigin::Notes, SourceItem::Note(number, note)) => {
                        place.notes = number + 1;
                        yield frames::note(&place, &note);
                    }
                    (EventOrigin::Runs, SourceItem::Gap(first)) => {
                        let count = first.saturating_sub(place.runs);
                        place.runs = first;
                        yield frames::gap(&place, &GapEvent::runs(count));
                    }
                    (EventOrigin::Notes, SourceItem::Gap(first)) => {
                        let count = first.saturating_sub(place.notes);
                        place.notes = first;
                        yield frames::gap(&place, &GapEvent::notifications(count));
                    }
                    (EventOrigin::Runs | EventOrigin::Notes | EventOrigin::Run(_), _) => return,
                }
            }
        }
    }
}

/// The source of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum EventOrigin {
    Runs,
    Notes,
    Run(u64),
}

enum SourceItem {
    Record(u64, LogRecord),
    Note(u64, Notification),
    /// The number before which everything was dropped.
    Gap(u64),
    /// The records are gone or cannot be read.
    Gone,
}

fn parse_note(record: &LogRecord) -> Option<RunNote> {
    serde_json::from_slice(&record.data).ok()
}

/// Reads the events of a run to its end.
fn events(
    log: Arc<dyn EventLog>,
    find: Option<RunFinder>,
    key: LogKey,
    from: u64,
) -> impl Stream<Item = SourceItem> + Send {
    stream! {
        let run = match find {
            Some(find) => find(key.clone()).await,
            None => None,
        };
        let mut records: BoxStream<'static, Result<(u64, LogRecord), StoreError>> = match run {
            Some(run) => Box::pin(RecordStream::new(log, run, from)),
            None => log.follow(key, from),
        };
        let mut has_end = false;
        while let Some(record) = records.next().await {
            match record {
                Ok((number, record)) => {
                    has_end |= record.kind == RUN_END;
                    yield SourceItem::Record(number, record);
                }
                Err(error) => {
                    tracing::debug!(%error, "a run cannot be read");
                    has_end = true;
                    yield SourceItem::Gone;
                    break;
                }
            }
        }
        // The log is closed without the end of the run.
        if !has_end {
            yield SourceItem::Gone;
        }
    }
}

/// Reads the runs of a caller, which may have started none yet.
fn began(log: Arc<dyn EventLog>, key: LogKey, from: u64) -> impl Stream<Item = SourceItem> + Send {
    stream! {
        let mut at = from;
        let is_there = log.read(&key, from, 1).await;
        if matches!(is_there, Err(StoreError::NotFound { .. } | StoreError::Retired { .. })) {
            // If the runs were erased, the first call removes the log and the second creates it.
            for _ in 0..2 {
                if let Err(error) = begin(&*log, &key).await {
                    tracing::debug!(%error, "the runs of a caller cannot be read");
                    yield SourceItem::Gone;
                    return;
                }
            }
        }
        loop {
            let mut records = std::pin::pin!(follow(Arc::clone(&log), key.clone(), at));
            let mut gap = None;
            while let Some(record) = records.next().await {
                match record {
                    Ok((number, record)) => {
                        at = number + 1;
                        yield SourceItem::Record(number, record);
                    }
                    Err(StoreError::Dropped { first, .. }) if first > at => {
                        gap = Some(first);
                        break;
                    }
                    Err(error) => {
                        tracing::debug!(%error, "the runs of a caller cannot be read");
                        yield SourceItem::Gone;
                        return;
                    }
                }
            }
            let Some(first) = gap else { return };
            at = first;
            yield SourceItem::Gap(first);
        }
    }
}

fn published(
    notes: Arc<dyn NotificationChannel>,
    scope: Text,
    from: u64,
) -> impl Stream<Item = SourceItem> + Send {
    stream! {
        let mut at = from;
        loop {
            let page = match notes.read(&scope, at, 100).await {
                Ok(page) => page,
                // A reader that was away too long continues with the oldest one that is kept.
                Err(StoreError::Dropped { first, .. }) if first > at => {
                    at = first;
                    yield SourceItem::Gap(first);
                    continue;
                }
                Err(error) => {
                    tracing::debug!(%error, "notifications cannot be read");
                    yield SourceItem::Gone;
                    return;
                }
            };
            let is_empty = page.is_empty();
            for (number, note) in page {
                at = number + 1;
                yield SourceItem::Note(number, note);
            }
            if is_empty && notes.wait(&scope, at).await.is_err() {
                yield SourceItem::Gone;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forgeline_store::{InMemoryLog, StoredRun};

    fn caller() -> Caller {
        Caller::new("ann").scope("team")
    }

    fn sources(log: &Arc<InMemoryLog>) -> ScopeSources {
        ScopeSources::new(Arc::clone(log) as _, None, ("team".into(), &caller()))
    }

    fn run(number: u64) -> Arc<ServiceRun> {
        let key = LogKey::new("team", format!("run-{number}"));
        Arc::new(ServiceRun::claimed(&StoredRun::new(key, "c", "ann", "main", 1)))
    }

    #[tokio::test]
    async fn the_runs_between_two_numbers_are_none_that_were_noted_since() {
        let log = Arc::new(InMemoryLog::new());
        for number in 0..9 {
            note(&*log, &run(number)).await.unwrap();
        }
        let sources = sources(&log);
        let is_noted = async |id: &str| sources.is_noted(id).await.unwrap();
        assert!(is_noted("run-0").await && is_noted("run-8").await && !is_noted("run-9").await);
        for (from, to) in [(0, 9), (2, 5), (5, 5), (8, 9)] {
            let (found, first) = sources.notes_between(from, to).await.unwrap();
            let numbers: Vec<_> = found.into_iter().map(|(number, _)| number).collect();
            assert_eq!((numbers, first), ((from..to).collect(), from), "{from} to {to}");
        }
    }

    #[tokio::test]
    async fn the_runs_that_are_noted_have_a_bound_and_those_that_go_on_are_found() {
        let log = Arc::new(InMemoryLog::new());
        for number in 0..1_500 {
            note(&*log, &run(number)).await.unwrap();
        }
        let first = match log.read(&runs_of(&"team".into(), "ann"), 0, 1).await {
            Err(StoreError::Dropped { first, .. }) => first,
            other => panic!("{other:?}"),
        };
        // Not at each run.
        let dropped_at = 1_500 - 1_500 % DROPPED_AT_A_TIME;
        assert!(dropped_at < 1_500 && first == dropped_at - MAX_NOTED, "{first}");
        let all = sources(&log);
        assert!(all.is_noted(&format!("run-{first}")).await.unwrap(), "several pages back");
        assert!(!all.is_noted("run-0").await.unwrap(), "dropped");
        // One is far behind, one is the last, and one is not noted any more.
        let open = async || Ok(vec![run(1), run(700), run(1_499)]);
        let place = sources(&log).now(open).await.unwrap();
        assert_eq!(place.to_string(), "1500.0~700:0,1499:0");
        assert!(sources(&log).has(&place).await.unwrap());
        // Whoever was away goes on with the first that is noted, and knows it.
        let mut all =
            std::pin::pin!(sources(&log).into_frames(ScopeCursor::parse("3.0~1:7").unwrap()));
        let mut frames = Vec::new();
        for _ in 0..3 {
            frames.push(String::from_utf8(all.next().await.unwrap().to_vec()).unwrap());
        }
        let gap = |id: &str, count: u64| {
            format!(
                "id: {id}\nevent: gap\ndata: {{\"type\":\"gap\",\"of\":\"runs\",\"count\":{count}}}\n\n"
            )
        };
        assert_eq!(frames[..2], [gap("3.0", 1), gap(&format!("{first}.0"), first - 3)]);
        assert!(frames[2].contains(&format!("\"run_id\":\"run-{first}\"")), "{frames:?}");
    }
}
