//! The same streams through the published parsers and through forgeline, side by side: how fast
//! each is, and whether it is right.

mod answer;
mod corpus;
mod dialects;
mod measure;
mod parsers;
mod report;
mod workloads;

use std::{env, process::ExitCode};

use crate::{
    parsers::Parser,
    report::{Form, Heading},
    workloads::WORKLOADS,
};

const USAGE: &str = "usage: forgeline-bench-peers [--json] [--chunk BYTES] [WORKLOAD…]";

/// The crates that are compared.
const CRATES: [&str; 5] =
    ["forgeline", "tool-parser", "reasoning-parser", "dynamo-parsers", "dynamo-parsers-v2"];

/// What was asked for.
#[derive(Debug)]
struct Options {
    form: Form,
    chunk_bytes: usize,
    workloads: Vec<String>,
}

fn main() -> ExitCode {
    let options = match options(env::args().skip(1)) {
        Ok(options) => options,
        Err(why) => {
            report::complain(&format!("bench-peers: {why}\n{USAGE}"));
            return ExitCode::from(2);
        }
    };
    options.form.begin(&versions());
    let Options { form, chunk_bytes, workloads } = options;
    let is_asked = |name: &str| workloads.is_empty() || workloads.iter().any(|asked| asked == name);
    for workload in WORKLOADS.iter().filter(|workload| is_asked(workload.name)) {
        let (parsers, absent) = Parser::all(&workload.names);
        let answers = workload.answers();
        let measured = measure::all(&parsers, &answers, chunk_bytes);
        let amount = workload.amount();
        form.add(
            Heading { workload: workload.name, amount: &amount, chunk_bytes },
            &absent,
            &measured,
        );
    }
    ExitCode::SUCCESS
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options { form: Form::Table, chunk_bytes: 16, workloads: Vec::new() };
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => options.form = Form::Json,
            "--chunk" => {
                let bytes = arguments.next().and_then(|bytes| bytes.parse().ok());
                // Below four bytes a character may not fit into a chunk.
                options.chunk_bytes =
                    bytes.filter(|bytes| *bytes >= 4).ok_or("--chunk takes at least 4")?;
            }
            name if WORKLOADS.iter().any(|workload| workload.name == name) => {
                options.workloads.push(argument);
            }
            _ => {
                let names: Vec<_> = WORKLOADS.iter().map(|workload| workload.name).collect();
                return Err(format!("there is no {argument}; workloads: {}", names.join(", ")));
            }
        }
    }
    Ok(options)
}

/// Names and versions of [`CRATES`], as they were built.
fn versions() -> Vec<(String, String)> {
    let mut lines = include_str!("../Cargo.lock").lines();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        let Some(name) = quoted(line, "name = ") else { continue };
        if CRATES.contains(&name)
            && let Some(version) = lines.next().and_then(|line| quoted(line, "version = "))
        {
            found.push((name.to_owned(), version.to_owned()));
        }
    }
    found
}

/// What stands in quotes behind `key`.
fn quoted<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.strip_prefix(key)?.strip_prefix('"')?.strip_suffix('"')
}
