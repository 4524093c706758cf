//! The form of a value: as required by the schema, and as indicated by the model.

use super::tag::TagAttributes;
use crate::grammar::schema::{Types, ValueSchema};

/// The form in which a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WrittenForm {
    /// As a string.
    Text,
    /// As the literal that it spells, if that is allowed; otherwise as a string.
    Literal(Types),
    /// As the object or list that it begins; otherwise as a literal or a string.
    Json(Types),
    /// As the object, list or literal that it is as a whole, if that is allowed; otherwise as a string.
    Union(Types),
    /// As JSON, because the model says that it is: a quoted string becomes the value that it spells or that
    /// string; if these types allow strings only, the value is a string.
    Written(Types),
}

impl WrittenForm {
    /// Returns the form required by the schema; a type given by the model counts if the schema
    /// contains no information or allows it too.
    pub(crate) fn of<'s>(
        attributes: &TagAttributes<'_>,
        schema: impl FnOnce() -> ValueSchema<'s>,
    ) -> Self {
        let kind = match attributes.string {
            Some(true) => Types::STRING,
            Some(false) => Types::JSON,
            None => Types::named(attributes.kind.unwrap_or_default()),
        };
        let types = schema().types();
        let nested = Types::OBJECT.and(Types::ARRAY);
        if kind == Types::STRING && (types.is_unknown() || types.has(Types::STRING)) {
            return Self::Text;
        }
        if kind == Types::JSON {
            return Self::Written(types);
        }
        let asked = if types.is_unknown() { kind } else { types };
        if asked == Types::STRING {
            Self::Text
        } else if !asked.has(nested) {
            Self::Literal(asked)
        } else if asked.has(Types::STRING) || kind == Types::STRING {
            Self::Union(asked)
        } else {
            Self::Json(asked)
        }
    }
}
