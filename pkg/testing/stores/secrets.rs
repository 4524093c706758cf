//! The checks for stores of secrets.

use std::sync::Arc;

use futures_util::future::join_all;

use super::{
    Report,
    suite::{StoreVerdict, check, done, hold, same},
};
use forgeline_store::{
    MAX_SECRETS, SecretError, SecretName, SecretScope, SecretStore, SecretValue,
};

/// Checks a store of secrets that can be changed.
pub async fn check_secret_store<S: SecretStore>(make: impl AsyncFn() -> Arc<S>) -> Report {
    let checks = vec![
        check("missing", "a secret that was never set is not found", missing(make().await)).await,
        check("round-trip", "a secret is read as it was set", round_trip(make().await)).await,
        check("has", "`has` says whether `get` returns a secret", has(make().await)).await,
        check("overwrite", "a secret replaces the earlier one", overwrite(make().await)).await,
        check("delete", "a secret that was deleted is not found", delete(make().await)).await,
        check("delete-missing", "deleting a missing secret succeeds", twice(make().await)).await,
        check("no-names", "a new scope has no names", no_names(make().await)).await,
        check("names", "the names are those that are set, sorted", names(make().await)).await,
        check("neighbours", "similar names are different secrets", neighbours(make().await)).await,
        check("scopes-set", "a secret is in its scope alone", scopes_set(make().await)).await,
        check("scopes-delete", "deleting leaves other scopes", scopes_delete(make().await)).await,
        check("bound", "a scope has a maximum of secrets", bound(make().await)).await,
        check("clear", "a scope is cleared, and no other", clear(make().await)).await,
        check("race", "writers at once leave one whole secret", race(make().await)).await,
    ];
    Report { checks }
}

/// Returns a scope of each kind, and those whose ids are like the others'.
fn scopes() -> Result<Vec<SecretScope>, String> {
    let user = |id: &str| done("a user", SecretScope::user(id));
    let team = |id: &str| done("a team", SecretScope::team(id));
    Ok(vec![
        SecretScope::platform(),
        user("ann")?,
        user("Ann")?,
        user("ann/b")?,
        team("ann")?,
        team("a")?,
        user("_platform")?,
    ])
}

fn name(text: &str) -> Result<SecretName, String> {
    done("a name", SecretName::new(text))
}

fn value(text: &str) -> Result<SecretValue, String> {
    done("a value", SecretValue::new(text))
}

async fn set(
    store: &impl SecretStore,
    scope: &SecretScope,
    key: &str,
    text: &str,
) -> Result<(), String> {
    done("set", store.set(scope, &name(key)?, value(text)?).await)
}

async fn get(
    store: &impl SecretStore,
    scope: &SecretScope,
    key: &str,
) -> Result<Option<String>, String> {
    let found = done("get", store.get(scope, &name(key)?).await)?;
    Ok(found.map(|value| value.expose().to_owned()))
}

async fn missing(store: Arc<impl SecretStore>) -> StoreVerdict {
    for scope in scopes()? {
        same("nothing", &get(&*store, &scope, "openai").await?, &None)?;
    }
    Ok(())
}

async fn round_trip(store: Arc<impl SecretStore>) -> StoreVerdict {
    let long = "k".repeat(16 << 10);
    let texts = ["sk-1", " \"{}\\ \r\n\t", "ключ 🔑 \u{0}", &long];
    for scope in scopes()? {
        for (at, text) in texts.iter().enumerate() {
            set(&*store, &scope, &format!("{}.{at}", "n".repeat(120)), text).await?;
        }
        for (at, text) in texts.iter().enumerate() {
            let found = get(&*store, &scope, &format!("{}.{at}", "n".repeat(120))).await?;
            hold("a secret is read as it was set", found.as_deref() == Some(text))?;
        }
    }
    Ok(())
}

async fn has(store: Arc<impl SecretStore>) -> StoreVerdict {
    let key = name("openai")?;
    for scope in scopes()? {
        same("has", &done("has", store.has(&scope, &key).await)?, &false)?;
        set(&*store, &scope, "openai", "sk-1").await?;
        same("has", &done("has", store.has(&scope, &key).await)?, &true)?;
    }
    Ok(())
}

async fn overwrite(store: Arc<impl SecretStore>) -> StoreVerdict {
    for scope in scopes()? {
        for text in ["a longer one", "sk-1", "sk-2"] {
            set(&*store, &scope, "openai", text).await?;
        }
        same("the last one", &get(&*store, &scope, "openai").await?, &Some("sk-2".to_owned()))?;
    }
    Ok(())
}

async fn delete(store: Arc<impl SecretStore>) -> StoreVerdict {
    let scope = SecretScope::platform();
    set(&*store, &scope, "openai", "sk-1").await?;
    set(&*store, &scope, "other", "sk-2").await?;
    let was_there = done("delete", store.delete(&scope, &name("openai")?).await)?;
    same("it was there", &was_there, &true)?;
    same("deleted", &get(&*store, &scope, "openai").await?, &None)?;
    same("another name", &get(&*store, &scope, "other").await?, &Some("sk-2".to_owned()))
}

async fn twice(store: Arc<impl SecretStore>) -> StoreVerdict {
    for scope in scopes()? {
        for _ in 0..2 {
            let was_there = done("delete", store.delete(&scope, &name("openai")?).await)?;
            same("it was there", &was_there, &false)?;
        }
    }
    Ok(())
}

async fn no_names(store: Arc<impl SecretStore>) -> StoreVerdict {
    for scope in scopes()? {
        same("names", &done("names", store.names(&scope).await)?.len(), &0)?;
    }
    Ok(())
}

async fn names(store: Arc<impl SecretStore>) -> StoreVerdict {
    let scope = done("a team", SecretScope::team("a"))?;
    let all = ["-z", "10", "9", "B", "a", "a.b", "a_b", "ab"];
    for key in all.iter().rev().chain(&["a", "B"]) {
        set(&*store, &scope, key, "sk-1").await?;
    }
    let found = done("names", store.names(&scope).await)?;
    let found: Vec<&str> = found.iter().map(SecretName::as_str).collect();
    same("names", &found.as_slice(), &all.as_slice())
}

async fn neighbours(store: Arc<impl SecretStore>) -> StoreVerdict {
    let scope = done("a user", SecretScope::user("ann"))?;
    let all = ["openai", "OpenAI", "openai.2", "openai-2", "open", "anthropic"];
    for key in all {
        set(&*store, &scope, key, key).await?;
    }
    for key in all {
        same(key, &get(&*store, &scope, key).await?, &Some(key.to_owned()))?;
    }
    Ok(())
}

async fn scopes_set(store: Arc<impl SecretStore>) -> StoreVerdict {
    let scopes = scopes()?;
    for (at, scope) in scopes.iter().enumerate() {
        set(&*store, scope, &format!("own.{at}"), "sk-1").await?;
        set(&*store, scope, "openai", scope.container()).await?;
    }
    for (at, scope) in scopes.iter().enumerate() {
        let found = get(&*store, scope, "openai").await?;
        same("the scope's own", &found, &Some(scope.container().to_owned()))?;
        let names = done("names", store.names(scope).await)?;
        same("names", &names, &vec![name("openai")?, name(&format!("own.{at}"))?])?;
        let other = format!("own.{}", (at + 1) % scopes.len());
        same("another scope's", &get(&*store, scope, &other).await?, &None)?;
    }
    Ok(())
}

async fn scopes_delete(store: Arc<impl SecretStore>) -> StoreVerdict {
    let scopes = scopes()?;
    for scope in &scopes {
        set(&*store, scope, "openai", scope.container()).await?;
    }
    for (at, scope) in scopes.iter().enumerate() {
        done("delete", store.delete(scope, &name("openai")?).await)?;
        for left in scopes.iter().skip(at + 1) {
            let found = get(&*store, left, "openai").await?;
            same("another scope's", &found, &Some(left.container().to_owned()))?;
        }
    }
    Ok(())
}

async fn bound(store: Arc<impl SecretStore>) -> StoreVerdict {
    let (scope, other) = (SecretScope::platform(), done("a user", SecretScope::user("ann"))?);
    for at in 0..MAX_SECRETS {
        set(&*store, &scope, &format!("n{at}"), "sk-1").await?;
    }
    match store.set(&scope, &name("more")?, value("sk-1")?).await {
        Err(SecretError::Full { .. }) => {}
        other => return Err(format!("one more gives {other:?}, not that the scope is full")),
    }
    same("not kept", &done("names", store.names(&scope).await)?.len(), &MAX_SECRETS)?;
    set(&*store, &scope, "n0", "sk-1").await?;
    set(&*store, &other, "more", "sk-1").await
}

async fn clear(store: Arc<impl SecretStore>) -> StoreVerdict {
    let (scope, other) = (SecretScope::platform(), done("a user", SecretScope::user("ann"))?);
    for key in ["one", "two", "three"] {
        set(&*store, &scope, key, "sk-1").await?;
    }
    set(&*store, &other, "one", "sk-2").await?;
    same("cleared", &done("clear", store.clear(&scope).await)?, &3)?;
    same("nothing left", &done("clear", store.clear(&scope).await)?, &0)?;
    same("another scope's", &get(&*store, &other, "one").await?, &Some("sk-2".to_owned()))
}

async fn race(store: Arc<impl SecretStore>) -> StoreVerdict {
    let scope = done("a user", SecretScope::user("ann"))?;
    let texts: Vec<String> = (0..16u8).map(|at| format!("{at} ").repeat(500)).collect();
    let writes = texts.iter().map(|text| set(&*store, &scope, "openai", text));
    join_all(writes).await.into_iter().collect::<Result<(), String>>()?;
    let found = get(&*store, &scope, "openai").await?;
    hold("one of them, whole", found.is_some_and(|it| texts.contains(&it)))?;
    same("names", &done("names", store.names(&scope).await)?, &vec![name("openai")?])
}
