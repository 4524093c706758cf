//! I1, I2, I3 and I7 over texts made of fragments of the grammar, cut anywhere.

use proptest::prelude::*;

use super::harness::Setup;
use crate::types::{AgentEvent, FinishReason};

const FRAGMENTS: [&str; 44] = [
    "<",
    ">",
    "/",
    "</",
    "<tool>",
    "</tool>",
    "<tool name=\"x\">",
    "<tool n=\"",
    "<TOOL >",
    "<thinking>",
    "</thinking>",
    "<think>",
    "</think>",
    "<think >",
    "`",
    "```",
    "```\n",
    "\n",
    " ",
    "{\"tool_name\":\"t\"",
    ",\"arguments\":{",
    "\"a\":",
    "\"x</tool>y\"",
    "1",
    "}",
    "}}",
    "[",
    "]",
    "\"",
    "\\",
    "'",
    ",",
    "<tool_name>",
    "t",
    "</tool_name>",
    "<arguments>",
    "</arguments>",
    "<a>",
    "</a>",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "é日&amp;",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn any_cut_gives_the_same_events(
        fragments in prop::collection::vec(prop::sample::select(&FRAGMENTS[..]), 0..40),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        finish in prop::sample::select(&[None, Some(FinishReason::Stop), Some(FinishReason::Length)][..]),
        is_finished in any::<bool>(),
    ) {
        let text = fragments.concat();
        let chars: Vec<_> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let mut cuts: Vec<_> = cuts.iter().map(|cut| chars[cut.index(chars.len())]).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let setup = Setup { finish, is_finished, ..Setup::default() };
        let whole = setup.run([text.as_str()]);
        let cut = setup.run(cuts.windows(2).map(|pair| text.get(pair[0]..pair[1]).unwrap()));
        prop_assert_eq!(&cut, &whole);
        prop_assert_eq!(&setup.run(text.split_inclusive(|_| true)), &whole);
        conserved(&text, &whole.events)?;
        for call in whole.completion.tool_calls.iter().filter(|call| call.is_complete()) {
            prop_assert!(is_finished && call.arguments.is_some() && !call.name.is_empty());
        }
    }
}

/// I2: content and bodies, in order, are the input but for markers, framing and separators.
fn conserved(text: &str, events: &[AgentEvent]) -> Result<(), TestCaseError> {
    let mut rest = text;
    for event in events {
        let content = match event {
            AgentEvent::MessageContent { content, .. }
            | AgentEvent::ThinkingContent { content }
            | AgentEvent::ToolCallContent { content, .. } => content,
            _ => continue,
        };
        // What stands between two contents are markers and blanks: skip them, nothing else.
        loop {
            if let Some(tail) = rest.strip_prefix(content.as_str()) {
                rest = tail;
                break;
            }
            let skipped = skip_marker_or_blank(rest);
            prop_assert!(skipped.is_some(), "{content:?} does not follow at {rest:?} in {text:?}");
            rest = skipped.unwrap();
        }
    }
    while let Some(tail) = skip_marker_or_blank(rest) {
        rest = tail;
    }
    prop_assert!(rest.is_empty(), "{rest:?} was lost from {text:?}: {events:?}");
    Ok(())
}

fn skip_marker_or_blank(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    if lower.starts_with(['\n', ' ']) {
        return text.get(1..);
    }
    let markers = ["<tool", "</tool", "<thinking", "</thinking", "<think", "</think"];
    let marker = markers.iter().find(|marker| lower.starts_with(**marker))?;
    let end = text.find('>')?;
    let tail = text.get(marker.len()..end)?;
    (tail.trim().is_empty() || tail.contains("=\"")).then(|| text.get(end + 1..)).flatten()
}
