//! The page of limits says what the source says.

use std::collections::BTreeMap;

use forgeline::{
    agent::{AgentConfig, ToolSearch, core::StreamOptions},
    llm::{RetryPolicy, Timeouts, sse::SseLimits},
    server::Limits,
};

use super::source::{read, rust_files};

/// Constants that are named like a limit and are none, or that bound no input.
const OTHERS: [&str; 4] = ["MAX_MARKED_DEPTH", "MAX_WORD_BYTES", "MAX_TAG_BYTES", "MAX_FRONTS"];

/// The number that a figure means: bytes, milliseconds, or what is counted.
fn number(figure: &str) -> Option<u64> {
    let (count, unit) = figure.trim().split_once(' ').unwrap_or((figure.trim(), ""));
    let count: u64 = count.replace(',', "").parse().ok()?;
    let factor = match unit {
        "" | "B" | "ms" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    Some(count * factor)
}

/// The value of a constant as it is written: a number, a shift, a sum, or a time in milliseconds.
fn value(written: &str) -> Option<u64> {
    let written = written.trim().replace('_', "");
    if let Some((left, right)) = written.split_once("<<") {
        return Some(value(left)? << value(right)?);
    }
    if let Some((left, right)) = written.split_once('+') {
        return Some(value(left)? + value(right)?);
    }
    let units = [("millis", 1), ("secs", 1_000), ("mins", 60_000), ("hours", 3_600_000_u64)];
    for (unit, factor) in units {
        if let Some(count) = written.strip_prefix(&format!("Duration::from{unit}(")) {
            return Some(value(count.strip_suffix(')')?)? * factor);
        }
    }
    written.parse().ok()
}

/// The fields of an options struct as `Debug` shows them.
fn fields(shown: &str) -> BTreeMap<String, u64> {
    let (name, rest) = shown.split_once(" { ").unwrap();
    let times = [("ms", 1), ("ns", 0), ("s", 1_000_u64), ("", 1)];
    let field = |pair: &str| {
        let (key, text) = pair.trim_end_matches(" }").split_once(": ")?;
        let (digits, factor) =
            times.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
        Some((format!("{name}::{key}"), digits.parse::<u64>().ok()? * factor))
    };
    rest.split(", ").filter_map(field).collect()
}

/// The constants of the library that bound something, by `NAME` in `file`.
fn constants() -> BTreeMap<(String, String), u64> {
    let mut found = BTreeMap::new();
    for file in rust_files(&["pkg"]) {
        for line in file.code_lines() {
            let Some((_, rest)) = line.split_once("const ") else { continue };
            let Some((name, rest)) = rest.split_once(": ") else { continue };
            let Some((_, written)) = rest.split_once(" = ") else { continue };
            if let Some(value) = value(written.trim_end_matches(';')) {
                let path = file.path.trim_start_matches("pkg/").to_owned();
                found.insert((name.to_owned(), path), value);
            }
        }
    }
    found
}

/// Returns `true` when a constant must be on the page.
fn is_limit(name: &str, path: &str) -> bool {
    let is_named = name.starts_with("MAX_") || name.starts_with("DEFAULT_MAX_");
    // What bounds the look-ahead of one grammar is a property of its states.
    let is_grammar = path.starts_with("llm/parser/grammar/") || path == "llm/parser/byteset.rs";
    let is_check = path.starts_with("testing/conformance/") || path.contains("/tests");
    is_named && !is_grammar && !is_check && !OTHERS.contains(&name)
}

// Found: R4, R6
#[test]
fn the_page_of_limits_has_every_limit_with_its_default() {
    let page = read("docs/limits.md");
    let mut options = BTreeMap::new();
    let search = format!("{:?}", ToolSearch::default());
    for shown in [
        format!("{:?}", Timeouts::default()),
        format!("{:?}", RetryPolicy::default()),
        format!("{:?}", SseLimits::default()),
        format!("{:?}", Limits::default()),
        format!("{:?}", AgentConfig::default()).replace(&search, ""),
        search,
    ] {
        options.extend(fields(&shown));
    }
    let call = StreamOptions::default().max_call_bytes as u64;
    options.insert("StreamOptions::max_call_bytes".to_owned(), call);
    let mut constants = constants();
    for row in page.lines().filter(|line| line.starts_with("| ") && line.contains('`')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [what, figure, _, name] = cells[..] else { panic!("four cells: {row}") };
        let told = number(figure).unwrap_or_else(|| panic!("{what}: {figure} is not a figure"));
        let names: Vec<&str> = name.split('`').filter(|part| !part.trim().is_empty()).collect();
        let found = match names[..] {
            [option] => options.remove(option),
            [name, " in ", path] => constants.remove(&(name.to_owned(), path.to_owned())),
            _ => None,
        };
        assert_eq!(found, Some(told), "{what}: the page says {figure} of {name}");
    }
    assert!(options.is_empty(), "docs/limits.md lacks {options:?}");
    let missing: Vec<_> = constants.keys().filter(|(name, path)| is_limit(name, path)).collect();
    assert!(missing.is_empty(), "docs/limits.md lacks {missing:?}");
}
