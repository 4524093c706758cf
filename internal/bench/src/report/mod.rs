//! `docs/benchmarks.md` and its pictures, out of what `gates`, `service`, `bench-parsers` and `bench-clients`
//! printed as JSON.
//!
//! Text between `<!-- NAME -->` and `<!-- end -->` is replaced; all other text is a person's.

mod bars;
mod tables;

use std::{fs, path::Path, process::Command};

use serde::de::DeserializeOwned;

use self::{
    bars::Chart,
    tables::{Client, Gate, Kind, Parser, Served},
};
use crate::Result;

/// Rewrites the figures of `docs/benchmarks.md` with the results in folder `results`.
pub(crate) fn write(results: &Path, docs: &Path) -> Result<()> {
    let gates: Vec<Gate> = lines(&results.join("gates.jsonl"))?;
    let parsers: Vec<Parser> = lines(&results.join("parsers.jsonl"))?;
    let clients: Vec<Client> = lines(&results.join("clients.jsonl"))?;
    let service: Vec<Served> = lines(&results.join("service.jsonl"))?;
    let comparisons = tables::comparisons(&parsers);

    let page = docs.join("benchmarks.md");
    let mut text = fs::read_to_string(&page)?;
    for (name, part) in [
        ("machine", machine()?),
        ("gates in memory", tables::gates(&gates, Kind::Memory)),
        ("gates over HTTP", tables::gates(&gates, Kind::Http)),
        ("service", tables::service(&service)),
        ("gates of parsers", tables::gates(&gates, Kind::Parsers)),
        ("clients", tables::clients(&clients)),
        ("parsers", tables::parsers(&comparisons)),
    ] {
        text = replaced(&text, name, &part)?;
    }
    fs::write(&page, text)?;

    let pictures = docs.join("pictures");
    fs::create_dir_all(&pictures)?;
    let clients = Chart {
        title: "One streamed answer over HTTP, to typed chunks or events",
        unit: "instructions a chunk, the HTTP client's included (make bench-clients)",
        peers: "other clients",
        sign: "",
        end: f64::INFINITY,
        groups: vec![clients.iter().map(Client::bar).collect()],
    };
    fs::write(pictures.join("clients.svg"), clients.svg())?;
    let parsers = Chart {
        title: "What a model wrote, in 16-byte pieces, to reasoning, text and calls",
        unit: "times memchr over the same pieces (make bench-parsers)",
        peers: "the fastest published parser that is right",
        sign: " ×",
        end: 100.0,
        groups: comparisons.iter().map(tables::Comparison::bars).collect(),
    };
    fs::write(pictures.join("parsers.svg"), parsers.svg())?;
    Ok(())
}

/// Reads one JSON object a line.
fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let read = |(at, line)| {
        serde_json::from_str(line)
            .map_err(|error| format!("{}, line {}: {error}", path.display(), at + 1).into())
    };
    text.lines().enumerate().filter(|(_, line)| !line.is_empty()).map(read).collect()
}

/// Replaces what stands between the marks of `name`.
fn replaced(text: &str, name: &str, part: &str) -> Result<String> {
    let missing =
        || format!("benchmarks.md has no `<!-- {name} -->` with an `<!-- end -->` behind it");
    let mark = format!("<!-- {name} -->\n");
    let (head, tail) = text.split_once(&mark).ok_or_else(missing)?;
    let (_, tail) = tail.split_once("<!-- end -->").ok_or_else(missing)?;
    Ok(format!("{head}{mark}{part}<!-- end -->{tail}"))
}

/// Says on which machine, with which compiler and of which commit the figures are.
fn machine() -> Result<String> {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown processor", |(_, model)| model);
    let cores = std::thread::available_parallelism()?;
    let compiler = printed("rustc", &["--version"])?;
    let commit = printed("git", &["log", "-1", "--format=%h of %cs"])?;
    Ok(format!("{model}, {cores} cores seen, {compiler}; commit {commit}.\n"))
}

fn printed(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program).args(arguments).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_marks_is_replaced() -> Result<()> {
        let page = "a\n<!-- one -->\nold\n<!-- end -->\nb\n<!-- two -->\n<!-- end -->\n";
        let new = replaced(&replaced(page, "one", "1\n")?, "two", "2\n")?;
        let expected = "a\n<!-- one -->\n1\n<!-- end -->\nb\n<!-- two -->\n2\n<!-- end -->\n";
        assert_eq!(new, expected);
        assert_eq!(replaced(&new, "one", "1\n")?, new);
        assert!(replaced(page, "three", "").is_err());
        Ok(())
    }
}
