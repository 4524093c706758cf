//! The size of the library, and what makes it larger than its job: `make size` prints this report.

use super::{
    layers, repetition,
    source::{Source, masks, rust_files},
    type_names,
};

/// Lines without tests that a file should have at most; longer ones are listed.
const AIM: usize = 300;
/// Lines that no file may exceed.
const MOST: usize = 500;

/// A part of `pkg/` with a budget of code lines: no tests, comments, documentation, empty lines.
struct Budget {
    room: &'static str,
    /// Its paths below `pkg/`; the first room with a prefix of a path has the file.
    prefixes: &'static [&'static str],
    /// The most lines that it may have: the figure rounded up to the next `STEP`.
    lines: usize,
    /// The lines that it is to reach; `None` for a room without an aim.
    aim: Option<usize>,
}

const fn budget(
    room: &'static str,
    prefixes: &'static [&'static str],
    lines: usize,
    aim: Option<usize>,
) -> Budget {
    Budget { room, prefixes, lines, aim }
}

/// The budgets of all rooms. A budget moves down, or up with the capability that needs it.
const BUDGETS: [Budget; 10] = [
    budget("parser", &["llm/parser/"], 17_600, Some(14_500)),
    budget("llm", &["llm/"], 22_800, Some(16_500)),
    budget("agent, mcp, skills", &["agent/", "mcp/", "skills/"], 31_400, Some(23_000)),
    budget("server", &["server/"], 18_650, Some(10_200)),
    budget("store", &["store/"], 13_750, Some(4_000)),
    budget("testing", &["testing/"], 6_500, None),
    budget("types", &["types/"], 2_600, None),
    budget("json", &["json/"], 2_600, None),
    budget("macros", &["macros/"], 250, None),
    budget("loose files", &[""], 100, None),
];
/// Budgets are multiples of this.
const STEP: usize = 50;
/// What a budget may exceed its figure by, in percent, if that is more than a `STEP`.
const SLACK_PERCENT: usize = 3;

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
    let mut now = [0; BUDGETS.len()];
    for file in &files {
        let path = file.path.strip_prefix("pkg/").unwrap();
        let has = |it: &Budget| it.prefixes.iter().any(|prefix| path.starts_with(prefix));
        now[BUDGETS.iter().position(has).unwrap()] += file.code_lines().count();
    }
    println!("{:<36}{:>12}{:>12}  aim", "lines of code", "now", "budget");
    let mut wrong = Vec::new();
    for (it, now) in BUDGETS.iter().zip(now) {
        let aim = it.aim.map_or_else(String::new, |aim| format!("≤ {aim}"));
        println!("{:<36}{now:>12}{:>12}  {aim}", it.room, it.lines);
        wrong.extend(budget_error(it.room, it.lines, now));
    }
    println!("{:<36}{:>12}", "total", now.iter().sum::<usize>());
    type_names::report();
    let row = |name: &str, now: String, aim: String| println!("{name:<36}{now:>12}  {aim}");

    let (repeated, lines) = repetition::count();
    let share = format!("{:.1} %", percent(repeated, lines));
    row("lines repeated by three vendors", share, format!("≤ {} %", repetition::MOST_PERCENT));
    let (cycles, modules) = layers::count();
    row("import cycles (modules in them)", format!("{cycles} ({modules})"), "0".to_owned());
    let (examples, items) = examples(&files);
    let each = format!("{:.2}", percent(examples, items) / 100.0);
    row("compiled examples per public item", each, format!("≥ 0.{}", EXAMPLES / 10));
    row("silent slices of text", silent(&files).to_string(), "0".to_owned());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The error of a room with `now` lines of code whose budget is `lines`.
fn budget_error(room: &str, lines: usize, now: usize) -> Option<String> {
    if now > lines {
        return Some(format!("{room} has {now} lines of code, more than its budget of {lines}"));
    }
    let slack = (now * SLACK_PERCENT / 100).max(STEP - 1);
    let lower = now.next_multiple_of(STEP);
    (lines > now + slack).then(|| format!("{room}: lower the budget to {lower}"))
}

#[test]
fn a_budget_is_neither_exceeded_nor_too_large() {
    let cases = [
        ("kept", 1_000, 1_000, None),
        ("rounded up", 1_050, 1_001, None),
        ("within 3 %", 10_300, 10_000, None),
        (
            "exceeded",
            1_000,
            1_001,
            Some("room has 1001 lines of code, more than its budget of 1000"),
        ),
        ("too large", 10_350, 10_000, Some("room: lower the budget to 10000")),
    ];
    for (name, lines, now, want) in cases {
        assert_eq!(budget_error("room", lines, now).as_deref(), want, "{name}");
    }
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
