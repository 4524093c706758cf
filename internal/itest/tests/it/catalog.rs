//! The table of models against what real servers sent.

use std::{collections::BTreeSet, fs, path::PathBuf};

use forgeline::llm::ModelCard;
use forgeline_testkit::{fixtures, recorded};

fn recordings() -> Option<Vec<PathBuf>> {
    recorded::folder().map(|folder| fixtures::files(&folder))
}

/// What is after `"model":` and `"modelVersion":`.
fn names(text: &str) -> impl Iterator<Item = &str> {
    ["\"model\"", "\"modelVersion\""]
        .into_iter()
        .flat_map(|key| text.split(key).skip(1))
        .filter_map(|after| {
            let value = after.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
            value.split('"').next().filter(|name| !name.is_empty() && !name.contains('\\'))
        })
}

#[test]
fn recorded_names_have_cards_and_the_others_fall_through() {
    let Some(paths) = recordings() else { return };
    let mut found = BTreeSet::new();
    for path in paths {
        let bytes = fs::read(path).unwrap();
        found.extend(names(&String::from_utf8_lossy(&bytes)).map(str::to_owned));
    }
    let (known, unknown): (Vec<_>, Vec<_>) =
        found.iter().partition(|name| ModelCard::for_model(name).is_some());
    println!("{} known, unknown: {unknown:?}", known.len());
    assert!(known.len() >= 80 && unknown.len() * 8 <= known.len());
    assert!(!known.iter().any(|name| name.contains("tiny-")), "a file of nobody has no card");
}

#[test]
fn no_model_did_what_the_table_says_it_cannot() {
    let Some(paths) = recordings() else { return };
    let is_expectation = |path: &PathBuf| path.to_string_lossy().ends_with(".expected.json");
    let mut compared = 0;
    for path in paths.into_iter().filter(is_expectation) {
        let expected = recorded::json(&path);
        let Some(card) = expected["model"].as_str().and_then(ModelCard::for_model) else {
            continue;
        };
        let calls = expected["tool_calls"].as_array().map_or(0, Vec::len);
        let is_thinking = expected["thinking"].as_str().is_some_and(|text| !text.is_empty());
        let did = [
            ("tools", calls > 0, card.capabilities.tools),
            ("parallel tools", calls > 1, card.capabilities.parallel_tools),
            ("thinking", is_thinking, card.capabilities.thinking),
        ];
        for (what, it_did, known) in did {
            assert!(!it_did || known != Some(false), "{}: {} {what}", path.display(), card.name);
        }
        compared += 1;
    }
    assert!(compared >= 100, "{compared} recordings of known models");
}
