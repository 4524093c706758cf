//! The page of the events is written from the documentation of their types, and their JSON.

use std::{collections::BTreeMap, fmt::Write as _, fs};

use forgeline::{server::encode::RunEnd, types::AgentEvent};
use serde_json::Value;

use super::source::{read_file, root, rust_files};

const PAGE: &str = "docs/guide/events.md";
/// The line before which the page is written by hand.
const BEGIN: &str = "## The answer\n";

/// The groups of the page: a heading, and the kinds below it.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "The answer",
        &[
            "thinking_start",
            "thinking_content",
            "thinking_end",
            "message_start",
            "message_content",
            "message_end",
            "tool_call_start",
            "tool_call_content",
            "tool_call_end",
            "provider_item",
        ],
    ),
    (
        "Requests to the provider",
        &["api_call_start", "api_call_end", "token_usage", "retry", "failover"],
    ),
    ("Tools", &["tool_call", "tool_output", "tool_result", "tool_result_error", "no_tool_call"]),
    (
        "People and clients",
        &[
            "tool_approval_request",
            "tool_approval_granted",
            "tool_approval_rejected",
            "tool_approval_timeout",
            "tool_approval_cancelled",
            "tool_question",
            "tool_question_end",
            "client_tool_request",
            "client_tool_cancelled",
        ],
    ),
    ("The run", &["update_busy", "turn_end", "error"]),
    ("Notices, and events of your own", &["custom"]),
];

/// A member of a type: its name on the wire, its type, and its documentation.
struct Member {
    name: String,
    of: String,
    about: String,
    is_flat: bool,
}

/// The first paragraph of documentation that ends before line `at`, without links to items.
fn about(lines: &[&str], at: usize) -> String {
    let above = lines.split_at(at).0.iter().rev();
    let is_head = |line: &&&str| line.starts_with("///") || line.starts_with("#[");
    let mut docs: Vec<_> = above.map(|line| line.trim()).collect();
    docs.truncate(docs.iter().take_while(|line| is_head(line)).count());
    let docs = docs.iter().rev().filter_map(|line| line.strip_prefix("///")).map(str::trim);
    let text = docs.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let mut plain = String::new();
    for (at, part) in text.split("](").enumerate() {
        // The target of a link ends at its parenthesis.
        plain.push_str(if at == 0 { part } else { part.split_once(')').map_or("", |it| it.1) });
    }
    plain.replace("[`", "`").replace("`]", "`").replace('[', "")
}

/// The name that `#[serde(rename = "…")]` above line `at` gives, or else `name`.
fn on_the_wire(lines: &[&str], at: usize, name: &str) -> (String, bool) {
    let above = lines.split_at(at).0.iter().rev().map(|line| line.trim());
    let head: String =
        above.take_while(|line| line.starts_with("#[") || line.starts_with("///")).collect();
    let renamed = head.split_once("rename = \"").and_then(|(_, rest)| rest.split('"').next());
    (renamed.unwrap_or(name).to_owned(), head.contains("serde(flatten)"))
}

/// The members of each struct with public fields in the crate of types.
fn structs() -> BTreeMap<String, Vec<Member>> {
    let mut found = BTreeMap::new();
    for file in rust_files(&["pkg/types", "pkg/agent/notice", "pkg/agent/core", "pkg/llm"]) {
        let lines: Vec<_> = file.code().lines().collect();
        let mut open: Option<(String, Vec<Member>)> = None;
        for (at, line) in lines.iter().enumerate() {
            let line = line.trim();
            if let Some(rest) = line.strip_prefix("pub struct ") {
                let name = rest.split([' ', '(', ';']).next().unwrap_or_default();
                open = rest.ends_with('{').then(|| (name.to_owned(), Vec::new()));
            } else if *line == *"}" {
                found.extend(open.take());
            } else if let (Some((_, members)), Some(rest)) = (&mut open, line.strip_prefix("pub "))
                && let Some((name, of)) = rest.split_once(": ")
            {
                let (name, is_flat) = on_the_wire(&lines, at, name.trim_start_matches("r#"));
                let of = of.trim_end_matches(',').to_owned();
                members.push(Member { name, of, about: about(&lines, at), is_flat });
            }
        }
    }
    found
}

/// The variants of [`AgentEvent`] by their kinds: the payload, if any, and the documentation.
fn variants() -> BTreeMap<String, (Option<String>, String)> {
    let text = read_file("pkg/types/event.rs");
    let (_, body) = text.split_once("pub enum AgentEvent {\n").unwrap();
    let lines: Vec<_> = body.split("\n}").next().unwrap().lines().collect();
    let variants = lines.iter().enumerate().filter_map(|(at, line)| {
        let line = line.trim().strip_suffix(',')?;
        let (name, payload) = match line.split_once('(') {
            Some((name, payload)) => (name, Some(payload.trim_end_matches(')'))),
            None => (line, None),
        };
        let payload = payload.map(|it| it.trim_start_matches("Box<").trim_end_matches('>'));
        let mut kind = String::new();
        for letter in name.chars() {
            if letter.is_uppercase() && !kind.is_empty() {
                kind.push('_');
            }
            kind.push(letter.to_ascii_lowercase());
        }
        Some((kind, (payload.map(str::to_owned), about(&lines, at))))
    });
    variants.filter(|(kind, _)| kind != "unknown").collect()
}

/// The notices of the library: name, payload and documentation.
fn notices() -> Vec<(String, String, String)> {
    let text = read_file("pkg/agent/notice/mod.rs");
    let names = rust_files(&["pkg/agent", "pkg/llm"]);
    let (_, table) = text.split_once("notices! {\n").unwrap();
    let rows = table.split("\n}").next().unwrap().lines();
    rows.map(|row| {
        let (head, about) = row.split_once(", \"").unwrap();
        let (payload, constant) = head.split_once(") = ").unwrap();
        let payload = payload.split_once('(').unwrap().1;
        let payload = payload.trim_start_matches("Box<").trim_end_matches('>');
        let declared = format!("const {constant}: &str = \"");
        let name = names.iter().find_map(|file| {
            let (_, rest) = file.text.split_once(&declared)?;
            rest.split('"').next()
        });
        let name = name.unwrap_or_else(|| panic!("{constant} is not a constant"));
        (name.to_owned(), payload.to_owned(), about.trim_end_matches("\";").to_owned())
    })
    .collect()
}

/// Writes a list of the members of a type, of those that it has within as well.
fn write_members(page: &mut String, structs: &BTreeMap<String, Vec<Member>>, of: &str) {
    for Member { name, of, about, is_flat } in structs.get(of).into_iter().flatten() {
        if *is_flat && structs.contains_key(of) {
            write_members(page, structs, of);
        } else if !is_flat {
            writeln!(page, "* `{name}`: {about}").unwrap();
        } else {
            writeln!(page, "* members of `{of}`: {about}").unwrap();
        }
    }
}

/// The generated part of the page.
fn generated() -> String {
    let (structs, variants) = (structs(), variants());
    let golden = read_file("testdata/golden/events.jsonl");
    let mut page = String::new();
    for (heading, kinds) in GROUPS {
        writeln!(page, "## {heading}\n").unwrap();
        for kind in kinds {
            let (payload, about) = variants.get(*kind).unwrap_or_else(|| panic!("no {kind}"));
            let name = payload.as_ref().map_or(String::new(), |it| format!(" (`{it}`)"));
            writeln!(page, "### `{kind}`\n\n{about}{name}\n\n```json").unwrap();
            let samples = golden.lines().filter(|line| {
                let value: Value = serde_json::from_str(line).unwrap();
                value["type"] == *kind && value.get("seq").is_none()
            });
            let before = page.len();
            for sample in samples {
                let event: AgentEvent = serde_json::from_str(sample).unwrap();
                assert_eq!(serde_json::to_string(&event).unwrap(), sample, "the golden file");
                writeln!(page, "{sample}").unwrap();
            }
            assert!(page.len() > before, "testdata/golden/events.jsonl has no {kind}");
            page.push_str("```\n\n");
            let before = page.len();
            write_members(&mut page, &structs, payload.as_deref().unwrap_or_default());
            if page.len() > before {
                page.push('\n');
            }
        }
    }
    page.push_str("The library itself sends these. `Notice::read` makes a value of each:\n\n");
    page.push_str("| name | says | members of `data` |\n| --- | --- | --- |\n");
    for (name, payload, about) in notices() {
        let members = structs.get(&payload).into_iter().flatten();
        let members: Vec<_> = members
            .map(|it| if it.is_flat { "others".to_owned() } else { format!("`{}`", it.name) })
            .collect();
        writeln!(page, "| `{name}` | {about} | {} |", members.join(", ")).unwrap();
    }
    page
}

#[test]
fn the_page_of_events_is_that_of_their_types() {
    let page = read_file(PAGE);
    let head = page.split(BEGIN).next().unwrap();
    let want = format!("{head}{}", generated());
    if std::env::var_os("FORGELINE_WRITE_EVENTS").is_some() {
        fs::write(root().join(PAGE), &want).unwrap();
    } else {
        assert!(page == want, "{PAGE} is out of date; FORGELINE_WRITE_EVENTS=1 writes it");
    }
}

#[test]
fn the_page_of_events_has_the_end_that_the_service_writes() {
    let page = read_file(PAGE);
    let section =
        page.split("### `run_end`\n").nth(1).unwrap().split("\n\nThe rest").next().unwrap();
    let line = section.lines().find(|line| line.starts_with('{')).unwrap();
    let end: RunEnd = serde_json::from_str(line).unwrap();
    assert_eq!(serde_json::to_string(&end).unwrap(), line);
    let source = read_file("pkg/server/encode/end.rs");
    let (_, members) = source.split_once("pub struct RunEnd {\n").unwrap();
    let members = members.split("\n}").next().unwrap().lines();
    let members = members.filter_map(|line| line.trim().strip_prefix("pub ")?.split(':').next());
    let missing: Vec<_> =
        members.filter(|it| !section.contains(&format!("\n* `{it}`: "))).collect();
    assert!(
        missing.is_empty() && section.contains("`status`"),
        "the page does not have {missing:?}"
    );
}

#[test]
fn the_page_of_events_has_every_kind_once() {
    let mut listed: Vec<_> = GROUPS.iter().flat_map(|(_, kinds)| *kinds).copied().collect();
    listed.sort_unstable();
    let known: Vec<_> = variants().into_keys().collect();
    assert_eq!(listed, known, "the groups of the page and the variants differ");
}
