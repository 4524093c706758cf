//! The checks for event logs.

use std::{pin::pin, sync::Arc, time::Duration};

use futures_util::{StreamExt as _, future::join_all};
use tokio::time::timeout;

use super::{
    Report,
    suite::{MOST_PAGES, QUIET, StoreVerdict, check, done, hold, pages, same},
};
use forgeline_store::{EventLog, LogKey, LogRecord, Retention, StoreError, follow};

fn record(text: &str) -> LogRecord {
    LogRecord::new("kind", text.to_owned())
}

fn key(name: &str) -> LogKey {
    LogKey::new("team-a", name)
}

/// Checks an event log.
pub async fn check_event_log<L: EventLog>(make: impl AsyncFn() -> Arc<L>) -> Report {
    let checks = vec![
        check("round-trip", "records are read as they were, by number", whole(make().await)).await,
        check(
            "one-writer",
            "an append that is not at the end is refused",
            one_writer(make().await),
        )
        .await,
        check("scopes", "a log of another scope is not found", scopes(make().await)).await,
        check("end", "a closed log ends, and takes no more", end(make().await)).await,
        check("retired", "a retired log keeps its name alone", retired(make().await)).await,
        check("wait", "a wait ends with a record, the close and the end", wait(make().await)).await,
        check("follow", "readers that come at any time get each record once", many(make().await))
            .await,
        check("followed", "who follows a log learns that it is gone", gone(make().await)).await,
        check("writers", "many writers at once leave no gap and no double", race(make().await))
            .await,
        check("dropped", "an append that is dropped is whole or not at all", drops(make().await))
            .await,
        check(
            "trimmed",
            "a reader of trimmed records gets a gap, and the rest keeps its numbers",
            trimmed(make().await),
        )
        .await,
        check("listed", "logs are listed by the beginning of their names", listed(make().await))
            .await,
        check("touched", "a closed log that is used stays longer", touched(make().await)).await,
        check(
            "unused",
            "a log is removed once it was not used for a time, and not before",
            unused(make().await),
        )
        .await,
        check("kept", "open logs do not count towards the limit", kept(make().await)).await,
        check("swept", "what was swept reads as before, or is retired", swept(make().await)).await,
    ];
    Report { checks }
}

async fn filled(log: &impl EventLog, name: &str, count: usize) -> Result<LogKey, String> {
    let key = key(name);
    done("create", log.create(key.clone()).await)?;
    let records = (0..count).map(|at| record(&at.to_string())).collect();
    done("append", log.append(&key, 0, records, None).await)?;
    Ok(key)
}

async fn texts(log: &impl EventLog, key: &LogKey, from: u64) -> Result<Vec<String>, String> {
    let (mut texts, mut at) = (Vec::new(), from);
    loop {
        let page = done("read", log.read(key, at, 7).await)?;
        let text = |record: &LogRecord| String::from_utf8_lossy(&record.data).into_owned();
        texts.extend(page.records.iter().map(text));
        if page.next == at {
            return Ok(texts);
        }
        hold("the next number is behind the records read", page.next > at)?;
        at = page.next;
    }
}

fn numbers(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|at| at.to_string()).collect()
}

async fn whole(log: Arc<impl EventLog>) -> StoreVerdict {
    let key = filled(&*log, "whole", 3).await?;
    let odd = LogRecord::new("ki\u{e4}nd", b"\0\xff\n".to_vec());
    done("append", log.append(&key, 3, vec![odd.clone(), record("")], None).await)?;
    done("an append of nothing", log.append(&key, 5, Vec::new(), None).await)?;
    let page = done("read", log.read(&key, 3, 9).await)?;
    same("the records", &page.records, &vec![odd, record("")])?;
    same("the next number", &page.next, &5)?;
    let page = done("read", log.read(&key, 1, 1).await)?;
    same("one record", &page.records, &vec![record("1")])?;
    let page = done("read at the end", log.read(&key, 5, 9).await)?;
    hold("nothing is at the end, and it is not the last", page.records.is_empty() && !page.is_end)?;
    let behind = log.read(&key, 6, 9).await;
    let is_told = matches!(behind, Err(StoreError::Behind { end: 5, at: 6, .. }));
    hold("a number past the end is an error with the end", is_told)
}

async fn one_writer(log: Arc<impl EventLog>) -> StoreVerdict {
    let key = filled(&*log, "writer", 3).await?;
    for at in [0, 2, 4, u64::MAX] {
        let refused = log.append(&key, at, vec![record("x")], None).await;
        let is_told = matches!(refused, Err(StoreError::Behind { end: 3, .. }));
        hold(&format!("an append at {at} of 3 is refused"), is_told)?;
    }
    same("the records", &texts(&*log, &key, 0).await?, &numbers(0..3))?;
    let again = log.create(key).await;
    hold("a name is taken once", matches!(again, Err(StoreError::Exists { .. })))
}

async fn scopes(log: Arc<impl EventLog>) -> StoreVerdict {
    let own = filled(&*log, "same", 1).await?;
    let other = LogKey::new("team-b", "same");
    let results = [
        log.read(&other, 0, 1).await.map(drop),
        log.append(&other, 1, vec![record("x")], None).await,
        log.close(&other, None).await,
        log.retire(&other).await,
        log.wait(&other, 0).await,
    ];
    let is_unknown =
        |result: &Result<(), StoreError>| matches!(result, Err(StoreError::NotFound { .. }));
    hold(&format!("another scope finds nothing: {results:?}"), results.iter().all(is_unknown))?;
    done("another scope has its own", log.create(other).await)?;
    same("the records", &texts(&*log, &own, 0).await?, &numbers(0..1))
}

async fn end(log: Arc<impl EventLog>) -> StoreVerdict {
    let key = filled(&*log, "end", 2).await?;
    for _ in 0..2 {
        done("close", log.close(&key, None).await)?;
    }
    let page = done("read", log.read(&key, 0, 9).await)?;
    hold("the last page says so", page.is_end && page.next == 2)?;
    let page = done("read", log.read(&key, 0, 1).await)?;
    hold("a page before does not", !page.is_end)?;
    let page = done("read", log.read(&key, 2, 9).await)?;
    hold("behind the last record is the end", page.is_end && page.records.is_empty())?;
    let refused = log.append(&key, 2, vec![record("x")], None).await;
    hold("it takes no more", matches!(refused, Err(StoreError::Ended { .. })))
}

async fn retired(log: Arc<impl EventLog>) -> StoreVerdict {
    let key = filled(&*log, "retired", 2).await?;
    done("close", log.close(&key, None).await)?;
    for _ in 0..2 {
        done("retire", log.retire(&key).await)?;
    }
    for result in [
        log.read(&key, 0, 1).await.map(drop),
        log.wait(&key, 9).await,
        log.close(&key, None).await,
        log.append(&key, 2, vec![record("x")], None).await,
    ] {
        let is_told = matches!(result, Err(StoreError::Retired { .. }));
        hold(&format!("it is reported as retired: {result:?}"), is_told)?;
    }
    let again = log.create(key).await;
    hold("its name stays", matches!(again, Err(StoreError::Exists { .. })))
}

async fn wait(log: Arc<impl EventLog>) -> StoreVerdict {
    for step in 0..3 {
        let key = filled(&*log, &format!("wait-{step}"), 1).await?;
        done("a wait for an existing record", log.wait(&key, 0).await)?;
        let mut waits = log.wait(&key, 1);
        hold("a wait lasts", timeout(QUIET, &mut waits).await.is_err())?;
        let changed = match step {
            0 => log.append(&key, 1, vec![record("1")], None).await,
            1 => log.close(&key, None).await,
            _ => log.retire(&key).await,
        };
        done("the change", changed)?;
        let ended = waits.await;
        hold(&format!("step {step}: it ends with {ended:?}"), ended.is_ok() == (step < 2))?;
    }
    Ok(())
}

async fn gone<L: EventLog>(log: Arc<L>) -> StoreVerdict {
    for is_retired in [true, false] {
        let key = filled(&*log, if is_retired { "retired" } else { "removed" }, 2).await?;
        let mut records = pin!(follow(Arc::clone(&log) as Arc<dyn EventLog>, key.clone(), 0));
        for at in 0..2 {
            let (number, _) = done("follow", records.next().await.ok_or("it ended")?)?;
            same("number", &number, &at)?;
        }
        hold("it waits", timeout(QUIET, records.next()).await.is_err())?;
        let gone = if is_retired { log.retire(&key).await } else { log.remove(&key).await };
        done("retire or remove", gone)?;
        let next = records.next().await;
        let is_told = if is_retired {
            matches!(next, Some(Err(StoreError::Retired { .. })))
        } else {
            matches!(next, Some(Err(StoreError::NotFound { .. })))
        };
        hold(&format!("its error comes: {next:?}"), is_told)?;
    }
    Ok(())
}

async fn many<L: EventLog>(log: Arc<L>) -> StoreVerdict {
    let key = filled(&*log, "follow", 0).await?;
    let reader = |from: u64| {
        let (log, key) = (Arc::clone(&log) as Arc<dyn EventLog>, key.clone());
        tokio::spawn(async move {
            let (mut got, mut records) = (Vec::new(), pin!(follow(log, key, from)));
            while let Some(next) = records.next().await {
                let (number, record) = next.map_err(|error| error.to_string())?;
                got.push((number, record.data));
            }
            Ok::<_, String>(got)
        })
    };
    let (mut readers, mut at) = (vec![(0, reader(0))], 0_u64);
    for size in [1, 64, 3, 300, 2, 1, 1, 64] {
        let records = (at..at + size).map(|at| record(&at.to_string())).collect();
        done("append", log.append(&key, at, records, None).await)?;
        at += size;
        readers.push((at, reader(at)));
        readers.push((at / 2, reader(at / 2)));
        tokio::task::yield_now().await;
    }
    done("close", log.close(&key, None).await)?;
    for (from, reader) in readers {
        let got = done("a reader", done("a reader", reader.await)?)?;
        let want: Vec<_> = (from..at).map(|at| (at, at.to_string().into())).collect();
        hold(&format!("a reader from {from} gets each record once"), got == want)?;
    }
    Ok(())
}

async fn race(log: Arc<impl EventLog>) -> StoreVerdict {
    let key = filled(&*log, "race", 0).await?;
    let writer = async |name: usize| {
        let (mut kept, mut at) = (Vec::new(), 0);
        for _ in 0..MOST_PAGES {
            if kept.len() == 5 {
                return Ok(kept);
            }
            let text = format!("{name}.{}", kept.len());
            match log.append(&key, at, vec![record(&text), record(&text)], None).await {
                Ok(()) => kept.push((at, text)),
                Err(StoreError::Behind { end, .. }) => at = end,
                Err(error) => return Err(format!("append fails: {error}")),
            }
        }
        Err(format!("an append at the end that the log reports is refused {MOST_PAGES} times"))
    };
    let kept = join_all((0..8).map(writer)).await;
    let kept: Vec<_> = kept.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
    let all = texts(&*log, &key, 0).await?;
    same("the number of records", &all.len(), &80)?;
    let is_there = |(at, text): &(u64, String)| {
        let at = usize::try_from(*at).unwrap_or(usize::MAX);
        all.get(at..at.saturating_add(2)).is_some_and(|two| two.iter().all(|it| it == text))
    };
    hold("each append is whole, where it was acknowledged", kept.iter().all(is_there))
}

async fn drops(log: Arc<impl EventLog>) -> StoreVerdict {
    let key = filled(&*log, "drops", 0).await?;
    let mut count = 0;
    for polls in 0..20 {
        let end = texts(&*log, &key, 0).await?.len();
        same("records", &(end % 3), &0)?;
        let mut append = log.append(&key, end as u64, vec![record("x"); 3], None);
        // The future is dropped after this number of polls.
        for _ in 0..polls {
            if futures_util::poll!(&mut append).is_ready() {
                count += 1;
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(append);
        // Queued events may still be written; another write comes after them.
        let other = filled(&*log, &format!("other-{polls}"), 1).await?;
        done("retire", log.retire(&other).await)?;
    }
    let end = texts(&*log, &key, 0).await?.len();
    hold("appends that had ended are there", end % 3 == 0 && end >= 3 * count)
}

async fn trimmed<L: EventLog>(log: Arc<L>) -> StoreVerdict {
    let key = filled(&*log, "trimmed", 0).await?;
    for at in 0..50_u64 {
        done("append", log.append(&key, at, vec![record(&at.to_string())], None).await)?;
    }
    done("trim", log.trim(&key, 30).await)?;
    done("a trim of records that are gone", log.trim(&key, 10).await)?;
    let first = match log.read(&key, 0, 1).await {
        Err(StoreError::Dropped { first, .. }) => first,
        other => return Err(format!("dropped records are reported: {other:?}")),
    };
    hold(&format!("records are dropped up to 30, not {first}"), (1..=30).contains(&first))?;
    let from = usize::try_from(first).unwrap_or(usize::MAX);
    same("the records", &texts(&*log, &key, first).await?, &numbers(from..50))?;
    let next = pin!(follow(Arc::clone(&log) as Arc<dyn EventLog>, key.clone(), 0)).next().await;
    let is_told = matches!(next, Some(Err(StoreError::Dropped { .. })));
    hold(&format!("a follower gets an error: {next:?}"), is_told)?;
    let behind = log.trim(&key, 51).await;
    hold("not behind the end", matches!(behind, Err(StoreError::Behind { end: 50, .. })))?;
    done("a trim of all", log.trim(&key, 50).await)?;
    done("append", log.append(&key, 50, vec![record("50")], None).await)?;
    same("the record", &texts(&*log, &key, 50).await?, &numbers(50..51))?;
    let gone = log.read(&key, 49, 1).await;
    hold("the last of them is gone", matches!(gone, Err(StoreError::Dropped { first: 50, .. })))?;
    done("close", log.close(&key, None).await)?;
    done("sweep", log.sweep(Retention::all()).await)?;
    same("the record", &texts(&*log, &key, 50).await?, &numbers(50..51))
}

async fn listed(log: Arc<impl EventLog>) -> StoreVerdict {
    for name in ["a/2", "b/1", "a/1", "a/3", "a"] {
        filled(&*log, name, 2).await?;
    }
    let other = LogKey::new("team-0", "a/9");
    done("create", log.create(other.clone()).await)?;
    done("close", log.close(&key("a/1"), None).await)?;
    done("retire", log.retire(&key("a/3")).await)?;
    let found = pages(async |after: Option<LogKey>| {
        let page = done("list", log.list("a/", after.as_ref(), 1).await)?;
        let next = page.last().map(|last| last.key.clone());
        Ok((page, next))
    });
    let found = found.await?;
    let keys: Vec<_> = found.iter().map(|it| it.key.clone()).collect();
    same("the names", &keys, &vec![other, key("a/1"), key("a/2")])?;
    let ends: Vec<_> = found.iter().map(|it| it.end).collect();
    same("their ends", &ends, &vec![0, 2, 2])?;
    let bytes: Vec<_> = found.iter().map(|it| it.bytes).collect();
    hold(&format!("their bytes: {bytes:?}"), bytes[0] == 0 && bytes[1] > 1 && bytes[2] > 1)?;
    hold("their times", found.iter().all(|it| it.used_ms > 0))
}

async fn touched(log: Arc<impl EventLog>) -> StoreVerdict {
    let keys = [filled(&*log, "one", 1).await?, filled(&*log, "two", 1).await?];
    for key in &keys {
        done("close", log.close(key, None).await)?;
    }
    let closed = forgeline_store::private::now_ms();
    while forgeline_store::private::now_ms() == closed {
        tokio::task::yield_now().await;
    }
    done("touch", log.touch(&keys[0]).await)?;
    let keep = Retention::all().closed_before_ms(closed + 1);
    same("one is retired", &done("sweep", log.sweep(keep).await)?, &1)?;
    same("the records", &texts(&*log, &keys[0], 0).await?, &numbers(0..1))?;
    let retired = log.touch(&keys[1]).await;
    hold("it is reported as retired", matches!(retired, Err(StoreError::Retired { .. })))?;
    let unknown = log.touch(&key("three")).await;
    hold("it is not found", matches!(unknown, Err(StoreError::NotFound { .. })))
}

async fn unused(log: Arc<impl EventLog>) -> StoreVerdict {
    let keys = [filled(&*log, "one", 1).await?, filled(&*log, "two", 1).await?];
    let hour = Duration::from_hours(1);
    let early = done("remove_unused", log.remove_unused(&keys[0], hour).await)?;
    same("it is removed early", &early, &false)?;
    same("the records", &texts(&*log, &keys[0], 0).await?, &numbers(0..1))?;
    let created = forgeline_store::private::now_ms();
    let short = Duration::from_secs(1);
    let (mut removed, mut used_ms) = (false, created);
    while !removed {
        tokio::task::yield_now().await;
        used_ms = forgeline_store::private::now_ms();
        done("touch", log.touch(&keys[1]).await)?;
        removed = done("remove_unused", log.remove_unused(&keys[0], short).await)?;
        hold("it is removed at last", removed || used_ms < created + 25_000)?;
    }
    let removed = done("remove_unused", log.remove_unused(&keys[1], short).await)?;
    // A stall of the machine is a time without use.
    let is_late = forgeline_store::private::now_ms() > used_ms + 700;
    hold("a log that is used is not removed", !removed || is_late)?;
    let gone = log.remove_unused(&keys[0], short).await;
    hold("it is not found", matches!(gone, Err(StoreError::NotFound { .. })))?;
    done("its name is free", log.create(keys[0].clone()).await)?;
    done("retire", log.retire(&keys[0]).await)?;
    let retired = log.remove_unused(&keys[0], Duration::ZERO).await;
    hold("it is reported as retired", matches!(retired, Err(StoreError::Retired { .. })))
}

async fn kept(log: Arc<impl EventLog>) -> StoreVerdict {
    filled(&*log, "open", 2_000).await?;
    let closed = filled(&*log, "closed", 1).await?;
    done("close", log.close(&closed, None).await)?;
    let keep = Retention::all().max_bytes(1_000);
    same("nothing is retired", &done("sweep", log.sweep(keep).await)?, &0)?;
    let keep = Retention::all().max_bytes(0);
    same("it is retired", &done("sweep", log.sweep(keep).await)?, &1)
}

async fn swept(log: Arc<impl EventLog>) -> StoreVerdict {
    let open = filled(&*log, "open", 2_000).await?;
    let mut closed = Vec::new();
    for name in ["one", "two"] {
        let key = filled(&*log, name, 10).await?;
        for at in 1..300_u64 {
            let records = (0..10).map(|of| record(&(at * 10 + of).to_string())).collect();
            done("append", log.append(&key, at * 10, records, None).await)?;
        }
        done("close", log.close(&key, None).await)?;
        closed.push(key);
    }
    let count = done("sweep", log.sweep(Retention::all()).await)?;
    same("nothing is retired", &count, &0)?;
    for key in &closed {
        for from in [0, 1, 1_023, 1_024, 1_025, 2_047, 2_999, 3_000] {
            let want = numbers(from..3_000);
            let got = texts(&*log, key, from as u64).await?;
            hold(&format!("a swept log is read from {from} as before"), got == want)?;
        }
        hold("it ends", done("read", log.read(key, 3_000, 1).await)?.is_end)?;
    }
    let keep = Retention::all().closed_before_ms(u64::MAX);
    same("both are retired", &done("sweep", log.sweep(keep).await)?, &2)?;
    same("what is open stays", &texts(&*log, &open, 0).await?.len(), &2_000)?;
    let gone = log.read(&closed[0], 0, 1).await;
    hold("what was retired says so", matches!(gone, Err(StoreError::Retired { .. })))?;
    let keep = Retention::all().max_retired(0);
    done("sweep", log.sweep(keep).await)?;
    let gone = log.read(&closed[0], 0, 1).await;
    hold("and its name is forgotten", matches!(gone, Err(StoreError::NotFound { .. })))
}
