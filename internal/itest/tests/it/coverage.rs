//! What the agent must do, and the tests that prove it: `make coverage-table` writes them into the page.
//!
//! A test names its rows in a comment `// Covers: T-03, E-31` above its attribute. A row without a test has
//! a reason, or the topic that it comes with.

use std::{collections::BTreeMap, fs};

use super::source::{Tests, marked_tests, read_file, root};

const PAGE: &str = "docs/coverage.md";
/// What is in place of tests.
const WITHOUT: [&str; 2] = ["reason: ", "comes with: "];
/// Most words that say what a row is about.
const MOST_WORDS: usize = 12;

/// The id of a row of the page, what it is about, and what proves it.
fn row(line: &str) -> Option<[&str; 3]> {
    let mut cells = line.strip_prefix("| ")?.strip_suffix(" |")?.splitn(3, " | ");
    let row = [cells.next()?, cells.next()?, cells.next()?];
    row[0].ends_with(|last: char| last.is_ascii_digit()).then_some(row)
}

/// A line of the page with the tests of today.
fn written(line: &str, tests: &Tests) -> String {
    let Some([id, what, _]) = row(line) else { return line.to_owned() };
    let Some(tests) = tests.get(id) else { return line.to_owned() };
    let cell: Vec<_> = tests.iter().map(|(name, file)| format!("`{file}` · `{name}`")).collect();
    format!("| {id} | {what} | {} |", cell.join("<br>"))
}

#[test]
fn every_row_has_a_test_a_reason_or_what_it_comes_with() {
    let tests = marked_tests("Covers");
    let page = read_file(PAGE);
    let wanted: String = page.lines().map(|line| written(line, &tests) + "\n").collect();
    if std::env::var_os("FORGELINE_WRITE_COVERAGE").is_some() {
        fs::write(root().join(PAGE), &wanted).unwrap();
    }
    let (mut proven, mut without) = (BTreeMap::new(), WITHOUT.map(|_| 0));
    for [id, what, proof] in wanted.lines().filter_map(row) {
        let again = proven.insert(id, tests.contains_key(id));
        assert_eq!(again, None, "{PAGE}: {id} has two rows");
        let words = what.split_whitespace().count();
        assert!(words <= MOST_WORDS, "{PAGE}: {id} takes {words} words, more than {MOST_WORDS}");
        if !tests.contains_key(id) {
            let kind = WITHOUT.iter().position(|word| proof.starts_with(word));
            let kind = kind.unwrap_or_else(|| {
                panic!("{PAGE}: {id} has no test, and neither of {WITHOUT:?}: {proof}")
            });
            without[kind] += 1;
        }
    }
    let unknown = tests.iter().find(|(id, _)| !proven.contains_key(id.as_str()));
    assert!(unknown.is_none(), "{unknown:?} is not a row of {PAGE}");
    assert_eq!(read_file(PAGE), wanted, "{PAGE} is out of date: run `make coverage-table`");
    let [reasons, later] = without;
    let covered = proven.values().filter(|it| **it).count();
    println!("{covered} rows have a test, {reasons} a reason, {later} come with a later topic");
}

#[test]
fn a_row_is_written_with_its_tests_and_nothing_else_is() {
    let tests = Tests::from([("T-03".to_owned(), vec![("ends".to_owned(), "a.rs".to_owned())])]);
    for (line, want) in [
        ("| T-03 | ends | comes with: x |", "| T-03 | ends | `a.rs` · `ends` |"),
        ("| T-04 | begins | reason: a \\| b |", "| T-04 | begins | reason: a \\| b |"),
        ("| id | what | test |", "| id | what | test |"),
        ("| --- | --- | --- |", "| --- | --- | --- |"),
        ("T-03", "T-03"),
    ] {
        assert_eq!(written(line, &tests), want);
    }
}
