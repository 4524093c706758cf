//! The checks for stores of provider profiles.

use std::sync::Arc;

use futures_util::future::join_all;

use super::{
    Report,
    suite::{StoreVerdict, check, done, same},
};
use forgeline_store::{
    ProviderInstance, ProviderProfile, ProviderProfileStore, SecretName, SecretScope, StoreError,
    StoredProviderProfile,
};

/// Checks a store of provider profiles.
pub async fn check_provider_profile_store<S: ProviderProfileStore>(
    make: impl AsyncFn() -> Arc<S>,
) -> Report {
    let checks = vec![
        check("missing", "a profile that was never set is empty", missing(make().await)).await,
        check("round-trip", "a profile is read as it was set", round_trip(make().await)).await,
        check("version", "a write states the version it changes", version(make().await)).await,
        check("scopes", "a profile is in its scope alone", scopes(make().await)).await,
        check("deleted", "a profile that was deleted is empty", deleted(make().await)).await,
        check("long", "a profile has a maximum size", long(make().await)).await,
        check("race", "of writers at once one wins", race(make().await)).await,
    ];
    Report { checks }
}

fn ann() -> Result<SecretScope, String> {
    done("a user", SecretScope::user("ann"))
}

fn profile(ids: &[&str]) -> Result<ProviderProfile, String> {
    let mut profile = ProviderProfile::default();
    for id in ids {
        let secret = done("a name", SecretName::new(format!("key.{id}")))?;
        let mut instance = ProviderInstance::new(*id, "openai", secret);
        instance.model = Some("gpt-5".into());
        instance.display_name = "Mine ✨".into();
        instance.base_url = Some("https://models.example/v1".into());
        profile.instances.push(instance);
    }
    profile.default = ids.first().map(|id| (*id).into());
    Ok(profile)
}

async fn get(
    store: &impl ProviderProfileStore,
    scope: &SecretScope,
) -> Result<StoredProviderProfile, String> {
    done("profile", store.profile(scope).await)
}

async fn set(
    store: &impl ProviderProfileStore,
    scope: &SecretScope,
    ids: &[&str],
    version: u64,
) -> Result<bool, String> {
    done("set", store.set_profile(scope, profile(ids)?, version).await)
}

async fn missing(store: Arc<impl ProviderProfileStore>) -> StoreVerdict {
    for scope in [SecretScope::platform(), ann()?] {
        same("nothing", &get(&*store, &scope).await?, &StoredProviderProfile::default())?;
    }
    Ok(())
}

async fn round_trip(store: Arc<impl ProviderProfileStore>) -> StoreVerdict {
    let scope = ann()?;
    same("set", &set(&*store, &scope, &["b", "a", "c"], 0).await?, &true)?;
    let want = StoredProviderProfile::new(profile(&["b", "a", "c"])?, 1);
    same("profile", &get(&*store, &scope).await?, &want)
}

async fn version(store: Arc<impl ProviderProfileStore>) -> StoreVerdict {
    let scope = ann()?;
    same("of a version to come", &set(&*store, &scope, &["x"], 1).await?, &false)?;
    same("the first", &set(&*store, &scope, &["a"], 0).await?, &true)?;
    same("the second", &set(&*store, &scope, &["a", "b"], 1).await?, &true)?;
    for stale in [0, 1, 3] {
        same("of another version", &set(&*store, &scope, &["x"], stale).await?, &false)?;
    }
    let want = StoredProviderProfile::new(profile(&["a", "b"])?, 2);
    same("profile", &get(&*store, &scope).await?, &want)
}

async fn scopes(store: Arc<impl ProviderProfileStore>) -> StoreVerdict {
    let team = done("a team", SecretScope::team("ann"))?;
    let all = [(ann()?, "u"), (team, "t"), (SecretScope::platform(), "p")];
    for (scope, id) in &all {
        same("set", &set(&*store, scope, &[id], 0).await?, &true)?;
    }
    for (scope, id) in &all {
        same("its own", &get(&*store, scope).await?.profile, &profile(&[id])?)?;
    }
    Ok(())
}

async fn deleted(store: Arc<impl ProviderProfileStore>) -> StoreVerdict {
    let (scope, other) = (ann()?, SecretScope::platform());
    set(&*store, &scope, &["a"], 0).await?;
    set(&*store, &other, &["p"], 0).await?;
    let delete = async || done("delete", store.delete_profile(&scope).await);
    same("it was there", &delete().await?, &true)?;
    same("it was not there", &delete().await?, &false)?;
    same("nothing", &get(&*store, &scope).await?, &StoredProviderProfile::default())?;
    same("another scope's", &get(&*store, &other).await?.profile, &profile(&["p"])?)?;
    same("set again", &set(&*store, &scope, &["b"], 0).await?, &true)
}

async fn long(store: Arc<impl ProviderProfileStore>) -> StoreVerdict {
    let (scope, id) = (ann()?, "i".repeat(65 << 10));
    let mut long = profile(&["a"])?;
    long.instances.iter_mut().for_each(|instance| instance.display_name = id.as_str().into());
    match store.set_profile(&scope, long, 0).await {
        Err(StoreError::Full { .. }) => {}
        other => return Err(format!("a profile that is too long gives {other:?}")),
    }
    same("nothing", &get(&*store, &scope).await?.version, &0)
}

async fn race(store: Arc<impl ProviderProfileStore>) -> StoreVerdict {
    let scope = ann()?;
    for version in 0..4 {
        let writes = (0..8).map(|_| set(&*store, &scope, &["a"], version));
        let won = join_all(writes).await.into_iter().collect::<Result<Vec<bool>, String>>()?;
        same("winners", &won.iter().filter(|it| **it).count(), &1)?;
    }
    same("version", &get(&*store, &scope).await?.version, &4)
}
