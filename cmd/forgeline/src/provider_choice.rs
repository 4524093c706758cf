//! The choice of the provider.

use std::{
    fmt,
    io::{self, IsTerminal as _, Write as _},
    net::IpAddr,
};

use clap::Args;

use crate::{
    exit::usage,
    probe::{LocalServer, ports},
    render::escape_controls,
    shown::{is_secret, without_secrets},
    vendors::{ProviderFacts, ProviderName},
};

/// The provider, as flags.
#[derive(Debug, Clone, Default, Args)]
pub struct ProviderArgs {
    /// The provider [default: from the environment, else a local server, else on a terminal the demo]
    #[arg(long, value_enum)]
    pub provider: Option<ProviderName>,
    /// The model's id, as the server spells it [default: the provider's variable, such as `OPENAI_MODEL`, else a small model of the vendor or the server's choice]
    #[arg(short, long, value_name = "ID")]
    pub model: Option<String>,
    /// The server's base URL, such as `http://127.0.0.1:8080/v1`; without --provider, the server must speak OpenAI Chat Completions
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// The environment variable that holds the API key [default: the provider's, such as `OPENAI_API_KEY`]
    #[arg(long, value_name = "NAME")]
    pub api_key_env: Option<String>,
    /// `true` where no model needs to be known.
    #[arg(skip)]
    pub any_model: bool,
}

/// The advice for a command without a provider.
fn nobody() -> String {
    format!(
        "no provider was found: no OPENAI_BASE_URL, no API key of a provider, and no local server on port {}; set \
         OPENAI_API_KEY or ANTHROPIC_API_KEY, name a server with --base-url, or try the offline model with --provider demo",
        ports()
    )
}

/// The provider that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderChoice {
    /// The provider.
    pub provider: ProviderName,
    /// The base URL; empty for the demo.
    pub base_url: String,
    /// The model's id; empty lets the server choose.
    pub model: String,
    /// The environment variable that holds the key; the key itself is not kept here.
    pub key_env: Option<String>,
    /// The reason, for the user.
    pub why: String,
    /// `true` for a server that was found without being named, and for the demo when nothing else was.
    pub is_found: bool,
}

impl ProviderChoice {
    fn demo(why: &str) -> Self {
        let (base_url, model) = (String::new(), String::new());
        let provider = ProviderName::Demo;
        Self { provider, base_url, model, key_env: None, why: why.to_owned(), is_found: false }
    }

    /// Returns `true` for the demo, where no provider was named and none was found.
    fn is_unnamed_demo(&self) -> bool {
        self.provider == ProviderName::Demo && self.is_found
    }

    /// Asks on a terminal whether a server that was not named may answer: any program of this computer
    /// can list a model, and whoever answers reads the question and steers the tools.
    ///
    /// # Errors
    ///
    /// A usage error when the user does not agree; and for the demo that was not named, unless a person sees who
    /// answers: a program that reads the output would take it for a model.
    pub fn confirm(&self, is_quiet: bool) -> anyhow::Result<()> {
        let can_answer = io::stdin().is_terminal() && io::stderr().is_terminal();
        if self.is_unnamed_demo() {
            let is_seen = can_answer && io::stdout().is_terminal() && !is_quiet;
            return if is_seen { Ok(()) } else { Err(usage(nobody())) };
        }
        if !can_answer || !self.is_found {
            return Ok(());
        }
        let model = escape_controls(&self.model).replace('\n', " ");
        let url = without_secrets(&self.base_url);
        let question =
            format!("A program at {url} offers the model {model}. Send it the question? [Y/n] ");
        let mut stderr = io::stderr().lock();
        stderr.write_all(question.as_bytes()).and_then(|()| stderr.flush())?;
        let mut line = String::new();
        io::stdin().read_line(&mut line)?;
        if matches!(line.trim(), "" | "y" | "Y" | "yes" | "Yes") && !line.is_empty() {
            return Ok(());
        }
        Err(usage("nothing was sent; choose who answers with --provider or --base-url"))
    }

    /// Returns what the user should know of the choice: a server that was not named, or a key that
    /// others can read on its way.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let url = without_secrets(&self.base_url);
        if self.is_unnamed_demo() {
            return Some(
                "warning: the demo follows a few rules and is not a model; set OPENAI_API_KEY or \
                 ANTHROPIC_API_KEY, or name a server with --base-url"
                    .to_owned(),
            );
        }
        if self.is_found {
            return Some(format!(
                "warning: this server was found, not named; the program at {url} reads your prompts and \
                 decides which tools run. Name one with --provider or --base-url, or use --provider demo"
            ));
        }
        let name = self.key_env.as_ref()?;
        let (scheme, rest) = url.split_once("://")?;
        let host = rest.split('/').next().unwrap_or_default();
        let host = match host.strip_prefix('[') {
            Some(six) => six.split(']').next().unwrap_or_default(),
            None => host.split(':').next().unwrap_or_default(),
        };
        let is_loopback = host.eq_ignore_ascii_case("localhost")
            || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        (scheme.eq_ignore_ascii_case("http") && !is_loopback).then(|| {
            format!("warning: the key in {name} is sent to {host} unencrypted; use https://")
        })
    }
}

impl fmt::Display for ProviderChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.provider == ProviderName::Demo {
            write!(formatter, "provider: demo, the built-in offline model")?;
        } else {
            let model = if self.model.is_empty() { "the server's model" } else { &self.model };
            let (name, url) = (self.provider, without_secrets(&self.base_url));
            write!(formatter, "provider: {name} with {model} at {url}")?;
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
) -> anyhow::Result<ProviderChoice> {
    let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    if let Some(name) = &args.api_key_env
        && variable(name).is_none()
    {
        return Err(usage(not_set(name)));
    }
    if args.provider == Some(ProviderName::Demo) {
        if args.base_url.is_some() || args.api_key_env.is_some() {
            return Err(usage(
                "the demo has no server; omit --base-url and --api-key-env, or use --provider openai",
            ));
        }
        return Ok(ProviderChoice::demo("--provider demo"));
    }
    let chosen = ProviderSources { args, variable: &variable };
    if let Some((provider, facts)) = args.provider.and_then(|name| Some((name, name.facts()?))) {
        return chosen.by_flag(provider, &facts, probe);
    }
    if let Some(choice) = chosen.by_environment() {
        return Ok(choice);
    }
    if let Some(LocalServer { provider, base_url, model }) = probe() {
        let model = args.model.clone().unwrap_or(model);
        let why = "a local server was found there".to_owned();
        return Ok(ProviderChoice {
            provider,
            base_url,
            model,
            key_env: None,
            why,
            is_found: true,
        });
    }
    if let Some(model) = &args.model {
        return Err(usage(format!(
            "no provider found for model {model}; set OPENAI_API_KEY, name a server with --base-url, or omit --model",
        )));
    }
    let why = format!(
        "no OPENAI_BASE_URL, no API key of a provider, and no local server on port {}",
        ports()
    );
    Ok(ProviderChoice { is_found: true, ..ProviderChoice::demo(&why) })
}

/// Says that the variable of the key is not set. What does not look like the name of one may be the key itself, and is not shown.
fn not_set(name: &str) -> String {
    let is_sign = |sign: char| sign.is_ascii_uppercase() || sign.is_ascii_digit() || sign == '_';
    let is_word = name.len() <= 16 || (name.contains('_') && name.len() <= 64);
    let is_name = is_word && name.chars().all(is_sign) && !is_secret(name);
    if is_name && !name.starts_with(|first: char| first.is_ascii_digit()) {
        return format!("{name} is not set; set it to the API key");
    }
    "--api-key-env does not name a variable that is set; expected a name such as OPENAI_API_KEY, not the key itself"
        .to_owned()
}

/// The flags and the environment.
struct ProviderSources<'a, V> {
    args: &'a ProviderArgs,
    variable: &'a V,
}

impl<V: Fn(&str) -> Option<String>> ProviderSources<'_, V> {
    /// Chooses the provider that the user named.
    fn by_flag(
        &self,
        provider: ProviderName,
        facts: &ProviderFacts,
        probe: impl FnOnce() -> Option<LocalServer>,
    ) -> anyhow::Result<ProviderChoice> {
        let url = self.args.base_url.clone().or_else(|| (self.variable)(facts.env.base_url()));
        let has_url = url.is_some();
        let mut choice = self.choice(provider, facts, url, &format!("--provider {provider}"));
        if facts.is_local() {
            if choice.model.is_empty() && !self.args.any_model {
                let found = if has_url { None } else { probe() };
                let found = found.filter(|server| server.provider == provider);
                choice.model = found.map(|server| server.model).ok_or_else(|| {
                    usage(format!("no model was given; name one that {provider} has with --model"))
                })?;
            }
        } else if !has_url && choice.key_env.is_none() {
            let key = facts.env.api_key();
            return Err(usage(format!(
                "no API key was found; set {key}, or name a server with --base-url"
            )));
        }
        Ok(choice)
    }

    /// Chooses the first provider that a flag or the environment points to.
    fn by_environment(&self) -> Option<ProviderChoice> {
        let openai = ProviderName::Openai.facts()?;
        let found = |url, why: &str| Some(self.choice(ProviderName::Openai, &openai, url, why));
        if let Some(url) = &self.args.base_url {
            return found(Some(url.clone()), "--base-url");
        }
        if let Some(url) = (self.variable)(openai.env.base_url()) {
            return found(Some(url), &format!("{} is set", openai.env.base_url()));
        }
        if let Some(name) = &self.args.api_key_env {
            return found(None, &format!("{name} is set"));
        }
        ProviderName::BY_KEY.iter().find_map(|&provider| {
            let facts = provider.facts()?;
            (self.variable)(facts.env.api_key())?;
            let url = (self.variable)(facts.env.base_url());
            Some(self.choice(provider, &facts, url, &format!("{} is set", facts.env.api_key())))
        })
    }

    /// Returns the choice of `provider` at `url` or at its default address.
    fn choice(
        &self,
        provider: ProviderName,
        facts: &ProviderFacts,
        url: Option<String>,
        why: &str,
    ) -> ProviderChoice {
        let named = self.args.model.clone().or_else(|| (self.variable)(facts.env.model()));
        let base_url = url.map_or_else(|| facts.base_url.to_string(), |url| facts.address(&url));
        let default = if *base_url == *facts.base_url { facts.model } else { "" };
        let key = || (self.variable)(facts.env.api_key()).map(|_| facts.env.api_key().to_owned());
        ProviderChoice {
            provider,
            base_url,
            model: named.unwrap_or_else(|| default.to_owned()),
            key_env: self.args.api_key_env.clone().or_else(key),
            why: why.to_owned(),
            is_found: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

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

    /// What is chosen, in a line: provider, address, model, variable of the key.
    fn line(choice: &ProviderChoice) -> String {
        let ProviderChoice { provider, base_url, model, key_env, .. } = choice;
        format!("{provider} {base_url}|{model}|{}", key_env.as_deref().unwrap_or_default())
    }

    #[test]
    fn flags_beat_the_environment_which_beats_a_local_server_which_beats_the_demo() {
        let key = ("OPENAI_API_KEY", "k");
        let url = ("OPENAI_BASE_URL", "http://env/v1");
        let host = ("OLLAMA_HOST", "gpu");
        let claude = ("ANTHROPIC_API_KEY", "k");
        let ollama = ("provider", "ollama");
        #[rustfmt::skip]
        let cases: [(&str, Pairs<'_>, Pairs<'_>, bool, &str); 31] = [
            ("nothing",          &[],                                   &[],          false, "demo ||"),
            ("demo flag",        &[("provider", "demo")],               &[key, url],  true,  "demo ||"),
            ("url flag",         &[("url", "http://flag/v1")],          &[key, url],  true,  "openai http://flag/v1||OPENAI_API_KEY"),
            ("url and model",    &[("url", "http://f"), ("model", "m")], &[],         true,  "openai http://f|m|"),
            ("env url",          &[],                                   &[key, url],  true,  "openai http://env/v1||OPENAI_API_KEY"),
            ("env url, no key",  &[("model", "m")],                     &[url],       true,  "openai http://env/v1|m|"),
            ("env key",          &[],                                   &[key],       true,  "openai https://api.openai.com/v1|gpt-4.1-mini|OPENAI_API_KEY"),
            ("env model",        &[],                                   &[key, ("OPENAI_MODEL", "m")], true, "openai https://api.openai.com/v1|m|OPENAI_API_KEY"),
            ("named key",        &[("key", "MINE")],                    &[("MINE", "k")], true, "openai https://api.openai.com/v1|gpt-4.1-mini|MINE"),
            ("empty env",        &[],                                   &[("OPENAI_API_KEY", " ")], false, "demo ||"),
            ("anthropic key",    &[],                                   &[claude],    true,  "anthropic https://api.anthropic.com|claude-haiku-4-5|ANTHROPIC_API_KEY"),
            ("both keys",        &[],                                   &[claude, key], true, "openai https://api.openai.com/v1|gpt-4.1-mini|OPENAI_API_KEY"),
            ("anthropic flag",   &[("provider", "anthropic")],          &[claude, key, ("ANTHROPIC_MODEL", "m")], true, "anthropic https://api.anthropic.com|m|ANTHROPIC_API_KEY"),
            ("gemini, no key",   &[("provider", "gemini")],             &[key],       true,  "error: no API key was found; set GEMINI_API_KEY, or name a server with --base-url"),
            ("local",            &[],                                   &[],          true,  "ollama http://local|first|"),
            ("local, its host",  &[],                                   &[host],      true,  "ollama http://local|first|"),
            ("local and model",  &[("model", "m")],                     &[],          true,  "ollama http://local|m|"),
            ("openai flag, url", &[("provider", "openai"), ("model", "m")], &[url],   true,  "openai http://env/v1|m|"),
            ("ollama flag",      &[ollama],                             &[key, url],  true,  "ollama http://127.0.0.1:11434|first|"),
            ("ollama, model",    &[ollama, ("model", "m")],             &[],          false, "ollama http://127.0.0.1:11434|m|"),
            ("ollama, env",      &[ollama],                             &[host, ("OLLAMA_MODEL", "m")], true, "ollama http://gpu:11434|m|"),
            ("ollama, its key",  &[ollama, ("model", "m"), ("url", "https://o")], &[("OLLAMA_API_KEY", "k")], true, "ollama https://o|m|OLLAMA_API_KEY"),
            ("ollama, nobody",   &[ollama],                             &[],          false, "error: no model was given; name one that ollama has with --model"),
            ("ollama elsewhere", &[ollama],                             &[host],      true,  "error: no model was given; name one that ollama has with --model"),
            ("named key absent", &[("key", "MINE")],                    &[key],       true,  "error: MINE is not set; set it to the API key"),
            ("a key for a name", &[("key", "sk-live-secret123")],       &[key],       true,  "error: --api-key-env does not name a variable that is set; expected a name such as OPENAI_API_KEY, not the key itself"),
            ("in capitals",      &[("key", "AKIAIOSFODNN7EXAMPLE")],    &[key],       true,  "error: --api-key-env does not name a variable that is set; expected a name such as OPENAI_API_KEY, not the key itself"),
            ("a name as is",     &[("key", "my-key")],                  &[("my-key", "k")], true, "openai https://api.openai.com/v1|gpt-4.1-mini|my-key"),
            ("openai, no key",   &[("provider", "openai")],             &[],          true,  "error: no API key was found; set OPENAI_API_KEY, or name a server with --base-url"),
            ("demo with url",    &[("provider", "demo"), ("url", "u")], &[],          true,  "error: the demo has no server; omit --base-url and --api-key-env, or use --provider openai"),
            ("model, nobody",    &[("model", "m")],                     &[],          false, "error: no provider found for model m; set OPENAI_API_KEY, name a server with --base-url, or omit --model"),
        ];
        for (name, flags, environment, local, want) in cases {
            let lookup = |wanted: &str| {
                let found = environment.iter().find(|(name, _)| *name == wanted);
                found.map(|(_, value)| (*value).to_owned())
            };
            let provider = ProviderName::Ollama;
            let (base_url, model) = ("http://local".into(), "first".into());
            let server = LocalServer { provider, base_url, model };
            let got = match choose(&args(flags), lookup, || local.then_some(server)) {
                Ok(choice) => line(&choice),
                Err(error) => format!("error: {error}"),
            };
            assert_eq!(got, want, "{name}");
        }
    }

    // Found: R8, R12
    #[test]
    fn a_server_that_was_found_and_a_key_in_the_clear_are_warned_about() {
        let server = || {
            let (base_url, model) = ("http://127.0.0.1:8080/v1".to_owned(), "m".to_owned());
            Some(LocalServer { provider: ProviderName::Openai, base_url, model })
        };
        let found = choose(&ProviderArgs::default(), |_| None, server).unwrap();
        let warning = found.warning().unwrap();
        assert!(warning.contains("http://127.0.0.1:8080/v1 reads your prompts"), "{warning}");
        let key = |name: &str| (name == "OPENAI_API_KEY").then(|| "secret".to_owned());
        #[rustfmt::skip]
        let cases = [
            ("http://10.0.0.7:8000/v1",   Some("10.0.0.7")),
            ("HTTP://u:p@gpu.lan/v1",     Some("gpu.lan")),
            ("http://[2001:db8::1]:80/",  Some("2001:db8::1")),
            ("https://gpu.lan/v1",        None),
            ("http://localhost:8080/v1",  None),
            ("http://127.0.0.2/v1",       None),
            ("http://[::1]:8080/v1",      None),
        ];
        for (url, host) in cases {
            let choice = choose(&args(&[("url", url), ("model", "m")]), key, || None).unwrap();
            let want = host.map(|host| {
                format!(
                    "warning: the key in OPENAI_API_KEY is sent to {host} unencrypted; use https://"
                )
            });
            assert_eq!(choice.warning(), want, "{url}");
        }
    }

    #[test]
    fn keys_in_the_environment_are_taken_in_their_order() {
        for (at, provider) in ProviderName::BY_KEY.iter().enumerate() {
            let keys: Vec<_> = ProviderName::BY_KEY[at..]
                .iter()
                .map(|provider| provider.facts().unwrap().env.api_key())
                .collect();
            let lookup = |name: &str| keys.contains(&name).then(|| "secret".to_owned());
            let choice = choose(&ProviderArgs::default(), lookup, || None).unwrap();
            let facts = provider.facts().unwrap();
            let want =
                format!("{provider} {}|{}|{}", facts.base_url, facts.model, facts.env.api_key());
            assert_eq!(line(&choice), want);
            let told = choice.to_string();
            let want = format!(
                "provider: {provider} with {} at {} ({} is set)",
                facts.model,
                facts.base_url,
                facts.env.api_key()
            );
            assert_eq!(told, want);
        }
    }

    // Covers: E-07
    #[test]
    fn named_provider_is_used_with_its_url_and_model() {
        for provider in ProviderName::value_variants() {
            let Some(facts) = provider.facts() else { continue };
            let args = ProviderArgs { provider: Some(*provider), ..ProviderArgs::default() };
            let lookup = |name: &str| match name {
                name if name == facts.env.api_key() => Some("secret".to_owned()),
                name if name == facts.env.model() => Some("mine".to_owned()),
                _ => None,
            };
            let choice = choose(&args, lookup, || None).unwrap();
            let want = format!("{provider} {}|mine|{}", facts.base_url, facts.env.api_key());
            assert_eq!(line(&choice), want);
            // Somewhere that needs no key: the process's own environment has none.
            let choice = ProviderChoice { base_url: "http://127.0.0.1:1".to_owned(), ..choice };
            let provider = crate::vendors::connect(&choice, None, None).unwrap();
            assert_eq!(provider.info().model, "mine");
        }
    }
}
