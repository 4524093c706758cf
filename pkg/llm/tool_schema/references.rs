//! The references of a schema.

use serde_json::Value;

use forgeline_json::SchemaView;

/// Prefixes of references to definitions.
const PLACES: [&str; 2] = ["#/$defs/", "#/definitions/"];

/// The whole schema, in which references are resolved.
#[derive(Debug, Clone, Copy)]
pub(super) struct SchemaDefinitions<'s> {
    root: SchemaView<'s>,
}

impl<'s> SchemaDefinitions<'s> {
    pub(super) fn new(root: &'s Value) -> Self {
        Self { root: SchemaView::new(root) }
    }

    /// Returns the schema that `reference` names; `None` if it is in another document, or does not exist.
    pub(super) fn find(self, reference: &str) -> Option<&'s Value> {
        let own = self.root.keyword("$id").and_then(Value::as_str);
        let local = own.and_then(|own| reference.strip_prefix(own.trim_end_matches('#')));
        let reference = local.unwrap_or(reference);
        let target = self.root.resolve(reference);
        target.or_else(|| self.root.resolve(&decoded(reference))).map(SchemaView::node)
    }

    /// Returns `true` for a reference to a definition of the whole schema.
    pub(super) fn is_definition(self, reference: &str) -> bool {
        let name = PLACES.iter().find_map(|place| reference.strip_prefix(place));
        name.is_some_and(|name| !name.contains(['/', '%'])) && self.find(reference).is_some()
    }
}

/// Returns a reference without its URL escapes.
fn decoded(reference: &str) -> String {
    let mut bytes = Vec::with_capacity(reference.len());
    let mut rest = reference.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let digit = |byte: u8| char::from(byte).to_digit(16);
        if let [b'%', high, low, after @ ..] = rest
            && let (Some(high), Some(low)) = (digit(*high), digit(*low))
        {
            bytes.extend(u8::try_from(high * 16 + low));
            rest = after;
        } else {
            bytes.push(byte);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
