//! The checks for audit stores.

use std::{collections::BTreeSet, sync::Arc};

use futures_util::{StreamExt as _, future::join_all};
use serde_json::json;

use super::{
    Report,
    suite::{StoreVerdict, check, done, hold, pages, same},
};
use forgeline_store::{
    AuditChain, AuditEvent, AuditHead, AuditQuery, AuditRow, AuditStore, AuditSubject, EraseMode,
    MAX_AUDIT_PAYLOAD_BYTES, StoreError, export_audit,
};
use forgeline_types::Text;

/// Checks an audit store.
pub async fn check_audit_store<S: AuditStore>(make: impl AsyncFn() -> Arc<S>) -> Report {
    let checks = vec![
        check("empty", "a store without rows has none, and no scope", empty(make().await)).await,
        check("round-trip", "an event is read as it was", whole(make().await)).await,
        check("order", "the newest event is first, whenever it was stored", order(make().await))
            .await,
        check("scopes", "another scope finds nothing", scopes(make().await)).await,
        check("types", "a type has its own events alone", kinds(make().await)).await,
        check("sources", "a source and an actor have their own events", sources(make().await))
            .await,
        check("times", "a list has a beginning and an end", times(make().await)).await,
        check("pages", "pages give each row once", paged(make().await)).await,
        check("listed", "each scope is listed once", listed(make().await)).await,
        check("once", "an event that is sent again is stored once", once(make().await)).await,
        check("length", "what is too long is refused", length(make().await)).await,
        check("chain", "each row follows the one before", chained(make().await)).await,
        check("race", "writers at once extend one chain", race(make().await)).await,
        check("cut", "a cut leaves a chain that can be checked", cut(make().await)).await,
        check(
            "erase",
            "an erasure leaves the chain, and nothing of the owner",
            erase(make().await),
        )
        .await,
        check("known", "an earlier head tells a chain that was written anew", known(&make)).await,
        check("export", "what is exported can be checked without the store", export(make().await))
            .await,
    ];
    Report { checks }
}

fn event(kind: &str, actor: &str, at_ms: u64) -> AuditEvent {
    AuditEvent::new(kind, "host", actor, at_ms)
}

/// Returns an event with all members.
fn full(actor: &str, at_ms: u64) -> AuditEvent {
    let subject = AuditSubject::default().run("run_1").conversation("c1").tool("t").request("a1");
    let details = json!({ "reason": "\"quoted\" and \u{1f600}", "count": 1.5, "none": null });
    let event = event("kind", actor, at_ms).owner("bob").subject(subject);
    details.as_object().map_or(event.clone(), |details| event.details(details))
}

async fn add(store: &impl AuditStore, scope: &str, event: AuditEvent) -> Result<u64, String> {
    done("append", store.append(scope, event).await)
}

async fn all(store: &impl AuditStore, query: AuditQuery) -> Result<Vec<AuditRow>, String> {
    pages(async |after| {
        let mut query = query.clone();
        query.after = after;
        let page = done("read", store.read(query).await)?;
        Ok((page.rows, page.next))
    })
    .await
}

/// Returns the times of the rows of a query.
async fn at(store: &impl AuditStore, query: AuditQuery) -> Result<Vec<u64>, String> {
    Ok(all(store, query).await?.iter().map(|row| row.event.at_ms).collect())
}

fn query(scope: &str) -> AuditQuery {
    AuditQuery::new(scope, 100)
}

/// Passes if the chain of a scope is whole; returns the number of its rows, and of those that were erased.
async fn verified(store: &impl AuditStore, scope: &str) -> Result<(u64, u64), String> {
    let report = done("verify", store.verify(scope, None).await)?;
    hold(&format!("the chain is whole: {report:?}"), report.is_whole())?;
    Ok((report.rows, report.erased))
}

async fn empty(store: Arc<impl AuditStore>) -> StoreVerdict {
    same("read", &all(&*store, query("a")).await?.len(), &0)?;
    same("a type", &all(&*store, query("a").kind("kind")).await?.len(), &0)?;
    same("chain", &done("chain", store.chain("a", 0, 9).await)?.len(), &0)?;
    same("head", &done("head", store.head("a").await)?, &AuditHead::default())?;
    same("verify", &verified(&*store, "a").await?, &(0, 0))?;
    same("cut", &done("cut", store.cut("a", u64::MAX, 0).await)?, &0)?;
    same("scopes", &done("scopes", store.scopes(None, 9).await)?.len(), &0)
}

async fn whole(store: Arc<impl AuditStore>) -> StoreVerdict {
    let (first, second) = (full("ann", 1_000), event("other", "", 2_000));
    same("its number", &add(&*store, "a", first.clone()).await?, &0)?;
    same("the next", &add(&*store, "a", second.clone()).await?, &1)?;
    let rows = all(&*store, query("a")).await?;
    let events: Vec<_> = rows.iter().map(|row| row.event.clone()).collect();
    same("events", &events, &vec![second.clone(), first.clone()])?;
    let chain = done("chain", store.chain("a", 0, 9).await)?;
    let events: Vec<_> = chain.iter().map(|row| row.event.clone()).collect();
    same("in the chain", &events, &vec![first, second])?;
    let places: Vec<_> = chain.iter().map(|row| (row.seq, row.scope.as_str())).collect();
    same("places", &places, &vec![(0, "a"), (1, "a")])?;
    let later = done("chain", store.chain("a", 1, 1).await)?;
    same("from a place", &later, &chain.into_iter().skip(1).collect())
}

async fn order(store: Arc<impl AuditStore>) -> StoreVerdict {
    for at_ms in [2_000, 5_000, 1_000, 5_000, 3_000] {
        add(&*store, "a", event("kind", "ann", at_ms)).await?;
    }
    let rows = all(&*store, query("a")).await?;
    let seen: Vec<_> = rows.iter().map(|row| (row.event.at_ms, row.seq)).collect();
    same("order", &seen, &vec![(5_000, 3), (5_000, 1), (3_000, 4), (2_000, 0), (1_000, 2)])
}

async fn scopes(store: Arc<impl AuditStore>) -> StoreVerdict {
    for scope in ["a", "b", "a"] {
        add(&*store, scope, event("kind", "ann", 1_000)).await?;
    }
    for (scope, count) in [("a", 2), ("b", 1), ("c", 0)] {
        let of_scope = |rows: &[AuditRow]| rows.iter().filter(|row| row.scope == *scope).count();
        for list in [query(scope), query(scope).kind("kind"), query(scope).source("host")] {
            let rows = all(&*store, list).await?;
            same("rows", &(rows.len(), of_scope(&rows)), &(count, count))?;
        }
        let chain = done("chain", store.chain(scope, 0, 9).await)?;
        same("chain", &(chain.len(), of_scope(&chain)), &(count, count))?;
        same("verify", &verified(&*store, scope).await?.0, &(count as u64))?;
    }
    let erased = done("erase", store.erase("c", "ann", EraseMode::Hard).await)?;
    same("another's erasure", &erased, &0)?;
    let cut = done("cut", store.cut("b", u64::MAX, 0).await)?;
    same("a cut", &(cut, all(&*store, query("a")).await?.len()), &(1, 2))
}

async fn kinds(store: Arc<impl AuditStore>) -> StoreVerdict {
    for (kind, at_ms) in [("one", 1), ("two", 2), ("one", 3), ("one-more", 4)] {
        add(&*store, "a", event(kind, "ann", at_ms)).await?;
    }
    same("one", &at(&*store, query("a").kind("one")).await?, &vec![3, 1])?;
    same("two", &at(&*store, query("a").kind("two")).await?, &vec![2])?;
    same("unknown", &at(&*store, query("a").kind("three")).await?, &vec![])
}

async fn sources(store: Arc<impl AuditStore>) -> StoreVerdict {
    for (source, actor, at_ms) in [("x", "ann", 1), ("y", "bob", 2), ("x", "bob", 3)] {
        add(&*store, "a", AuditEvent::new("kind", source, actor, at_ms)).await?;
    }
    same("of a source", &at(&*store, query("a").source("x")).await?, &vec![3, 1])?;
    same("of none", &at(&*store, query("a").source("z")).await?, &vec![])?;
    same("of an actor", &at(&*store, query("a").actor("bob")).await?, &vec![3, 2])?;
    let both = query("a").actor("bob").source("x").kind("kind");
    same("of both", &at(&*store, both).await?, &vec![3])
}

async fn times(store: Arc<impl AuditStore>) -> StoreVerdict {
    for at_ms in [1, 2, 3, 4] {
        add(&*store, "a", event("kind", "ann", at_ms)).await?;
    }
    same("since", &at(&*store, query("a").since_ms(3)).await?, &vec![4, 3])?;
    same("until", &at(&*store, query("a").until_ms(3)).await?, &vec![2, 1])?;
    same("between", &at(&*store, query("a").since_ms(2).until_ms(3)).await?, &vec![2])
}

async fn paged(store: Arc<impl AuditStore>) -> StoreVerdict {
    for at in 0..7_u64 {
        let kind = if at.is_multiple_of(2) { "even" } else { "odd" };
        add(&*store, "a", event(kind, "ann", 1_000 + at / 3)).await?;
    }
    for most in [1, 2, 3, 7, 9] {
        let rows = all(&*store, AuditQuery::new("a", most)).await?;
        let seen: Vec<_> = rows.iter().map(|row| row.seq).collect();
        same("all", &seen, &vec![6, 5, 4, 3, 2, 1, 0])?;
    }
    let rows = all(&*store, AuditQuery::new("a", 1).kind("even")).await?;
    same("even", &rows.iter().map(|row| row.seq).collect::<Vec<_>>(), &vec![6, 4, 2, 0])?;
    let first = done("read", store.read(AuditQuery::new("a", 2)).await)?;
    same("of a page", &first.rows.len(), &2)?;
    let bad = store.read(AuditQuery::new("a", 1).after("x")).await;
    hold("a bad cursor is refused", matches!(bad, Err(StoreError::BadCursor { .. })))
}

async fn listed(store: Arc<impl AuditStore>) -> StoreVerdict {
    for scope in ["b", "a", "c", "a", "b"] {
        add(&*store, scope, event("kind", "ann", 1_000)).await?;
    }
    let scopes = async |after: Option<&str>, most| {
        let found: Vec<Text> = done("scopes", store.scopes(after, most).await)?;
        Ok::<_, String>(found.iter().map(Text::to_string).collect::<Vec<_>>().join(" "))
    };
    same("all", &scopes(None, 9).await?.as_str(), &"a b c")?;
    same("the first", &scopes(None, 2).await?.as_str(), &"a b")?;
    same("the rest", &scopes(Some("b"), 9).await?.as_str(), &"c")
}

async fn once(store: Arc<impl AuditStore>) -> StoreVerdict {
    let sent = full("ann", 1_000);
    add(&*store, "a", event("kind", "ann", 1)).await?;
    same("stored", &add(&*store, "a", sent.clone()).await?, &1)?;
    same("again", &add(&*store, "a", sent.clone()).await?, &1)?;
    same("rows", &verified(&*store, "a").await?.0, &2)?;
    let mut other = event("kind", "eve", 1_000);
    other.id = sent.id.clone();
    let refused = store.append("a", other).await;
    hold("another one is refused", matches!(refused, Err(StoreError::Exists { .. })))?;
    same("in another scope", &add(&*store, "b", sent).await?, &0)?;
    same("rows", &verified(&*store, "a").await?.0, &2)
}

async fn length(store: Arc<impl AuditStore>) -> StoreVerdict {
    let long = |bytes: usize| {
        let details = json!({ "a": "x".repeat(bytes) });
        let event = event("kind", "ann", 1_000);
        details.as_object().map_or(event.clone(), |details| event.details(details))
    };
    add(&*store, "a", long(MAX_AUDIT_PAYLOAD_BYTES - r#"{"a":""}"#.len())).await?;
    let refused = store.append("a", long(MAX_AUDIT_PAYLOAD_BYTES)).await;
    hold("a payload", matches!(refused, Err(StoreError::Full { .. })))?;
    let refused = store.append("a", event("kind", &"x".repeat(1_025), 1)).await;
    hold("a name", matches!(refused, Err(StoreError::Full { .. })))?;
    same("rows", &verified(&*store, "a").await?.0, &1)
}

async fn chained(store: Arc<impl AuditStore>) -> StoreVerdict {
    for at in 0..5 {
        add(&*store, "a", full("ann", at)).await?;
    }
    let (head, rows) =
        (done("head", store.head("a").await)?, done("chain", store.chain("a", 0, 9).await)?);
    let mut chain = AuditChain::new(&head);
    for row in &rows {
        done("the chain", chain.add(row))?;
    }
    done("its end", chain.end(&head))?;
    same("its ends", &(head.first, head.next), &(0, 5))?;
    same("the anchor", &head.anchor, &AuditHead::default().anchor)?;
    same("verify", &verified(&*store, "a").await?, &(5, 0))
}

async fn race(store: Arc<impl AuditStore>) -> StoreVerdict {
    let work = (0..40).map(|at| store.append("a", event("kind", &format!("a{at}"), at)));
    let mut numbers = BTreeSet::new();
    for number in join_all(work).await {
        numbers.insert(done("append", number)?);
    }
    same("numbers", &numbers, &(0..40).collect())?;
    same("verify", &verified(&*store, "a").await?.0, &40)
}

async fn cut(store: Arc<impl AuditStore>) -> StoreVerdict {
    for at_ms in [1_000, 3_000, 2_000, 4_000, 5_000, 6_000] {
        add(&*store, "a", event("kind", "ann", at_ms)).await?;
    }
    let cut = async |before, keep| done("cut", store.cut("a", before, keep).await);
    let ends = async || {
        let head = done("head", store.head("a").await)?;
        Ok::<_, String>((head.first, head.next))
    };
    same("nothing", &cut(0, 9).await?, &0)?;
    // The third one is older than the second, which stays.
    same("what was before", &cut(2_500, 9).await?, &1)?;
    same("left", &(ends().await?, verified(&*store, "a").await?.0), &((1, 6), 5))?;
    same("what is too much", &cut(0, 3).await?, &2)?;
    same("left", &(ends().await?, verified(&*store, "a").await?.0), &((3, 6), 3))?;
    same("the next", &add(&*store, "a", event("kind", "ann", 7_000)).await?, &6)?;
    same("all", &cut(u64::MAX, 9).await?, &4)?;
    same("left", &(ends().await?, verified(&*store, "a").await?.0), &((7, 7), 0))?;
    same("once", &cut(u64::MAX, 0).await?, &0)?;
    same("the next", &add(&*store, "a", event("kind", "ann", 8_000)).await?, &7)?;
    same("verify", &verified(&*store, "a").await?.0, &1)?;
    for at in 0..1_005 {
        add(&*store, "b", event("kind", "ann", at)).await?;
    }
    same("many", &done("cut", store.cut("b", u64::MAX, 0).await)?, &1_000)?;
    same("the rest", &done("cut", store.cut("b", u64::MAX, 0).await)?, &5)
}

async fn erase(store: Arc<impl AuditStore>) -> StoreVerdict {
    add(&*store, "a", full("ann", 1)).await?;
    add(&*store, "a", event("kind", "cid", 2)).await?;
    add(&*store, "a", full("bob", 3)).await?;
    add(&*store, "a", event("kind", "bob", 4)).await?;
    let erase = async |owner: &str, mode| done("erase", store.erase("a", owner, mode).await);
    same("of no name", &erase("", EraseMode::Hard).await?, &0)?;
    // The first one is about data of bob.
    same("counted", &erase("bob", EraseMode::Count).await?, &3)?;
    same("rows", &at(&*store, query("a").actor("bob")).await?, &vec![4, 3])?;
    same("erased", &erase("bob", EraseMode::Hard).await?, &3)?;
    same("verify", &verified(&*store, "a").await?, &(4, 3))?;
    for row in all(&*store, query("a")).await?.iter().filter(|row| row.event.at_ms != 2) {
        let event = &row.event;
        let is_empty = event.subject == AuditSubject::default() && event.payload() == "{}";
        let is_nameless = event.actor.is_empty() && event.owner.is_empty();
        hold(&format!("{row:?}"), is_empty && is_nameless && event.salt.is_empty())?;
        same("its type", &(event.kind.as_str(), row.is_erased), &("kind", true))?;
    }
    same("another's", &at(&*store, query("a").actor("cid")).await?, &vec![2])?;
    same("once", &erase("bob", EraseMode::Hard).await?, &0)?;
    same("tombstone", &erase("cid", EraseMode::Tombstone).await?, &1)?;
    same("verify", &verified(&*store, "a").await?, &(4, 4))?;
    same("the next", &add(&*store, "a", event("kind", "bob", 5)).await?, &4)
}

async fn known<S: AuditStore>(make: &impl AsyncFn() -> Arc<S>) -> StoreVerdict {
    let (store, anew) = (make().await, make().await);
    for at in 0..3 {
        add(&*store, "a", event("kind", "ann", at)).await?;
        add(&*anew, "a", event("kind", "eve", at)).await?;
    }
    let head = done("head", store.head("a").await)?;
    let since = async |store: &S, known: &AuditHead| {
        let report = done("verify", store.verify("a", Some(known)).await)?;
        Ok::<_, String>((report.rows, report.is_whole()))
    };
    same("no more", &since(&store, &head).await?, &(0, true))?;
    same("written anew", &since(&anew, &head).await?.1, &false)?;
    for store in [&store, &anew] {
        add(&**store, "a", event("kind", "ann", 4)).await?;
    }
    same("one more", &since(&store, &head).await?, &(1, true))?;
    same("written anew", &since(&anew, &head).await?.1, &false)?;
    let later = done("head", store.head("a").await)?;
    done("cut", store.cut("a", u64::MAX, 0).await)?;
    same("after a cut", &since(&store, &later).await?, &(0, true))?;
    same("before a cut", &since(&store, &head).await?, &(0, true))
}

async fn export(store: Arc<impl AuditStore>) -> StoreVerdict {
    for at in 0..250 {
        add(&*store, "a", full("ann", at)).await?;
    }
    done("cut", store.cut("a", 10, 999).await)?;
    done("erase", store.erase("a", "ann", EraseMode::Hard).await)?;
    add(&*store, "a", full("cid", 250)).await?;
    let lines: Vec<_> = export_audit(store, "a".into()).collect().await;
    let mut lines = lines.into_iter();
    let first = done("the head", lines.next().unwrap_or_else(|| Ok(String::new())))?;
    let first: serde_json::Value = done("the head", serde_json::from_str(&first))?;
    let head: AuditHead =
        done("the head", serde_json::from_value(first.get("head").cloned().unwrap_or_default()))?;
    let mut chain = AuditChain::new(&head);
    for line in lines {
        let row: AuditRow = done("a line", serde_json::from_str(&done("a line", line)?))?;
        done("the chain", chain.add(&row))?;
    }
    done("its end", chain.end(&head))?;
    same("rows", &(chain.rows(), chain.erased()), &(241, 240))
}
