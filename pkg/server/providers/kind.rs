//! The kinds of providers.

use std::{fmt, sync::Arc};

use forgeline_llm::{Provider, ProviderError};
use forgeline_store::SecretValue;
use forgeline_types::{Capabilities, Text};

/// Makes a provider of its settings.
type BuildProvider =
    dyn Fn(ProviderSettings) -> Result<Arc<dyn Provider>, ProviderError> + Send + Sync;

/// Returns the fault of a key.
type CheckKey = dyn Fn(&str) -> Result<(), &'static str> + Send + Sync;

/// The settings of a provider, of which a [`ProviderKind`] builds it. `Debug` does not show the key.
///
/// # Examples
///
/// ```
/// use forgeline::{llm::{Provider, ProviderError, openai::OpenAi}, server::ProviderSettings};
/// use std::sync::Arc;
///
/// fn build(settings: ProviderSettings) -> Result<Arc<dyn Provider>, ProviderError> {
///     let mut builder = OpenAi::builder().model(settings.model);
///     if let Some(key) = &settings.key {
///         builder = builder.api_key(key.expose());
///     }
///     if let Some(base_url) = settings.base_url {
///         builder = builder.base_url(base_url);
///     }
///     Ok(Arc::new(builder.build()?))
/// }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProviderSettings {
    /// The model.
    pub model: Text,
    /// The key; `None` for a kind that needs none.
    pub key: Option<SecretValue>,
    /// The address of the server; `None` for that of the kind.
    pub base_url: Option<Text>,
}

/// A kind of provider, such as a vendor: its facts, and the function that builds one. A host adds a vendor by
/// [`ProviderResolver::kind`](super::ProviderResolver::kind) alone.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use forgeline::{llm::demo::DemoProvider, server::ProviderKind};
///
/// let kind = ProviderKind::new("demo", "demo", |_| Ok(Arc::new(DemoProvider::new()))).name("Demo").keyless();
/// assert_eq!((kind.id(), kind.shown_name(), kind.default_model()), ("demo", "Demo", "demo"));
/// ```
#[derive(Clone)]
pub struct ProviderKind {
    id: Text,
    name: Text,
    default_model: Text,
    models: Vec<Text>,
    capabilities: Capabilities,
    pub(super) variable: Option<String>,
    pub(super) needs_key: bool,
    check_key: Arc<CheckKey>,
    build: Arc<BuildProvider>,
}

impl ProviderKind {
    /// Returns a kind with an id such as `openai`, a default model and a function that builds a provider. The function neither waits nor reads the
    /// environment: it gets the key as an argument.
    pub fn new(
        id: impl Into<Text>,
        default_model: impl Into<Text>,
        build: impl Fn(ProviderSettings) -> Result<Arc<dyn Provider>, ProviderError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let id = id.into();
        Self {
            name: id.clone(),
            id,
            default_model: default_model.into(),
            models: Vec::new(),
            capabilities: Capabilities::default(),
            variable: None,
            needs_key: true,
            check_key: Arc::new(|_| Ok(())),
            build: Arc::new(build),
        }
    }

    /// Sets the name for people. Default: the id.
    #[must_use]
    pub fn name(mut self, name: impl Into<Text>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the models that may be chosen besides the default one. Default: any.
    #[must_use]
    pub fn models(mut self, models: impl IntoIterator<Item = impl Into<Text>>) -> Self {
        self.models = models.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the capabilities of its models, for lists. Default: none, which is the safer floor.
    #[must_use]
    pub fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Sets the environment variable with a key of the platform, which is read if no store has one.
    #[must_use]
    pub fn variable(mut self, variable: impl Into<String>) -> Self {
        self.variable = Some(variable.into());
        self
    }

    /// Lets it be built without a key.
    #[must_use]
    pub fn keyless(mut self) -> Self {
        self.needs_key = false;
        self
    }

    /// Sets a check of the form of its keys. It says what to repair, without the key. Default: any key is right.
    #[must_use]
    pub fn check_key(
        mut self,
        check: impl Fn(&str) -> Result<(), &'static str> + Send + Sync + 'static,
    ) -> Self {
        self.check_key = Arc::new(check);
        self
    }

    /// Returns the id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the name for people.
    #[must_use]
    pub fn shown_name(&self) -> &str {
        &self.name
    }

    /// Returns the default model.
    #[must_use]
    pub fn default_model(&self) -> &str {
        &self.default_model
    }

    /// Returns the models that may be chosen, the default one first; the others are not known if [`has_model`](Self::has_model) accepts any.
    pub fn known_models(&self) -> impl Iterator<Item = &str> {
        let others = self.models.iter().filter(|model| **model != self.default_model);
        std::iter::once(&self.default_model).chain(others).map(Text::as_str)
    }

    /// Returns `true` if this model may be chosen.
    #[must_use]
    pub fn has_model(&self, model: &str) -> bool {
        self.models.is_empty() || self.known_models().any(|known| known == model)
    }

    /// Returns the capabilities of its models.
    #[must_use]
    pub fn shown_capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// Returns the fault of a key as an error.
    pub(super) fn check(&self, key: &SecretValue) -> Result<(), &'static str> {
        (self.check_key)(key.expose())
    }

    pub(super) fn build(
        &self,
        settings: ProviderSettings,
    ) -> Result<Arc<dyn Provider>, ProviderError> {
        (self.build)(settings)
    }
}

impl fmt::Debug for ProviderKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("ProviderKind");
        shown.field("id", &self.id).field("default_model", &self.default_model);
        shown.finish_non_exhaustive()
    }
}
