//! The configuration of the service: one file, the environment above it, and flags above both. It is looked at as a whole, and all
//! mistakes are reported at once.

mod agent;
mod file;
mod keep;
mod limits;
mod oidc;
mod store;
mod variables;

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
};

use forgeline::server::{Keep, Limits, is_origin, oidc::OidcOptions};

use self::{
    file::ConfigFile,
    variables::{ServiceVariables, variable},
};
use super::{
    database::{DeltaMode, PASSWORD, PostgresFlags, StorePlace},
    listen::ListenAddress,
    own_files::own_files,
    token_file::TokenFile,
};
use crate::{
    input::read_text,
    setup::SetupArgs,
    shown::{is_secret, shown},
};

/// The default address.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8787);

/// What the service is to do.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct ServeConfig {
    pub(super) listen: SocketAddr,
    pub(super) tokens: Option<TokenFile>,
    /// The login server whose tokens are accepted, too.
    pub(super) oidc: Option<OidcOptions>,
    /// The place at which things are kept.
    pub(super) store: StorePlace,
    /// The files of the service itself.
    pub(super) own_files: Vec<PathBuf>,
    pub(super) is_dev: bool,
    /// `true` when programs of this machine need no token.
    pub(super) is_open: bool,
    pub(super) limits: Limits,
    pub(super) keep: Keep,
    /// The origins of pages that may ask.
    pub(super) origins: Vec<String>,
    /// By name, in the order of the file; empty where flags say what the agent is.
    pub(super) agents: Vec<(String, SetupArgs)>,
    /// `true` where the file has agents, or cannot be read.
    pub(super) has_agents: bool,
    /// Variables that begin as its own do and mean nothing to it.
    pub(super) strangers: Vec<String>,
}

/// Flags that are above the file.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(super) struct OverridingFlags<'a> {
    /// The file that they are above.
    pub(super) config: Option<&'a Path>,
    pub(super) listen: Option<SocketAddr>,
    pub(super) tokens: Option<&'a Path>,
    pub(super) database: Option<&'a Path>,
    pub(super) postgres: PostgresFlags,
    pub(super) deltas: Option<DeltaMode>,
    pub(super) is_dev: bool,
    pub(super) is_open: bool,
}

impl ServeConfig {
    /// Reads the file, if there is one, and what is above it; returns it with its mistakes, a line each. Where there are some,
    /// it is good for looking on alone.
    pub(super) fn load(above: &OverridingFlags<'_>) -> (Self, Vec<String>) {
        let path = above.config;
        let (text, unread) = match path.map(read_text).transpose() {
            Ok(text) => (text.unwrap_or_default(), None),
            Err(error) => (String::new(), Some(format!("{error:#}"))),
        };
        let name = path.map(|path| path.display().to_string()).unwrap_or_default();
        let (mut config, mut mistakes) = Self::from_file(
            &ConfigFile::parse(&name, &text),
            above,
            &ServiceVariables::of_process(),
        );
        config.has_agents |= unread.is_some();
        mistakes.splice(0..0, unread);
        (config, mistakes)
    }

    fn from_file(
        file: &ConfigFile<'_>,
        above: &OverridingFlags<'_>,
        variables: &ServiceVariables,
    ) -> (Self, Vec<String>) {
        let mut mistakes = file.mistakes.clone();
        let mut values = ConfigValues { file, variables, mistakes: &mut mistakes };
        let listen = values.parsed("listen", "an address such as \"127.0.0.1:8787\"");
        let tokens = values.path("tokens", above.tokens);
        let store = store::read_store(&mut values, above);
        let is_dev = values.parsed("dev", "true or false").unwrap_or(false);
        let is_open = values.parsed("no_auth", "true or false").unwrap_or(false) || above.is_open;
        let limits = limits::read_limits(&mut values);
        let keep = keep::read_keep(&mut values);
        let oidc = oidc::read_oidc(&mut values);
        let origins = values.origins();
        values.refuse_unknown();
        let strangers = variables.strangers(&own_variables(), values.mistakes);
        let listen = above.listen.or(listen).unwrap_or(LISTEN);
        // A file of tokens that cannot be taken is reported by itself.
        let has_tokens =
            tokens.is_some() || values.is_given("tokens", above.tokens) || oidc.is_some();
        if is_open && has_tokens {
            let problem = "`no_auth` excludes a tokens file and `[oidc]`; omit one of them";
            mistakes.push(problem.to_owned());
        }
        mistakes.extend(ListenAddress::at(listen, has_tokens).err().map(|it| it.to_string()));
        let named = above.config.into_iter().chain(tokens.as_deref());
        let own_files = own_files(named.chain(store.password_file()), store.file());
        let tokens = tokens.and_then(|path| match TokenFile::open(path) {
            Ok(tokens) => Some(tokens),
            Err(wrong) => {
                mistakes.extend(wrong);
                None
            }
        });
        let agents = agent::read_agents(file, &own_files, &mut mistakes);
        let config = Self {
            listen,
            tokens,
            oidc,
            store,
            own_files,
            is_dev: above.is_dev || is_dev,
            is_open,
            limits,
            keep,
            origins,
            agents,
            has_agents: file.members.iter().any(|member| member.is_below("agents")),
            strangers,
        };
        (config, mistakes)
    }
}

/// The values of the file and of the environment.
struct ConfigValues<'a, 'f> {
    file: &'a ConfigFile<'f>,
    variables: &'a ServiceVariables,
    mistakes: &'a mut Vec<String>,
}

/// The members that the file may have besides agents.
const MEMBERS: [&str; 12] = [
    "listen",
    "tokens",
    "no_auth",
    "database",
    "database_megabytes",
    "database_durability",
    "postgres",
    "postgres_direct",
    "postgres_password_file",
    "deltas",
    "dev",
    "origins",
];

/// The tables that it may have besides agents, with their members.
const TABLES: [(&str, &[&str]); 3] =
    [("limits", &limits::NAMES), ("keep", &keep::NAMES), ("oidc", &oidc::NAMES)];

/// Returns the names of all variables.
fn own_variables() -> Vec<String> {
    let of_tables = TABLES
        .into_iter()
        .flat_map(|(table, names)| names.iter().map(move |name| format!("{table}.{name}")));
    let members = MEMBERS.into_iter().map(str::to_owned).chain(of_tables);
    members.map(|path| variable(&path)).chain([PASSWORD.to_owned()]).collect()
}

impl ConfigValues<'_, '_> {
    /// Returns the variable of a member.
    fn variable(&self, path: &str) -> Option<(&str, &str)> {
        self.variables.get(&variable(path))
    }

    /// Returns `true` where a flag, a variable or the file says something, right or wrong.
    fn is_given(&self, path: &str, flag: Option<&Path>) -> bool {
        let is_set = || self.variables.has(&variable(path));
        flag.is_some() || is_set() || self.file.find(path).is_some()
    }

    /// Tells what is wrong with the value of a member.
    fn refuse(&mut self, path: &str, problem: &str) {
        let place = self.place(path);
        self.mistakes.push(format!("{place}: {problem}"));
    }

    /// Returns the position of the value of a member.
    fn place(&self, path: &str) -> String {
        let place = || self.file.find(path).map(|member| self.file.place(member));
        self.variable(path).map(|(name, _)| name.to_owned()).or_else(place).unwrap_or_default()
    }

    /// Returns a value as text, and its position.
    fn find(&self, path: &str) -> Option<(String, String)> {
        if let Some((variable, text)) = self.variable(path) {
            return Some((text.to_owned(), variable.to_owned()));
        }
        let member = self.file.find(path)?;
        Some((member.text()?, self.file.place(member)))
    }

    /// Returns the path of a file; one of a flag is above all.
    fn path(&mut self, path: &str, flag: Option<&Path>) -> Option<PathBuf> {
        let expected = "the path of a file in quotes";
        let found = flag.map(Path::to_path_buf).or_else(|| self.parsed(path, expected))?;
        let place = match flag {
            Some(_) => format!("--{}", path.replace('_', "-")),
            None => self.place(path),
        };
        let text = found.to_string_lossy();
        let problem = if text.trim().is_empty() {
            "not an empty string"
        } else if is_secret(&text) && !found.exists() {
            "not a token or a key"
        } else {
            return Some(found);
        };
        self.mistakes.push(format!("{place}: expected the path of a file, {problem}"));
        None
    }

    /// Returns the texts of a list; those of a variable are parted by commas.
    fn texts(&mut self, path: &str) -> Option<Vec<String>> {
        if let Some((_, text)) = self.variable(path) {
            return Some(text.split(',').map(|part| part.trim().to_owned()).collect());
        }
        let member = self.file.find(path)?;
        let texts = member.texts();
        if texts.is_none() {
            let place = self.file.place(member);
            self.mistakes.push(format!("{place}: expected a list of strings in quotes"));
        }
        texts
    }

    /// Returns the origins.
    fn origins(&mut self) -> Vec<String> {
        let origins = self.texts("origins").unwrap_or_default();
        for other in origins.iter().filter(|text| !is_origin(text)) {
            let place = self.place("origins");
            let expected = "expected origins such as \"https://app.example\"";
            self.mistakes.push(format!("{place}: {expected}, not {}", shown(other)));
        }
        origins
    }

    /// Returns a value that is spelled so.
    fn parsed<T: std::str::FromStr>(&mut self, path: &str, expected: &str) -> Option<T> {
        let Some((text, place)) = self.find(path) else {
            if let Some(member) = self.file.find(path) {
                let place = self.file.place(member);
                self.mistakes.push(format!("{place}: expected {expected}"));
            }
            return None;
        };
        let value = text.parse().ok();
        if value.is_none() {
            self.mistakes.push(format!("{place}: expected {expected}, not {}", shown(&text)));
        }
        value
    }

    /// Tells members of the file that mean nothing.
    fn refuse_unknown(&mut self) {
        for member in &self.file.members {
            let table = |name: &str| TABLES.iter().find(|(table, _)| *table == name);
            let (first, rest) = match member.path.split_first() {
                Some((first, rest)) => (first.as_str(), rest),
                None => continue,
            };
            let own = table(first).map_or(&[][..], |(_, names)| names);
            let is_known = match rest {
                [] if member.is_table => first == "agents" || table(first).is_some(),
                [] => MEMBERS.contains(&first),
                [name] if first != "agents" => own.contains(&name.as_str()),
                _ => first == "agents",
            };
            if !is_known {
                let names = if own.is_empty() || rest.is_empty() {
                    format!("{}, [limits], [keep], [oidc], [agents.NAME]", MEMBERS.join(", "))
                } else {
                    own.join(", ")
                };
                let place = self.file.place(member);
                self.mistakes.push(format!("{place}: unknown key; expected one of {names}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use forgeline::store::Durability;

    use super::*;

    fn parsed(text: &str, set: &[(&str, &str)]) -> anyhow::Result<ServeConfig> {
        let set = set.iter().map(|(name, text)| ((*name).into(), (*text).into()));
        let file = ConfigFile::parse("serve.toml", text);
        let (config, mistakes) = ServeConfig::from_file(
            &file,
            &OverridingFlags::default(),
            &ServiceVariables::from_variables(set),
        );
        if mistakes.is_empty() { Ok(config) } else { anyhow::bail!(mistakes.join("\n")) }
    }

    #[test]
    fn the_environment_is_above_the_file_and_the_file_above_defaults() {
        let text = "listen = \"127.0.0.1:1\"\ndev = true\ndatabase_megabytes = 7\ndatabase_durability = \"power\"\norigins = [\"https://a.example\"]\n\
                    [keep]\ndays = 2\nmegabytes = 3\n[limits]\nruns = 3\nbody_time = 7\nstream_bytes = 9\n\
                    [agents.zoe]\nprovider = \"demo\"\nmax_turns = 4\nhelpers = true\n[agents.ann]\nprovider = \"demo\"\n";
        let config = parsed(text, &[("FORGELINE_LIMITS_RUNS", "5")]).unwrap();
        assert_eq!((config.listen.port(), config.limits.runs, config.is_dev), (1, 5, true));
        assert_eq!(config.limits.body_time.as_secs(), 7);
        assert_eq!(config.limits.stream_bytes, 9);
        let file = parsed(text, &[("FORGELINE_DATABASE", "a.db")]).unwrap().store;
        assert!(
            matches!(file, StorePlace::File(options) if options.max_bytes == Some(7 << 20) && options.durability == Durability::Power)
        );
        let names: Vec<_> = config.agents.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["zoe", "ann"], "in the order of the file");
        assert_eq!(config.origins, ["https://a.example"]);
        let day = std::time::Duration::from_hours(24);
        assert_eq!((config.keep.age, config.keep.bytes), (Some(2 * day), Some(3 << 20)));
        assert_eq!(config.keep.runs, Keep::default().runs);
        let set = [("FORGELINE_ORIGINS", "https://b.example, https://c.example")];
        assert_eq!(parsed(text, &set).unwrap().origins, ["https://b.example", "https://c.example"]);
        let has_agents = |text: &str| parsed(text, &[]).unwrap().has_agents;
        assert!(
            has_agents(text) && !has_agents("dev = true\n[limits]\nruns = 3\n[keep]\ndays = 2\n")
        );
        let plain = parsed("", &[]).unwrap();
        assert_eq!((plain.listen.port(), plain.limits), (8787, Limits::default()));
        assert_eq!((plain.keep, plain.origins), (Keep::default(), Vec::new()));
    }

    // Covers: CT-111, CT-112, CT-113, CT-115, CT-116
    #[test]
    fn a_configuration_is_judged_the_same_twice_and_by_three_at_once() {
        for (text, place) in [("dev = true\n", None), ("\ndev = 7\n", Some("serve.toml:2: dev: "))]
        {
            let judged = || parsed(text, &[]).map(drop).map_err(|error| error.to_string());
            let first = judged();
            assert_eq!(judged(), first);
            let said = first.as_ref().err().map(String::as_str);
            assert_eq!(
                said.is_some_and(|said| said.starts_with(place.unwrap_or("?"))),
                place.is_some()
            );
            std::thread::scope(|threads| {
                let three = [(); 3].map(|()| threads.spawn(judged));
                for it in three {
                    assert_eq!(it.join().unwrap(), first);
                }
            });
        }
    }

    // Covers: T-96
    #[test]
    fn all_configuration_errors_are_listed_with_their_lines() {
        let text = "listen = \"nowhere\"\nport = 1\n[limits]\nruns = -3\nruns_per_hour = 1\n\
                    [agents.a]\nprovider = \"nope\"\nmax_turns = 0\nfrobnicate = 1\ncall_mode = true\n[other]\n\
                    [keep]\nhours = 1\ndays = 0\n[other.more]\na = 1\n";
        let set = [
            ("FORGELINE_DEV", "perhaps"),
            ("FORGELINE_LIMITS_RUN", "1"),
            ("FORGELINE_ORIGINS", "*,https://a.example"),
            ("FORGELINE_OTHER", "of another program"),
            ("FORGELINE_DATABASE", ""),
            ("FORGELINE_AGENTS_A_MODEL", "m"),
        ];
        let error = parsed(text, &set).unwrap_err().to_string();
        for line in [
            "serve.toml:1: listen: expected an address",
            "serve.toml:2: port: unknown key",
            "serve.toml:4: limits.runs: expected",
            "serve.toml:5: limits.runs_per_hour: unknown key",
            "serve.toml:7: agents.a.provider: ",
            "serve.toml:8: agents.a.max_turns: ",
            "serve.toml:9: agents.a.frobnicate: unknown key",
            "serve.toml:10: agents.a.call_mode: ",
            "serve.toml:11: other: unknown key",
            "serve.toml:13: keep.hours: unknown key; expected one of days, megabytes, runs",
            "serve.toml:14: keep.days: expected",
            "serve.toml:16: other.more.a: unknown key",
            "FORGELINE_DEV: expected true or false",
            "FORGELINE_DATABASE: expected the path of a file, not an empty string",
            "FORGELINE_AGENTS_A_MODEL: unknown variable; expected a table [agents.NAME]",
            "FORGELINE_LIMITS_RUN: unknown variable; expected one of FORGELINE_LIMITS_RUNS, ",
            "FORGELINE_ORIGINS: expected origins such as \"https://app.example\", not \"*\"",
        ] {
            assert!(error.contains(line), "{line}\n---\n{error}");
        }
        assert!(!error.contains("FORGELINE_OTHER") && !error.contains("a.example"), "{error}");
        for text in ["headers = 101", "head_bytes = 61441"] {
            let error = parsed(&format!("[limits]\n{text}\n"), &[]).unwrap_err().to_string();
            assert!(
                error.contains("serve.toml:2: limits.head") && error.contains("from 1 to "),
                "{error}"
            );
        }
        let text = "listen = \"0.0.0.0:80\"\norigins = \"null\"\n";
        let error = parsed(text, &[]).unwrap_err().to_string();
        assert!(error.contains("--tokens FILE") && error.contains("2: origins: "), "{error}");
        let error = parsed("a = \nb = = 1\n", &[]).unwrap_err().to_string();
        assert!(error.contains("serve.toml:1: ") && error.contains("serve.toml:2: "), "{error}");
    }
}
