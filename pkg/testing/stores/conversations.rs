//! The checks for conversation stores.

use std::sync::Arc;

use futures_util::future::join_all;

use super::{
    Report,
    suite::{StoreVerdict, check, done, hold, pages, same},
};
use forgeline_store::{
    ConversationKey, ConversationQuery, ConversationRecord, ConversationStatus, ConversationStore,
    Entry, EraseMode, Erased, StoreError,
};
use forgeline_types::{Message, Part};

/// Checks a conversation store.
pub async fn check_conversation_store<S: ConversationStore>(
    make: impl AsyncFn() -> Arc<S>,
) -> Report {
    let checks = vec![
        check("begin", "a new conversation is active and empty", begin(make().await)).await,
        check("append", "entries are kept in order, each message", append(make().await)).await,
        check("behind", "an entry that is not at the end is refused", behind(make().await)).await,
        check("unknown", "what does not exist is not found", unknown(make().await)).await,
        check("scopes", "another scope finds nothing", scopes(make().await)).await,
        check("status", "a last status stays", status(make().await)).await,
        check("list", "lists have filters and pages", list(make().await)).await,
        check("delete", "deleting removes, also twice", delete(make().await)).await,
        check("erase", "erasing removes what is one owner's", erase(make().await)).await,
        check("tombstone", "a tombstone keeps the shape alone", tombstone(make().await)).await,
        check("pictures", "pictures come back as they were", pictures(make().await)).await,
    ];
    Report { checks }
}

fn key(id: &str) -> ConversationKey {
    ConversationKey::new("team-a", id)
}

async fn begun(store: &impl ConversationStore, key: &ConversationKey, owner: &str) -> StoreVerdict {
    let new = ConversationRecord::new(key.clone(), owner, "main", 1_000);
    done("begin", store.begin(new).await)
}

fn said(text: &str) -> Entry {
    Entry::new(1_001).line(format!("{{\"said\":\"{text}\"}}")).message(Message::user(text))
}

async fn texts(
    store: &impl ConversationStore,
    key: &ConversationKey,
) -> Result<Vec<String>, String> {
    let messages = done("messages", store.messages(key, 0, usize::MAX).await)?;
    Ok(messages.iter().map(|stored| stored.message.text()).collect())
}

async fn begin(store: Arc<impl ConversationStore>) -> StoreVerdict {
    let key = key("c");
    begun(&*store, &key, "ann").await?;
    let got = done("get", store.get(&key).await)?;
    same("it", &got, &ConversationRecord::new(key.clone(), "ann", "main", 1_000))?;
    let again = store.begin(ConversationRecord::new(key.clone(), "bob", "main", 1)).await;
    hold("a name is taken once", matches!(again, Err(StoreError::Exists { .. })))?;
    same("its messages", &texts(&*store, &key).await?, &Vec::new())
}

async fn append(store: Arc<impl ConversationStore>) -> StoreVerdict {
    let key = key("c");
    begun(&*store, &key, "ann").await?;
    let mut two = said("b").message(Message::assistant("c"));
    two.at_ms = 2_000;
    done("append", store.append(&key, 0, said("a"), None).await)?;
    done("append", store.append(&key, 1, two.clone(), None).await)?;
    done("append", store.append(&key, 2, Entry::new(3_000).line("alone"), None).await)?;
    done(
        "append",
        store.append(&key, 3, Entry::new(4_000).message(Message::user("d")), None).await,
    )?;
    same(
        "the texts",
        &texts(&*store, &key).await?,
        &["a", "b", "c", "d"].map(String::from).into(),
    )?;
    let messages = done("messages", store.messages(&key, 1, 2).await)?;
    let places: Vec<_> = messages.iter().map(|it| (it.number, it.at_ms)).collect();
    same("numbers and times", &places, &vec![(1, 2_000), (2, 2_000)])?;
    same("a message", &messages[1].message, &two.messages[1])?;
    let lines = done("lines", store.lines(&key, 1, 9).await)?;
    let want = vec![(1, "{\"said\":\"b\"}".to_owned()), (2, "alone".to_owned())];
    same("the lines", &lines, &want)?;
    let head = done("get", store.get(&key).await)?;
    same("counts and time", &(head.entries, head.messages, head.updated_ms), &(4, 4, 4_000))
}

async fn behind(store: Arc<impl ConversationStore>) -> StoreVerdict {
    let key = key("c");
    begun(&*store, &key, "ann").await?;
    let race = (0..8).map(|at| store.append(&key, 0, said(&at.to_string()), None));
    let kept = join_all(race).await;
    same("one of eight that are first is kept", &kept.iter().filter(|it| it.is_ok()).count(), &1)?;
    let told = |it: &Result<(), StoreError>| match it {
        Ok(()) => true,
        Err(error) => matches!(error, StoreError::Behind { at: 0, end: 1, .. }),
    };
    hold(&format!("the others get an error: {kept:?}"), kept.iter().all(told))?;
    let ahead = store.append(&key, 2, said("x"), None).await;
    hold("one that leaves a gap is refused", matches!(ahead, Err(StoreError::Behind { .. })))?;
    same("the messages", &texts(&*store, &key).await?.len(), &1)
}

fn is_unknown<T>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::NotFound { .. }))
}

async fn unknown(store: Arc<impl ConversationStore>) -> StoreVerdict {
    let key = key("c");
    hold("get", is_unknown(&store.get(&key).await))?;
    hold("append", is_unknown(&store.append(&key, 0, said("a"), None).await))?;
    hold("lines", is_unknown(&store.lines(&key, 0, 1).await))?;
    hold("messages", is_unknown(&store.messages(&key, 0, 1).await))?;
    hold("rename", is_unknown(&store.rename(&key, "a".into(), 1).await))?;
    let status = store.set_status(&key, ConversationStatus::Ended, 1).await;
    hold("set_status", is_unknown(&status))
}

async fn scopes(store: Arc<impl ConversationStore>) -> StoreVerdict {
    let (own, other) = (key("c"), ConversationKey::new("team-b", "c"));
    begun(&*store, &own, "ann").await?;
    done("append", store.append(&own, 0, said("secret"), None).await)?;
    hold("get", is_unknown(&store.get(&other).await))?;
    hold("append", is_unknown(&store.append(&other, 1, said("a"), None).await))?;
    hold("messages", is_unknown(&store.messages(&other, 0, 1).await))?;
    hold("delete", !done("delete", store.delete(&other).await)?)?;
    begun(&*store, &other, "ann").await?;
    same("the other's messages", &texts(&*store, &other).await?, &Vec::new())?;
    let page = done("list", store.list(ConversationQuery::new("team-b", 9)).await)?;
    same("the list of a scope", &page.conversations.len(), &1)?;
    hold("it is of the scope", page.conversations.iter().all(|it| it.key == other))?;
    let erased = done("erase", store.erase("team-b", "ann", EraseMode::Hard).await)?;
    same("erased", &erased, &Erased::new(1, 0))?;
    same("own messages", &texts(&*store, &own).await?, &vec!["secret".to_owned()])
}

async fn status(store: Arc<impl ConversationStore>) -> StoreVerdict {
    let key = key("c");
    begun(&*store, &key, "ann").await?;
    let set = async |status| store.set_status(&key, status, 2_000).await;
    done("the status it has", set(ConversationStatus::Active).await)?;
    done("a last one", set(ConversationStatus::Ended).await)?;
    done("the same again", set(ConversationStatus::Ended).await)?;
    let back = set(ConversationStatus::Active).await;
    hold("a last one stays", matches!(back, Err(StoreError::Ended { .. })))?;
    let refused = store.append(&key, 0, said("a"), None).await;
    hold("it is not added to", matches!(refused, Err(StoreError::Ended { .. })))?;
    done("rename", store.rename(&key, "Title".into(), 3_000).await)?;
    let head = done("get", store.get(&key).await)?;
    same("status", &head.status, &ConversationStatus::Ended)?;
    same("title", &head.title.as_deref(), &Some("Title"))
}

async fn list(store: Arc<impl ConversationStore>) -> StoreVerdict {
    for at in 0..7_u64 {
        let (owner, agent) = (["ann", "bob"], ["main", "other"]);
        let pick =
            |of: [&'static str; 2], by: u64| if at.is_multiple_of(by) { of[0] } else { of[1] };
        let key = key(&format!("c{at}"));
        // Each pair has the same time.
        let new = ConversationRecord::new(key, pick(owner, 2), pick(agent, 3), 1_000 + at / 2);
        done("begin", store.begin(new).await)?;
    }
    let ids = async |query: ConversationQuery| {
        let found = pages(async |after| {
            let mut query = query.clone();
            query.after = after;
            let most = query.most;
            let page = done("list", store.list(query).await)?;
            hold("a page is not longer than asked", page.conversations.len() <= most)?;
            Ok((page.conversations, page.next))
        });
        let ids: Vec<_> = found.await?.into_iter().map(|it| it.key.id.into_string()).collect();
        Ok::<_, String>(ids.join(" "))
    };
    for most in [1, 2, 3, 7, 100] {
        let all = ids(ConversationQuery::new("team-a", most)).await?;
        same("all, the last first", &all.as_str(), &"c6 c5 c4 c3 c2 c1 c0")?;
    }
    let own = ids(ConversationQuery::new("team-a", 2).owner("ann")).await?;
    same("of an owner", &own.as_str(), &"c6 c4 c2 c0")?;
    let both = ids(ConversationQuery::new("team-a", 1).owner("ann").agent("main")).await?;
    same("of an owner and an agent", &both.as_str(), &"c6 c0")?;
    for cursor in ["", "x", "1", "-1.c0", "99999999999999999999999.c0"] {
        let page = store.list(ConversationQuery::new("team-a", 1).after(cursor)).await;
        hold(&format!("`{cursor}` is refused"), matches!(page, Err(StoreError::BadCursor { .. })))?;
    }
    done("append", store.append(&key("c0"), 0, said("a"), None).await)?;
    done("rename", store.rename(&key("c0"), "A".into(), 5_000).await)?;
    let all = ids(ConversationQuery::new("team-a", 9)).await?;
    hold("what changes is first", all.starts_with("c0 c6"))
}

async fn delete(store: Arc<impl ConversationStore>) -> StoreVerdict {
    let key = key("c");
    begun(&*store, &key, "ann").await?;
    done("append", store.append(&key, 0, said("a"), None).await)?;
    same("deleted", &done("delete", store.delete(&key).await)?, &true)?;
    same("deleted again", &done("delete", store.delete(&key).await)?, &false)?;
    hold("it is gone", is_unknown(&store.get(&key).await))?;
    begun(&*store, &key, "ann").await?;
    same("a new one is empty", &texts(&*store, &key).await?, &Vec::new())
}

async fn erase(store: Arc<impl ConversationStore>) -> StoreVerdict {
    for (id, owner) in [("a", "ann"), ("b", "bob"), ("c", "ann")] {
        begun(&*store, &key(id), owner).await?;
        done("append", store.append(&key(id), 0, said(id), None).await)?;
    }
    let erase =
        async |owner: &'static str, mode| done("erase", store.erase("team-a", owner, mode).await);
    same("counted", &erase("ann", EraseMode::Count).await?, &Erased::new(2, 2))?;
    same("counting changes nothing", &texts(&*store, &key("a")).await?.len(), &1)?;
    for mode in [EraseMode::Count, EraseMode::Hard, EraseMode::Tombstone] {
        same("of an owner without a name", &erase("", mode).await?, &Erased::default())?;
    }
    same("erased", &erase("ann", EraseMode::Hard).await?, &Erased::new(2, 2))?;
    same("erased again", &erase("ann", EraseMode::Hard).await?, &Erased::default())?;
    hold("they are gone", is_unknown(&store.get(&key("a")).await))?;
    same("another's stays", &texts(&*store, &key("b")).await?, &vec!["b".to_owned()])
}

async fn tombstone(store: Arc<impl ConversationStore>) -> StoreVerdict {
    for owner in ["ann", "bob"] {
        begun(&*store, &key(owner), owner).await?;
        let mut entry = said("secret-a").message(Message::assistant("secret-b"));
        entry.messages[0].parts.push(Part::text("secret-c"));
        done("append", store.append(&key(owner), 0, entry, None).await)?;
        done("rename", store.rename(&key(owner), "secret-d".into(), 1_002).await)?;
    }
    let mode = EraseMode::Tombstone;
    let erased = done("erase", store.erase("team-a", "ann", mode).await)?;
    same("erased", &erased, &Erased::new(1, 2))?;
    let head = done("get", store.get(&key("ann")).await)?;
    same("status", &head.status, &ConversationStatus::Erased)?;
    same("messages", &head.messages, &2)?;
    let messages = done("messages", store.messages(&key("ann"), 0, 9).await)?;
    let shape: Vec<_> =
        messages.iter().map(|it| (it.at_ms, it.message.role, it.message.parts.len())).collect();
    let other = done("messages", store.messages(&key("bob"), 0, 9).await)?;
    let want: Vec<_> =
        other.iter().map(|it| (it.at_ms, it.message.role, it.message.parts.len())).collect();
    same("the shape", &shape, &want)?;
    let lines = done("lines", store.lines(&key("ann"), 0, 9).await)?;
    let left = format!("{head:?}{messages:?}{lines:?}");
    hold(&format!("nothing of it is left: {left}"), !left.contains("secret"))?;
    hold("its owner is gone", head.owner.is_empty())?;
    hold("another's stays", format!("{other:?}").contains("secret-c"))?;
    let renamed = store.rename(&key("ann"), "x".into(), 1).await;
    hold("it has no new title", matches!(renamed, Err(StoreError::Ended { .. })))?;
    let appended = store.append(&key("ann"), 1, said("x"), None).await;
    hold("it is not added to", matches!(appended, Err(StoreError::Ended { .. })))
}

async fn pictures(store: Arc<impl ConversationStore>) -> StoreVerdict {
    let picture = "iVBORw0KGgoAAAANSUhEUg".repeat(200);
    let text = format!("{picture} \u{1} {picture}");
    for id in ["a", "b"] {
        begun(&*store, &key(id), id).await?;
        let entry = Entry::new(1_001).line(&text).message(Message::user(text.as_str()));
        done("append", store.append(&key(id), 0, entry, None).await)?;
    }
    same("deleted", &done("delete", store.delete(&key("a")).await)?, &true)?;
    hold("a message has it", texts(&*store, &key("b")).await? == [text.as_str()])?;
    let lines = done("lines", store.lines(&key("b"), 0, 9).await)?;
    hold("a line has it", lines.first().is_some_and(|(_, line)| *line == text))
}
