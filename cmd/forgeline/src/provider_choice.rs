//! Which provider answers, and why.

use std::fmt;

use clap::{Args, ValueEnum};

use crate::{exit::usage, probe::LocalServer};

/// Where OpenAI answers.
const OPENAI_URL: &str = "https://api.openai.com/v1";
/// The model that is asked there when nobody names one.
const OPENAI_MODEL: &str = "gpt-4.1-mini";

/// Which provider, as flags.
#[derive(Debug, Clone, Default, Args)]
pub struct ProviderArgs {
    /// Who answers [default: from the environment, else a local server, else demo]
    #[arg(long, value_enum)]
    pub provider: Option<ProviderName>,
    /// The model's id, as the server spells it [default: `OPENAI_MODEL`, else the server's choice]
    #[arg(long, value_name = "ID")]
    pub model: Option<String>,
    /// Where an OpenAI-compatible server answers, such as `http://127.0.0.1:8080/v1`
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// The environment variable that holds the API key [default: `OPENAI_API_KEY`]
    #[arg(long, value_name = "NAME")]
    pub api_key_env: Option<String>,
}

/// A provider's name on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProviderName {
    /// A server that speaks OpenAI Chat Completions
    Openai,
    /// The built-in offline demo, which is no language model
    Demo,
}

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// What to connect to.
    pub target: Target,
    /// Why, for the user.
    pub why: String,
}

/// What to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The built-in demo.
    Demo,
    /// An OpenAI-compatible server.
    OpenAi {
        /// Where its API starts.
        base_url: String,
        /// The model's id; empty lets the server choose.
        model: String,
        /// The environment variable that holds the key; the key itself is not kept here.
        key_env: Option<String>,
    },
}

impl fmt::Display for Choice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Target::Demo => write!(formatter, "provider: demo, the built-in offline model")?,
            Target::OpenAi { base_url, model, .. } => {
                let model = if model.is_empty() { "the server's model" } else { model };
                write!(formatter, "provider: {model} at {}", without_secrets(base_url))?;
            }
        }
        write!(formatter, " ({})", self.why)
    }
}

/// Chooses: flags, then the environment, then a local server that answers, then the demo.
///
/// `variable` looks an environment variable up; an empty one counts as absent. `probe` looks for a
/// local server and is called only when nothing else decided.
///
/// # Errors
///
/// A usage error for flags that contradict each other or the environment.
pub fn choose(
    args: &ProviderArgs,
    variable: impl Fn(&str) -> Option<String>,
    probe: impl FnOnce() -> Option<LocalServer>,
) -> anyhow::Result<Choice> {
    let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    if args.provider == Some(ProviderName::Demo) {
        if args.base_url.is_some() || args.api_key_env.is_some() {
            return Err(usage(
                "the demo has no server; leave --base-url and --api-key-env out, or take --provider openai",
            ));
        }
        return Ok(Choice { target: Target::Demo, why: "--provider demo".to_owned() });
    }
    let key_env = match &args.api_key_env {
        Some(name) if variable(name).is_none() => {
            return Err(usage(format!("{name} is not set; put the API key into it")));
        }
        Some(name) => Some(name.clone()),
        None => variable("OPENAI_API_KEY").map(|_| "OPENAI_API_KEY".to_owned()),
    };
    let openai = |base_url: String, why: &str| {
        let default = if base_url == OPENAI_URL { OPENAI_MODEL } else { "" };
        let model = args.model.clone().or_else(|| variable("OPENAI_MODEL"));
        let model = model.unwrap_or_else(|| default.to_owned());
        let target = Target::OpenAi { base_url, model, key_env: key_env.clone() };
        Choice { target, why: why.to_owned() }
    };
    if let Some(url) = &args.base_url {
        return Ok(openai(url.clone(), "--base-url"));
    }
    if let Some(url) = variable("OPENAI_BASE_URL") {
        return Ok(openai(url, "OPENAI_BASE_URL is set"));
    }
    if let Some(name) = &key_env {
        return Ok(openai(OPENAI_URL.to_owned(), &format!("{name} is set")));
    }
    if args.provider == Some(ProviderName::Openai) {
        return Err(usage("there is no key; set OPENAI_API_KEY, or name a server with --base-url"));
    }
    let anthropic = variable("ANTHROPIC_API_KEY").map_or(
        "",
        |_| "ANTHROPIC_API_KEY is set, but this version has no Anthropic provider yet; ",
    );
    if let Some(server) = probe() {
        let LocalServer { base_url, model } = server;
        let model = args.model.clone().unwrap_or(model);
        let why = format!("{anthropic}a local server answers there");
        let target = Target::OpenAi { base_url, model, key_env: None };
        return Ok(Choice { target, why });
    }
    if let Some(model) = &args.model {
        return Err(usage(format!(
            "{anthropic}nobody was found who could run {model}; set OPENAI_API_KEY, name a server with --base-url, or leave --model out",
        )));
    }
    let why = format!(
        "{anthropic}no OPENAI_BASE_URL, no OPENAI_API_KEY, and no local server on port 11434 or 8080"
    );
    Ok(Choice { target: Target::Demo, why })
}

/// An address without what may be a secret in it: user, password and query.
fn without_secrets(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let (url, _) = url.split_at(end);
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pairs<'a> = &'a [(&'a str, &'a str)];

    fn args(pairs: &[(&str, &str)]) -> ProviderArgs {
        let mut args = ProviderArgs::default();
        for (flag, value) in pairs {
            let value = Some((*value).to_owned());
            match *flag {
                "model" => args.model = value,
                "url" => args.base_url = value,
                "key" => args.api_key_env = value,
                _ => args.provider = ProviderName::from_str(value.as_deref().unwrap(), true).ok(),
            }
        }
        args
    }

    #[test]
    fn secrets_of_an_address_are_not_shown() {
        #[rustfmt::skip]
        let cases = [
            ("http://127.0.0.1:8080/v1",              "http://127.0.0.1:8080/v1"),
            ("https://user:p@ss@host:1/v1?key=k#f",   "https://host:1/v1"),
            ("https://host?api-key=k",                "https://host"),
            ("https://host/a@b",                      "https://host/a@b"),
        ];
        for (url, want) in cases {
            assert_eq!(without_secrets(url), want);
        }
    }

    #[test]
    fn flags_beat_the_environment_which_beats_a_local_server_which_beats_the_demo() {
        let key = ("OPENAI_API_KEY", "k");
        let url = ("OPENAI_BASE_URL", "http://env/v1");
        let claude = ("ANTHROPIC_API_KEY", "k");
        #[rustfmt::skip]
        let cases: [(&str, Pairs<'_>, Pairs<'_>, bool, &str); 17] = [
            ("nothing",          &[],                                   &[],          false, "demo"),
            ("demo flag",        &[("provider", "demo")],               &[key, url],  true,  "demo"),
            ("url flag",         &[("url", "http://flag/v1")],          &[key, url],  true,  "http://flag/v1||OPENAI_API_KEY"),
            ("url and model",    &[("url", "http://f"), ("model", "m")], &[],         true,  "http://f|m|"),
            ("env url",          &[],                                   &[key, url],  true,  "http://env/v1||OPENAI_API_KEY"),
            ("env url, no key",  &[("model", "m")],                     &[url],       true,  "http://env/v1|m|"),
            ("env key",          &[],                                   &[key],       true,  "https://api.openai.com/v1|gpt-4.1-mini|OPENAI_API_KEY"),
            ("env model",        &[],                                   &[key, ("OPENAI_MODEL", "m")], true, "https://api.openai.com/v1|m|OPENAI_API_KEY"),
            ("named key",        &[("key", "MINE")],                    &[("MINE", "k")], true, "https://api.openai.com/v1|gpt-4.1-mini|MINE"),
            ("empty env",        &[],                                   &[("OPENAI_API_KEY", " ")], false, "demo"),
            ("anthropic only",   &[],                                   &[claude],    false, "demo"),
            ("local",            &[],                                   &[],          true,  "http://local/v1|first|"),
            ("local and model",  &[("model", "m")],                     &[],          true,  "http://local/v1|m|"),
            ("named key absent", &[("key", "MINE")],                    &[key],       true,  "error: MINE is not set; put the API key into it"),
            ("openai, no key",   &[("provider", "openai")],             &[],          true,  "error: there is no key; set OPENAI_API_KEY, or name a server with --base-url"),
            ("demo with url",    &[("provider", "demo"), ("url", "u")], &[],          true,  "error: the demo has no server; leave --base-url and --api-key-env out, or take --provider openai"),
            ("model, nobody",    &[("model", "m")],                     &[],          false, "error: nobody was found who could run m; set OPENAI_API_KEY, name a server with --base-url, or leave --model out"),
        ];
        for (name, flags, environment, local, want) in cases {
            let lookup = |wanted: &str| {
                let found = environment.iter().find(|(name, _)| *name == wanted);
                found.map(|(_, value)| (*value).to_owned())
            };
            let server = LocalServer { base_url: "http://local/v1".into(), model: "first".into() };
            let got = match choose(&args(flags), lookup, || local.then_some(server)) {
                Ok(Choice { target: Target::Demo, .. }) => "demo".to_owned(),
                Ok(Choice { target: Target::OpenAi { base_url, model, key_env }, .. }) => {
                    format!("{base_url}|{model}|{}", key_env.unwrap_or_default())
                }
                Err(error) => format!("error: {error}"),
            };
            assert_eq!(got, want, "{name}");
        }
    }

    #[test]
    fn the_user_is_told_who_answers_and_why() {
        let lookup = |name: &str| (name == "ANTHROPIC_API_KEY").then(|| "secret".to_owned());
        let told = choose(&ProviderArgs::default(), lookup, || None).unwrap().to_string();
        assert!(
            told.starts_with("provider: demo") && told.contains("no Anthropic provider yet"),
            "{told}"
        );
        assert!(!told.contains("secret"));
    }
}
