//! Reading the sources of this workspace.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// One source file.
pub(crate) struct Source {
    /// Path from the workspace root, with `/`.
    pub(crate) path: String,
    /// The whole text.
    pub(crate) text: String,
    /// `true` when all of it is compiled for tests only.
    is_test: bool,
}

impl Source {
    /// The text before the unit tests at the end of the file; empty in a file of tests.
    pub(crate) fn code(&self) -> &str {
        self.split().0
    }

    /// The text of the tests.
    pub(crate) fn tests(&self) -> &str {
        self.split().1
    }

    /// The lines of code: no tests, comments and empty lines.
    pub(crate) fn code_lines(&self) -> impl Iterator<Item = &str> {
        let lines = self.code().lines().map(str::trim);
        lines.filter(|line| !line.is_empty() && !line.starts_with("//"))
    }

    fn split(&self) -> (&str, &str) {
        if self.is_test {
            return ("", &self.text);
        }
        let at = self.text.find("#[cfg(test)]\nmod tests {").unwrap_or(self.text.len());
        self.text.split_at(at)
    }
}

/// The workspace root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The text of one file, named from the workspace root.
pub(crate) fn read_file(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every Rust file under `folders`, in order of path.
pub(crate) fn rust_files(folders: &[&str]) -> Vec<Source> {
    let root = root();
    let mut paths = Vec::new();
    for folder in folders {
        walk(&root.join(folder), &mut paths);
    }
    paths.sort();
    let mut files: Vec<_> = paths
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let path = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
            let is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
            Source { path, text, is_test }
        })
        .collect();
    let test_only: Vec<_> = files.iter().flat_map(test_modules).collect();
    for file in &mut files {
        file.is_test |= test_only.contains(&file.path);
    }
    assert!(!files.is_empty(), "no Rust files under {folders:?}");
    files
}

/// The tests that name a row, as `(name, file)`, by row.
pub(crate) type Tests = BTreeMap<String, Vec<(String, String)>>;

/// The tests that name rows in a comment above their attribute, such as `// Found: P3, P18` for the mark
/// `Found`.
pub(crate) fn marked_tests(mark: &str) -> Tests {
    let mark = format!("// {mark}: ");
    let mut tests = Tests::new();
    for file in rust_files(&["pkg", "cmd", "internal"]) {
        let mut rows: Vec<&str> = Vec::new();
        for line in file.text.lines().map(str::trim_start) {
            if let Some(names) = line.strip_prefix(&mark) {
                rows = names.split(", ").collect();
            } else if let Some((_, after)) = line.split_once("fn ").filter(|_| !rows.is_empty()) {
                let name = after.split('(').next().unwrap_or(after);
                for row in rows.drain(..) {
                    let test = (name.to_owned(), file.path.clone());
                    tests.entry(row.to_owned()).or_default().push(test);
                }
            }
        }
    }
    tests
}

/// The files of the modules that `file` declares for tests only.
fn test_modules(file: &Source) -> Vec<String> {
    let folder = file.path.strip_suffix("/mod.rs").or(file.path.strip_suffix(".rs")).unwrap();
    let declared = file.text.split("#[cfg(test)]\nmod ").skip(1);
    let names = declared.filter_map(|rest| rest.lines().next()?.strip_suffix(';'));
    names.map(|name| format!("{folder}/{name}.rs")).collect()
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
    {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// The three kinds of text in a source file, each with the others replaced by spaces, so that lines
/// and columns stay where they are.
pub(crate) struct Masks {
    pub(crate) code: String,
    pub(crate) comments: String,
    pub(crate) literals: String,
}

/// Tells code, line comments and string literals apart.
pub(crate) fn masks(text: &str) -> Masks {
    let mut masks = Masks { code: String::new(), comments: String::new(), literals: String::new() };
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let quoted = literal_length(rest, masks.code.chars().next_back());
        let (kind, length) = if rest.starts_with("//") {
            (1, rest.find('\n').unwrap_or(rest.len()))
        } else if let Some(length) = quoted {
            (2, length)
        } else {
            (0, first.len_utf8())
        };
        let (piece, behind) = rest.split_at(length);
        for (at, mask) in
            [&mut masks.code, &mut masks.comments, &mut masks.literals].into_iter().enumerate()
        {
            let blank = |c: char| if c == '\n' || at == kind { c } else { ' ' };
            mask.extend(piece.chars().map(blank));
        }
        rest = behind;
    }
    masks
}

/// The length of the literal at the start of `text`, behind the character `before`.
fn literal_length(text: &str, before: Option<char>) -> Option<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if text.starts_with('"') {
        let mut escaped = false;
        let end = text.char_indices().skip(1).find(|(_, c)| {
            let ends = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        return Some(end.map_or(text.len(), |(at, _)| at + 1));
    }
    if text.starts_with('r') && !before.is_some_and(|c| is_word(c) && c != 'b') {
        let hashes = text.split_at(1).1.chars().take_while(|c| *c == '#').count();
        let (head, body) = text.split_at(1 + hashes);
        let body = body.strip_prefix('"')?;
        let close = format!("\"{}", head.split_at(1).1);
        let end = body.find(&close).map_or(body.len(), |at| at + close.len());
        return Some(head.len() + 1 + end);
    }
    // `'a` is a lifetime, `'a'` and `'\n'` are characters.
    let body = text.strip_prefix('\'')?;
    let first = body.chars().next()?;
    if first == '\\' {
        return body.split_at(2).1.find('\'').map(|at| at + 4);
    }
    let behind = body.split_at(first.len_utf8()).1;
    behind.starts_with('\'').then_some(first.len_utf8() + 2)
}

#[test]
fn code_comments_and_literals_are_told_apart() {
    let text = r##"let a = "x // \" y"; // it's "b"
let c: &'a [char] = &['"', '\'', '/']; r#"z"z"# /* */ b"q""##;
    let masks = masks(text);
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&masks.code).join(" "), "let a = ; let c: &'a [char] = &[ , , ]; /* */ b");
    assert_eq!(words(&masks.comments), ["//", "it's", "\"b\""]);
    assert_eq!(words(&masks.literals).join(" "), r##""x // \" y" '"' '\'' '/' r#"z"z"# "q""##);
    assert_eq!(masks.code.lines().count(), 2);
}
