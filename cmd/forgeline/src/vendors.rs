//! The providers that can be asked, and what each needs to be told.

use std::{env, fmt, sync::Arc};

use clap::ValueEnum;
use forgeline::{
    llm::{
        Provider,
        demo::DemoProvider,
        http::{EnvNames, HttpProvider, WireFormat},
        ollama::OllamaChat,
        openai::ChatCompletions,
    },
    types::Text,
};

use crate::{exit::usage, provider_choice::Choice};

/// A provider's name on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProviderName {
    /// OpenAI, or a server that speaks its Chat Completions
    Openai,
    /// An Ollama server, in its own protocol
    Ollama,
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
    pub const BY_KEY: &'static [Self] = &[Self::Openai];

    /// What is known of it; nothing of the demo.
    #[must_use]
    pub fn facts(self) -> Option<Facts> {
        Some(match self {
            Self::Demo => return None,
            Self::Openai => Facts::of::<ChatCompletions>("gpt-4.1-mini"),
            Self::Ollama => Facts::of::<OllamaChat>(""),
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
        ProviderName::Ollama => build::<OllamaChat>(choice),
    }
}

fn build<W: WireFormat>(choice: &Choice) -> anyhow::Result<Arc<dyn Provider>> {
    let key = choice.key_env.as_ref().and_then(|name| env::var(name).ok()).unwrap_or_default();
    let builder = HttpProvider::<W>::builder().base_url(choice.base_url.as_str());
    let provider = builder.model(choice.model.as_str()).api_key(key).build();
    Ok(Arc::new(provider.map_err(|error| usage(error.to_string()))?))
}
