//! The choice of the provider that answers a message.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, OnceLock},
};

use super::{
    ProviderChoiceError, ProviderKind, ProviderSettings,
    recent::{RecentProviders, digest},
};
use forgeline_agent::Caller;
use forgeline_llm::Provider;
use forgeline_store::{
    EnvironmentSecrets, ProviderInstance, ProviderProfileStore, SecretError, SecretName,
    SecretScope, SecretStore, SecretValue,
};
use forgeline_types::Text;

/// The rule for whose providers and keys answer a caller.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyPolicy {
    /// The platform's alone: what users and teams have set up is not used.
    #[default]
    PlatformOnly,
    /// The caller's own or its team's, and the platform's for a caller that has chosen none.
    WithPlatformFallback,
    /// The caller's own or its team's alone.
    StrictOwn,
}

/// The choice of a message: an instance, a model, both or none.
///
/// # Examples
///
/// ```
/// use forgeline::server::ProviderChoice;
///
/// let mut choice = ProviderChoice::default();
/// choice.instance = Some("work".into());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderChoice {
    /// The id of a provider instance. Nothing else answers in its place.
    pub instance: Option<Text>,
    /// A model of the provider, in place of its own.
    pub model: Option<Text>,
}

/// A provider for a message.
#[derive(Clone)]
#[non_exhaustive]
pub struct ResolvedProvider {
    /// The provider.
    pub provider: Arc<dyn Provider>,
    /// The id of its kind.
    pub kind: Text,
    /// The model.
    pub model: Text,
    /// The id of the instance; `None` for the platform's first kind.
    pub instance: Option<Text>,
    /// The scope of the instance, or the platform.
    pub scope: SecretScope,
}

/// Chooses the provider that answers a message of a caller, with the caller's own key, its team's or the platform's.
///
/// 1. An instance that the message chooses is the caller's own, its team's or the platform's, in this order. If it cannot be used, nothing else
///    answers: a test of an instance can fail.
/// 2. Otherwise the default instance of the caller's profile answers, or that of its team's profile, with the key that it names. An instance without its
///    key is an error, and not a reason to use another one.
/// 3. Otherwise the default instance of the platform's profile answers, or the first kind. Its key is the team's, the platform's, or that of the kind's
///    environment variable, in this order.
///
/// [`KeyPolicy`] leaves out steps; a caller without a scope has the last one only. A service asks once for each run, through
/// [`ServiceBuilder::agent_for`](crate::ServiceBuilder::agent_for), so that a key which is set or deleted counts from the next run on. The last 128
/// providers are kept, with their connections.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use forgeline::{
///     agent::{Agent, Caller},
///     llm::demo::DemoProvider,
///     server::{KeyPolicy, Problem, ProviderChoice, ProviderKind, ProviderResolver, Service},
///     store::{InMemoryStore, SealedSecrets},
/// };
///
/// let resolver = ProviderResolver::new(SealedSecrets::in_memory()?, InMemoryStore::new())
///     .kind(ProviderKind::new("demo", "demo", |_| Ok(Arc::new(DemoProvider::new()))).keyless())
///     .policy(KeyPolicy::WithPlatformFallback);
/// let resolver = Arc::new(resolver);
/// let service = Service::builder().agent_for("main", move |caller: Caller| {
///     let resolver = Arc::clone(&resolver);
///     async move {
///         let own = resolver.resolve(&caller, &ProviderChoice::default()).await.map_err(Problem::from)?;
///         let mut builder = Agent::builder(own.provider);
///         // `"model": "work"` in a request chooses the caller's instance `work`.
///         for (id, chosen) in resolver.choices(&caller).await.map_err(Problem::from)? {
///             builder = builder.model(id, chosen.provider);
///         }
///         Ok::<_, Box<dyn std::error::Error + Send + Sync>>(builder.build()?)
///     }
/// });
/// # drop(service);
/// # Ok(())
/// # }
/// ```
pub struct ProviderResolver {
    kinds: Vec<ProviderKind>,
    policy: KeyPolicy,
    secrets: Arc<dyn SecretStore>,
    profiles: Arc<dyn ProviderProfileStore>,
    addresses: BTreeSet<Text>,
    /// The keys of the platform in the environment, by the id of the kind.
    environment: OnceLock<EnvironmentSecrets>,
    recent: RecentProviders,
}

impl ProviderResolver {
    /// Returns a resolver without kinds.
    pub fn new(secrets: impl SecretStore, profiles: impl ProviderProfileStore) -> Self {
        Self {
            kinds: Vec::new(),
            policy: KeyPolicy::default(),
            secrets: Arc::new(secrets),
            profiles: Arc::new(profiles),
            addresses: BTreeSet::new(),
            environment: OnceLock::new(),
            recent: RecentProviders::default(),
        }
    }

    /// Adds a kind, in place of one of the same id. The first is the platform's if its profile has no default.
    #[must_use]
    pub fn kind(mut self, kind: ProviderKind) -> Self {
        match self.kinds.iter_mut().find(|known| known.id() == kind.id()) {
            Some(known) => *known = kind,
            None => self.kinds.push(kind),
        }
        self
    }

    /// Sets whose providers and keys answer. Default: [`KeyPolicy::PlatformOnly`].
    #[must_use]
    pub fn policy(mut self, policy: KeyPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Allows instances of users and teams to have this address, as it is written there. Default: none, so that no caller makes the service connect to its
    /// own network. The platform's instances may have any.
    #[must_use]
    pub fn allow_address(mut self, base_url: impl Into<Text>) -> Self {
        self.addresses.insert(base_url.into());
        self
    }

    /// Returns the kinds, in the order in which they were added.
    #[must_use]
    pub fn kinds(&self) -> &[ProviderKind] {
        &self.kinds
    }

    /// Returns the scope of a caller's own secrets and instances; `None` for a caller without a scope. The same id in two scopes is two people.
    #[must_use]
    pub fn user_scope(caller: &Caller) -> Option<SecretScope> {
        let team = caller.scope.as_ref()?;
        let escaped = team.replace('%', "%25").replace('/', "%2F");
        SecretScope::user(&format!("{escaped}/{}", caller.id)).ok()
    }

    /// Returns the scope of the secrets and instances of a caller's team: its scope; `None` for a caller without one.
    #[must_use]
    pub fn team_scope(caller: &Caller) -> Option<SecretScope> {
        SecretScope::team(caller.scope.as_ref()?).ok()
    }

    /// Returns the scopes whose instances the caller may use, its own first.
    fn scopes(&self, caller: &Caller) -> Vec<SecretScope> {
        let own = [Self::user_scope(caller), Self::team_scope(caller)];
        match self.policy {
            KeyPolicy::PlatformOnly => vec![SecretScope::platform()],
            KeyPolicy::WithPlatformFallback => {
                own.into_iter().flatten().chain([SecretScope::platform()]).collect()
            }
            KeyPolicy::StrictOwn => own.into_iter().flatten().collect(),
        }
    }

    /// Returns the provider that answers a message.
    ///
    /// # Errors
    ///
    /// Returns a [`ProviderChoiceError`] that says what to do, if no provider can be used, or a store.
    pub async fn resolve(
        &self,
        caller: &Caller,
        choice: &ProviderChoice,
    ) -> Result<ResolvedProvider, ProviderChoiceError> {
        let scopes = self.scopes(caller);
        if let Some(id) = &choice.instance {
            for scope in scopes {
                let stored = self.profiles.profile(&scope).await?;
                if let Some(instance) = stored.profile.find(id) {
                    return self.of_instance(caller, scope, instance, choice.model.as_ref()).await;
                }
            }
            return Err(ProviderChoiceError::UnknownInstance { id: id.clone() });
        }
        for scope in scopes {
            let stored = self.profiles.profile(&scope).await?;
            if let Some(instance) = stored.profile.routed() {
                return self.of_instance(caller, scope, instance, choice.model.as_ref()).await;
            }
        }
        if self.policy == KeyPolicy::StrictOwn {
            return Err(ProviderChoiceError::NoInstance);
        }
        let none = || ProviderChoiceError::UnknownProvider { kind: Text::from("any") };
        let kind = self.kinds.first().ok_or_else(none)?;
        let name = SecretName::new(kind.id())?;
        let key = self.platform_key(caller, kind, &name).await?;
        let place = (SecretScope::platform(), None);
        self.built(kind, place, (key, &name), (None, choice.model.as_ref()))
    }

    /// Returns the providers of all instances that the caller may choose and that can be used, by id. Of instances with the same id, the caller's own
    /// counts first, then its team's.
    ///
    /// # Errors
    ///
    /// Returns an error if a profile cannot be read.
    pub async fn choices(
        &self,
        caller: &Caller,
    ) -> Result<Vec<(Text, ResolvedProvider)>, ProviderChoiceError> {
        let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
        for scope in self.scopes(caller) {
            let stored = self.profiles.profile(&scope).await?;
            for instance in &stored.profile.instances {
                if !seen.insert(instance.id.clone()) {
                    continue;
                }
                if let Ok(one) = self.of_instance(caller, scope.clone(), instance, None).await {
                    found.push((instance.id.clone(), one));
                }
            }
        }
        Ok(found)
    }

    /// Returns the provider of an instance, with the key that it names.
    async fn of_instance(
        &self,
        caller: &Caller,
        scope: SecretScope,
        instance: &ProviderInstance,
        model: Option<&Text>,
    ) -> Result<ResolvedProvider, ProviderChoiceError> {
        let kind = self.kinds.iter().find(|kind| instance.kind == kind.id());
        let unknown = || ProviderChoiceError::UnknownProvider { kind: instance.kind.clone() };
        let kind = kind.ok_or_else(unknown)?;
        let is_platforms = scope == SecretScope::platform();
        let is_allowed = |address: &Text| is_platforms || self.addresses.contains(address);
        if !instance.base_url.as_ref().is_none_or(is_allowed) {
            return Err(ProviderChoiceError::AddressNotAllowed { id: instance.id.clone() });
        }
        let key = if is_platforms {
            self.platform_key(caller, kind, &instance.secret).await?
        } else {
            self.secrets.get(&scope, &instance.secret).await?
        };
        let place = (scope, Some(instance));
        self.built(kind, place, (key, &instance.secret), (instance.model.as_ref(), model))
    }

    /// Returns the key for a provider of the platform: the team's, the platform's, or that of the environment. With [`KeyPolicy::PlatformOnly`], too, a
    /// team may pay for itself.
    async fn platform_key(
        &self,
        caller: &Caller,
        kind: &ProviderKind,
        name: &SecretName,
    ) -> Result<Option<SecretValue>, SecretError> {
        let platform = SecretScope::platform();
        for scope in Self::team_scope(caller).iter().chain([&platform]) {
            if let Some(key) = self.secrets.get(scope, name).await? {
                return Ok(Some(key));
            }
        }
        self.environment().get(&platform, &SecretName::new(kind.id())?).await
    }

    fn environment(&self) -> &EnvironmentSecrets {
        self.environment.get_or_init(|| {
            let named = self.kinds.iter().filter_map(|kind| {
                Some((SecretName::new(kind.id()).ok()?, kind.variable.clone()?))
            });
            named.fold(EnvironmentSecrets::new(), |all, (name, variable)| {
                all.variable(name, variable)
            })
        })
    }

    fn built(
        &self,
        kind: &ProviderKind,
        (scope, instance): (SecretScope, Option<&ProviderInstance>),
        (key, secret): (Option<SecretValue>, &SecretName),
        (own, chosen): (Option<&Text>, Option<&Text>),
    ) -> Result<ResolvedProvider, ProviderChoiceError> {
        let named = Text::from(kind.id());
        let model = chosen.or(own).map_or(kind.default_model(), Text::as_str);
        if !kind.has_model(model) {
            let known: Vec<_> = kind.known_models().map(|known| format!("`{known}`")).collect();
            let (model, known) = (model.into(), known.join(", "));
            return Err(ProviderChoiceError::UnknownModel { kind: named, model, known });
        }
        let secret = Text::from(secret.as_str());
        match &key {
            Some(key) => kind.check(key).map_err(|reason| {
                let kind = named.clone();
                ProviderChoiceError::InvalidApiKey { kind, secret, reason }
            })?,
            None if kind.needs_key => {
                return Err(ProviderChoiceError::MissingApiKey { kind: named, secret });
            }
            None => {}
        }
        let base_url = instance.and_then(|instance| instance.base_url.clone());
        let settings = ProviderSettings { model: model.into(), key, base_url };
        let (digest, model) = (digest(kind, &settings), settings.model.clone());
        let provider = if let Some(known) = self.recent.find(&digest) {
            known
        } else {
            let key = settings.key.clone();
            let built = kind.build(settings);
            let built = built.map_err(|error| {
                ProviderChoiceError::not_built(named.clone(), key.as_ref(), &error)
            })?;
            self.recent.add(digest, Arc::clone(&built));
            built
        };
        let instance = instance.map(|instance| instance.id.clone());
        Ok(ResolvedProvider { provider, kind: named, model, instance, scope })
    }
}

impl fmt::Debug for ProviderResolver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("ProviderResolver");
        shown.field("kinds", &self.kinds).field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl fmt::Debug for ResolvedProvider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("ResolvedProvider");
        shown.field("kind", &self.kind).field("model", &self.model);
        shown.field("instance", &self.instance).field("scope", &self.scope);
        shown.finish_non_exhaustive()
    }
}
