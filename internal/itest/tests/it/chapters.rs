//! Pages for people: the tests that chapters name exist, and links lead to files.

use std::collections::BTreeSet;

use forgeline_testkit::fixtures;

use super::source::{read_file, root, rust_files};

/// The Markdown pages below `folders`, and those at the root, as paths from the root.
fn pages(folders: &[&str]) -> Vec<String> {
    let root = root();
    let entries = std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = entries.filter(|path| path.is_file()).collect();
    for folder in folders {
        paths.extend(fixtures::files(&root.join(folder)));
    }
    let pages = paths.iter().filter(|path| path.extension().is_some_and(|end| end == "md"));
    let names = pages.map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap());
    let mut names: Vec<_> = names.map(|name| name.replace('\\', "/")).collect();
    names.sort();
    names
}

/// Most words of a chapter.
const MOST_WORDS: usize = 900;

#[test]
fn chapters_are_short_and_name_tests_that_exist() {
    let mut functions = BTreeSet::new();
    for file in rust_files(&["pkg", "cmd", "internal"]) {
        let names = file.text.split("fn ").skip(1).filter_map(|rest| rest.split('(').next());
        functions.extend(names.map(str::to_owned));
    }
    let mut count = 0;
    for page in pages(&["pkg"]).into_iter().filter(|page| page.starts_with("pkg/")) {
        let text = read_file(&page);
        let words = text.split_whitespace().count();
        assert!(words <= MOST_WORDS, "{page}: {words} words, more than {MOST_WORDS}");
        for name in text.split('`').skip(1).step_by(2) {
            let is_name = name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
            if is_name && name.matches('_').count() >= 3 {
                assert!(functions.contains(name), "{page} names `{name}`, which does not exist");
                count += 1;
            }
        }
    }
    assert!(count > 50, "{count} tests are named");
}

#[test]
fn folders_that_chapters_name_exist() {
    let mut count = 0;
    for page in pages(&["pkg"]).into_iter().filter(|page| page.starts_with("pkg/")) {
        let (text, root) = (read_file(&page), root());
        let folder = root.join(&page).parent().unwrap().to_owned();
        for name in text.split('`').skip(1).step_by(2).filter(|name| name.ends_with('/')) {
            let is_there = [&folder, &root].iter().any(|base| base.join(name).is_dir());
            assert!(is_there, "{page} names the folder `{name}`, which does not exist");
            count += 1;
        }
    }
    assert!(count > 50, "{count} folders are named");
}

#[test]
fn features_that_pages_name_exist() {
    let manifests = ["Cargo.toml", "pkg/llm/Cargo.toml", "cmd/forgeline/Cargo.toml"];
    let features = manifests.map(|manifest| {
        let manifest = read_file(manifest);
        let (_, features) = manifest.split_once("[features]").unwrap();
        features.split("\n[").next().unwrap().to_owned()
    });
    let features = features.concat();
    let mut count = 0;
    for page in pages(&["docs", "pkg"]) {
        let text = read_file(&page).replace("feature = \"", "feature `");
        for rest in text.split("feature `").skip(1) {
            let name = rest.split(['`', '"']).next().unwrap();
            let is_one = features.contains(&format!("\n{name} = "));
            assert!(is_one, "{page} names the feature `{name}`, which does not exist");
            count += 1;
        }
    }
    assert!(count > 10, "{count} pages name a feature");
}

#[test]
fn links_lead_to_files() {
    let mut count = 0;
    for page in pages(&["docs", "pkg", "internal"]) {
        if page.starts_with("internal/") && !page.ends_with("/README.md") {
            continue;
        }
        let text = read_file(&page);
        let folder = root().join(&page).parent().unwrap().to_owned();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()) {
            let path = target.split('#').next().unwrap_or_default();
            if path.is_empty() || path.contains(':') || path.contains('…') {
                continue;
            }
            assert!(folder.join(path).exists(), "{page} links to {target}, which does not exist");
            count += 1;
        }
    }
    assert!(count > 100, "{count} links were found");
}
