//! Imports point down: no path of `pkg/` names a module of a higher rank.

use super::source::{rust_files, without_comments};

/// Modules and their ranks; the longest prefix of a path counts.
const RANKS: [(&str, u8); 17] = [
    ("json", 0),
    ("types", 0),
    ("llm::sse", 1),
    ("llm::ndjson", 1),
    ("llm::parser", 1),
    ("llm", 2),
    ("conformance", 3),
    ("agent::core", 3),
    ("agent::tools", 3),
    ("agent::memory", 3),
    ("agent::approval", 3),
    ("agent::prompts", 3),
    ("agent::context", 3),
    ("agent", 4),
    ("store", 5),
    ("notify", 5),
    ("server", 6),
];

fn rank(path: &str) -> Option<u8> {
    let is_prefix = |module: &str| {
        path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    RANKS
        .iter()
        .filter(|(module, _)| is_prefix(module))
        .max_by_key(|(module, _)| module.len())
        .map(|(_, rank)| *rank)
}

/// The module that a file of `pkg/` is: `pkg/llm/sse/mod.rs` is `llm::sse`.
fn module(path: &str) -> String {
    let path = path.strip_prefix("pkg/").unwrap().strip_suffix(".rs").unwrap();
    path.strip_suffix("/mod").unwrap_or(path).replace('/', "::")
}

/// The imports and paths of one file that point up, each as a sentence.
fn upward(file: &str, code: &str) -> Vec<String> {
    let module = module(file);
    if module == "lib" {
        return Vec::new();
    }
    let own =
        rank(&module).unwrap_or_else(|| panic!("{file}: give its module a rank in {}", file!()));
    let targets = paths(code, &module);
    let wrong = |target: &String| match rank(target) {
        Some(rank) if rank <= own => None,
        Some(rank) => Some(format!("{file} (rank {own}) names {target} (rank {rank})")),
        None => Some(format!("{file} names {target}, which has no rank")),
    };
    targets.iter().filter_map(wrong).collect()
}

/// Every path of `code` that starts at `crate` or at `super`, from the crate's root.
fn paths(code: &str, module: &str) -> Vec<String> {
    let mut found = Vec::new();
    for start in ["crate::", "super::"] {
        let mut rest = code;
        while let Some(at) = rest.find(start) {
            let (before, path) = rest.split_at(at);
            let whole = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
            // Inside `{…}` of a `use`, a leading `super` was expanded with its tree.
            if whole && !(start == "super::" && before.trim_end().ends_with(['{', ','])) {
                expand(path, "", &mut found);
            }
            rest = path.split_at(start.len()).1;
        }
    }
    found.into_iter().map(|path| absolute(&path, module)).collect()
}

/// Reads one path or `use` tree after `prefix`; gives what is left behind it.
fn expand<'a>(text: &'a str, prefix: &str, found: &mut Vec<String>) -> &'a str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = expand(rest, prefix, found).trim_start();
            rest = match rest.strip_prefix(',') {
                Some(rest) => rest.trim_start(),
                None => return rest.strip_prefix('}').unwrap_or(rest),
            };
            if let Some(rest) = rest.strip_prefix('}') {
                return rest;
            }
        }
    }
    let end =
        text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '*')).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let path = if prefix.is_empty() { word.to_owned() } else { format!("{prefix}::{word}") };
    if let Some(rest) = rest.strip_prefix("::") {
        return expand(rest, &path, found);
    }
    found.push(path);
    let renamed = rest.trim_start().strip_prefix("as ");
    renamed.map_or(rest, |rest| {
        rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_' || c == ' ')
    })
}

/// `path` from the crate's root, seen from `module`.
fn absolute(path: &str, module: &str) -> String {
    let mut at: Vec<_> = module.split("::").collect();
    let mut words = path.split("::").peekable();
    if words.next_if_eq(&"crate").is_some() {
        at.clear();
    }
    while words
        .next_if(|word| matches!(*word, "super" | "self"))
        .is_some_and(|word| word == "super" || !at.is_empty())
    {
        at.pop();
    }
    at.extend(words);
    at.join("::")
}

#[test]
fn imports_point_down() {
    let files = rust_files(&["pkg"]);
    let wrong: Vec<_> =
        files.iter().flat_map(|file| upward(&file.path, &without_comments(file.code()))).collect();
    assert!(wrong.is_empty(), "imports that point up:\n{}", wrong.join("\n"));
    forgeline_testkit::say(format!("{} files of pkg/ import downwards only", files.len()));
}

#[test]
fn an_import_that_points_up_is_found_in_every_spelling() {
    let cases = [
        ("plain", "pkg/types/event.rs", "use crate::llm::parser::ToolDialect;", 1),
        (
            "in a tree",
            "pkg/types/event.rs",
            "use crate::{types::Text, llm::{StreamChunk, sse::*}};",
            2,
        ),
        ("in a body", "pkg/llm/sse/decoder.rs", "fn f() { crate::llm::collect(); }", 1),
        ("by super", "pkg/llm/sse/decoder.rs", "use super::super::ProviderError;", 1),
        ("by super in a tree", "pkg/llm/sse/mod.rs", "use super::{ProviderError, parser::X};", 1),
        ("without a rank", "pkg/llm/chunk.rs", "use crate::utilities::X;", 1),
        (
            "down",
            "pkg/agent/core/machine.rs",
            "use crate::{llm::StreamChunk, types::Text as T};",
            0,
        ),
        ("sideways", "pkg/llm/sse/mod.rs", "use super::parser::Scanner; use self::error::X;", 0),
        ("beside", "pkg/llm/sse/decoder.rs", "use super::{DecodeError, limits::SseLimits};", 0),
    ];
    for (name, file, code, want) in cases {
        let wrong = upward(file, code);
        assert_eq!(wrong.len(), want, "{name}: {wrong:?}");
    }
}
