//! The items that programs use most: each has an example, and the prelude has those that many import.

use std::collections::{BTreeMap, BTreeSet};

use forgeline_testkit::{fixtures, say};

use super::{
    modules::{has_word, imported_paths},
    source::{masks, read_file, root, rust_files},
};

/// The number of items that need an example.
const MOST_USED: usize = 60;
/// The number of programs that import an item from which on the prelude has it.
const MANY: usize = 5;
/// Modules whose items a program names for what it is about: a vendor, the service, what tests need.
const NAMED: [&str; 5] = ["anthropic", "openai", "demo", "server", "testing"];

/// The code of the README, the guide and the examples, a text for each.
fn programs() -> Vec<String> {
    let mut pages = fixtures::files(&root().join("docs/guide"));
    pages.retain(|path| path.extension().is_some_and(|end| end == "md"));
    pages.push(root().join("README.md"));
    let texts = pages.into_iter().map(|path| std::fs::read_to_string(path).unwrap());
    let code = texts.map(|text| {
        let blocks = text.split("```rust").skip(1).filter_map(|it| it.split("```").next());
        let lines = blocks.flat_map(|block| block.lines().skip(1));
        lines.map(|line| line.strip_prefix("# ").unwrap_or(line)).collect::<Vec<_>>().join("\n")
    });
    code.chain(rust_files(&["docs/examples"]).into_iter().map(|file| file.text)).collect()
}

/// The paths of the prelude, from the facade's root.
fn prelude() -> BTreeSet<String> {
    let paths = imported_paths(&masks(&read_file("pkg/prelude.rs")).code);
    paths.filter_map(|path| Some(path.strip_prefix(&["crate".to_owned()])?.join("::"))).collect()
}

/// How many of `programs` import each path, by itself or by the prelude.
fn uses(programs: &[String]) -> BTreeMap<String, usize> {
    let (mut uses, prelude) = (BTreeMap::new(), prelude());
    for program in programs {
        let code = masks(program).code;
        let mut found = BTreeSet::new();
        for path in imported_paths(&code) {
            let Some(path) = path.strip_prefix(&["forgeline".to_owned()]) else { continue };
            if path.join("::") == "prelude::*" {
                let is_used = |it: &&String| has_word(&code, it.rsplit("::").next().unwrap());
                found.extend(prelude.iter().filter(is_used).cloned());
            } else {
                found.insert(path.join("::"));
            }
        }
        for path in found {
            *uses.entry(path).or_default() += 1;
        }
    }
    uses
}

/// The public items of `pkg/`, and whether an example is in their documentation or in that of a method.
fn items() -> BTreeMap<String, bool> {
    let mut items = BTreeMap::<String, bool>::new();
    for file in rust_files(&["pkg"]) {
        let (mut owner, mut has_example, mut is_inside) = (String::new(), false, false);
        for line in file.code().lines() {
            if let Some(info) = line.trim_start().strip_prefix("/// ```") {
                is_inside = !is_inside;
                has_example |= is_inside && matches!(info, "" | "no_run" | "should_panic");
            }
            if line.trim_start().starts_with(['/', '#']) {
                continue;
            }
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            let keyword = |it: &&str| ["struct", "enum", "trait", "type", "fn"].contains(it);
            let declared = words.find(keyword).and_then(|_| words.next());
            if line.starts_with("impl") {
                let name = line.trim_end_matches([' ', '{']).rsplit(' ').next();
                name.and_then(|it| it.split('<').next()).unwrap_or_default().clone_into(&mut owner);
            } else if let Some(name) = declared {
                if line.starts_with("pub ") {
                    name.clone_into(&mut owner);
                    items.entry(owner.clone()).or_default();
                }
                items.entry(owner.clone()).and_modify(|it| *it |= has_example);
                has_example = false;
            }
        }
    }
    items
}

#[test]
fn each_of_the_most_used_items_has_an_example() {
    let mut programs = programs();
    programs.extend(rust_files(&["internal/itest"]).into_iter().map(|file| file.text));
    let items = items();
    let mut counts = BTreeMap::<String, usize>::new();
    for (path, count) in uses(&programs) {
        let name = path.rsplit("::").next().unwrap();
        if items.contains_key(name) {
            *counts.entry(name.to_owned()).or_default() += count;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|(a, x), (b, y)| y.cmp(x).then(a.cmp(b)));
    assert!(counts.len() > MOST_USED, "{counts:?}");
    let lacking: Vec<_> = counts.iter().take(MOST_USED).filter(|(it, _)| !items[it]).collect();
    assert!(lacking.is_empty(), "used often, without an example in the documentation: {lacking:?}");
    say(format!("{:?}", &counts[..MOST_USED]));
}

#[test]
fn the_prelude_has_what_many_programs_import() {
    let programs = programs();
    let prelude = prelude();
    let is_named = |path: &str| path.split("::").any(|word| NAMED.contains(&word));
    let many =
        uses(&programs).into_iter().filter(|(path, count)| *count >= MANY && !is_named(path));
    let lacking: Vec<_> = many.filter(|(path, _)| !prelude.contains(path)).collect();
    assert!(lacking.is_empty(), "not in pkg/prelude.rs: {lacking:?}");
}
