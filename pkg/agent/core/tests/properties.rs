//! I1, I2, I3 and I7 over texts made of fragments of the grammar, cut anywhere.

use proptest::prelude::*;

use super::harness::Setup;
use forgeline_types::{
    AgentEvent, FinishReason, MessageContentEvent, Repair, ThinkingContentEvent,
    ToolCallContentEvent, ToolCallEndEvent,
};

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

/// `PROPTEST_CASES` asks for more.
fn cases() -> u32 {
    ProptestConfig::default().cases.max(3000)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: cases(), ..ProptestConfig::default() })]

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
            prop_assert!(call.arguments.is_some() && !call.name.is_empty());
            let is_forgiven = call.repairs.contains(&Repair::ImplicitClose);
            let may_forgive = is_finished && setup.finish != Some(FinishReason::Length);
            prop_assert!(!is_forgiven || may_forgive || text.to_ascii_lowercase().matches("<tool").count() > 1);
        }
    }
}

/// I2: content and bodies, in order, are the input but for markers, framing and separators.
fn conserved(text: &str, events: &[AgentEvent]) -> Result<(), TestCaseError> {
    // Every place in the text where the content so far may end.
    let mut places = with_skips(&[0], text);
    // Calls in reasoning or in a fence that was never closed were counted as reasoning or as message (R4, R8).
    let twice = [Repair::RecoveredFromThinking, Repair::RecoveredFromCode];
    let recovered: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::ToolCallEnd(ToolCallEndEvent { index, repairs, .. }) => {
                repairs.iter().any(|repair| twice.contains(repair)).then_some(*index)
            }
            _ => None,
        })
        .collect();
    for event in events {
        if matches!(event, AgentEvent::ToolCallContent(ToolCallContentEvent { index, .. }) if recovered.contains(index))
        {
            continue;
        }
        let (AgentEvent::MessageContent(MessageContentEvent { content, .. })
        | AgentEvent::ThinkingContent(ThinkingContentEvent { content, .. })
        | AgentEvent::ToolCallContent(ToolCallContentEvent { content, .. })) = event
        else {
            continue;
        };
        for character in content.chars() {
            let follows = |place: &&usize| text[**place..].starts_with(character);
            let next: Vec<_> =
                places.iter().filter(follows).map(|place| place + character.len_utf8()).collect();
            places = with_skips(&next, text);
        }
        prop_assert!(!places.is_empty(), "{content:?} is not in order in {text:?}: {events:?}");
    }
    prop_assert!(places.contains(&text.len()), "bytes of {text:?} were lost: {events:?}");
    Ok(())
}

/// The places, and those behind markers and blanks that follow them.
fn with_skips(places: &[usize], text: &str) -> Vec<usize> {
    let mut all = places.to_vec();
    let mut at = 0;
    while let Some(&place) = all.get(at) {
        if let Some(tail) = skip_marker_or_blank(&text[place..]) {
            all.push(text.len() - tail.len());
        }
        at += 1;
    }
    all.sort_unstable();
    all.dedup();
    all
}

fn skip_marker_or_blank(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    if lower.starts_with(['\n', ' ']) {
        return text.get(1..);
    }
    // An empty list of calls.
    if let Some(list) = text.strip_prefix('[') {
        return list.trim_ascii_start().strip_prefix(']');
    }
    let markers = ["<tool", "</tool", "<thinking", "</thinking", "<think", "</think"];
    let marker = markers.iter().find(|marker| lower.starts_with(**marker))?;
    let tail = text.get(marker.len()..)?;
    // A value in quotes may hold a `>`.
    let end = tail.char_indices().scan(false, |quoted, (at, character)| {
        *quoted ^= character == '"';
        Some((at, character == '>' && !*quoted))
    });
    let (end, _) = end.into_iter().find(|(_, is_end)| *is_end)?;
    let inside = tail.get(..end)?;
    (inside.trim().is_empty() || inside.contains("=\"")).then(|| tail.get(end + 1..)).flatten()
}
