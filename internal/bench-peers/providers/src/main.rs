//! One streamed answer through the published clients and through forgeline, side by side.
//!
//! Without a command it measures and prints a table. `serve` is the model: a server in a process of
//! its own, so that what it costs is nobody's. `drain CLIENT URL COUNT` lets one client read COUNT
//! chunks from it and tells what that took.

mod answer;
mod clients;
mod drain;
mod measure;
mod report;
mod server;

use std::{alloc::System, env, error::Error, process::ExitCode};

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use crate::{clients::Client, report::Form};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// What any step of a measurement may fail with.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

const USAGE: &str =
    "usage: forgeline-bench-providers [--json] [CLIENT…] | serve | drain CLIENT URL COUNT";

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["serve"] => server::serve(),
        ["drain", client, url, count] => match (Client::named(client), count.parse()) {
            (Some(client), Ok(count)) => drain::drain(client, url, count),
            _ => Err(USAGE.into()),
        },
        ["--json", names @ ..] => compare(Form::Json, names),
        names => compare(Form::Table, names),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::complain(&format!("bench-providers: {error}"));
            ExitCode::from(2)
        }
    }
}

/// Measures the clients called `names`, or all.
fn compare(form: Form, names: &[&str]) -> Result<()> {
    let mut clients = Vec::new();
    for name in names {
        let known = Client::names();
        let why = || format!("there is no {name}; clients: {known}\n{USAGE}");
        clients.push(Client::named(name).ok_or_else(why)?);
    }
    if clients.is_empty() {
        clients = Client::ALL.to_vec();
    } else if !clients.contains(&Client::Reqwest) {
        // All times are multiples of its.
        clients.insert(0, Client::Reqwest);
    }
    report::print(form, &measure::all(&clients)?);
    Ok(())
}
