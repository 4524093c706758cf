//! Messages of errors say what to do about them.

use forgeline_testkit::say;

use super::source::rust_files;

/// Words of the part after the semicolon, of which a message has one.
const VERBS: [&str; 39] = [
    "add", "allow", "ask", "begin", "check", "choose", "continue", "correct", "delete", "flatten",
    "give", "go", "install", "leave", "let", "make", "move", "name", "omit", "open", "pass",
    "raise", "read", "record", "report", "restore", "retry", "send", "shorten", "start", "try",
    "use", "wait", "write", "change", "set", "end", "lower", "remove",
];
/// Words for what a value has to be.
const EXPECTATIONS: [&str; 4] = ["expected", "must", "needs", "at most"];

/// The messages without a remedy, with the reason.
const WITHOUT: [(&str, &str, &str); 10] = [
    ("ProviderError", "EndedEarly", "the part that arrived is kept, and retries are the library's"),
    ("ProviderError", "Aborted", "its cause says it"),
    ("ProviderError", "RetriesExhausted", "its last error says it"),
    ("ProviderError", "Cancelled", "the caller wanted it"),
    ("ProviderError", "InStream", "`remedy` says it by the kind, else the server's own words"),
    ("StoreError", "Full", "its reason says it"),
    ("StoreError", "ReadOnly", "its reason says it"),
    ("ToolError", "Cancelled", "the caller wanted it"),
    ("ToolError", "Panicked", "the tool's own words"),
    ("McpError", "Ended", "the library starts the server again"),
];

/// An error's message, with what it is of.
#[derive(Debug, PartialEq)]
struct ErrorMessage {
    owner: String,
    variant: String,
    text: String,
}

/// The messages of the errors in `code`.
fn messages(code: &str) -> Vec<ErrorMessage> {
    let (mut found, mut owner) = (Vec::new(), String::new());
    let mut lines = code.lines().map(str::trim);
    let name = |line: &str| line.split(|c: char| !c.is_alphanumeric()).next().unwrap().to_owned();
    while let Some(line) = lines.next() {
        let declared = ["enum ", "struct "].iter().find_map(|it| line.split_once(*it));
        if let Some((_, rest)) = declared.filter(|_| line.starts_with("pub")) {
            owner = name(rest);
        }
        let Some(start) = line.strip_prefix("#[error(") else { continue };
        let mut text = start.to_owned();
        while !text.ends_with(")]") {
            text.push(' ');
            text.push_str(lines.next().unwrap());
        }
        let item = lines.find(|line| !line.starts_with("#[") && !line.starts_with("//")).unwrap();
        // The error of a struct is its owner's.
        if let Some((_, rest)) = item.split_once("struct ") {
            owner = name(rest);
        }
        found.push(ErrorMessage { owner: owner.clone(), variant: name(item), text });
    }
    found
}

/// Returns `true` if a message has no words of its own: it passes on those of another.
fn is_passed_on(text: &str) -> bool {
    let literal = text.split('"').nth(1).unwrap_or_default();
    let outside = literal.split('{').map(|it| it.split_once('}').map_or(it, |(_, rest)| rest));
    !outside.flat_map(str::chars).any(char::is_alphabetic)
}

/// Returns `true` if a message says what to do, or what was expected.
fn has_remedy(text: &str) -> bool {
    let has = |text: &str, word: &str| {
        let words: Vec<_> = text.split(|c: char| !c.is_alphanumeric()).collect();
        let wanted: Vec<_> = word.split(' ').collect();
        words.windows(wanted.len()).any(|it| it == wanted)
    };
    let end = text.rsplit_once("; ").map_or("", |(_, end)| end);
    VERBS.iter().any(|word| has(end, word)) || EXPECTATIONS.iter().any(|word| has(text, word))
}

#[test]
fn messages_of_errors_say_what_to_do() {
    let files = rust_files(&["pkg"]);
    let all: Vec<_> = files.iter().flat_map(|file| messages(file.code())).collect();
    let own: Vec<_> = all.iter().filter(|it| !is_passed_on(&it.text)).collect();
    assert!(own.len() > 90, "{} messages", own.len());
    let is_excused = |it: &&&ErrorMessage| {
        WITHOUT.iter().any(|(owner, variant, _)| it.owner == *owner && it.variant == *variant)
    };
    let lacking: Vec<_> = own.iter().filter(|it| !has_remedy(&it.text)).collect();
    let wrong: Vec<_> = lacking.iter().filter(|it| !is_excused(it)).collect();
    assert!(wrong.is_empty(), "these do not say what to do, after a semicolon: {wrong:#?}");
    let excused = lacking.iter().filter(|it| is_excused(it)).count();
    assert_eq!(excused, WITHOUT.len(), "an entry of WITHOUT has a remedy or does not exist");
    say(format!("{} messages with a remedy, {excused} without", own.len() - excused));
}

#[test]
fn messages_without_a_remedy_are_found() {
    let code = "pub enum E {\n    /// One.\n    #[error(\"a {b} fails\")]\n    #[non_exhaustive]\n    One {\n\
                    #[error(\n        \"c; try again\"\n    )]\n    Two(u8),\n    #[error(\"`{d}` {e}\")]\n    Three,\n}\n\
                #[error(\"use it, then fail\")]\npub struct F;\n";
    let all = messages(code);
    let names: Vec<_> = all.iter().map(|it| format!("{}::{}", it.owner, it.variant)).collect();
    assert_eq!(names, ["E::One", "E::Two", "E::Three", "F::pub"]);
    let without = all.iter().filter(|it| !is_passed_on(&it.text) && !has_remedy(&it.text));
    let without: Vec<_> = without.map(|it| it.variant.as_str()).collect();
    assert_eq!(without, ["One", "pub"]);
}
