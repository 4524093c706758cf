//! Providers and keys of callers, their teams and the platform.

use std::sync::{Arc, Mutex};

use super::*;
use crate::providers::{
    KeyPolicy, ProviderChoice, ProviderChoiceError, ProviderKind, ProviderResolver,
    ProviderSettings,
};
use forgeline_llm::{Provider, ProviderError};
use forgeline_store::{
    InMemoryStore, ProviderInstance, ProviderProfile, ProviderProfileStore, SealedSecrets,
    SealingKeys, SecretName, SecretScope, SecretStore, SecretValue, SqliteStore, Stores,
};

/// A part of every key, which may be nowhere else.
const PLANTED: &str = "sk-planted-key";

/// The kind and the model of a provider that was built, and its key.
type BuiltProvider = (String, Option<String>);

/// The stores of a resolver, and what its kinds were built with.
struct World {
    secrets: SealedSecrets,
    profiles: InMemoryStore,
    built: Arc<Mutex<Vec<BuiltProvider>>>,
}

fn caller(id: &str, team: &str) -> Caller {
    Caller::new(id).scope(team)
}

fn chosen(instance: &str) -> ProviderChoice {
    ProviderChoice { instance: Some(instance.into()), ..ProviderChoice::default() }
}

fn any() -> ProviderChoice {
    ProviderChoice::default()
}

impl World {
    fn new() -> Self {
        let secrets = SealedSecrets::in_memory().unwrap();
        Self { secrets, profiles: InMemoryStore::new(), built: Arc::default() }
    }

    fn kind(&self, id: &'static str) -> ProviderKind {
        let built = Arc::clone(&self.built);
        ProviderKind::new(id, "small", move |settings: ProviderSettings| {
            let ProviderSettings { model, key, .. } = settings;
            let key = key.map(|key| key.expose().to_owned());
            if model == "broken" {
                let refused = format!("cannot use {}", key.unwrap_or_default());
                return Err(ProviderError::config(refused));
            }
            let shown = key.as_deref().and_then(|key| key.rsplit('-').next()).unwrap_or("none");
            let text = format!("{id} {model} with the key of {shown}.");
            built.lock().unwrap().push((format!("{id} {model}"), key));
            Ok(Arc::new(ScriptedProvider::from_fn(move |_: &Asked| {
                ScriptedTurn::new().text(text.clone())
            })) as Arc<dyn Provider>)
        })
        .check_key(|key| if key.contains(' ') { Err("it has a space") } else { Ok(()) })
    }

    fn resolver(&self, policy: KeyPolicy) -> ProviderResolver {
        ProviderResolver::new(self.secrets.clone(), self.profiles.clone())
            .kind(self.kind("vendor"))
            .kind(self.kind("other").models(["large", "broken"]))
            .kind(self.kind("local").keyless())
            .policy(policy)
            .allow_address("https://models.example/v1")
    }

    async fn key(&self, scope: &SecretScope, name: &str, of: &str) {
        let value = SecretValue::new(format!("{PLANTED}-{of}")).unwrap();
        self.secrets.set(scope, &SecretName::new(name).unwrap(), value).await.unwrap();
    }

    /// Adds an instance whose secret has the name of its kind, and makes it the default.
    async fn instance(&self, scope: &SecretScope, id: &str, kind: &str) {
        let instance = ProviderInstance::new(id, kind, SecretName::new(kind).unwrap());
        self.change(scope, |profile| {
            profile.instances.push(instance);
            profile.default = Some(id.into());
        })
        .await;
    }

    async fn change(&self, scope: &SecretScope, change: impl FnOnce(&mut ProviderProfile)) {
        let mut stored = self.profiles.profile(scope).await.unwrap();
        change(&mut stored.profile);
        assert!(self.profiles.set_profile(scope, stored.profile, stored.version).await.unwrap());
    }
}

fn user(caller: &Caller) -> SecretScope {
    ProviderResolver::user_scope(caller).unwrap()
}

fn team(caller: &Caller) -> SecretScope {
    ProviderResolver::team_scope(caller).unwrap()
}

/// The key with which the provider of a message was built, by its last word, or the name of the error.
async fn key_of(resolver: &ProviderResolver, caller: &Caller, choice: &ProviderChoice) -> String {
    match resolver.resolve(caller, choice).await {
        Ok(found) => {
            let answer = found.provider.complete(Asked::prompt("Hi")).await.unwrap();
            let text = answer.text;
            text.rsplit(' ').next().unwrap().trim_end_matches('.').to_owned()
        }
        Err(error) => {
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains(PLANTED), "{shown}");
            let debug = format!("{error:?}");
            debug.split([' ', '(', '{']).next().unwrap().to_owned()
        }
    }
}

// Covers: T-87, T-88, T-89
#[tokio::test]
async fn the_key_of_a_message_is_that_of_the_order_and_of_the_policy() {
    use KeyPolicy::{PlatformOnly, StrictOwn, WithPlatformFallback};
    let (ann, guest) = (caller("ann", "a"), Caller::new("guest"));
    // What is set up, and the key of Ann's message by policy: the platform's only, with its fallback, her own only.
    let rows: [(&[&str], [&str; 3]); 9] = [
        (&[], ["MissingApiKey", "MissingApiKey", "NoInstance"]),
        (&["platform key"], ["platform", "platform", "NoInstance"]),
        (&["team key", "platform key"], ["team", "team", "NoInstance"]),
        (&["ann's key", "platform key"], ["platform", "platform", "NoInstance"]),
        (&["ann's key", "ann's instance", "platform key"], ["platform", "ann", "ann"]),
        // An instance without its key does not make way for another one.
        (&["ann's instance", "platform key"], ["platform", "MissingApiKey", "MissingApiKey"]),
        (&["team key", "team instance", "platform key"], ["team", "team", "team"]),
        (
            &["team key", "team instance", "ann's instance"],
            ["team", "MissingApiKey", "MissingApiKey"],
        ),
        (
            &["ann's key", "ann's instance", "team key", "team instance", "platform key"],
            ["team", "ann", "ann"],
        ),
    ];
    for (set_up, want) in rows {
        let world = World::new();
        for thing in set_up {
            let scope = match thing.split_once([' ', '\'']).unwrap().0 {
                "ann" => user(&ann),
                "team" => team(&ann),
                _ => SecretScope::platform(),
            };
            if thing.ends_with("key") {
                let of = thing.split_once([' ', '\'']).unwrap().0;
                world.key(&scope, "vendor", of).await;
            } else {
                world.instance(&scope, "own", "vendor").await;
            }
        }
        for (policy, want) in [PlatformOnly, WithPlatformFallback, StrictOwn].into_iter().zip(want)
        {
            let resolver = world.resolver(policy);
            assert_eq!(key_of(&resolver, &ann, &any()).await, want, "{set_up:?} {policy:?}");
            // A caller without a scope has the platform's alone.
            let has_platform = set_up.contains(&"platform key");
            let want = match policy {
                StrictOwn => "NoInstance",
                PlatformOnly | WithPlatformFallback if has_platform => "platform",
                PlatformOnly | WithPlatformFallback => "MissingApiKey",
            };
            assert_eq!(key_of(&resolver, &guest, &any()).await, want, "{set_up:?} {policy:?}");
        }
    }
}

#[tokio::test]
async fn an_instance_that_a_message_chooses_answers_or_nothing_does() {
    let world = World::new();
    let ann = caller("ann", "a");
    world.key(&SecretScope::platform(), "vendor", "platform").await;
    world.key(&user(&ann), "vendor", "ann").await;
    world.instance(&user(&ann), "keyless", "other").await;
    world.instance(&user(&ann), "gone", "no-such-kind").await;
    world.instance(&user(&ann), "work", "vendor").await;
    world.instance(&SecretScope::platform(), "ours", "vendor").await;
    let resolver = world.resolver(KeyPolicy::WithPlatformFallback);
    for (id, want) in [
        ("work", "ann"),
        ("ours", "platform"),
        ("keyless", "MissingApiKey"),
        ("gone", "UnknownProvider"),
        ("none", "UnknownInstance"),
    ] {
        assert_eq!(key_of(&resolver, &ann, &chosen(id)).await, want, "{id}");
    }
    let names: Vec<_> = resolver.choices(&ann).await.unwrap();
    let names: Vec<_> = names.iter().map(|(id, one)| (id.as_str(), one.kind.as_str())).collect();
    assert_eq!(names, [("work", "vendor"), ("ours", "vendor")]);
    let own = world.resolver(KeyPolicy::PlatformOnly);
    assert_eq!(key_of(&own, &ann, &chosen("work")).await, "UnknownInstance");
    let strict = world.resolver(KeyPolicy::StrictOwn);
    assert_eq!(key_of(&strict, &ann, &chosen("ours")).await, "UnknownInstance");
}

#[tokio::test]
async fn what_one_caller_has_is_found_by_no_other() {
    let world = World::new();
    let pairs = [("ann", "a"), ("ann", "b"), ("bob", "a"), ("b/ann", "a"), ("ann", "a/b")];
    let callers: Vec<_> = pairs.map(|(id, team)| caller(id, team)).into();
    let scopes: std::collections::BTreeSet<_> = callers.iter().map(user).collect();
    assert_eq!(scopes.len(), callers.len(), "each is a person of its own");
    let ann = &callers[0];
    world.key(&user(ann), "vendor", "ann").await;
    world.instance(&user(ann), "work", "vendor").await;
    let resolver = world.resolver(KeyPolicy::StrictOwn);
    assert_eq!(key_of(&resolver, ann, &chosen("work")).await, "ann");
    for other in &callers[1..] {
        for choice in [chosen("work"), any()] {
            let found = key_of(&resolver, other, &choice).await;
            assert!(["UnknownInstance", "NoInstance"].contains(&found.as_str()), "{other:?}");
        }
        assert!(resolver.choices(other).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn models_keys_and_addresses_that_are_not_allowed_are_named_without_the_key() {
    let world = World::new();
    let ann = caller("ann", "a");
    world.key(&user(&ann), "other", "ann").await;
    world.instance(&user(&ann), "work", "other").await;
    let resolver = world.resolver(KeyPolicy::StrictOwn);
    let with = |model: &str| ProviderChoice { model: Some(model.into()), ..chosen("work") };
    assert_eq!(key_of(&resolver, &ann, &with("large")).await, "ann");
    assert_eq!(key_of(&resolver, &ann, &with("small")).await, "ann");
    assert_eq!(key_of(&resolver, &ann, &with("broken")).await, "NotBuilt");
    let unknown = resolver.resolve(&ann, &with("gpt-99")).await.unwrap_err();
    assert!(unknown.to_string().contains("choose one of `small`, `large`"), "{unknown}");
    world.key(&user(&ann), "other", "ann s").await;
    assert_eq!(key_of(&resolver, &ann, &chosen("work")).await, "InvalidApiKey");
    world.key(&user(&ann), "other", "ann").await;
    let address = async |scope: &SecretScope, base_url: &str| {
        let base_url = Some(base_url.into());
        world.change(scope, |profile| profile.instances[0].base_url = base_url).await;
    };
    for (base_url, want) in [
        ("https://models.example/v1", "ann"),
        ("https://models.example/v1/", "AddressNotAllowed"),
        ("https://models.example/v1@10.0.0.1", "AddressNotAllowed"),
        ("http://169.254.169.254/latest", "AddressNotAllowed"),
        ("http://localhost:9200", "AddressNotAllowed"),
        ("", "AddressNotAllowed"),
    ] {
        address(&user(&ann), base_url).await;
        assert_eq!(key_of(&resolver, &ann, &chosen("work")).await, want, "{base_url}");
        let found = resolver.choices(&ann).await.unwrap().len();
        assert_eq!(found, usize::from(want == "ann"), "{base_url}");
    }
    let platform = SecretScope::platform();
    world.instance(&platform, "inside", "local").await;
    address(&platform, "http://10.0.0.7/v1").await;
    let resolver = world.resolver(KeyPolicy::WithPlatformFallback);
    assert_eq!(key_of(&resolver, &ann, &chosen("inside")).await, "none");
}

#[tokio::test]
async fn each_error_is_a_problem_that_says_what_to_do() {
    let world = World::new();
    let resolver = world.resolver(KeyPolicy::StrictOwn);
    let missing = resolver.resolve(&caller("ann", "a"), &any()).await.unwrap_err();
    assert!(matches!(missing, ProviderChoiceError::NoInstance));
    let problem = Problem::from(missing);
    assert!(problem.to_string().contains("set up a provider of yours first"), "{problem}");
    let empty = ProviderResolver::new(world.secrets.clone(), world.profiles.clone());
    let none = empty.resolve(&caller("ann", "a"), &any()).await.unwrap_err();
    assert!(matches!(none, ProviderChoiceError::UnknownProvider { .. }));
}

// Covers: T-90
#[tokio::test]
async fn the_environment_is_the_last_place_for_a_key_and_a_vendor_is_one_line() {
    let world = World::new();
    // Each process has this variable.
    let kind = world.kind("vendor").variable("PATH").check_key(|_| Ok(()));
    let resolver = world.resolver(KeyPolicy::PlatformOnly).kind(kind);
    let found = resolver.resolve(&caller("ann", "a"), &any()).await.unwrap();
    assert_eq!((found.kind.as_str(), found.model.as_str()), ("vendor", "small"));
    let used = world.built.lock().unwrap().pop().unwrap().1;
    assert_eq!(used, std::env::var("PATH").ok());
    world.key(&SecretScope::platform(), "vendor", "platform").await;
    assert_eq!(key_of(&resolver, &caller("ann", "a"), &any()).await, "platform");
    let added = resolver.kind(world.kind("new"));
    assert_eq!(added.kinds().last().unwrap().id(), "new");
}

/// A service whose agent has the providers of its caller.
fn serving(stores: &Stores, resolver: ProviderResolver) -> Router {
    let resolver = Arc::new(resolver);
    let builder = Service::builder().agent_for("main", move |caller: Caller| {
        let resolver = Arc::clone(&resolver);
        async move {
            let own = resolver.resolve(&caller, &any()).await.map_err(Problem::from)?;
            let mut builder = Agent::builder(own.provider);
            for (id, chosen) in resolver.choices(&caller).await.map_err(Problem::from)? {
                builder = builder.model(id, chosen.provider);
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(builder.build()?)
        }
    });
    let caller = |name: &str, scope: &str| caller(name, scope);
    let tokens =
        Tokens::new().token("ann", caller("ann", "team-a")).token("eve", caller("eve", "team-e"));
    router(builder.identify(tokens).stores(stores.clone()).build().unwrap())
}

async fn answer(app: &Router, token: &str, body: &Value) -> String {
    let run = begin(app, token, body).await;
    text(get(app, &format!("{run}/events"), token).await).await
}

#[tokio::test]
async fn runs_have_the_key_of_now_and_the_instance_that_they_choose_and_show_no_key() {
    let folder = std::env::temp_dir().join(format!("forgeline-own-keys-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("service.db");
    let store = SqliteStore::open(&path).await.unwrap();
    let keys = SealingKeys::random().unwrap();
    let mut world = World::new();
    world.secrets = SealedSecrets::new(store.clone(), keys);
    let ann = caller("ann", "team-a");
    let (home, ask) = (user(&ann), json!({ "input": "Hi", "conversation_id": "c" }));
    world.instance(&home, "home", "vendor").await;
    let resolver = world.resolver(KeyPolicy::StrictOwn);
    let app = serving(&Stores::of(store.clone()), resolver);
    let mut shown = Vec::new();
    let (status, refused) = value(post(&app, "/v1/runs", "ann", &ask).await).await;
    assert_eq!((status, &refused["code"]), (409, &json!("missing_api_key")), "{refused}");
    assert!(refused["detail"].as_str().unwrap().contains("set the secret `vendor`"), "{refused}");
    shown.push(refused.to_string());
    world.key(&home, "vendor", "old").await;
    shown.push(answer(&app, "ann", &ask).await);
    assert!(shown[1].contains("vendor small with the key of old."), "{}", shown[1]);
    world.key(&home, "vendor", "new").await;
    world.key(&home, "other", "work").await;
    world.instance(&home, "work", "other").await;
    world.change(&home, |profile| profile.default = Some("home".into())).await;
    shown.push(answer(&app, "ann", &ask).await);
    assert!(shown[2].contains("vendor small with the key of new."), "{}", shown[2]);
    let at_work = json!({ "input": "Hi", "model": "work" });
    shown.push(answer(&app, "ann", &at_work).await);
    assert!(shown[3].contains("other small with the key of work."), "{}", shown[3]);
    let (status, others) = value(post(&app, "/v1/runs", "eve", &at_work).await).await;
    assert_eq!(status, 409, "{others}");
    let name = SecretName::new("vendor").unwrap();
    assert!(world.secrets.delete(&home, &name).await.unwrap());
    let (status, refused) = value(post(&app, "/v1/runs", "ann", &ask).await).await;
    assert_eq!((status, &refused["code"]), (409, &json!("missing_api_key")), "{refused}");
    for path in ["/v1/agents", "/v1/tools", "/metrics", "/ready", "/v1/conversations/c"] {
        shown.push(text(get(&app, path, "ann").await).await);
    }
    shown.push(format!("{world:?}", world = (&world.secrets, &world.profiles)));
    for said in &shown {
        assert!(!said.contains(PLANTED), "{said}");
    }
    store.close_file().await;
    let needle = PLANTED.as_bytes();
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let is_found = bytes.windows(needle.len()).any(|window| window == needle);
        assert!(!is_found, "{} has a key", path.display());
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn a_provider_is_built_once_for_a_key_and_again_for_another_one() {
    let world = World::new();
    let ann = caller("ann", "a");
    world.key(&user(&ann), "vendor", "one").await;
    world.instance(&user(&ann), "work", "vendor").await;
    let resolver = world.resolver(KeyPolicy::StrictOwn);
    for (key, built) in [("one", 1), ("one", 1), ("two", 2), ("one", 2)] {
        world.key(&user(&ann), "vendor", key).await;
        assert_eq!(key_of(&resolver, &ann, &any()).await, key);
        assert_eq!(world.built.lock().unwrap().len(), built, "{key}");
    }
    let shown = format!("{resolver:?} {:?}", resolver.resolve(&ann, &any()).await.unwrap());
    assert!(!shown.contains(PLANTED), "{shown}");
}
