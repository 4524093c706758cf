//! The names of dialects, and the command that lists them.

use std::io::{self, Write};

use clap::Args;
use forgeline::llm::parser::{ThinkingDialect, ToolDialect};
use owo_colors::Style;
use serde::Serialize;

use crate::{
    exit::{Exit, usage},
    output::stdout,
};

/// Tool-call dialects that are known by name, without a grammar in this version.
const ABSENT_TOOLS: [&str; 2] = ["beam", "response-template"];

/// Thinking dialects that are known by name, without a grammar in this version.
const ABSENT_THINKING: [&str; 2] = ["append-think", "beam"];

/// `forgeline dialects`
#[derive(Debug, Args)]
pub struct DialectsArgs {
    /// Print one JSON object per dialect
    #[arg(long)]
    json: bool,
}

/// Returns the tool-call dialect of this name.
///
/// # Errors
///
/// A usage error that lists the names.
pub fn tool_dialect(name: &str) -> anyhow::Result<ToolDialect> {
    ToolDialect::by_name(name).ok_or_else(|| unknown("dialect", name, DialectKind::ToolCalls))
}

/// Returns the thinking dialect of this name.
///
/// # Errors
///
/// A usage error that lists the names.
pub fn thinking_dialect(name: &str) -> anyhow::Result<ThinkingDialect> {
    ThinkingDialect::by_name(name)
        .ok_or_else(|| unknown("thinking dialect", name, DialectKind::Thinking))
}

fn unknown(what: &str, name: &str, kind: DialectKind) -> anyhow::Error {
    let rows = rows(kind);
    let is_absent = rows.iter().any(|row| row.name == name);
    let state = if is_absent { "is absent from this version" } else { "is unknown" };
    let present =
        rows.iter().filter(|row| row.status == DialectStatus::Present).map(|row| row.name);
    // `auto` comes first: it is the default.
    let mut names: Vec<_> = present.collect();
    names.sort_by_key(|name| *name != "auto");
    usage(format!("{what} `{name}` {state}; choose one of: {}", names.join(", ")))
}

/// One dialect of the list.
#[derive(Debug, Serialize)]
struct DialectRow {
    kind: DialectKind,
    name: &'static str,
    status: DialectStatus,
    /// A text in this dialect; none for those that leave text alone or are absent.
    example: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum DialectKind {
    ToolCalls,
    Thinking,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum DialectStatus {
    /// Text in this dialect is read.
    Present,
    /// Known by name, without a grammar in this version.
    Absent,
}

/// Lists the dialects.
///
/// # Errors
///
/// When writing fails.
pub fn list(args: &DialectsArgs) -> anyhow::Result<Exit> {
    let mut out = stdout(args.json);
    if args.json {
        for row in rows(DialectKind::ToolCalls).into_iter().chain(rows(DialectKind::Thinking)) {
            serde_json::to_writer(&mut out, &row)?;
            writeln!(out)?;
        }
    } else {
        show(&mut out, "Tool calls (--dialect)", &rows(DialectKind::ToolCalls))?;
        writeln!(out)?;
        show(&mut out, "Thinking (--thinking)", &rows(DialectKind::Thinking))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// Returns the dialects that are there, then the names that this version cannot read yet.
fn rows(kind: DialectKind) -> Vec<DialectRow> {
    let present = |name, example: &'static str| {
        let example = Some(example).filter(|example| !example.is_empty());
        DialectRow { kind, name, status: DialectStatus::Present, example }
    };
    let (mut rows, absent): (Vec<_>, &[_]) = match kind {
        DialectKind::ToolCalls => {
            let all = ToolDialect::all();
            (all.iter().map(|one| present(one.name(), one.example())).collect(), &ABSENT_TOOLS)
        }
        DialectKind::Thinking => {
            let all = ThinkingDialect::all();
            (all.iter().map(|one| present(one.name(), one.example())).collect(), &ABSENT_THINKING)
        }
    };
    let absent = absent.iter();
    rows.extend(absent.map(|name| DialectRow {
        kind,
        name,
        status: DialectStatus::Absent,
        example: None,
    }));
    rows
}

fn show(out: &mut impl Write, title: &str, rows: &[DialectRow]) -> io::Result<()> {
    let (bold, dimmed) = (Style::new().bold(), Style::new().dimmed());
    writeln!(out, "{}", bold.style(title))?;
    for row in rows.iter().filter(|row| row.status == DialectStatus::Present) {
        let about = match row.name {
            "auto" => "recognised by the opener",
            "none" => "text stays as the model wrote it",
            _ => "",
        };
        let gap = if about.is_empty() { "" } else { "  " };
        writeln!(out, "  {}{gap}{}", bold.style(row.name), dimmed.style(about))?;
        for line in row.example.unwrap_or_default().lines() {
            writeln!(out, "      {line}")?;
        }
    }
    let absent = rows.iter().filter(|row| row.status == DialectStatus::Absent).map(|row| row.name);
    for line in wrapped("absent from this version:", absent) {
        writeln!(out, "  {}", dimmed.style(line))?;
    }
    Ok(())
}

/// Wraps names after a title to lines that fit a terminal; returns nothing without names.
fn wrapped<'a>(title: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    const COLUMNS: usize = 76;
    let mut lines = vec![title.to_owned()];
    let mut names = names.peekable();
    if names.peek().is_none() {
        return Vec::new();
    }
    while let Some(name) = names.next() {
        let comma = if names.peek().is_some() { "," } else { "" };
        match lines.last_mut() {
            Some(line) if line.len() + name.len() + 2 <= COLUMNS => {
                line.extend([" ", name, comma]);
            }
            _ => lines.push(format!("  {name}{comma}")),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    // The names that the command line promises.
    #[rustfmt::skip]
    const TOOL_NAMES: [&str; 51] = [
        "forge", "hermes", "qwen3-coder", "glm", "kimi-k2", "kimi-k3", "deepseek-v3", "deepseek-v31",
        "dsml", "llama3-json", "pythonic", "mistral", "gemma4", "functiongemma", "harmony",
        "minimax-m2", "minimax-m3", "cohere", "step3", "internlm2", "phi4", "granite", "jamba",
        "hunyuan", "hy4", "seed-oss", "apertus", "nemotron", "longcat", "gigachat3", "ernie45", "xlam",
        "olmo3", "dots", "minicpm5", "iquest", "k2-horizon", "poolside", "sarashina", "plamo3",
        "inkling", "muse", "hugind", "guided", "beam", "response-template",
        "telechat4", "step-audio2", "mirothinker", "cwm", "granite4",
    ];

    #[rustfmt::skip]
    const THINKING_NAMES: [&str; 22] = [
        "think", "append-think", "forge", "kimi-legacy", "mistral", "gemma4", "harmony", "minimax-m3",
        "seed-oss", "cohere", "kimi-k3", "k2-v3", "granite", "apertus", "plamo3", "inkling", "muse",
        "hunyuan", "longcat", "ernie45", "minicpm-v", "beam",
    ];

    #[test]
    fn every_promised_name_is_listed_once_and_present_ones_can_be_chosen() {
        for (kind, promised) in [
            (DialectKind::ToolCalls, &TOOL_NAMES[..]),
            (DialectKind::Thinking, &THINKING_NAMES[..]),
        ] {
            let rows = rows(kind);
            for name in promised.iter().chain(&["auto", "none"]) {
                assert_eq!(rows.iter().filter(|row| row.name == *name).count(), 1, "{name}");
            }
            for row in rows {
                let chosen = match kind {
                    DialectKind::ToolCalls => tool_dialect(row.name).map(|_| ()),
                    DialectKind::Thinking => thinking_dialect(row.name).map(|_| ()),
                };
                match (row.status, chosen) {
                    (DialectStatus::Present, chosen) => chosen.unwrap(),
                    (DialectStatus::Absent, chosen) => {
                        let message = chosen.unwrap_err().to_string();
                        assert!(
                            message
                                .contains("is absent from this version; choose one of: auto, none"),
                            "{message}"
                        );
                    }
                }
            }
        }
        let unknown = tool_dialect("klingon").unwrap_err().to_string();
        assert!(
            unknown.starts_with("dialect `klingon` is unknown; choose one of: auto, none, forge"),
            "{unknown}"
        );
    }
}
