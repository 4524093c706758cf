//! The figures that must hold.
//!
//! `gates` prints one JSON line each and fails when a figure passes its bound; `bench` prints the
//! same as a table with the floors. `work NAME COUNT` runs one workload alone: `gates` starts it as
//! a process of its own, under valgrind to count instructions and bare to count allocations. `serve`
//! prints the address of the server that the workloads `http-…@ADDRESS` read from.

mod callgrind;
mod context;
mod corpus;
mod crates;
mod decoder;
mod delivery;
mod encoders;
mod fault;
mod gate;
mod grammars;
mod http;
mod instruments;
mod measure;
mod memory;
mod parsers;
#[path = "../../testkit/src/postgres.rs"]
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    dead_code,
    unreachable_pub,
    reason = "a helper of tests, of which this is a part"
)]
mod postgres;
mod protocols;
mod provider;
mod reading;
mod report;
mod row_checks;
mod rows;
mod run;
mod service;
mod slow;
mod stages;
mod start;
mod transport;
mod turn;

use std::{alloc::System, env, error::Error, fmt::Display, path::Path, process::ExitCode};

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use crate::gate::{Form, Report};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// What any step of a measurement may fail with.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Prints a line about what is not run.
fn say(line: impl Display) {
    gate::complain(&line.to_string());
}

const USAGE: &str = "usage: forgeline-bench gates | bench [checks | context | delivery | http | protocols | run | start | turn | parsers [ROW…]] | work NAME COUNT | serve | latency KIND ADDRESS \
                     | report RESULTS DOCS | service BINARY [50 | 2000 | nodes | resume | submits | waiting | idle]… | floor MODEL";

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["gates"] => run(Form::Json),
        ["bench"] => run(Form::Table),
        ["bench", "parsers", rows @ ..] => {
            let mut report = Report::new(Form::Table);
            rows::gates(&mut report, rows);
            let rest = if rows.is_empty() {
                grammars::gates(&mut report);
                parsers::gates(&mut report)
            } else {
                Ok(())
            };
            rest.map(|()| report.finish())
        }
        ["report", results, docs] => {
            report::write(Path::new(results), Path::new(docs)).map(|()| ExitCode::SUCCESS)
        }
        ["bench", "checks"] => measured(checks),
        ["bench", "delivery"] => measured(|report| {
            delivery::gates(report);
            encoders::gates(report);
            Ok(())
        }),
        ["bench", "protocols"] => measured(|report| {
            protocols::gates(report);
            Ok(())
        }),
        ["bench", "context"] => measured(context::gates),
        ["bench", "run"] => measured(run::gates),
        ["bench", "start"] => measured(start::gates),
        ["bench", "turn"] => measured(turn::gates),
        ["bench", "http"] => measured(|report| {
            http::gates(report, &http::serve()?);
            Ok(())
        }),
        ["latency", kind, address] => http::latency(kind, address).map(|micros| {
            gate::say(&micros.to_string());
            ExitCode::SUCCESS
        }),
        ["serve"] => http::serve().map(|address| {
            gate::say(&address);
            std::thread::park();
            ExitCode::SUCCESS
        }),
        ["service", binary, rows @ ..] => driven(Path::new(binary), rows),
        ["floor", model] => floor(model).map(|()| ExitCode::SUCCESS),
        ["work", name, count] => work(name, count),
        _ => Err(USAGE.into()),
    };
    outcome.unwrap_or_else(|error| {
        gate::complain(&format!("bench: {error}"));
        ExitCode::from(2)
    })
}

/// Measures some figures, as a table.
fn measured(gates: impl FnOnce(&mut Report) -> Result<()>) -> Result<ExitCode> {
    let mut report = Report::new(Form::Table);
    gates(&mut report)?;
    Ok(report.finish())
}

/// Proves that faults in streams are noticed, and that what is known is measured right.
fn checks(report: &mut Report) -> Result<()> {
    let address = http::serve()?;
    fault::gates(report, &address);
    row_checks::gates(report);
    instruments::gates(report, &address);
    Ok(())
}

/// Measures everything; the exit code says whether all bounds hold.
fn run(form: Form) -> Result<ExitCode> {
    let mut report = Report::new(form);
    checks(&mut report)?;
    provider::gates(&mut report)?;
    protocols::gates(&mut report);
    http::gates(&mut report, &http::serve()?);
    delivery::gates(&mut report);
    encoders::gates(&mut report);
    decoder::gates(&mut report)?;
    memory::gates(&mut report)?;
    slow::gates(&mut report)?;
    turn::gates(&mut report)?;
    context::gates(&mut report)?;
    turn::early_start(&mut report)?;
    rows::gates(&mut report, &[]);
    run::gates(&mut report)?;
    parsers::gates(&mut report)?;
    grammars::gates(&mut report);
    crates::gates(&mut report)?;
    start::gates(&mut report)?;
    Ok(report.finish())
}

/// Drives the service of this binary on this thread, which leaves the rest of the machine to it.
fn driven(binary: &Path, rows: &[&str]) -> Result<ExitCode> {
    let rows = provider::runtime()?.block_on(service::rows(binary, rows));
    rows.map_err(|error| error.to_string().into())
}

/// Is the server that a service is measured beside, with as many threads as it has.
fn floor(model: &str) -> Result<()> {
    let model = model.parse().map_err(|_| USAGE)?;
    let served = tokio::runtime::Runtime::new()?.block_on(service::floor(model));
    served.map_err(|error| error.to_string().into())
}

/// Runs one workload in this process and tells what it took.
fn work(name: &str, count: &str) -> Result<ExitCode> {
    let count = count.parse().map_err(|_| USAGE)?;
    let name = fault::taken(name);
    let (done, allocations): (Result<()>, _) = measure::allocations(|| match name {
        "provider" => provider::stream(count),
        "pipeline" => provider::pipeline(count),
        "slow" => slow::slow(count),
        name => rows::work(name, count)
            .or_else(|| http::work(name, count))
            .or_else(|| delivery::work(name, count))
            .or_else(|| encoders::work(name, count))
            .or_else(|| instruments::work(name, count))
            .or_else(|| parsers::work(name, count))
            .or_else(|| protocols::stream(name, count))
            .unwrap_or_else(|| Err(USAGE.into())),
    });
    done?;
    gate::say(&format!("{allocations} {}", memory::peak_bytes()?));
    Ok(ExitCode::SUCCESS)
}
