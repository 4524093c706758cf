//! The providers of the command line.

use std::{env, fmt, sync::Arc};

use clap::ValueEnum;
use forgeline::{
    llm::{
        ListedModel, Provider, ProviderError,
        anthropic::Messages,
        cohere::ChatV2,
        demo::DemoProvider,
        gemini::GenerateContent,
        http::{EnvNames, HttpBuilder, HttpProvider, WireFormat},
        ollama::OllamaChat,
        openai::ChatCompletions,
        parser::ThinkingDialect,
        responses::Responses,
    },
    types::Text,
};

use crate::{exit::usage, provider_choice::ProviderChoice, record::SessionRecorder};

/// A provider's name on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProviderName {
    /// OpenAI, or a server that speaks its Chat Completions
    Openai,
    /// OpenAI's Responses
    OpenaiResponses,
    /// Anthropic, or a server that speaks its Messages
    Anthropic,
    /// Google's Gemini
    Gemini,
    /// An Ollama server, in its own protocol
    Ollama,
    /// Cohere
    Cohere,
    /// The built-in offline demo, which is not a language model
    Demo,
}

/// The static facts of a provider.
#[derive(Debug)]
pub struct ProviderFacts {
    /// The environment variables that set it up.
    pub env: EnvNames,
    /// The default base URL.
    pub base_url: Text,
    /// The default model; empty where the user must name one.
    pub model: &'static str,
    address: fn(&str) -> Text,
}

impl ProviderFacts {
    fn new<W: WireFormat>(model: &'static str) -> Self {
        Self { env: W::ENV, base_url: W::defaults().base_url, model, address: W::address }
    }

    /// Returns `true` for a server of the user's own, which needs no key and runs the models it
    /// has.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.base_url.starts_with("http://")
    }

    /// Returns the address that the user means by `spelling`.
    #[must_use]
    pub fn address(&self, spelling: &str) -> String {
        (self.address)(spelling).into_string()
    }
}

impl ProviderName {
    /// The providers that a key in the environment chooses, in order of precedence.
    pub const BY_KEY: &'static [Self] =
        &[Self::Openai, Self::Anthropic, Self::Gemini, Self::Cohere];

    /// Returns the facts of the provider; `None` for the demo.
    #[must_use]
    pub fn facts(self) -> Option<ProviderFacts> {
        Some(match self {
            Self::Demo => return None,
            Self::Openai => ProviderFacts::new::<ChatCompletions>("gpt-4.1-mini"),
            Self::OpenaiResponses => ProviderFacts::new::<Responses>("gpt-4.1-mini"),
            Self::Anthropic => ProviderFacts::new::<Messages>("claude-haiku-4-5"),
            Self::Gemini => ProviderFacts::new::<GenerateContent>("gemini-2.5-flash"),
            Self::Ollama => ProviderFacts::new::<OllamaChat>(""),
            Self::Cohere => ProviderFacts::new::<ChatV2>("command-a-03-2025"),
        })
    }
}

impl fmt::Display for ProviderName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        formatter.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}

/// Builds the chosen provider, with a recorder and a dialect of thinking if they are given.
///
/// # Errors
///
/// A usage error when the provider cannot be built.
pub fn connect(
    choice: &ProviderChoice,
    recorder: Option<&SessionRecorder>,
    thinking: Option<&ThinkingDialect>,
) -> anyhow::Result<Arc<dyn Provider>> {
    match choice.provider {
        ProviderName::Demo => Ok(Arc::new(DemoProvider::new())),
        ProviderName::Openai => build::<ChatCompletions>(choice, recorder, thinking),
        ProviderName::OpenaiResponses => build::<Responses>(choice, recorder, thinking),
        ProviderName::Anthropic => build::<Messages>(choice, recorder, thinking),
        ProviderName::Gemini => build::<GenerateContent>(choice, recorder, thinking),
        ProviderName::Ollama => build::<OllamaChat>(choice, recorder, thinking),
        ProviderName::Cohere => build::<ChatV2>(choice, recorder, thinking),
    }
}

fn build<W: WireFormat>(
    choice: &ProviderChoice,
    recorder: Option<&SessionRecorder>,
    thinking: Option<&ThinkingDialect>,
) -> anyhow::Result<Arc<dyn Provider>> {
    let mut builder = builder::<W>(choice);
    if let Some(dialect) = thinking {
        builder = builder.thinking(dialect.clone());
    }
    if let Some(recorder) = recorder {
        builder = builder.transport(recorder.transport());
    }
    Ok(Arc::new(builder.build().map_err(|error| usage(error.to_string()))?))
}

fn builder<W: WireFormat>(choice: &ProviderChoice) -> HttpBuilder<W> {
    let key = choice.key_env.as_ref().and_then(|name| env::var(name).ok()).unwrap_or_default();
    let builder = HttpProvider::<W>::builder().base_url(choice.base_url.as_str());
    builder.model(choice.model.as_str()).api_key(key)
}

/// A server's models, or why there is no list.
type ListedProvider = Result<Vec<ListedModel>, ProviderError>;

/// Asks the chosen provider for its models.
///
/// # Errors
///
/// A usage error when the provider cannot be built.
pub async fn models(choice: &ProviderChoice) -> anyhow::Result<ListedProvider> {
    match choice.provider {
        ProviderName::Demo => {
            Ok(Ok(vec![ListedModel::new(DemoProvider::new().info().model.clone())]))
        }
        ProviderName::Openai => listed::<ChatCompletions>(choice).await,
        ProviderName::OpenaiResponses => listed::<Responses>(choice).await,
        ProviderName::Anthropic => listed::<Messages>(choice).await,
        ProviderName::Gemini => listed::<GenerateContent>(choice).await,
        ProviderName::Ollama => listed::<OllamaChat>(choice).await,
        ProviderName::Cohere => listed::<ChatV2>(choice).await,
    }
}

async fn listed<W: WireFormat>(choice: &ProviderChoice) -> anyhow::Result<ListedProvider> {
    let mut builder = builder::<W>(choice);
    if choice.model.is_empty() {
        // The list does not depend on it.
        builder = builder.model("any");
    }
    let provider = builder.build().map_err(|error| usage(error.to_string()))?;
    Ok(provider.models().await)
}
