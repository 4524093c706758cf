//! The tables `[agents.NAME]`: their members are the flags of an agent, by the same names and with the same meaning.

use std::path::PathBuf;

use clap::{Arg, ArgAction, Args as _, Command, FromArgMatches as _, error::ErrorKind};

use super::{
    super::agents::tools_of,
    file::{ConfigFile, FileMember},
};
use crate::{setup::SetupArgs, shown::is_secret};

/// Reads the agents in the order of the file.
pub(super) fn read_agents(
    file: &ConfigFile<'_>,
    own_files: &[PathBuf],
    mistakes: &mut Vec<String>,
) -> Vec<(String, SetupArgs)> {
    let mut agents = Vec::new();
    let tables = file.members.iter().filter(|member| member.path.first().is_some_and(is_agents));
    for table in tables.filter(|member| member.path.len() == 2) {
        let Some(name) = table.path.get(1) else { continue };
        if !table.is_table {
            mistakes.push(format!("{}: expected a table", file.place(table)));
            continue;
        }
        let before = mistakes.len();
        let members = file
            .members
            .iter()
            .filter(|member| member.path.len() > 2 && member.path.get(..2) == table.path.get(..2));
        let mut flags = Vec::new();
        for member in members {
            match given(member) {
                Ok(found) => flags.extend(found),
                Err(wrong) => mistakes.push(format!("{}: {wrong}", file.place(member))),
            }
        }
        if mistakes.len() > before {
            continue;
        }
        match parse(&flags) {
            Ok(setup) => {
                let wrong = setup.mistakes(own_files, tools_of);
                let place = file.place(table);
                mistakes.extend(wrong.iter().map(|error| format!("{place}: {error:#}")));
                agents.push((name.clone(), setup));
            }
            Err(error) => mistakes.push(format!("{}: {}", file.place(table), said(&error))),
        }
    }
    agents
}

fn is_agents(name: &String) -> bool {
    name == "agents"
}

fn command() -> Command {
    let command = Command::new("agent").no_binary_name(true).disable_help_flag(true);
    SetupArgs::augment_args(command)
}

fn parse(flags: &[String]) -> Result<SetupArgs, clap::Error> {
    SetupArgs::from_arg_matches(&command().try_get_matches_from(flags)?)
}

/// Returns the flags that a member sets.
fn given(member: &FileMember<'_>) -> Result<Vec<String>, String> {
    let command = command();
    let names = || {
        let names = command.get_arguments().filter_map(Arg::get_long);
        names.map(|name| name.replace('-', "_")).collect::<Vec<_>>().join(", ")
    };
    let flag = member.path.get(2).map(|name| name.replace('_', "-")).unwrap_or_default();
    let argument = command.get_arguments().find(|argument| argument.get_long() == Some(&*flag));
    let Some(argument) = argument.filter(|_| member.path.len() == 3 && !member.is_table) else {
        return Err(format!("unknown key; expected one of {}", names()));
    };
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others take one value")]
    let flags = match argument.get_action() {
        ArgAction::SetTrue => match member.switch() {
            Some(is_on) => is_on.then(|| format!("--{flag}")).into_iter().collect(),
            None => return Err("expected true or false".to_owned()),
        },
        ArgAction::Append => {
            let texts = member.texts().ok_or("expected a string or a list of strings")?;
            texts.iter().map(|text| format!("--{flag}={text}")).collect()
        }
        _ => {
            let text = member.text().ok_or("expected a string or a number")?;
            vec![format!("--{flag}={text}")]
        }
    };
    // What goes with others is looked at once all are there.
    match parse(&flags) {
        Err(error) if error.kind() != ErrorKind::MissingRequiredArgument => {
            let values =
                flags.iter().filter_map(|flag| flag.split_once('=')).map(|(_, value)| value);
            let secrets = values.filter(|value| is_secret(value));
            Err(secrets.fold(said(&error), |said, secret| said.replace(secret, "…")))
        }
        _ => Ok(flags),
    }
}

/// Returns the first sentence of an error.
fn said(error: &clap::Error) -> String {
    let text = error.to_string();
    let first = text.lines().take_while(|line| !line.trim().is_empty());
    let first = first.map(str::trim).collect::<Vec<_>>().join(" ");
    first.strip_prefix("error: ").unwrap_or(&first).to_owned()
}
