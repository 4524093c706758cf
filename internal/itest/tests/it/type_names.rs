//! The names of types in `pkg/`: a name says its subject, so that a search for it finds one place.

use std::collections::BTreeMap;

use super::source::{Source, masks, rust_files};

/// Participles and adjectives that are not names of types.
const PARTICIPLES: &[&str] = &[
    "Added",
    "Allowed",
    "Answered",
    "Asked",
    "Awaited",
    "Bound",
    "Built",
    "Called",
    "Checked",
    "Chosen",
    "Closed",
    "Counted",
    "Cut",
    "Decoded",
    "Done",
    "Due",
    "Early",
    "Ended",
    "Expected",
    "Failed",
    "Fetched",
    "Filled",
    "Finished",
    "Fitted",
    "Found",
    "Given",
    "Held",
    "Joined",
    "Kept",
    "Known",
    "Left",
    "Lent",
    "Listed",
    "Loaded",
    "Lost",
    "Made",
    "Matched",
    "Missed",
    "Named",
    "Offered",
    "Open",
    "Opened",
    "Parsed",
    "Planned",
    "Posted",
    "Pending",
    "Queued",
    "Read",
    "Received",
    "Refused",
    "Requested",
    "Resolved",
    "Returned",
    "Running",
    "Said",
    "Saved",
    "Seen",
    "Sent",
    "Served",
    "Settled",
    "Shared",
    "Shown",
    "Spent",
    "Started",
    "Stopped",
    "Stored",
    "Taken",
    "Told",
    "Traced",
    "Used",
    "Waiting",
    "Wanted",
    "Written",
    "Wrapped",
];
/// Types of one name from which on it counts as a homonym.
const MANY: usize = 2;

/// The figures, in the order of [`figures`], each with the most that it may be. A figure that falls
/// by more than 5 % lowers its maximum.
const MAXIMA: [(&str, usize); 6] = [
    ("types of one word, per 1,000", 80),
    ("types named State", 1),
    ("names of two types or more", 42),
    ("types that are participles", 0),
    ("cfg(feature) in pkg", 90),
    ("items of the modules `private`", 62),
];
/// The figures that the library is to reach, in the order of `MAXIMA`.
const AIMS: [usize; 6] = [400, 6, 0, 0, 90, 70];

/// The names of the types that `code` defines outside of tests and implementations.
fn types(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in code.lines() {
        let is_nested = line.starts_with("    ");
        let mut words = line
            .split_whitespace()
            .skip_while(|word| word.starts_with("pub") || *word == "unsafe" || word.ends_with(')'));
        let Some(keyword) = words.next() else { continue };
        let is_type = matches!(keyword, "struct" | "enum" | "trait" | "union")
            || keyword == "type" && !is_nested;
        let name = words.next().filter(|_| is_type).unwrap_or_default();
        let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
        found.extend(Some(name.split_at(end).0).filter(|it| it.starts_with(char::is_uppercase)));
    }
    found
}

fn is_one_word(name: &str) -> bool {
    name.chars().filter(char::is_ascii_uppercase).count() == 1
}

/// The number of items that the modules `private` of `code` re-export.
fn private_items(code: &str) -> usize {
    let blocks = code.split("pub mod private {").skip(1);
    let items = blocks.flat_map(|block| {
        let block = block.split("\n}").next().unwrap_or_default();
        let uses = block.split("pub use ").skip(1);
        uses.map(|tree| {
            let tree = tree.split(';').next().unwrap_or_default();
            let leaves = tree.split([',', '{', '}']).map(str::trim);
            leaves.filter(|leaf| !leaf.is_empty() && !leaf.ends_with("::")).count()
        })
    });
    items.sum()
}

/// The figures in the order of `MAXIMA`, and the homonyms with their number.
fn figures(files: &[Source]) -> ([usize; 6], Vec<(String, usize)>) {
    let codes: Vec<_> = files.iter().map(|file| masks(file.code()).code).collect();
    let mut names = BTreeMap::<&str, usize>::new();
    for name in codes.iter().flat_map(|code| types(code)) {
        *names.entry(name).or_default() += 1;
    }
    let sum = |counts: &dyn Fn(&str) -> bool| -> usize {
        names.iter().filter(|(name, _)| counts(name)).map(|(_, count)| count).sum()
    };
    let homonyms = names.iter().filter(|(_, count)| **count >= MANY);
    let homonyms: Vec<_> = homonyms.map(|(name, count)| ((*name).to_owned(), *count)).collect();
    let figures = [
        sum(&is_one_word) * 1000 / sum(&|_| true).max(1),
        sum(&|name| name == "State"),
        homonyms.len(),
        sum(&|name| PARTICIPLES.contains(&name)),
        files.iter().map(|file| file.text.matches("cfg(feature").count()).sum(),
        codes.iter().map(|code| private_items(code)).sum(),
    ];
    (figures, homonyms)
}

/// Prints each figure, its maximum and its aim.
pub(crate) fn report() {
    let (figures, _) = figures(&rust_files(&["pkg"]));
    for (((name, most), now), aim) in MAXIMA.into_iter().zip(figures).zip(AIMS) {
        println!("{name:<36}{now:>12}{most:>12}  ≤ {aim}");
    }
}

#[test]
fn figures_of_names_only_fall() {
    let (figures, homonyms) = figures(&rust_files(&["pkg"]));
    println!("{homonyms:?}");
    let mut wrong = Vec::new();
    for ((name, most), now) in MAXIMA.into_iter().zip(figures) {
        if now > most {
            wrong.push(format!("{name}: {now}, more than {most}"));
        } else if now * 100 < most * 95 {
            wrong.push(format!("{name}: lower the maximum from {most} to {now}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn types_and_private_items_are_counted() {
    let code = "pub struct A;\npub(crate) enum BcD<T> {}\nimpl X {\n    type Item = u8;\n    struct E;\n}\n\
                type F = u8;\nfn type_of() {}";
    assert_eq!(types(code), ["A", "BcD", "E", "F"]);
    assert!(is_one_word("Kept") && !is_one_word("KeptCall"));
    let code = "pub mod private {\n    pub use crate::{\n        a::{b, C},\n        d::e,\n    };\n    \
                pub use crate::f::g;\n}\npub use crate::h;";
    assert_eq!(private_items(code), 4);
}
