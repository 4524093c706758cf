//! The sources of the text from outside in a conversation.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use forgeline_types::{Message, Part, Text, TextOrigin};

/// The sources of the text from outside in a conversation.
///
/// Serialized as `false`, as the name of the only source, or as `true`, which is also what older journals have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum OutsideSources {
    /// There is no text from outside.
    #[default]
    None,
    /// All of it comes from the source with this name.
    Only(Text),
    /// There is text of several sources, or of one without a name.
    Several,
}

impl OutsideSources {
    /// Returns the sources of text from one source; a source without a name may be anyone.
    pub(crate) fn of(source: Option<&str>) -> Self {
        source.map_or(Self::Several, |source| Self::Only(source.into()))
    }

    /// Returns the sources of the text in a message.
    pub(crate) fn of_message(message: &Message) -> Self {
        let mut all = Self::None;
        for part in message.parts.iter().filter(|part| part.has_outside_text()) {
            let source =
                if let Part::ToolResult(result) = part { result.source.as_deref() } else { None };
            all.add(&Self::of(source));
        }
        all
    }

    /// Returns the sources of a result with this origin.
    pub(crate) fn name_of(source: Option<&str>, origin: TextOrigin) -> Option<Text> {
        source.filter(|_| origin == TextOrigin::Outside).map(Text::from)
    }

    /// Adds the sources of other text of the conversation.
    pub(crate) fn add(&mut self, other: &Self) {
        match (&*self, other) {
            (_, Self::None) => {}
            (Self::None, _) => self.clone_from(other),
            (Self::Only(own), Self::Only(other)) if own == other => {}
            _ => *self = Self::Several,
        }
    }

    /// Returns `true` if there is text from outside.
    pub(crate) fn is_any(&self) -> bool {
        !self.is_none()
    }

    /// Returns `true` if there is no text from outside.
    pub(crate) fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// Returns `true` if there is text of another source than the one with this name.
    pub(crate) fn has_other_than(&self, source: Option<&str>) -> bool {
        match self {
            Self::None => false,
            Self::Only(own) => source != Some(own.as_str()),
            Self::Several => true,
        }
    }
}

impl Serialize for OutsideSources {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_bool(false),
            Self::Only(source) => serializer.serialize_str(source),
            Self::Several => serializer.serialize_bool(true),
        }
    }
}

impl<'de> Deserialize<'de> for OutsideSources {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum WrittenSources {
            IsAny(bool),
            Only(Text),
        }

        Ok(match WrittenSources::deserialize(deserializer)? {
            WrittenSources::IsAny(false) => Self::None,
            WrittenSources::IsAny(true) => Self::Several,
            WrittenSources::Only(source) => Self::Only(source),
        })
    }
}

#[cfg(test)]
mod tests {
    use forgeline_types::{MessageRole, ToolResult};

    use super::*;

    // Rows: N-45
    #[test]
    fn n45_sources_are_none_one_or_several() {
        let only = |name| OutsideSources::of(Some(name));
        let rows = [
            (vec![], OutsideSources::None),
            (vec![only("a"), only("a")], only("a")),
            (vec![only("a"), OutsideSources::None], only("a")),
            (vec![only("a"), only("b"), only("a")], OutsideSources::Several),
            (vec![only("a"), OutsideSources::of(None)], OutsideSources::Several),
            (vec![OutsideSources::Several, only("a")], OutsideSources::Several),
        ];
        for (added, want) in rows {
            let mut all = OutsideSources::None;
            for it in &added {
                all.add(it);
            }
            assert_eq!(all, want, "{added:?}");
            let text = serde_json::to_string(&all).unwrap();
            assert_eq!(serde_json::from_str::<OutsideSources>(&text).unwrap(), want, "{text}");
        }
        let older: OutsideSources = serde_json::from_str("true").unwrap();
        assert!(older.has_other_than(Some("a")), "an older journal names no source");
        assert!(only("a").has_other_than(None) && !only("a").has_other_than(Some("a")));
    }

    // Rows: N-45
    #[test]
    fn n45_only_results_from_outside_have_a_source() {
        let result = |origin, source: Option<&str>| {
            let mut result = ToolResult::new("c", "t", "…").origin(origin);
            result.source = source.map(Text::from);
            OutsideSources::of_message(&Message::new(
                MessageRole::Tool,
                vec![Part::ToolResult(result)],
            ))
        };
        assert_eq!(result(TextOrigin::Own, Some("a")), OutsideSources::None);
        assert_eq!(result(TextOrigin::Outside, Some("a")), OutsideSources::Only("a".into()));
        assert_eq!(result(TextOrigin::Outside, None), OutsideSources::Several);
    }
}
