//! Conventions that a search of the sources can check.

use std::fs;

use forgeline_testkit::fixtures;

use super::source::{masks, read_file, root, rust_files};

#[test]
fn the_pure_core_has_no_runtime_in_it() {
    let pure = |path: &str| {
        path.starts_with("pkg/llm/parser/")
            || path.starts_with("pkg/types/")
            || matches!(path, "pkg/llm/sse/decoder.rs" | "pkg/agent/core/machine.rs")
    };
    let files: Vec<_> = rust_files(&["pkg"]).into_iter().filter(|file| pure(&file.path)).collect();
    for file in &files {
        let code = masks(file.code()).code;
        for word in ["async", "tokio", "futures"] {
            let line = code.lines().position(|line| line.contains(word));
            assert_eq!(line, None, "{}: `{word}` at this line, counted from 0", file.path);
        }
    }
    forgeline_testkit::say(format!("{} files are free of async code", files.len()));
}

#[test]
fn the_state_of_a_run_is_pure() {
    let files = rust_files(&["pkg/agent/state"]);
    let words = [
        "async",
        "await",
        "tokio",
        "futures",
        "Instant",
        "SystemTime",
        "HashMap",
        "HashSet",
        "rand",
        "std::fs",
        "std::env",
        "std::io",
        "std::process",
        "std::thread",
        "Mutex",
        "Atomic",
        "static ",
    ];
    for file in &files {
        let code = masks(file.code()).code;
        for word in words {
            let line = code.lines().position(|line| line.contains(word));
            assert_eq!(line, None, "{}: `{word}` at this line, counted from 0", file.path);
        }
    }
    assert!(files.iter().any(|file| file.path.ends_with("run_state.rs")), "{}", files.len());
}

#[test]
fn no_test_sleeps_and_none_is_switched_off() {
    let files = rust_files(&["pkg", "cmd", "internal"]);
    // Spelled in two halves, so that this file does not find itself.
    let (sleep, ignore) = (["slee", "p("].concat(), ["#[ign", "ore"].concat());
    for file in &files {
        let line = file.tests().lines().position(|line| line.contains(&ignore));
        assert_eq!(line, None, "{}: `{ignore}` at this line of its tests", file.path);
        // On a paused clock nobody waits, and the order of two sleeps is sure.
        let is_paused = file.tests().contains("start_paused = true");
        let line = file.tests().lines().position(|line| line.contains(&sleep) && !is_paused);
        assert_eq!(line, None, "{}: `{sleep}` at this line of its tests", file.path);
    }
    forgeline_testkit::say(format!("{} files: no test sleeps, none is switched off", files.len()));
}

#[test]
fn every_limit_and_option_states_its_default() {
    for file in rust_files(&["pkg"]) {
        let name = file.path.rsplit('/').next().unwrap();
        if !matches!(name, "limits.rs" | "config.rs" | "options.rs") {
            continue;
        }
        let mut docs = String::new();
        for line in file.code().lines().map(str::trim) {
            if let Some(doc) = line.strip_prefix("///") {
                docs.push_str(doc);
            } else if !line.starts_with('#') {
                let is_field =
                    line.starts_with("pub ") && line.ends_with(',') && !line.contains('(');
                let is_stated = docs.contains("Default:") || docs.contains("Required");
                assert!(!is_field || is_stated, "{}: `{line}` lacks its default", file.path);
                docs.clear();
            }
        }
    }
}

fn is_file_or_folder(name: &str) -> bool {
    name.ends_with('/') || name.rsplit_once('.').is_some_and(|(_, end)| end == "rs")
}

#[test]
fn the_files_that_the_map_of_the_house_names_exist() {
    let files = rust_files(&["pkg", "cmd", "internal"]);
    let map = read_file("docs/architecture.md");
    let names = map.split('`').skip(1).step_by(2).filter(|name| !name.contains(['{', ' ']));
    let mut count = 0;
    for name in names.filter(|name| is_file_or_folder(name)) {
        let is_part = |path: &str| format!("/{path}").contains(&format!("/{name}"));
        let is_there = files.iter().any(|file| is_part(&file.path)) || root().join(name).exists();
        assert!(is_there, "docs/architecture.md names `{name}`, which does not exist");
        count += 1;
    }
    assert!(count > 50, "{count} names were found");
}

#[test]
fn the_make_targets_that_the_readme_names_exist() {
    let readme = read_file("README.md");
    let makefile = read_file("Makefile") + &read_file(".ci/tasks.mk");
    let mut count = 0;
    for part in readme.split('`').flat_map(str::lines) {
        let part = part.trim().trim_start_matches("$ ");
        let Some(target) = part.strip_prefix("make ") else { continue };
        let target = target.split_whitespace().next().unwrap_or_default();
        assert!(
            makefile.contains(&format!("\n{target}: ")),
            "`make {target}` is not a target of the Makefile"
        );
        count += 1;
    }
    assert!(count >= 2, "the README names `make demo` and `make serve`");
}

#[test]
fn a_clone_stands_alone() {
    let entries = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.is_file()).collect();
    for folder in ["pkg", "cmd", "internal", "docs", "testdata", "fuzz/src", "fuzz/fuzz_targets"] {
        files.extend(fixtures::files(&root().join(folder)));
    }
    // Spelled in two halves, so that this file does not find itself.
    let outside = ["../", "shared"].concat();
    let conflict = ["<<<<", "<<< "].concat();
    for file in &files {
        let bytes = fs::read(file).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(&outside), "{} names {outside}", file.display());
        let is_merged = !text.lines().any(|line| line.starts_with(&conflict));
        assert!(is_merged, "{} holds a conflict of a merge", file.display());
    }
    forgeline_testkit::say(format!("{} files name nothing outside of a clone", files.len()));
    assert!(files.len() > 500, "{}", files.len());
}
