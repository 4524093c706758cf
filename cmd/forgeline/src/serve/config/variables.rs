//! The variables of the environment that the service reads: `FORGELINE_LISTEN`, `FORGELINE_LIMITS_RUNS`.

use std::{collections::BTreeMap, env, ffi::OsString};

use strsim::osa_distance;

/// Variables begin with this; the parts of a name end with `_`.
const PREFIX: &str = "FORGELINE_";

/// Returns the name of the variable of a member.
pub(super) fn variable(path: &str) -> String {
    format!("{PREFIX}{}", path.replace('.', "_").to_uppercase())
}

/// The variables that begin as those of the service do; `None` for a value that is not UTF-8.
#[derive(Debug)]
pub(super) struct ServiceVariables(BTreeMap<String, Option<String>>);

impl ServiceVariables {
    pub(super) fn of_process() -> Self {
        Self::from_variables(env::vars_os())
    }

    pub(super) fn from_variables(set: impl Iterator<Item = (OsString, OsString)>) -> Self {
        let own = set.map(|(name, value)| (name.to_string_lossy().into_owned(), value));
        let own = own.filter(|(name, _)| name.starts_with(PREFIX));
        Self(own.map(|(name, value)| (name, value.into_string().ok())).collect())
    }

    /// Returns a variable and its value.
    pub(super) fn get(&self, name: &str) -> Option<(&str, &str)> {
        let (name, value) = self.0.get_key_value(name)?;
        Some((name, value.as_deref()?))
    }

    /// Returns `true` for one that is set, to whatever.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Tells variables of these names that cannot be read, and others that seem to mean one of them; returns the others that do not.
    pub(super) fn strangers(&self, known: &[String], mistakes: &mut Vec<String>) -> Vec<String> {
        let mut strangers = Vec::new();
        for (name, value) in &self.0 {
            if known.contains(name) {
                if value.is_none() {
                    mistakes.push(format!("{name}: expected valid UTF-8; set it again"));
                }
            } else if is_of_cluster(name) {
                // Kubernetes sets these for a service that is named so.
            } else if let Some(expected) = meant(name, known) {
                mistakes.push(format!("{name}: unknown variable; expected {expected}"));
            } else {
                strangers.push(name.clone());
            }
        }
        strangers
    }
}

/// Returns what is expected in place of a variable that seems to mean something of the service.
fn meant(name: &str, known: &[String]) -> Option<String> {
    let rest = name.strip_prefix(PREFIX)?;
    if rest == "AGENTS" || rest.starts_with("AGENTS_") {
        return Some(
            "a table [agents.NAME] in the file: agents are not configured by variables".to_owned(),
        );
    }
    if let Some(table) = ["LIMITS_", "KEEP_"].iter().find(|table| rest.starts_with(**table)) {
        let begin = format!("{PREFIX}{table}");
        let own: Vec<_> =
            known.iter().map(String::as_str).filter(|it| it.starts_with(&begin)).collect();
        return Some(format!("one of {}", own.join(", ")));
    }
    let is_meant = |own: &&String| {
        let typos = if own.len() < PREFIX.len() + 5 { 1 } else { 2 };
        osa_distance(name, own) <= typos
            || name.strip_prefix(own.as_str()).is_some_and(|more| more.starts_with('_'))
    };
    if let Some(own) = known.iter().find(is_meant) {
        return Some(own.clone());
    }
    // Without it, whoever asks is let in.
    rest.contains("TOKEN").then(|| variable("tokens"))
}

/// Returns `true` for a name such as `FORGELINE_SERVICE_HOST` and `FORGELINE_PORT_8787_TCP_ADDR`.
fn is_of_cluster(name: &str) -> bool {
    let is_port = |(_, more): (&str, &str)| {
        let number = more.split('_').next().unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    name.ends_with("_SERVICE_HOST")
        || name.contains("_SERVICE_PORT")
        || name.ends_with("_PORT")
        || name.rsplit_once("_PORT_").is_some_and(is_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_variables_are_refused_and_foreign_ones_ignored() {
        let known = ["listen", "tokens", "dev", "database", "roots", "limits.runs"].map(variable);
        #[rustfmt::skip]
        let rows = [
            ("TOKEN",                       Some("FORGELINE_TOKENS")),
            ("TOEKNS",                      Some("FORGELINE_TOKENS")),
            ("TOKENS_FILE",                 Some("FORGELINE_TOKENS")),
            ("AUTH_TOKEN",                  Some("FORGELINE_TOKENS")),
            ("LISTENS",                     Some("FORGELINE_LISTEN")),
            ("RXXTS",                       Some("FORGELINE_ROOTS")),
            ("DXX",                         None),
            ("DATABASE_URL",                Some("FORGELINE_DATABASE")),
            ("LIMITS_RUN",                  Some("one of FORGELINE_LIMITS_RUNS")),
            ("AGENTS_A_MODEL",              Some("a table [agents.NAME]")),
            ("ENV",                         None),
            ("BOGUS",                       None),
            ("PORT",                        None),
            ("SERVICE_HOST",                None),
            ("DATABASE_SERVICE_PORT_HTTP",  None),
            ("DATABASE_PORT_5432_TCP_ADDR", None),
            ("LISTEN",                      None),
        ];
        for (name, want) in rows {
            let name = format!("{PREFIX}{name}");
            let set = [(OsString::from(&name), OsString::from("1"))];
            let mut mistakes = Vec::new();
            ServiceVariables::from_variables(set.into_iter()).strangers(&known, &mut mistakes);
            let told = want.map(|want| format!("{name}: unknown variable; expected {want}"));
            let is_told = told.is_none_or(|told| mistakes.iter().any(|it| it.starts_with(&told)));
            assert!(is_told && mistakes.len() == usize::from(want.is_some()), "{mistakes:?}");
        }
    }
}
