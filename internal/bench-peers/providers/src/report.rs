//! The table.

use std::{
    fmt::Display,
    io::{self, Write as _},
};

use serde_json::json;

use crate::{
    clients::Client,
    measure::{Cost, LENGTHS, Outcome, RUNS, TRACED_LENGTHS},
};

/// How the table is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// One JSON object a line.
    Json,
    /// For people.
    Table,
}

/// Prints what all clients took.
pub(crate) fn print(form: Form, outcomes: &[Outcome]) {
    if form == Form::Json {
        for outcome in outcomes {
            say(&line(outcome).to_string());
        }
        return;
    }
    let [few, many, traced] = [LENGTHS.0, LENGTHS.1, TRACED_LENGTHS.1].map(thousands);
    say(&format!(
        "one answer of {many} chunks from a server on this machine; instructions between {few} and \
         {traced} chunks; medians of {RUNS} runs in turns"
    ));
    say(&format!(
        "{:<18} {:<8} {:>18} {:>17} {:>9} {:>9} {:>8}  whole?",
        "client",
        "version",
        "instructions/chunk",
        "allocations/chunk",
        "µs/chunk",
        "× reqwest",
        "peak MiB"
    ));
    for Outcome { client, cost } in outcomes {
        let (name, version) = (client.name(), version(*client));
        match cost {
            Err(why) => say(&format!("{name:<18} {version:<8} NO: {why}")),
            Ok(Cost { instructions, allocations, microseconds, times_reqwest, peak_mib }) => {
                let instructions = instructions.map_or_else(|| "–".to_owned(), thousands);
                let ratio =
                    times_reqwest.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"));
                say(&format!(
                    "{name:<18} {version:<8} {instructions:>18} {allocations:>17.2} \
                     {microseconds:>9.2} {ratio:>9} {peak_mib:>8.1}  yes"
                ));
            }
        }
    }
    if outcomes
        .iter()
        .any(|outcome| matches!(&outcome.cost, Ok(cost) if cost.instructions.is_none()))
    {
        say("instructions need valgrind, which is not installed");
    }
    say("left out: rig 0.45 and later, which need a newer Rust than 1.95");
}

fn line(Outcome { client, cost }: &Outcome) -> serde_json::Value {
    let (name, version) = (client.name(), version(*client));
    match cost {
        Err(why) => json!({"client": name, "version": version, "whole": false, "wrong": why}),
        Ok(Cost { instructions, allocations, microseconds, times_reqwest, peak_mib }) => json!({
            "client": name,
            "version": version,
            "whole": true,
            "instructions_per_chunk": instructions.map(f64::round),
            "allocations_per_chunk": rounded(*allocations),
            "microseconds_per_chunk": rounded(*microseconds),
            "times_reqwest": times_reqwest.map(rounded),
            "peak_mib": rounded(*peak_mib),
        }),
    }
}

/// The version of a client's crate, as it was built.
fn version(client: Client) -> &'static str {
    let wanted = format!("name = \"{}\"", client.crate_name());
    let mut lines = include_str!("../../Cargo.lock").lines();
    let mut found = "";
    // The last of several: another peer's dependency may be older.
    while let Some(line) = lines.next() {
        if line == wanted
            && let Some(version) = lines.next().and_then(|line| line.strip_prefix("version = "))
        {
            found = version.trim_matches('"');
        }
    }
    found
}

/// A whole number with commas.
fn thousands(number: impl Display) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// A line to standard output.
pub(crate) fn say(line: &str) {
    // A reader that left, such as `head`, is no failure of the measurement.
    drop(writeln!(io::stdout().lock(), "{line}"));
}

/// A line to standard error.
pub(crate) fn complain(line: &str) {
    drop(writeln!(io::stderr().lock(), "{line}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_has_the_version_that_was_built() {
        for client in Client::ALL {
            assert!(!version(client).is_empty(), "{}", client.name());
        }
        assert!(version(Client::Reqwest).starts_with("0.13."), "not the parsers' older one");
    }

    #[test]
    fn numbers_are_read_in_threes() {
        assert_eq!([950.4, 3390.0, 215_393.0].map(thousands), ["950", "3,390", "215,393"]);
    }
}
