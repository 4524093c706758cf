//! The features of JSON Schema that each provider enforces.

use serde_json::{Value, json};

/// Maximum depth of a schema that is read.
pub(super) const MAX_DEPTH: usize = 64;

/// The features of JSON Schema that a provider honors when it binds an answer to a schema.
///
/// A schema that needs more is an error before the request is sent: it would be rejected or, worse, not be
/// enforced.
///
/// # Examples
///
/// ```
/// use forgeline::llm::SchemaRules;
/// use serde_json::json;
///
/// let schema = json!({ "type": "object", "properties": { "a": { "type": "integer", "minimum": 1 } } });
/// assert!(SchemaRules::ANY.check(&schema).is_ok());
/// assert!(SchemaRules::ANTHROPIC.check(&schema).is_err());
/// assert!(SchemaRules::ANTHROPIC.check(&SchemaRules::ANTHROPIC.adapt(schema)).is_ok());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts of a vendor")]
#[non_exhaustive]
pub struct SchemaRules {
    /// Keywords that change which values are allowed and are not honored, such as `oneOf`.
    pub unsupported: &'static [&'static str],
    /// Keywords that only narrow a value, such as `minimum`, and are not honored. They are left out of the
    /// schema of a type, since reading the answer into the type checks them.
    pub unchecked: &'static [&'static str],
    /// `true` if every object must have `additionalProperties: false`.
    pub closed_objects: bool,
    /// `true` if every property must be required.
    pub all_required: bool,
    /// `true` if a schema may refer to itself.
    pub recursion: bool,
    /// `true` if the root must be an object.
    pub object_root: bool,
    /// The maximum number of optional properties in the whole schema.
    pub max_optional: Option<usize>,
    /// The maximum number of properties with several types in the whole schema.
    pub max_unions: Option<usize>,
    /// The maximum number of tools in a request whose schemas are enforced.
    pub max_strict_tools: Option<usize>,
}

/// Keywords that narrow a value without changing its type.
#[rustfmt::skip]
const NARROWING: &[&str] = &[
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
    "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
    "format",
];

impl SchemaRules {
    /// The rules of a provider that honors everything, or about which nothing is known.
    pub const ANY: Self = Self {
        unsupported: &[],
        unchecked: &[],
        closed_objects: false,
        all_required: false,
        recursion: true,
        object_root: false,
        max_optional: None,
        max_unions: None,
        max_strict_tools: None,
    };

    /// The rules of OpenAI's strict mode.
    #[rustfmt::skip]
    pub const OPENAI: Self = Self {
        unsupported: &[
            "oneOf", "allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas",
            "patternProperties", "propertyNames", "contains", "unevaluatedProperties",
            "unevaluatedItems", "prefixItems",
        ],
        unchecked: &[
            "minLength", "maxLength", "uniqueItems", "minProperties", "maxProperties", "format",
        ],
        closed_objects: true,
        all_required: true,
        object_root: true,
        ..Self::ANY
    };

    /// The rules of Anthropic's output format.
    #[rustfmt::skip]
    pub const ANTHROPIC: Self = Self {
        unsupported: &[
            "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas",
            "patternProperties", "propertyNames", "contains", "unevaluatedProperties",
            "unevaluatedItems", "prefixItems",
        ],
        unchecked: NARROWING,
        closed_objects: true,
        recursion: false,
        max_optional: Some(24),
        max_unions: Some(16),
        max_strict_tools: Some(20),
        ..Self::ANY
    };

    /// The rules of Gemini's response schema.
    #[rustfmt::skip]
    pub const GEMINI: Self = Self {
        unsupported: &[
            "allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas",
            "patternProperties", "propertyNames", "contains", "unevaluatedProperties",
            "unevaluatedItems",
        ],
        unchecked: &[
            "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
            "pattern", "uniqueItems", "minProperties", "maxProperties",
        ],
        ..Self::ANY
    };

    /// Adapts the schema of a type to this provider: objects are closed, optional properties become
    /// required if the rules demand it (a type's optional field accepts `null`), and keywords that only narrow
    /// a value and are not honored are removed.
    #[must_use]
    pub fn adapt(&self, mut schema: Value) -> Value {
        self.adapt_in_place(&mut schema, 0);
        schema
    }

    fn adapt_in_place(&self, schema: &mut Value, depth: usize) {
        let Value::Object(fields) = schema else { return };
        if depth > MAX_DEPTH {
            return;
        }
        fields.retain(|key, _| !self.unchecked.contains(&key.as_str()));
        if self.unsupported.contains(&"oneOf")
            && let Some(members) = fields.remove("oneOf")
        {
            // The variants of an enum are mutually exclusive, so `anyOf` means the same as `oneOf`.
            fields.entry("anyOf").or_insert(members);
        }
        let is_object = fields.get("type") == Some(&json!("object"));
        if self.closed_objects && is_object {
            fields.entry("additionalProperties").or_insert(Value::Bool(false));
        }
        if let Some(Value::Object(properties)) = fields.get("properties") {
            let names: Vec<_> = properties.keys().cloned().map(Value::String).collect();
            if self.all_required {
                fields.insert("required".to_owned(), Value::Array(names));
            }
        }
        for (key, value) in fields.iter_mut() {
            match (key.as_str(), value) {
                // These contain values, not schemas.
                ("enum" | "const" | "default" | "examples", _) => {}
                ("properties" | "$defs" | "definitions", Value::Object(members)) => {
                    for (_, member) in members.iter_mut() {
                        self.adapt_in_place(member, depth + 1);
                    }
                }
                (_, Value::Array(members)) => {
                    for member in members {
                        self.adapt_in_place(member, depth + 1);
                    }
                }
                (_, member) => self.adapt_in_place(member, depth + 1),
            }
        }
    }
}
