//! The kinds of parts in a conversation that some of its readers look for.

use super::{Message, MessageRole, Part};

/// A set of kinds of parts.
///
/// A conversation knows which kinds it has, so that those who look for a rare kind need not read all messages each turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PartKinds(u8);

impl PartKinds {
    /// Pictures and documents, also in results.
    pub const MEDIA: Self = Self(1);
    /// Items of a provider, and parts with a signature.
    pub const SIGNED: Self = Self(1 << 1);
    /// Reasoning without a signature.
    pub const PLAIN_THINKING: Self = Self(1 << 2);
    /// What a model wrote around its reasoning.
    pub const FRAMING: Self = Self(1 << 3);
    /// Calls that a model made through another tool.
    pub const INDIRECT: Self = Self(1 << 4);
    /// Results without calls in the message before them.
    pub const UNASKED: Self = Self(1 << 5);

    /// Returns the kinds of both sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns `true` if the sets have a kind in common.
    #[must_use]
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the kinds of the parts of a message; `are_asked` is `true` if its results have calls before them.
    pub(crate) fn of(message: &Message, are_asked: bool) -> Self {
        let is_unasked = message.role == MessageRole::Tool && !are_asked;
        let first = if is_unasked { Self::UNASKED } else { Self::default() };
        message.parts.iter().fold(first, |kinds, part| kinds.with(Self::of_part(part)))
    }

    fn of_part(part: &Part) -> Self {
        match part {
            Part::Text { .. } => Self::default(),
            Part::Framing { .. } => Self::FRAMING,
            Part::Thinking { signature: None, .. } => Self::PLAIN_THINKING,
            Part::Thinking { signature: Some(_), .. } | Part::ProviderItem(_) => Self::SIGNED,
            Part::ToolCall(call) => {
                let signed = if call.signature.is_some() { Self::SIGNED } else { Self::default() };
                let indirect = if call.indirect { Self::INDIRECT } else { Self::default() };
                signed.with(indirect)
            }
            Part::ToolResult(result) => {
                result.parts.iter().fold(Self::default(), |kinds, it| kinds.with(Self::of_part(it)))
            }
            Part::Image { .. } | Part::Document { .. } => Self::MEDIA,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{ItemKind, Json, ProviderItem, Signature, ToolCall, ToolResult, Transcript};

    const KINDS: [PartKinds; 6] = [
        PartKinds::MEDIA,
        PartKinds::SIGNED,
        PartKinds::PLAIN_THINKING,
        PartKinds::FRAMING,
        PartKinds::INDIRECT,
        PartKinds::UNASKED,
    ];

    fn picture() -> Part {
        Part::Image { media_type: "image/png".into(), data: "iVBORw0KGgo=".into() }
    }

    fn call() -> ToolCall {
        ToolCall::new("c", "find", json!({}))
    }

    /// A part of each form, and the places of its kinds in [`KINDS`].
    fn parts() -> Vec<(Part, Vec<usize>)> {
        let signature = || Some(Signature::new("vendor", "proof"));
        let item = ProviderItem::new("vendor", ItemKind::Reasoning, Json::parse("{}").unwrap());
        let result = |parts: Vec<Part>| {
            let mut result = ToolResult::new("c", "find", "one");
            result.parts = parts;
            Part::ToolResult(result)
        };
        let (mut signed, mut indirect) = (call(), call());
        (signed.signature, indirect.indirect) = (signature(), true);
        let document =
            Part::Document { media_type: "text/plain".into(), data: "YQ==".into(), name: None };
        vec![
            (Part::Text { text: "a".into() }, vec![]),
            (picture(), vec![0]),
            (document, vec![0]),
            (result(vec![]), vec![]),
            (result(vec![picture()]), vec![0]),
            (Part::ProviderItem(item), vec![1]),
            (Part::Thinking { text: "Hm.".into(), signature: signature() }, vec![1]),
            (Part::Thinking { text: "Hm.".into(), signature: None }, vec![2]),
            (Part::Framing { text: "<think>".into() }, vec![3]),
            (Part::ToolCall(call()), vec![]),
            (Part::ToolCall(signed), vec![1]),
            (Part::ToolCall(indirect), vec![4]),
        ]
    }

    /// The kinds that a conversation has, found by a look at all of it.
    fn looked_for(messages: &[(MessageRole, Vec<usize>)]) -> Vec<bool> {
        let (mut found, mut asks) = (vec![false; KINDS.len()], false);
        for (role, chosen) in messages {
            let is_result = *role == MessageRole::Tool;
            found[5] |= is_result && !asks;
            for part in chosen {
                for kind in &parts()[*part].1 {
                    found[*kind] = true;
                }
            }
            asks = if is_result { asks } else { chosen.iter().any(|part| *part > 8) };
        }
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_conversation_knows_the_kinds_of_its_parts_however_it_was_made(
            drawn in prop::collection::vec((0..4_usize, prop::collection::vec(0..12_usize, 0..3)), 0..6),
            before in 0..6_usize,
        ) {
            let roles = [MessageRole::System, MessageRole::User, MessageRole::Assistant, MessageRole::Tool];
            let drawn: Vec<_> = drawn.into_iter().map(|(role, parts)| (roles[role], parts)).collect();
            let message = |(role, chosen): &(MessageRole, Vec<usize>)| {
                Message::new(*role, chosen.iter().map(|part| parts()[*part].0.clone()).collect())
            };
            let messages: Vec<_> = drawn.iter().map(message).collect();
            let (first, rest) = messages.split_at(before.min(messages.len()));
            let mut pushed = Transcript::from(first.to_vec());
            let clone = pushed.clone();
            for message in rest {
                pushed.push(message.clone());
            }
            let mut extended = clone.clone();
            extended.extend(rest.iter().cloned());
            let json = serde_json::to_string(&pushed).unwrap();
            let whole = [
                pushed.clone(),
                extended,
                messages.iter().cloned().collect(),
                Transcript::shared(pushed.messages().to_vec()),
                serde_json::from_str(&json).unwrap(),
            ];
            for transcript in whole {
                let found: Vec<_> = KINDS.iter().map(|kind| transcript.may_have(*kind)).collect();
                prop_assert_eq!(&found, &looked_for(&drawn));
                prop_assert_eq!(&transcript, &pushed);
            }
            let found: Vec<_> = KINDS.iter().map(|kind| clone.may_have(*kind)).collect();
            prop_assert_eq!(found, looked_for(&drawn[..clone.len()]), "a clone keeps its own");
            // What joins the last message may bring kinds, and takes none.
            let mut joined = pushed.clone();
            prop_assert_eq!(joined.join_last(&Message::new(MessageRole::User, vec![picture()])), !messages.is_empty());
            prop_assert_eq!(joined.may_have(PartKinds::MEDIA), !messages.is_empty());
            prop_assert!(KINDS.iter().all(|kind| joined.may_have(*kind) || !pushed.may_have(*kind)));
        }
    }
}
