//! The size of the library, and what makes it larger than its job: `make size` prints this report.

use super::{
    layers, repetition,
    source::{Source, masks, rust_files},
};

/// Lines without tests that a file should have at most; longer ones are listed.
const AIM: usize = 300;
/// Lines that no file may exceed.
const MOST: usize = 500;

/// A part of `pkg/` with a limit of code lines: no tests, comments, documentation, empty lines.
struct Room {
    name: &'static str,
    /// Its paths below `pkg/`; the first room with a prefix of a path has the file.
    prefixes: &'static [&'static str],
    aim: usize,
}

const ROOMS: [Room; 6] = [
    Room { name: "parser and families", prefixes: &["llm/parser/"], aim: 9_000 },
    Room {
        name: "six vendors",
        prefixes: &[
            "llm/openai/",
            "llm/anthropic/",
            "llm/responses/",
            "llm/gemini/",
            "llm/ollama/",
            "llm/cohere/",
        ],
        aim: 4_600,
    },
    Room {
        name: "record, replay, conformance, demo",
        prefixes: &["testing/conformance/", "testing/record/", "testing/replay/", "llm/demo/"],
        aim: 3_800,
    },
    Room { name: "rest of llm", prefixes: &["llm/", "testing/"], aim: 5_300 },
    Room { name: "agent", prefixes: &["agent/"], aim: 3_900 },
    Room { name: "types and json", prefixes: &["types/", "json/"], aim: 1_900 },
];
/// The limit of all rooms together and `lib.rs`; other rooms are counted apart.
const TOTAL: usize = 28_500;

/// Compiled examples in the documentation that each public item should have on average, in percent.
const EXAMPLES: usize = 60;

#[test]
fn files_are_short() {
    let mut sizes: Vec<_> = rust_files(&["pkg", "cmd"])
        .into_iter()
        .map(|file| (file.code().lines().count(), file))
        .filter(|(lines, _)| *lines > 0)
        .collect();
    sizes.sort_by_key(|(lines, _)| *lines);
    let count = sizes.len();
    let long: Vec<_> = sizes.iter().rev().take_while(|(lines, _)| *lines > AIM).collect();
    let (mut all, mut docs, mut tests) = (0, 0, 0);
    for (lines, file) in &sizes {
        all += lines;
        docs += file.code().lines().filter(|line| line.trim().starts_with("//")).count();
        tests += file.tests().lines().count();
    }
    println!("{count} files, {all} lines, {tests} lines of unit tests beside them");
    println!("median {} lines, {} files over {AIM}", sizes[count / 2].0, long.len());
    println!("documentation: {} % of the lines", docs * 100 / all);
    for (lines, file) in &long {
        println!("{lines:>5}  {}", file.path);
    }
    for (lines, file) in &long {
        assert!(*lines <= MOST, "{} has {lines} lines, more than {MOST}", file.path);
    }
}

#[test]
fn the_rooms_keep_to_their_sizes() {
    let files = rust_files(&["pkg"]);
    let mut now = [0; ROOMS.len()];
    let mut total = 0;
    for file in &files {
        let path = file.path.strip_prefix("pkg/").unwrap();
        let has = |room: &Room| room.prefixes.iter().any(|prefix| path.starts_with(prefix));
        let lines = file.code_lines().count();
        match ROOMS.iter().position(has) {
            Some(room) => now[room] += lines,
            None if path == "lib.rs" => {}
            None => continue,
        }
        total += lines;
    }
    let row = |name: &str, now: String, aim: String| println!("{name:<36}{now:>12}  {aim}");
    row("lines of code", "now".to_owned(), "aim".to_owned());
    for (room, now) in ROOMS.iter().zip(now) {
        row(room.name, now.to_string(), format!("≤ {}", room.aim));
    }
    row("total", total.to_string(), format!("≤ {TOTAL}"));

    let (repeated, lines) = repetition::count();
    let share = format!("{:.1} %", percent(repeated, lines));
    row("lines repeated by three vendors", share, format!("≤ {} %", repetition::MOST_PERCENT));
    let (cycles, modules) = layers::count();
    row("import cycles (modules in them)", format!("{cycles} ({modules})"), "0".to_owned());
    let (examples, items) = examples(&files);
    let each = format!("{:.2}", percent(examples, items) / 100.0);
    row("compiled examples per public item", each, format!("≥ 0.{}", EXAMPLES / 10));
    row("silent slices of text", silent(&files).to_string(), "0".to_owned());
}

#[expect(clippy::cast_precision_loss, reason = "counts of lines")]
fn percent(part: usize, whole: usize) -> f64 {
    part as f64 * 100.0 / whole as f64
}

/// The examples that `cargo test --doc` compiles, and the public items outside `impl` blocks.
fn examples(files: &[Source]) -> (usize, usize) {
    let (mut examples, mut items) = (0, 0);
    for line in files.iter().flat_map(|file| file.code().lines()) {
        let item = line.strip_prefix("pub ").map(|item| {
            let qualifiers = ["const fn", "async fn"];
            qualifiers.iter().find(|it| item.starts_with(**it)).map_or(item, |_| "fn")
        });
        let word = item.and_then(|item| item.split_whitespace().next());
        items += usize::from(word.is_some_and(|word| !matches!(word, "use")));
    }
    for file in files {
        let mut is_inside = false;
        for line in file.code().lines().map(str::trim) {
            let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
            let Some(info) = doc.and_then(|doc| doc.trim().strip_prefix("```")) else { continue };
            is_inside = !is_inside;
            let compiles = |word: &str| {
                matches!(word, "" | "rust" | "no_run" | "should_panic")
                    || word.starts_with("edition")
            };
            examples += usize::from(is_inside && info.split(',').all(compiles));
        }
    }
    (examples, items)
}

/// Slices whose wrong range reads as empty text: `get(a..b).unwrap_or_default()`.
fn silent(files: &[Source]) -> usize {
    files.iter().map(|file| silent_slices(&masks(file.code()).code)).sum()
}

fn silent_slices(code: &str) -> usize {
    let dense: String = code.split_whitespace().collect();
    let calls = dense.match_indices(".get(").map(|(at, call)| dense.split_at(at + call.len()).1);
    let is_silent = |rest: &str| {
        let mut depth = 1;
        let end = rest.find(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        });
        let (range, behind) = rest.split_at(end.unwrap_or(rest.len()));
        range.contains("..") && behind.starts_with(").unwrap_or_default()")
    };
    calls.filter(|rest| is_silent(rest)).count()
}

#[test]
fn silent_slices_are_counted() {
    let cases = [
        ("plain", "text.get(a..b).unwrap_or_default()", 1),
        ("nested", "text.get(start(x)..)\n    .unwrap_or_default()", 1),
        ("one byte", "text.get(at).unwrap_or_default()", 0),
        ("with a default", "text.get(..2).unwrap_or(text)", 0),
        ("two", "a.get(..b.get(c..).unwrap_or_default().len()).unwrap_or_default()", 2),
    ];
    for (name, code, want) in cases {
        assert_eq!(silent_slices(code), want, "{name}");
    }
}
