//! The checks for run stores.

use std::sync::Arc;

use futures_util::future::join_all;

use super::{
    Report,
    suite::{StoreVerdict, check, done, hold, pages, same},
};
use forgeline_store::{
    ConversationKey, EraseMode, LogKey, NodeId, RunBegun, RunChange, RunNote, RunPlace,
    RunProgress, RunQuery, RunRequest, RunStore, RunWriter, StoreError, StoredRun,
};
use forgeline_types::UsageInfo;

/// Checks a run store.
pub async fn check_run_store<S: RunStore>(make: impl AsyncFn() -> Arc<S>) -> Report {
    let checks = vec![
        check("round-trip", "a run is read as it was", whole(make().await)).await,
        check("requests", "a request with the same key is one run", requests(make().await)).await,
        check("notes", "notes are stored one by one, until their run ends", notes(make().await))
            .await,
        check("ends", "what has ended stays as it is", ends(make().await)).await,
        check("open", "runs that have not ended are found, in order", open(make().await)).await,
        check(
            "open-in",
            "the open runs of a conversation are found behind ended ones",
            open_in(make().await),
        )
        .await,
        check("list", "lists have filters and pages", list(make().await)).await,
        check("scopes", "another scope finds nothing", scopes(make().await)).await,
        check("sweep", "a sweep removes what ended first", sweep(make().await)).await,
        check("erase", "erasing removes what is one owner's", erase(make().await)).await,
    ];
    Report { checks }
}

fn key(id: &str) -> LogKey {
    LogKey::new("team-a", id)
}

fn run(id: &str, owner: &str, begun_ms: u64) -> StoredRun {
    StoredRun::new(key(id), "c", owner, "main", begun_ms)
}

/// Begins a run that this node owns.
async fn begun(store: &impl RunStore, run: StoredRun) -> Result<RunBegun, StoreError> {
    store.begin(run, Some(&NodeId::new("node"))).await
}

/// Returns the right of the first claim.
fn writer(id: &str) -> RunWriter {
    RunWriter::new(key(id), 1)
}

async fn notes(store: Arc<impl RunStore>) -> StoreVerdict {
    for id in ["r", "other"] {
        done("begin", begun(&*store, run(id, "ann", 1_000).input("{\"a\":1}")).await)?;
    }
    let note = |name: &str, data: &str| RunNote::new(name, data);
    let running = || RunChange::to(RunProgress::Running, 1_001);
    let first = running().note(note("a", "1")).note(note("b", "2")).note(note("c", "3"));
    done("change", store.change(&writer("r"), first).await)?;
    let second = running().without_note("b").without_note("none").note(note("a", "4"));
    done("change", store.change(&writer("r"), second).await)?;
    done("change", store.change(&writer("other"), running().note(note("a", "5"))).await)?;
    let found = done("get", store.get(&key("r")).await)?;
    same(
        "in the order in which they were added",
        &found.notes,
        &vec![note("c", "3"), note("a", "4")],
    )?;
    same("the input stays", &found.input.as_deref(), &Some("{\"a\":1}"))?;
    let open = done("open", store.open(10).await)?;
    let counts: Vec<_> = open.iter().map(|run| run.notes.len()).collect();
    same("runs that have not ended have theirs", &counts, &vec![2, 1])?;
    let end = RunChange::to(RunProgress::Completed, 1_002).note(note("d", "6"));
    done("change", store.change(&writer("r"), end).await)?;
    same("an ended run has none", &done("get", store.get(&key("r")).await)?.notes, &vec![])?;
    let late = store.change(&writer("r"), running().note(note("e", "7"))).await;
    hold("an ended run takes none", matches!(late, Err(StoreError::Ended { .. })))?;
    done("erase", store.erase("team-a", "ann", EraseMode::Tombstone).await)?;
    same("an erased run has none", &done("get", store.get(&key("other")).await)?.notes, &vec![])
}

async fn whole(store: Arc<impl RunStore>) -> StoreVerdict {
    let mut new = run("r", "ann", 1_000)
        .request(RunRequest::new("k", u64::MAX))
        .input("{\"a\":1}")
        .about("{\"page\":\"home\"}");
    same("begun", &done("begin", begun(&*store, new.clone()).await)?, &RunBegun::New)?;
    (new.epoch, new.node) = (1, Some(NodeId::new("node")));
    same("it", &done("get", store.get(&key("r")).await)?, &new)?;
    let again = begun(&*store, run("r", "ann", 1)).await;
    hold("an id is taken once", matches!(again, Err(StoreError::Exists { .. })))?;
    let running = RunChange::to(RunProgress::Running, 1_001).is_resumed(true);
    done("change", store.change(&writer("r"), running).await)?;
    same("it is resumed", &done("get", store.get(&key("r")).await)?.resumed, &1)?;
    let away = RunChange::to(RunProgress::Running, 1_002).is_put_away(true);
    done("change", store.change(&writer("r"), away).await)?;
    let away = done("get", store.get(&key("r")).await)?;
    same("it is put away with its input", &(away.resumed, &away.input), &(0, &new.input))?;
    let running = RunChange::to(RunProgress::Running, 1_003).is_resumed(true);
    done("change", store.change(&writer("r"), running).await)?;
    let running = RunChange::to(RunProgress::Running, 1_005);
    done("change", store.change(&writer("r"), running).await)?;
    let kept = done("get", store.get(&key("r")).await)?.input;
    same("its input stays until it ends", &kept.as_deref(), &Some("{\"a\":1}"))?;
    let usage = UsageInfo::default().input_tokens(7);
    let ended = RunChange::to(RunProgress::Completed, 2_000).end("{}").usage(Some(usage));
    done("change", store.change(&writer("r"), ended).await)?;
    let mut want = new;
    (want.progress, want.ended_ms, want.input) = (RunProgress::Completed, Some(2_000), None);
    (want.end, want.usage, want.resumed) = (Some("{}".to_owned()), Some(usage), 1);
    same("it", &done("get", store.get(&key("r")).await)?, &want)
}

async fn requests(store: Arc<impl RunStore>) -> StoreVerdict {
    let asked = |id: &str, owner: &str, digest| {
        begun(&*store, run(id, owner, 1_000).request(RunRequest::new("k", digest)))
    };
    let names: Vec<_> = (0..8).map(|at| format!("r{at}")).collect();
    let begun = join_all(names.iter().map(|name| asked(name, "ann", 1))).await;
    let new = begun.iter().filter(|it| matches!(it, Ok(RunBegun::New))).count();
    same("one of eight with the same key is new", &new, &1)?;
    let first = done("of_request", store.of_request("team-a", "ann", "k").await)?;
    let first = first.ok_or("the request is not known")?;
    let is_first = |it: &Result<RunBegun, StoreError>| match it {
        Ok(RunBegun::Same(same)) => same.key == first.key,
        it => matches!(it, Ok(RunBegun::New)),
    };
    hold("the others are the same run", begun.iter().all(is_first))?;
    same("another request", &done("begin", asked("x", "ann", 2).await)?, &RunBegun::Other)?;
    same("another owner's", &done("begin", asked("y", "bob", 2).await)?, &RunBegun::New)?;
    let none = done("of_request", store.of_request("team-b", "ann", "k").await)?;
    hold("another scope's", none.is_none())?;
    same("deleted", &done("delete", store.delete(&first.key).await)?, &true)?;
    same("its key is free", &done("begin", asked("z", "ann", 3).await)?, &RunBegun::New)
}

async fn ends(store: Arc<impl RunStore>) -> StoreVerdict {
    let last = [
        RunProgress::Completed,
        RunProgress::Failed,
        RunProgress::Cancelled,
        RunProgress::Interrupted,
    ];
    for progress in last {
        let id = progress.as_str();
        done("begin", begun(&*store, run(id, "ann", 1_000)).await)?;
        for step in [RunProgress::Running, RunProgress::Waiting, RunProgress::Queued, progress] {
            done("change", store.change(&writer(id), RunChange::to(step, 2_000)).await)?;
        }
        for step in [RunProgress::Running, RunProgress::Completed] {
            let refused = store.change(&writer(id), RunChange::to(step, 3_000)).await;
            hold("what has ended stays", matches!(refused, Err(StoreError::Ended { .. })))?;
        }
        same("it", &done("get", store.get(&key(id)).await)?.progress, &progress)?;
    }
    let unknown = store.change(&writer("x"), RunChange::to(RunProgress::Running, 1)).await;
    hold("what does not exist", matches!(unknown, Err(StoreError::NotFound { .. })))
}

async fn open(store: Arc<impl RunStore>) -> StoreVerdict {
    for at in 0..6 {
        // The times contradict the order of the runs.
        let new = run(&at.to_string(), "ann", 1_000 - at);
        done("begin", begun(&*store, new).await)?;
    }
    let other = StoredRun::new(LogKey::new("team-b", "6"), "c", "bob", "main", 1);
    done("begin", begun(&*store, other).await)?;
    for (id, progress) in
        [("1", RunProgress::Running), ("2", RunProgress::Failed), ("3", RunProgress::Waiting)]
    {
        done("change", store.change(&writer(id), RunChange::to(progress, 2_000)).await)?;
    }
    let open = async |most| {
        let open = done("open", store.open(most).await)?;
        let ids: Vec<_> = open.iter().map(|run| run.key.name.to_string()).collect();
        Ok::<_, String>(ids.join(" "))
    };
    same("all", &open(99).await?.as_str(), &"0 1 3 4 5 6")?;
    same("the first", &open(2).await?.as_str(), &"0 1")
}

async fn open_in(store: Arc<impl RunStore>) -> StoreVerdict {
    let conversation = ConversationKey::new("team-a", "c");
    for id in ["b", "a"] {
        done("begin", begun(&*store, run(id, "ann", 1_000)).await)?;
    }
    let mut other = run("other", "ann", 1_000);
    other.conversation = "d".into();
    done("begin", begun(&*store, other).await)?;
    for at in 0..120 {
        let id = format!("ended{at}");
        done("begin", begun(&*store, run(&id, "ann", 2_000)).await)?;
        let end = RunChange::to(RunProgress::Completed, 2_000);
        done("change", store.change(&writer(&id), end).await)?;
    }
    done("begin", begun(&*store, run("c", "bob", 3_000).input("{}")).await)?;
    let waits = RunChange::to(RunProgress::Waiting, 3_000);
    done("change", store.change(&writer("a"), waits).await)?;
    let open = |id: &str, at_ms, progress| RunPlace::new(key(id), at_ms, progress);
    let want = vec![
        open("a", 1_000, RunProgress::Waiting),
        open("b", 1_000, RunProgress::Queued),
        open("c", 3_000, RunProgress::Queued),
    ];
    same("all", &done("open_in", store.open_in(&conversation).await)?, &want)?;
    let none = ConversationKey::new("team-b", "c");
    same("another scope's", &done("open_in", store.open_in(&none).await)?, &vec![])
}

async fn list(store: Arc<impl RunStore>) -> StoreVerdict {
    for at in 0..6_u64 {
        let owner = if at.is_multiple_of(2) { "ann" } else { "bob" };
        let mut new = run(&format!("r{at}"), owner, 1_000 + at / 2);
        new.conversation = if at < 3 { "c" } else { "d" }.into();
        done("begin", begun(&*store, new).await)?;
    }
    let ids = async |query: RunQuery| {
        let runs = pages(async |after| {
            let mut query = query.clone();
            query.after = after;
            let page = done("list", store.list(query).await)?;
            Ok((page.runs, page.next))
        });
        let ids: Vec<_> = runs.await?.into_iter().map(|run| run.key.name.into_string()).collect();
        Ok::<_, String>(ids.join(" "))
    };
    for most in [1, 2, 6, 9] {
        let all = ids(RunQuery::new("team-a", most)).await?;
        same("all", &all.as_str(), &"r5 r4 r3 r2 r1 r0")?;
    }
    let own = ids(RunQuery::new("team-a", 1).owner("ann").conversation("c")).await?;
    same("of an owner and a conversation", &own.as_str(), &"r2 r0")?;
    let since = ids(RunQuery::new("team-a", 2).since_ms(1_001)).await?;
    same("since a time", &since.as_str(), &"r5 r4 r3 r2")?;
    let mut other = run("other", "ann", 1_500);
    other.agent = "other".into();
    done("begin", begun(&*store, other).await)?;
    for (id, progress) in [("r1", RunProgress::Completed), ("r4", RunProgress::Waiting)] {
        done("change", store.change(&writer(id), RunChange::to(progress, 2_000)).await)?;
    }
    let agent = |name: &str| RunQuery::new("team-a", 4).agent(name);
    same("of an agent", &ids(agent("other")).await?.as_str(), &"other")?;
    same("of the other", &ids(agent("main")).await?.as_str(), &"r5 r4 r3 r2 r1 r0")?;
    let stage = |progress| RunQuery::new("team-a", 2).progress(progress);
    same("completed", &ids(stage(RunProgress::Completed)).await?.as_str(), &"r1")?;
    same("queued", &ids(stage(RunProgress::Queued)).await?.as_str(), &"other r5 r3 r2 r0")?;
    let both = agent("main").progress(RunProgress::Waiting).conversation("d").since_ms(1_002);
    same("of all", &ids(both.owner("ann")).await?.as_str(), &"r4")?;
    let bad = store.list(RunQuery::new("team-a", 1).after("x")).await;
    hold("a bad cursor is refused", matches!(bad, Err(StoreError::BadCursor { .. })))
}

async fn scopes(store: Arc<impl RunStore>) -> StoreVerdict {
    done("begin", begun(&*store, run("r", "ann", 1_000)).await)?;
    let other = LogKey::new("team-b", "r");
    let got = store.get(&other).await;
    hold("get", matches!(got, Err(StoreError::NotFound { .. })))?;
    same("delete", &done("delete", store.delete(&other).await)?, &false)?;
    let page = done("list", store.list(RunQuery::new("team-b", 9)).await)?;
    same("list", &page.runs.len(), &0)?;
    same("erase", &done("erase", store.erase("team-b", "ann", EraseMode::Hard).await)?, &0)?;
    done("get", store.get(&key("r")).await).map(drop)
}

async fn sweep(store: Arc<impl RunStore>) -> StoreVerdict {
    for at in 0..6_u64 {
        let id = at.to_string();
        done("begin", begun(&*store, run(&id, "ann", 1_000)).await)?;
        if at > 0 {
            let ended = RunChange::to(RunProgress::Completed, 2_000 + at);
            done("change", store.change(&writer(&id), ended).await)?;
        }
    }
    let sweep = async |before_ms, keep| {
        let mut swept = done("sweep", store.sweep(before_ms, keep).await)?;
        swept.sort_by(|one, other| one.name.cmp(&other.name));
        let ids: Vec<_> = swept.iter().map(|key| key.name.to_string()).collect();
        Ok::<_, String>(ids.join(" "))
    };
    same("nothing", &sweep(0, 99).await?.as_str(), &"")?;
    same("what ended before", &sweep(2_002, 99).await?.as_str(), &"1")?;
    same("what is too much", &sweep(0, 2).await?.as_str(), &"2 3")?;
    same("all that ended", &sweep(u64::MAX, 99).await?.as_str(), &"4 5")?;
    same("what is open stays", &done("open", store.open(9).await)?.len(), &1)
}

async fn erase(store: Arc<impl RunStore>) -> StoreVerdict {
    for (id, owner) in [("a", "ann"), ("b", "bob"), ("c", "cid")] {
        let new = run(id, owner, 1_000).request(RunRequest::new("k", 1));
        let new = new.input("secret").about("secret");
        done("begin", begun(&*store, new).await)?;
    }
    let erase =
        async |owner: &'static str, mode| done("erase", store.erase("team-a", owner, mode).await);
    same("counted", &erase("ann", EraseMode::Count).await?, &1)?;
    same("without a name", &erase("", EraseMode::Hard).await?, &0)?;
    same("erased", &erase("ann", EraseMode::Hard).await?, &1)?;
    let gone = store.get(&key("a")).await;
    hold("it is gone", matches!(gone, Err(StoreError::NotFound { .. })))?;
    same("tombstone", &erase("cid", EraseMode::Tombstone).await?, &1)?;
    let left = done("get", store.get(&key("c")).await)?;
    hold(&format!("{left:?}"), left.owner.is_empty() && left.input.is_none())?;
    hold("its request is gone", left.request.is_none() && left.about.is_none())?;
    same(
        "another's stays",
        &done("get", store.get(&key("b")).await)?.input.as_deref(),
        &Some("secret"),
    )
}
