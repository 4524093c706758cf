//! The names of dialects, and the command that lists them.

use std::io::Write as _;

use clap::Args;
use forgeline::llm::parser::{ThinkingDialect, ToolDialect};
use serde::Serialize;

use crate::{
    exit::{Exit, usage},
    output::stdout,
};

/// The tool-call dialects that the command line knows by name, in the order in which it lists them.
#[rustfmt::skip]
const TOOL_NAMES: [&str; 31] = [
    "forge", "hermes", "qwen3-coder", "glm", "kimi-k2", "kimi-k3", "deepseek-v3", "deepseek-v31",
    "dsml", "llama3-json", "pythonic", "mistral", "gemma4", "functiongemma", "harmony",
    "minimax-m2", "minimax-m3", "cohere", "step3", "internlm2", "phi4", "granite", "jamba",
    "hunyuan", "seed-oss", "apertus", "nemotron", "longcat", "gigachat3", "ernie45", "hugind",
];

/// The thinking dialects that the command line knows by name, in the order in which it lists them.
#[rustfmt::skip]
const THINKING_NAMES: [&str; 12] = [
    "think", "forge", "kimi-legacy", "mistral", "gemma4", "harmony", "minimax-m3", "seed-oss",
    "cohere", "kimi-k3", "granite", "apertus",
];

/// `forgeline dialects`
#[derive(Debug, Args)]
pub struct DialectsArgs {
    /// Print one JSON object a dialect
    #[arg(long)]
    json: bool,
}

/// The tool-call dialect of this name.
///
/// # Errors
///
/// A usage error that lists the names.
pub fn tool_dialect(name: &str) -> anyhow::Result<ToolDialect> {
    ToolDialect::by_name(name).ok_or_else(|| {
        let known = |name: &str| ToolDialect::by_name(name).is_some();
        unknown("dialect", name, &TOOL_NAMES, known)
    })
}

/// The thinking dialect of this name.
///
/// # Errors
///
/// A usage error that lists the names.
pub fn thinking_dialect(name: &str) -> anyhow::Result<ThinkingDialect> {
    ThinkingDialect::by_name(name).ok_or_else(|| {
        let known = |name: &str| ThinkingDialect::by_name(name).is_some();
        unknown("thinking dialect", name, &THINKING_NAMES, known)
    })
}

fn unknown(
    what: &str,
    name: &str,
    promised: &[&str],
    known: impl Fn(&str) -> bool,
) -> anyhow::Error {
    let state = if promised.contains(&name) { "is absent from this version" } else { "is unknown" };
    let names = ["auto", "none"].iter().chain(promised).filter(|name| known(name));
    let names = names.copied().collect::<Vec<_>>().join(", ");
    usage(format!("{what} `{name}` {state}; choose one of: {names}"))
}

#[derive(Debug, Serialize)]
struct Row {
    kind: &'static str,
    name: &'static str,
    status: Status,
    description: Option<&'static str>,
    example: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    /// Text in this dialect is read.
    Present,
    /// Promised by name, without a grammar in this version.
    Absent,
}

/// Lists the dialects.
///
/// # Errors
///
/// When writing fails.
pub fn list(args: &DialectsArgs) -> anyhow::Result<Exit> {
    let mut out = stdout(args.json);
    for row in rows() {
        if args.json {
            serde_json::to_writer(&mut out, &row)?;
            writeln!(out)?;
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn rows() -> Vec<Row> {
    let row = |kind, name, present: bool| Row {
        kind,
        name,
        status: if present { Status::Present } else { Status::Absent },
        description: None,
        example: None,
    };
    let tools = TOOL_NAMES
        .iter()
        .map(|name| row("tool_calls", *name, ToolDialect::by_name(name).is_some()));
    let thinking = THINKING_NAMES
        .iter()
        .map(|name| row("thinking", *name, ThinkingDialect::by_name(name).is_some()));
    tools.chain(thinking).collect()
}
