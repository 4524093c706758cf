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

/// Returns the code of the README, the guide and the examples, a text for each.
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

/// Returns the paths of the prelude, from the facade's root.
fn prelude() -> BTreeSet<String> {
    let paths = imported_paths(&masks(&read_file("pkg/prelude.rs")).code);
    paths.filter_map(|path| Some(path.strip_prefix(&["crate".to_owned()])?.join("::"))).collect()
}

/// Counts the programs that import each path, by itself or by the prelude.
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

/// Returns the public items of `pkg/`, and whether an example is in their documentation or in that of a method.
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

/// Returns the types in `code` that its imports do not name and that it does not declare: those that a prelude gave it.
fn types_without_import(code: &str) -> BTreeSet<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let imported: BTreeSet<_> = imported_paths(code).filter_map(|mut path| path.pop()).collect();
    let (mut found, mut declared, mut at) = (BTreeSet::new(), BTreeSet::new(), 0);
    for word in code.split(|c| !is_word(c)) {
        let (before, rest) = code.split_at(at);
        at += word.len()
            + rest.get(word.len()..).and_then(|it| it.chars().next()).map_or(0, char::len_utf8);
        if !word.starts_with(char::is_uppercase) || before.ends_with("::") {
            continue;
        }
        let keyword = before.trim_end().rsplit(|c| !is_word(c)).next().unwrap_or_default();
        if ["struct", "enum", "trait", "type"].contains(&keyword) {
            declared.insert(word);
        } else if !imported.contains(word) {
            found.insert(word);
        }
    }
    &found - &declared
}

#[test]
fn types_without_import_are_found() {
    let code = "use forgeline::{prelude::*, types::Usage};\nstruct Own;\nfn f(a: Agent, u: Usage) -> Own { \
                Part::Text(error::Fault); Own }\n";
    assert_eq!(types_without_import(code), BTreeSet::from(["Agent", "Part"]));
}

#[test]
fn the_prelude_has_what_many_programs_import() {
    let (programs, items) = (programs(), items());
    let prelude = prelude();
    let names: BTreeSet<_> = prelude.iter().filter_map(|path| path.rsplit("::").next()).collect();
    let is_named = |path: &str| path.split("::").any(|word| NAMED.contains(&word));
    let many =
        uses(&programs).into_iter().filter(|(path, count)| *count >= MANY && !is_named(path));
    let lacking: Vec<_> = many.filter(|(path, _)| !prelude.contains(path)).collect();
    assert!(lacking.is_empty(), "not in pkg/prelude.rs: {lacking:?}");

    // What programs take from the prelude, whatever is in it: a type of the library that they name without an import.
    let mut taken = BTreeMap::<String, usize>::new();
    for program in &programs {
        let code = masks(program).code;
        if imported_paths(&code).any(|path| path.join("::") == "forgeline::prelude::*") {
            for name in types_without_import(&code).into_iter().filter(|it| items.contains_key(*it))
            {
                *taken.entry(name.to_owned()).or_default() += 1;
            }
        }
    }
    assert!(taken.len() > 25, "{taken:?}");
    let gone: Vec<_> = taken.iter().filter(|(name, _)| !names.contains(name.as_str())).collect();
    assert!(
        gone.is_empty(),
        "programs take these from the prelude, which has not got them: {gone:?}"
    );
    say(format!("{} types are taken from the prelude", taken.len()));
}
