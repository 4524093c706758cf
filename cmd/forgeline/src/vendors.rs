//! The providers that can be asked, and what each needs to be told.

use std::{env, fmt, sync::Arc};

use clap::ValueEnum;
use forgeline::{
    llm::{
        Provider,
        anthropic::Messages,
        cohere::ChatV2,
        demo::DemoProvider,
        gemini::GenerateContent,
        http::{EnvNames, HttpProvider, WireFormat},
        ollama::OllamaChat,
        openai::ChatCompletions,
        responses::Responses,
    },
    types::Text,
};

use crate::{exit::usage, provider_choice::Choice};

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
    /// The built-in offline demo, which is no language model
    Demo,
}

/// What is known of a provider before anything was asked.
#[derive(Debug)]
pub struct Facts {
    /// The environment variables that set it up.
    pub env: EnvNames,
    /// Where it answers.
    pub base_url: Text,
    /// The model that is asked there when nobody names one; empty where the user must.
    pub model: &'static str,
    address: fn(&str) -> Text,
}

impl Facts {
    fn of<W: WireFormat>(model: &'static str) -> Self {
        Self { env: W::ENV, base_url: W::defaults().base_url, model, address: W::address }
    }

    /// Whether it is a server of the user's own, which needs no key and runs what it has.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.base_url.starts_with("http://")
    }

    /// The address that the user means by `spelling`.
    #[must_use]
    pub fn address(&self, spelling: &str) -> String {
        (self.address)(spelling).into_string()
    }
}

impl ProviderName {
    /// Those whose key in the environment is reason enough to ask them, the first first.
    pub const BY_KEY: &'static [Self] =
        &[Self::Openai, Self::Anthropic, Self::Gemini, Self::Cohere];

    /// What is known of it; nothing of the demo.
    #[must_use]
    pub fn facts(self) -> Option<Facts> {
        Some(match self {
            Self::Demo => return None,
            Self::Openai => Facts::of::<ChatCompletions>("gpt-4.1-mini"),
            Self::OpenaiResponses => Facts::of::<Responses>("gpt-4.1-mini"),
            Self::Anthropic => Facts::of::<Messages>("claude-haiku-4-5"),
            Self::Gemini => Facts::of::<GenerateContent>("gemini-2.5-flash"),
            Self::Ollama => Facts::of::<OllamaChat>(""),
            Self::Cohere => Facts::of::<ChatV2>("command-a-03-2025"),
        })
    }
}

impl fmt::Display for ProviderName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        formatter.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}

/// The provider that was chosen.
///
/// # Errors
///
/// A usage error when it cannot work so.
pub fn connect(choice: &Choice) -> anyhow::Result<Arc<dyn Provider>> {
    match choice.provider {
        ProviderName::Demo => Ok(Arc::new(DemoProvider::new())),
        ProviderName::Openai => build::<ChatCompletions>(choice),
        ProviderName::OpenaiResponses => build::<Responses>(choice),
        ProviderName::Anthropic => build::<Messages>(choice),
        ProviderName::Gemini => build::<GenerateContent>(choice),
        ProviderName::Ollama => build::<OllamaChat>(choice),
        ProviderName::Cohere => build::<ChatV2>(choice),
    }
}

fn build<W: WireFormat>(choice: &Choice) -> anyhow::Result<Arc<dyn Provider>> {
    let key = choice.key_env.as_ref().and_then(|name| env::var(name).ok()).unwrap_or_default();
    let builder = HttpProvider::<W>::builder().base_url(choice.base_url.as_str());
    let provider = builder.model(choice.model.as_str()).api_key(key).build();
    Ok(Arc::new(provider.map_err(|error| usage(error.to_string()))?))
}
