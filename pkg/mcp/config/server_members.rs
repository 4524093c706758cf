//! The members of a server's configuration, including the spellings of other clients.

use std::time::Duration;

use super::{
    config_error::McpConfigError,
    config_member::{ConfigMember, wrong},
    mcp_server::McpServer,
    remote_members::parse_remote,
};

/// Maximum length of a server's name, in bytes.
const MAX_NAME_BYTES: usize = 32;

/// Maximum time limit that a server may be given.
const MAX_TIMEOUT: Duration = Duration::from_hours(1);

/// The number from which a time limit is in milliseconds: some clients write seconds, others milliseconds.
const FIRST_MILLISECONDS: f64 = 1_000.0;

/// The members that have an effect, listed in warnings about misspelt ones.
const MEMBERS: &str = "`type`, `command`, `args`, `env`, `cwd`, `url`, `headers`, `oauth`, `required`, \
     `trustAnnotations`, `instructions`, `timeout`, `disabled`, `includeTools` or `excludeTools`";

/// The result of parsing a server.
pub(crate) enum ServerEntry {
    Server(Box<McpServer>),
    /// The file disables the server.
    Disabled,
}

/// Parses a server, and adds members without effect to `warnings`.
pub(crate) fn parse_server(
    name: &str,
    of: &ConfigMember<'_>,
    warnings: &mut Vec<McpConfigError>,
) -> Result<ServerEntry, McpConfigError> {
    let members = of.object()?;
    for (name, is_off) in [("disabled", true), ("enabled", false)] {
        if let Some(value) = members.get(name)
            && of.below(name, value).boolean()? == is_off
        {
            return Ok(ServerEntry::Disabled);
        }
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_plain) {
        let problem =
            "is not a name of a server; expected letters, digits, `_` and `-`, at most 32";
        return Err(of.wrong(problem));
    }
    let mut server = Box::new(McpServer {
        name: name.into(),
        command: String::new(),
        arguments: Vec::new(),
        variables: Vec::new(),
        folder: None,
        remote: parse_remote(of, warnings)?,
        is_required: false,
        trusts_annotations: false,
        passes_instructions: true,
        timeout: None,
        included_tools: None,
        excluded_tools: Vec::new(),
        secrets: Vec::new(),
    });
    // Some clients write members that have no value.
    for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        let member = of.below(name, value);
        match name.as_str() {
            "type" | "transport" | "transportType" | "url" | "serverUrl" | "httpUrl"
            | "headers" | "oauth" => {}
            // Members that only inform people, or the program that wrote them.
            "disabled" | "enabled" | "description" | "name" | "version" | "gallery" | "source"
            | "icon" => {}
            "required" => server.is_required = member.boolean()?,
            "trustAnnotations" => server.trusts_annotations = member.boolean()?,
            "instructions" => server.passes_instructions = member.boolean()?,
            "timeout" => server.timeout = Some(member.limit()?),
            "includeTools" | "enabledTools" => server.included_tools = Some(member.strings()?),
            "excludeTools" | "disabledTools" => server.excluded_tools.extend(member.strings()?),
            "command" | "args" | "env" | "cwd" if server.remote.is_some() => {
                // Some clients write empty members next to a URL.
                if !member.is_empty() {
                    let problem = "is for a process, but the server has a `url`; remove one";
                    return Err(member.wrong(problem));
                }
            }
            "command" => server.command = member.string()?,
            "args" => server.arguments = member.strings()?,
            "env" => server.variables = member.variables()?,
            "cwd" => server.folder = Some(member.string()?.into()),
            "autoApprove" | "alwaysAllow" | "trust" => {
                if !member.is_empty() {
                    warnings.push(member.wrong(format!(
                        "has no effect: calls are allowed by a person, or by `--trust-mcp {}`",
                        server.name
                    )));
                }
            }
            "envFile" => {
                let problem = "has no effect: the file is not read; put its variables into `env`";
                warnings.push(member.wrong(problem));
            }
            _ => {
                let problem = format!("is unknown and has no effect; known are {MEMBERS}");
                warnings.push(member.wrong(problem));
            }
        }
    }
    if server.remote.is_none() && server.command.trim().is_empty() {
        let command = format!("{}.command", of.path);
        let problem = "is missing or empty; expected the program of the server, or its `url`";
        return Err(wrong(command, problem));
    }
    Ok(ServerEntry::Server(server))
}

impl ConfigMember<'_> {
    /// Returns `true` for an empty value: `false`, `""`, `[]`, `{}`.
    fn is_empty(&self) -> bool {
        let Self { value, .. } = self;
        value.is_null()
            || value.as_bool() == Some(false)
            || value.as_str().is_some_and(str::is_empty)
            || value.as_array().is_some_and(Vec::is_empty)
            || value.as_object().is_some_and(serde_json::Map::is_empty)
    }

    /// Parses a time limit: seconds below 1,000, milliseconds from there on.
    fn limit(&self) -> Result<Duration, McpConfigError> {
        let number = self.value.as_f64().ok_or_else(|| self.expected("a number of seconds"))?;
        let seconds = if number < FIRST_MILLISECONDS { number } else { number / 1_000.0 };
        let limit = Duration::try_from_secs_f64(seconds).ok().filter(|limit| !limit.is_zero());
        let limit = limit.ok_or_else(|| {
            self.wrong(format!(
                "is {number}; expected more than 0 seconds, or milliseconds from 1,000 on"
            ))
        })?;
        Ok(limit.min(MAX_TIMEOUT))
    }
}
