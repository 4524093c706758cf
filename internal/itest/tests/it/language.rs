//! The language of documentation and messages: that of the Rust standard library.

use super::source::{masks, read_file, root, rust_files};

/// First words that end in "s" and are not verbs in the third person.
const NO_VERBS: &[&str] = &[
    "always",
    "as",
    "blanks",
    "bytes",
    "deltas",
    "events",
    "false",
    "further",
    "its",
    "lines",
    "milliseconds",
    "millionths",
    "openers",
    "pairs",
    "pieces",
    "responses",
    "seconds",
    "servers",
    "tags",
    "this",
    "tokens",
    "tools",
    "unless",
    "words",
];

/// A phrase that is not used, and what replaces it.
type Phrase = (&'static str, &'static str);

/// Phrases of a private English, refused in `pkg/` and `cmd/`.
const WORDS: &[Phrase] = &[
    ("so many", "n"),
    ("without a word", "silently"),
    ("trying again", "retry"),
    ("is no ", "is not a"),
    ("are no ", "are not"),
    ("was no ", "was not a"),
    ("mended", "repaired"),
    ("mends", "repairs"),
    ("plain way", "fast path"),
    ("at hand", "current"),
    ("struck", "redacted"),
    ("strikes", "redacts"),
    ("blanks", "whitespace"),
    ("healing", "feedback"),
    ("answers as values", "structured output"),
    ("somebody", "the caller, or a name"),
    ("everybody", "each consumer"),
    ("nobody", "no caller, or a name"),
];

/// A function of `pkg/` and the first word of its documentation.
struct Documented<'t> {
    line: usize,
    word: &'t str,
}

/// The documented functions of a file.
fn functions(text: &str) -> Vec<Documented<'_>> {
    let mut found = Vec::new();
    let mut first = None;
    for (at, line) in text.lines().map(str::trim).enumerate() {
        if let Some(doc) = line.strip_prefix("///") {
            first = first.or_else(|| Some(doc.split_whitespace().next().unwrap_or_default()));
        } else if is_function(line) {
            found.extend(first.take().map(|word| Documented { line: at + 1, word }));
        } else if !is_attribute(line) {
            first = None;
        }
    }
    found
}

fn is_function(line: &str) -> bool {
    let mut words = line.split_whitespace().skip_while(|word| {
        let is_qualifier = matches!(*word, "const" | "async" | "default" | "unsafe");
        is_qualifier || word.starts_with("pub") || word.ends_with(')')
    });
    words.next() == Some("fn")
}

/// Whether `line` is an attribute or a line inside one.
fn is_attribute(line: &str) -> bool {
    line.starts_with("#[") || line == ")]" || line.starts_with("reason = ")
}

/// Whether `word` can be a verb in the third person: "Returns".
fn is_verb(word: &str) -> bool {
    let word = word.trim_end_matches(['.', ',', ':', ';']).to_lowercase();
    word.ends_with('s')
        && word.chars().all(char::is_alphabetic)
        && !NO_VERBS.contains(&word.as_str())
}

#[test]
fn functions_are_documented_by_what_they_do() {
    let files = rust_files(&["pkg"]);
    let (mut count, mut wrong) = (0, Vec::new());
    for file in &files {
        for function in functions(file.code()) {
            count += 1;
            if !is_verb(function.word) {
                wrong.push(format!("{}:{}: {}", file.path, function.line, function.word));
            }
        }
    }
    println!("{}", wrong.join("\n"));
    println!("{} of {count} functions do not begin with a verb", wrong.len());
    assert!(
        wrong.is_empty(),
        "the documentation of {} functions does not begin with a verb in the third person:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// First words of documentation that asks or points instead of naming its item.
const QUESTIONS: &[&str] =
    &["What", "Whether", "How", "Where", "Why", "Who", "So", "Which", "It", "They", "Such"];

#[test]
fn documentation_names_its_item() {
    let mut wrong = Vec::new();
    for file in rust_files(&["pkg"]) {
        let mut was_doc = false;
        for (at, line) in file.code().lines().map(str::trim).enumerate() {
            let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
            let word = doc.and_then(|doc| doc.split_whitespace().next()).unwrap_or_default();
            if !was_doc && QUESTIONS.contains(&word.trim_end_matches(['.', ',', ':'])) {
                wrong.push(format!("{}:{}: {line}", file.path, at + 1));
            }
            was_doc = doc.is_some();
        }
    }
    assert!(
        wrong.is_empty(),
        "documentation begins with a noun phrase, or a verb in the third person:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn first_words_are_found_behind_attributes() {
    let text = "/// Returns x.\nfn a() {}\n\n/// What it is.\n///\n/// More.\n#[must_use]\n#[expect(\n\
                reason = \"so\"\n)]\npub(in crate::x) const fn b() {}\n/// A field.\nx: u8,\nfn c() {}";
    let words: Vec<_> = functions(text).iter().map(|it| (it.line, it.word)).collect();
    assert_eq!(words, [(2, "Returns"), (11, "What")]);
    assert!(is_verb("Returns") && is_verb("Ends:"));
    for word in ["What", "The", "Its", "Bytes", "`text`s", "Cohere's", ""] {
        assert!(!is_verb(word), "{word}");
    }
}

/// The lines of `text` with a phrase of `WORDS`, as line, phrase and better phrase.
fn forbidden(text: &str) -> Vec<(usize, &'static str, &'static str)> {
    find(text, WORDS)
}

/// The lines of `text` with a phrase of `table`, as line, phrase and better phrase.
fn find(text: &str, table: &[Phrase]) -> Vec<(usize, &'static str, &'static str)> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line = line.to_lowercase();
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        for (word, better) in table {
            let hits = line.match_indices(word).filter(|(at, _)| {
                let (before, behind) = line.split_at(*at);
                let behind = behind.split_at(word.len()).1;
                let is_whole = word.ends_with(' ') || !behind.starts_with(is_word);
                let is_idiom = behind.starts_with("longer") || before.ends_with("there ");
                is_whole && !before.ends_with(is_word) && !is_idiom
            });
            found.extend(hits.map(|_| (at + 1, *word, *better)));
        }
    }
    found
}

/// The pages for people.
fn pages() -> Vec<(String, String)> {
    let mut paths: Vec<_> =
        ["README.md", "Makefile", "CONTRIBUTING.md", "SECURITY.md", "RELEASING.md"]
            .into_iter()
            .filter(|path| root().join(path).is_file())
            .map(str::to_owned)
            .collect();
    for folder in ["docs", "docs/adr", "docs/guide"] {
        let entries = std::fs::read_dir(root().join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let pages = names.filter(|name| name.contains(".md"));
        paths.extend(pages.map(|name| format!("{folder}/{name}")));
    }
    paths.sort();
    paths
        .into_iter()
        .map(|path| (read_file(&path), path))
        .map(|(text, path)| (path, text))
        .collect()
}

#[test]
fn documentation_and_messages_use_the_words_of_the_field() {
    let mut wrong = Vec::new();
    let mut check = |path: &str, text: &str| {
        let hits = forbidden(text);
        wrong.extend(hits.iter().map(|(line, word, better)| {
            format!("{path}:{line}: \"{}\" instead of \"{better}\"", word.trim())
        }));
    };
    let files = rust_files(&["pkg", "cmd"]);
    for file in &files {
        let masks = masks(file.code());
        check(&file.path, &masks.comments);
        check(&file.path, &masks.literals);
    }
    for (path, text) in pages() {
        check(&path, &text);
    }
    println!("{}\n{} words", wrong.join("\n"), wrong.len());
    assert!(wrong.is_empty(), "{} words are not of the field:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn forbidden_words_are_whole_words() {
    let text = "It is no error.\nThis noun is nothing, it is no longer, there is no error.\nSo many bytes; the blanks at hand.";
    let found: Vec<_> = forbidden(text).iter().map(|(line, word, _)| (*line, *word)).collect();
    assert_eq!(found, [(1, "is no "), (3, "so many"), (3, "at hand"), (3, "blanks")]);
}

/// Idioms that are not English, refused in code, tests and texts of all folders.
const IDIOMS: &[Phrase] = &[
    ("is there.", "exists"),
    ("is there,", "exists"),
    ("is not there", "does not exist"),
    ("are not there", "do not exist"),
    ("what is there", "the existing file, or a name"),
    ("stands", "is, occurs"),
    ("stands twice", "duplicate"),
    ("behind it", "after it"),
    ("what is behind", "the rest"),
    ("of what is", "a noun"),
    ("for what is", "a noun"),
    ("with what is", "a noun"),
    ("told", "informed, or a verb of the subject"),
    ("of it.", "its, or the noun"),
    ("of it,", "its, or the noun"),
];

/// The most lines with an idiom that each folder may have; the first folder with a path counts it.
const MOST_IDIOMS: [(&str, usize); 11] = [
    ("pkg/llm/parser/", 37),
    ("pkg/llm/", 0),
    ("pkg/agent/", 3),
    ("pkg/mcp/", 0),
    ("pkg/skills/", 0),
    ("pkg/server/", 0),
    ("pkg/store/", 1),
    ("pkg/testing/", 0),
    ("pkg/", 1),
    ("cmd/", 0),
    ("internal/", 41),
];

#[test]
fn idioms_become_fewer() {
    let mut now = [0; MOST_IDIOMS.len()];
    // The table of idioms has each of them.
    let is_table = |path: &str| path.ends_with("/it/language.rs");
    for file in rust_files(&["pkg", "cmd", "internal"]) {
        if is_table(&file.path) {
            continue;
        }
        let masks = masks(&file.text);
        let both = [&masks.comments, &masks.literals];
        let found = both.into_iter().flat_map(|text| find(text, IDIOMS));
        let folder = MOST_IDIOMS.iter().position(|(folder, _)| file.path.starts_with(folder));
        for (line, phrase, better) in found {
            now[folder.unwrap()] += 1;
            println!("{}:{line}: \"{phrase}\" instead of \"{better}\"", file.path);
        }
    }
    let mut wrong = Vec::new();
    for ((folder, most), now) in MOST_IDIOMS.into_iter().zip(now) {
        if now > most {
            wrong.push(format!("{folder}: {now} idioms, more than {most}"));
        } else if now * 100 < most * 95 {
            wrong.push(format!("{folder}: lower the maximum of idioms from {most} to {now}"));
        }
    }
    assert!(wrong.is_empty(), "listed above:\n{}", wrong.join("\n"));
}
