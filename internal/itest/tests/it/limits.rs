//! The page of limits and the documentation of each limit say what the source says.

use std::collections::BTreeMap;

use forgeline::{
    agent::{Agent, config::AgentConfig, core::StreamOptions, search::ToolSearch},
    llm::{RetryPolicy, Timeouts, TokenEstimator, sse::SseLimits},
    server::Limits,
    testing::{ScriptedProvider, ScriptedTurn},
    types::ModelInfo,
};

use super::source::{read_file, rust_files};

/// Constants that are named like a limit and are none, or that bound no input.
const OTHERS: [&str; 4] = ["MAX_MARKED_DEPTH", "MAX_WORD_BYTES", "MAX_TAG_BYTES", "MAX_FRONTS"];

/// The number that a figure means: bytes, milliseconds, or what is counted.
fn number(figure: &str) -> Option<u64> {
    let (count, unit) = figure.trim().split_once(' ').unwrap_or((figure.trim(), ""));
    let count: u64 = count.replace(',', "").parse().ok()?;
    let factor = match unit {
        "" | "B" | "ms" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    Some(count * factor)
}

/// The fields of an options struct as `Debug` shows them.
fn fields(shown: &str) -> BTreeMap<String, u64> {
    let (name, rest) = shown.split_once(" { ").unwrap();
    let times = [("ms", 1), ("ns", 0), ("s", 1_000_u64), ("", 1)];
    let field = |pair: &str| {
        let (key, text) = pair.trim_end_matches(" }").split_once(": ")?;
        let (digits, factor) =
            times.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
        Some((format!("{name}::{key}"), digits.parse::<u64>().ok()? * factor))
    };
    rest.split(", ").filter_map(field).collect()
}

/// The options with their defaults, as the library has them.
fn options() -> BTreeMap<String, u64> {
    let search = format!("{:?}", ToolSearch::default());
    let shown = [
        format!("{:?}", Timeouts::default()),
        format!("{:?}", RetryPolicy::default()),
        format!("{:?}", SseLimits::default()),
        format!("{:?}", Limits::default()),
        format!("{:?}", AgentConfig::default()).replace(&search, ""),
        search,
    ];
    let mut options: BTreeMap<_, _> = shown.iter().flat_map(|shown| fields(shown)).collect();
    let call = StreamOptions::default().max_call_bytes as u64;
    options.insert("StreamOptions::max_call_bytes".to_owned(), call);
    options
}

/// The figure after `Default: ` in the documentation of a field.
fn stated(docs: &str) -> Option<u64> {
    let (_, rest) = docs.split_once("Default: ")?;
    let stops = [". ", "; ", ", "].iter().filter_map(|stop| rest.find(stop));
    let figure = rest.split_at(stops.min().unwrap_or(rest.len())).0.trim_end_matches('.');
    if figure == "none" { Some(0) } else { number(figure) }
}

/// The defaults that the documentation of public fields states, by `Struct::field`.
fn documented() -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for file in rust_files(&["pkg"]) {
        let (mut owner, mut docs) = (String::new(), String::new());
        for line in file.code().lines().map(str::trim) {
            if let Some(doc) = line.strip_prefix("///") {
                docs.push_str(doc);
                continue;
            }
            if let Some(rest) = line.strip_prefix("pub struct ") {
                let name = rest.split(|letter: char| !letter.is_alphanumeric()).next();
                name.unwrap_or_default().clone_into(&mut owner);
            }
            let field = line.strip_prefix("pub ").and_then(|rest| rest.split_once(": "));
            if let Some((field, figure)) = field.and_then(|(it, _)| Some((it, stated(&docs)?))) {
                found.insert(format!("{owner}::{field}"), figure);
            }
            if !line.starts_with('#') {
                docs.clear();
            }
        }
    }
    found
}

/// Returns `true` when a constant bounds an input and so must be documented.
fn is_limit(name: &str, path: &str) -> bool {
    let is_named = name.starts_with("MAX_") || name.starts_with("DEFAULT_MAX_");
    // What bounds the look-ahead of one grammar is a property of its states.
    let is_grammar =
        path.starts_with("llm/parser/grammar/") || path == "llm/parser/bytes/byteset.rs";
    let is_check = path.starts_with("testing/conformance/") || path.contains("/tests");
    is_named && !is_grammar && !is_check && !OTHERS.contains(&name)
}

// Found: R4, R6
#[test]
fn the_page_of_limits_says_what_the_source_says() {
    let (page, options) = (read_file("docs/guide/limits.md"), options());
    let mut count = 0;
    for row in page.lines().filter(|line| line.starts_with("| ") && line.contains('`')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [what, figure, _, name] = cells[..] else { panic!("four cells: {row}") };
        let told = number(figure).unwrap_or_else(|| panic!("{what}: {figure} is not a figure"));
        let option = options.get(name.trim_matches('`'));
        assert_eq!(option, Some(&told), "{what}: the page says {figure} of {name}");
        count += 1;
    }
    assert!((20..=30).contains(&count), "{count} limits are on the page");
}

/// Pages say which share of a window a conversation may use, in these words.
const SHARE: &str = "three quarters of its model's window if the window is known";

#[tokio::test]
async fn a_conversation_uses_the_share_of_its_window_that_the_pages_state() {
    for page in ["README.md", "docs/guide/limits.md"] {
        let text = read_file(page).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(SHARE), "{page} does not say: {SHARE}");
    }
    // The tokens of a message and its answer are fewer than those between the share and its neighbours.
    for (window, most, least) in [(Some(4_000), 3_000, 2_900), (None, u64::MAX, 4_000)] {
        let model = ModelInfo::new("scripted", "of no catalog").context_tokens(window);
        let provider = ScriptedProvider::from_fn(|_| ScriptedTurn::new().text("So it is."));
        let provider = provider.info_of(model);
        let conversation = Agent::builder(provider.clone()).build().unwrap().conversation();
        for turn in 0..300 {
            conversation.run(format!("Question {turn}: is it so?")).await.unwrap();
        }
        let estimator = TokenEstimator::new();
        let used = provider.requests().iter().map(|it| estimator.request(it)).max().unwrap();
        assert!((least..=most).contains(&used), "{window:?}: {used} tokens in a request");
    }
}

#[test]
fn every_option_states_the_default_that_it_has() {
    let documented = documented();
    for (option, value) in options() {
        let stated = documented.get(&option);
        assert_eq!(stated, Some(&value), "the documentation of {option} states another default");
    }
}

#[test]
fn every_limit_is_documented_where_it_is_declared() {
    let mut count = 0;
    for file in rust_files(&["pkg"]) {
        let path = file.path.trim_start_matches("pkg/");
        let mut is_documented = false;
        for line in file.code().lines().map(str::trim) {
            let name = line.split_once("const ").and_then(|(_, rest)| rest.split_once(": "));
            if let Some((name, _)) = name.filter(|(name, _)| is_limit(name, path)) {
                assert!(is_documented, "{}: {name} has no documentation", file.path);
                count += 1;
            }
            is_documented = line.starts_with("///") || (is_documented && line.starts_with('#'));
        }
    }
    assert!(count > 150, "{count} limits were found");
}
