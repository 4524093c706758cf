//! The guide is a book: its pages are in the summary, short, and their programs compile.

use std::collections::BTreeSet;

use forgeline_testkit::{fixtures, say};

use super::source::{Source, read_file, root, rust_files};

/// Most words of a page beside its programs.
const MOST_WORDS: usize = 500;

/// The pages with more, most of them older than the limit, and the most that each may have.
const LONG: [(&str, usize); 18] = [
    ("adding-a-dialect", 1_800),
    ("adding-a-provider", 700),
    ("clients", 960),
    ("context", 1_130),
    ("deploying", 1_000),
    ("embedding", 985),
    ("events", 2_500),
    ("first-agent", 550),
    ("limits", 785),
    ("mcp", 2_370),
    ("moving", 760),
    ("observability", 780),
    ("operating", 1_510),
    ("prompts", 700),
    ("service", 4_460),
    ("skills", 510),
    ("sub-agents", 830),
    ("tools", 940),
];

/// Most words of the README.
const MOST_WORDS_OF_README: usize = 1_400;

/// The names of the pages, without the ending.
fn pages() -> BTreeSet<String> {
    let files = fixtures::files(&root().join("docs/guide"));
    let pages = files.iter().filter(|path| path.extension().is_some_and(|end| end == "md"));
    let names = pages.filter_map(|path| path.file_stem()?.to_str().map(str::to_owned));
    names.filter(|name| name != "SUMMARY").collect()
}

/// A page without its programs.
fn prose(page: &str) -> String {
    page.split("```").step_by(2).collect()
}

/// The headings of a page, as the anchors of its links.
fn anchors(page: &str) -> BTreeSet<String> {
    let prose = prose(page);
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let letters = title.chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
            letters.map(|it| if it == ' ' { '-' } else { it }).collect()
        })
        .collect()
}

#[test]
fn every_page_is_in_the_summary_once_and_begins_with_its_title() {
    let summary = read_file("docs/guide/SUMMARY.md");
    let mut listed = BTreeSet::new();
    for entry in summary.split('[').skip(1) {
        let (title, rest) = entry.split_once("](").unwrap();
        let (name, _) = rest.split_once(".md)").unwrap();
        assert!(listed.insert(name.to_owned()), "SUMMARY.md lists {name} twice");
        let page = read_file(&format!("docs/guide/{name}.md"));
        let heading = page.lines().find(|line| line.starts_with("# ")).unwrap_or_default();
        assert!(!title.is_empty() && !heading.is_empty(), "{name} has no title");
    }
    assert_eq!(listed, pages(), "SUMMARY.md and docs/guide differ");
}

#[test]
fn pages_of_the_guide_are_short() {
    let mut wrong = Vec::new();
    for page in pages() {
        let words = prose(&read_file(&format!("docs/guide/{page}.md"))).split_whitespace().count();
        let most = LONG.iter().find(|(name, _)| *name == page).map_or(MOST_WORDS, |it| it.1);
        if words > most {
            wrong.push(format!("{page}: {words} words, more than {most}"));
        }
    }
    let words = read_file("README.md").split_whitespace().count();
    say(format!("README.md has {words} words"));
    if words > MOST_WORDS_OF_README {
        wrong.push(format!("README.md: {words} words, more than {MOST_WORDS_OF_README}"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn links_within_the_guide_lead_to_headings() {
    let mut count = 0;
    for page in pages() {
        let text = read_file(&format!("docs/guide/{page}.md"));
        for target in text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()) {
            let Some((file, anchor)) = target.split_once('#') else { continue };
            if target.contains(':') || file.contains('/') {
                continue;
            }
            let file = if file.is_empty() { format!("{page}.md") } else { file.to_owned() };
            let there = anchors(&read_file(&format!("docs/guide/{file}")));
            assert!(there.contains(anchor), "{page} links to {target}, which is not a heading");
            count += 1;
        }
    }
    assert!(count > 15, "{count} links to headings");
}

#[test]
fn programs_of_the_guide_are_tests_of_the_documentation() {
    let tested = read_file("pkg/guide.rs");
    for page in pages() {
        let text = read_file(&format!("docs/guide/{page}.md"));
        let has_program = text.split("```").skip(1).step_by(2).any(|block| {
            // An excerpt leaves out something.
            let is_rust = ["rust\n", "rust,no_run\n"].iter().any(|info| block.starts_with(info));
            is_rust && !block.contains("{ … }")
        });
        let is_elsewhere = ["guides.rs", "examples.rs"].iter().any(|file| {
            let file = read_file(&format!("internal/itest/tests/it/{file}"));
            file.contains(&format!("\"{page}\""))
        });
        let is_tested = tested.contains(&format!("\"{page}.md\""));
        assert!(
            !has_program || is_tested || is_elsewhere,
            "the programs of {page} are not compiled"
        );
        assert!(!text.contains("```rust,ignore"), "{page} has a program that is not compiled");
    }
}

/// Returns `true` if a file of the library declares the type `of` or implements it, and a member `name`.
fn has_member(files: &[Source], of: &str, name: &str) -> bool {
    let types =
        ["struct", "enum", "trait", "impl", "for", "type"].map(|word| format!("{word} {of}"));
    let setters = format!("{of}:\n");
    let members =
        [format!("fn {name}("), format!("fn {name}<"), format!("pub {name}:"), format!(" {name}(")];
    // Few files name the type; the others are not searched further.
    files.iter().filter(|file| file.text.contains(of)).any(|file| {
        let is_declared = types.iter().any(|it| file.text.contains(it.as_str()));
        let has_it = members.iter().any(|it| file.text.contains(it.as_str()));
        (is_declared || file.text.contains(&setters)) && has_it
    })
}

#[test]
fn members_that_pages_name_exist() {
    let files = rust_files(&["pkg"]);
    let (mut count, mut wrong) = (0, Vec::new());
    for page in pages() {
        let text = prose(&read_file(&format!("docs/guide/{page}.md")));
        for name in text.split('`').skip(1).step_by(2) {
            let path: Vec<_> = name.split("::").collect();
            let [.., of, member] = path[..] else { continue };
            let is_type = of.starts_with(|it: char| it.is_uppercase());
            let is_member =
                member.chars().all(|it| it.is_lowercase() || it == '_' || it.is_numeric());
            if is_type && is_member {
                count += 1;
                if !has_member(&files, of, member) {
                    wrong.push(format!("{page}: {name}"));
                }
            }
        }
    }
    assert!(count > 100, "{count} members are named");
    assert!(wrong.is_empty(), "members that do not exist:\n{}", wrong.join("\n"));
}
