//! The decisions under `docs/adr`: complete, listed, and each guarded by a test that exists.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use super::source::{read_file, root};

const FOLDER: &str = "docs/adr";
const INDEX: &str = "docs/adr/README.md";

/// Most decisions: what only one room needs to know is in the README of its folder.
const MOST_DECISIONS: usize = 30;
/// Most words of one decision, and of all of them.
const MOST_WORDS: usize = 450;
const MOST_WORDS_IN_ALL: usize = 25_000;

/// The decisions to read first, in this order, and what each is about.
const FIRST: [(&str, &str); 10] = [
    ("0147", "where the crates end"),
    ("0004", "who separates reasoning from text, and who finds calls"),
    ("0003", "what a parser returns"),
    ("0010", "how events begin and end"),
    ("0018", "how markers are found without holding text back"),
    ("0025", "what a dialect is"),
    ("0029", "what a vendor is"),
    ("0072", "what decides in a run"),
    ("0118", "who drives a run in the service"),
    ("0017", "how speed is measured, and what may stay for it"),
];

struct Decision {
    file: String,
    text: String,
}

impl Decision {
    fn number(&self) -> &str {
        self.file.split('-').next().unwrap()
    }

    /// The title without its number.
    fn title(&self) -> &str {
        let line = self.text.lines().next().unwrap_or_default();
        let title = line.strip_prefix(&format!("# {}. ", self.number()));
        title.unwrap_or_else(|| panic!("{}: starts with `# {}. Title`", self.file, self.number()))
    }

    /// The value of a line such as `**Status:** Accepted`.
    fn field(&self, name: &str) -> &str {
        let mark = format!("**{name}:** ");
        let value = self.text.lines().find_map(|line| line.strip_prefix(&mark));
        value.unwrap_or_else(|| panic!("{}: has no line `{mark}…`", self.file)).trim()
    }

    /// The lines of a section.
    fn section(&self, name: &str) -> impl Iterator<Item = &str> {
        let mark = format!("## {name}");
        let lines = self.text.lines().skip_while(move |line| *line != mark).skip(1);
        lines.take_while(|line| !line.starts_with("## "))
    }

    /// The file and the test, or other text in it, of each line under *Checked by*.
    fn checks(&self) -> Vec<(&str, &str)> {
        let lines = self.section("Checked by").filter(|line| line.starts_with("* "));
        let read = |line| {
            let mut words = str::split(line, '`').skip(1).step_by(2);
            let pair = words.next().zip(words.next());
            pair.unwrap_or_else(|| panic!("{}: `{line}` is not `file` · `test`", self.file))
        };
        lines.map(read).collect()
    }
}

fn has_extension(file: &str, wanted: &str) -> bool {
    Path::new(file).extension().is_some_and(|extension| extension == wanted)
}

fn decisions() -> Vec<Decision> {
    let mut found: Vec<_> = fs::read_dir(root().join(FOLDER))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|file| has_extension(file, "md") && file != "README.md")
        .map(|file| Decision { text: read_file(&format!("{FOLDER}/{file}")), file })
        .collect();
    found.sort_by(|one, other| one.file.cmp(&other.file));
    assert!(!found.is_empty(), "no decisions under {FOLDER}");
    found
}

fn index(decisions: &[Decision]) -> String {
    let mut text = String::from(
        "# Decisions\n\n\
         One page for each decision that shapes more than one room; numbers are not reused. Reasons that matter\n\
         inside one room are in its chapter: `README.md` in each folder of `pkg`. A decision is superseded, not\n\
         edited. *Forge* says how it relates to the Go project whose design is ported. This list is written by\n\
         `make adr-index`, and a test compares it.\n\n\
         ## Ten decisions to read first\n\n",
    );
    for (number, subject) in FIRST {
        let decision = decisions.iter().find(|decision| decision.number() == number);
        let decision = decision.unwrap_or_else(|| panic!("{FOLDER} has no decision {number}"));
        writeln!(text, "1. [{}]({}): {subject}.", decision.title(), decision.file).unwrap();
    }
    text.push_str("\n## All decisions\n\n| no. | decision | Forge |\n| --- | --- | --- |\n");
    for decision in decisions {
        let (number, title, file) = (decision.number(), decision.title(), &decision.file);
        let forge = decision.field("Forge");
        writeln!(text, "| {number} | [{title}]({file}) | {forge} |").unwrap();
    }
    text
}

#[test]
fn decisions_are_few_and_short() {
    let decisions = decisions();
    assert!(decisions.len() <= MOST_DECISIONS, "{} decisions", decisions.len());
    let mut total = 0;
    for decision in &decisions {
        let words = decision.text.split_whitespace().count();
        assert!(words <= MOST_WORDS, "{}: {words} words, more than {MOST_WORDS}", decision.file);
        total += words;
    }
    assert!(total <= MOST_WORDS_IN_ALL, "{total} words in all decisions");
    forgeline_testkit::say(format!("{} decisions have {total} words", decisions.len()));
}

#[test]
fn every_decision_is_listed_once() {
    let decisions = decisions();
    let mut numbers = BTreeMap::new();
    for decision in &decisions {
        let number = decision.number();
        assert!(
            number.len() == 4 && number.parse::<u16>().is_ok(),
            "{}: NNNN-title.md",
            decision.file
        );
        if let Some(other) = numbers.insert(number, &decision.file) {
            panic!("{other} and {} have the same number", decision.file);
        }
    }
    let wanted = index(&decisions);
    if std::env::var_os("FORGELINE_WRITE_ADR_INDEX").is_some() {
        fs::write(root().join(INDEX), &wanted).unwrap();
    }
    assert_eq!(read_file(INDEX), wanted, "{INDEX} is out of date: run `make adr-index`");
    forgeline_testkit::say(format!("{} decisions are listed", decisions.len()));
}

#[test]
fn every_decision_has_its_parts() {
    for decision in decisions() {
        let date = decision.field("Date");
        assert!(date.len() == 10 && date.starts_with("20"), "{}: Date: YYYY-MM-DD", decision.file);
        let forge = decision.field("Forge");
        let is_relation = ["follows", "departs from", "has no counterpart"]
            .iter()
            .any(|relation| forge.starts_with(relation));
        assert!(
            is_relation,
            "{}: Forge: follows | departs from | has no counterpart",
            decision.file
        );
        assert!(!decision.field("Status").is_empty(), "{}: Status", decision.file);
        for part in ["Context", "Decision", "Options", "Consequences", "Checked by"] {
            let lines = decision.section(part).filter(|line| !line.is_empty()).count();
            assert!(lines > 0, "{}: the part `{part}` is missing or empty", decision.file);
        }
    }
}

#[test]
fn every_check_that_a_decision_names_exists() {
    let mut count = 0;
    for decision in decisions() {
        let checks = decision.checks();
        assert!(!checks.is_empty(), "{}: names no check", decision.file);
        for (file, name) in checks {
            assert!(root().join(file).is_file(), "{}: {file} does not exist", decision.file);
            let needle =
                if has_extension(file, "rs") { format!("fn {name}(") } else { name.to_owned() };
            assert!(read_file(file).contains(&needle), "{}: {file} has no `{name}`", decision.file);
            count += 1;
        }
    }
    forgeline_testkit::say(format!("{count} checks exist"));
}
