//! Vendors do not repeat each other.

use std::collections::{BTreeMap, BTreeSet};

use super::source::rust_files;

const VENDORS: [&str; 6] = ["openai", "anthropic", "responses", "gemini", "ollama", "cohere"];
/// The shortest line that counts, in characters.
const SHORTEST: usize = 10;
/// The share of lines that may stand in `MANY` vendors or more, in percent.
pub(crate) const MOST_PERCENT: usize = 10;
const MANY: usize = 3;

/// The code lines of a vendor's folder: no tests, no imports, at least `SHORTEST` characters of which
/// one is a letter.
fn lines(vendor: &str) -> Vec<String> {
    let mut found = Vec::new();
    for file in rust_files(&[&format!("pkg/llm/{vendor}")]) {
        let mut in_import = false;
        for line in file.code_lines() {
            let starts = line.starts_with("use ")
                || line.starts_with("pub") && line.split_whitespace().nth(1) == Some("use");
            let is_part = in_import || starts;
            in_import = is_part && !line.ends_with(';');
            let counts = line.chars().count() >= SHORTEST && line.contains(char::is_alphabetic);
            if counts && !is_part {
                found.push(line.to_owned());
            }
        }
    }
    found
}

/// The lines of the vendors, each with the vendors that have it.
fn table() -> (Vec<String>, BTreeMap<String, BTreeSet<&'static str>>) {
    let (mut all, mut table) = (Vec::new(), BTreeMap::<_, BTreeSet<_>>::new());
    for vendor in VENDORS {
        for line in lines(vendor) {
            table.entry(line.clone()).or_default().insert(vendor);
            all.push(line);
        }
    }
    (all, table)
}

/// The lines that stand word for word in three or more vendors, and all lines.
pub(crate) fn count() -> (usize, usize) {
    let (all, table) = table();
    (all.iter().filter(|line| table[*line].len() >= MANY).count(), all.len())
}

#[test]
fn vendors_do_not_repeat_each_other() {
    let (repeated, lines) = count();
    let (all, table) = table();
    let mut often: Vec<_> = table.iter().filter(|(_, vendors)| vendors.len() >= MANY).collect();
    let uses = |line: &str| all.iter().filter(|it| *it == line).count();
    often.sort_by_key(|(line, _)| std::cmp::Reverse(uses(line)));
    for (line, vendors) in often {
        println!("{:>4} times in {}  {line}", uses(line), vendors.len());
    }
    println!("{repeated} of {lines} lines stand in {MANY} vendors or more");
    assert!(
        repeated * 100 <= lines * MOST_PERCENT,
        "{repeated} of {lines} lines stand in {MANY} vendors or more, at most {MOST_PERCENT} %"
    );
}
