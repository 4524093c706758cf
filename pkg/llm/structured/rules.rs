//! The features of JSON Schema that a provider enforces.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::{
    llm::{ProviderError, Request, ResponseFormat},
    types::Text,
};

/// Deepest schema that is read.
const MAX_DEPTH: usize = 64;

/// Deepest way through a schema that references lengthen; each step takes stack.
const MAX_STEPS: usize = 512;

/// The features of JSON Schema that a provider honours when it binds an answer to a schema. A schema that asks for
/// more is an error before the request: it would be refused, or worse, not be honoured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "independent facts of a vendor")]
pub struct SchemaRules {
    /// Keywords that change what is allowed and are not honoured, such as `oneOf`.
    pub unsupported: &'static [&'static str],
    /// Keywords that only narrow a value, such as `minimum`, and are not honoured. Reading the answer
    /// into a type checks those, so they are left out of the schema of a type.
    pub unchecked: &'static [&'static str],
    /// `true` if every object must have `additionalProperties: false`.
    pub closed_objects: bool,
    /// `true` if every property must be required.
    pub all_required: bool,
    /// `true` if a schema may refer to itself.
    pub recursion: bool,
    /// `true` if the whole value must be an object.
    pub object_root: bool,
    /// Most properties that are not required, in the whole schema.
    pub max_optional: Option<usize>,
    /// Most properties of several types, in the whole schema.
    pub max_unions: Option<usize>,
    /// Most tools of a request whose schemas are enforced.
    pub max_strict_tools: Option<usize>,
}

/// Keywords that narrow a value without changing its type.
const NARROWING: &[&str] = &[
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "format",
];

impl SchemaRules {
    /// The rules of a provider that honours everything, or of which it is not known what it honours.
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

    /// OpenAI's strict mode.
    pub const OPENAI: Self = Self {
        unsupported: &[
            "oneOf",
            "allOf",
            "not",
            "if",
            "then",
            "else",
            "dependentRequired",
            "dependentSchemas",
            "patternProperties",
            "propertyNames",
            "contains",
            "unevaluatedProperties",
            "unevaluatedItems",
            "prefixItems",
        ],
        unchecked: &[
            "minLength",
            "maxLength",
            "uniqueItems",
            "minProperties",
            "maxProperties",
            "format",
        ],
        closed_objects: true,
        all_required: true,
        object_root: true,
        ..Self::ANY
    };

    /// Anthropic's output format.
    pub const ANTHROPIC: Self = Self {
        unsupported: &[
            "oneOf",
            "not",
            "if",
            "then",
            "else",
            "dependentRequired",
            "dependentSchemas",
            "patternProperties",
            "propertyNames",
            "contains",
            "unevaluatedProperties",
            "unevaluatedItems",
            "prefixItems",
        ],
        unchecked: NARROWING,
        closed_objects: true,
        recursion: false,
        max_optional: Some(24),
        max_unions: Some(16),
        max_strict_tools: Some(20),
        ..Self::ANY
    };

    /// Gemini's response schema.
    pub const GEMINI: Self = Self {
        unsupported: &[
            "allOf",
            "not",
            "if",
            "then",
            "else",
            "dependentRequired",
            "dependentSchemas",
            "patternProperties",
            "propertyNames",
            "contains",
            "unevaluatedProperties",
            "unevaluatedItems",
        ],
        unchecked: &[
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "minLength",
            "maxLength",
            "pattern",
            "uniqueItems",
            "minProperties",
            "maxProperties",
        ],
        ..Self::ANY
    };

    /// Checks that `schema` asks for no more than these rules.
    ///
    /// # Errors
    ///
    /// [`ProviderError::SchemaUnsupported`] with the keyword and where it stands.
    pub fn check(&self, schema: &Value) -> Result<(), ProviderError> {
        if self.object_root && schema.get("type") != Some(&json!("object")) {
            return Err(unsupported("type", "the whole answer must be an object, at #"));
        }
        let mut walk = Walk {
            rules: self,
            root: schema,
            seen: HashSet::new(),
            optional: 0,
            unions: 0,
            steps: 0,
        };
        walk.schema(schema, "#", &mut Vec::new())?;
        let limits = [
            ("optional properties", walk.optional, self.max_optional),
            ("properties of several types", walk.unions, self.max_unions),
        ];
        for (what, count, most) in limits {
            if let Some(most) = most.filter(|most| count > *most) {
                let detail = format!("{count} {what}, and {most} are the most");
                return Err(unsupported("required", &detail));
            }
        }
        Ok(())
    }

    /// Checks that the enforced schemas of `request`, those of its answer and of strict tools, ask for no
    /// more than these rules.
    ///
    /// # Errors
    ///
    /// As for [`check`](Self::check).
    pub fn check_request(&self, request: &Request) -> Result<(), ProviderError> {
        if let Some(ResponseFormat::JsonSchema { schema, strict: true, .. }) =
            &request.response_format
        {
            self.check(schema)?;
        }
        let strict = request.tools.iter().filter(|tool| tool.strict);
        let count = strict.clone().count();
        if let Some(most) = self.max_strict_tools.filter(|most| count > *most) {
            return Err(unsupported(
                "strict",
                &format!("{count} strict tools, and {most} are the most"),
            ));
        }
        for tool in strict {
            self.check(&tool.parameters)?;
        }
        Ok(())
    }

    /// Adapts the schema of a type to this provider: objects are closed, optional properties become
    /// required where the rules want it (a type's optional field takes `null`), and what only narrows
    /// a value and is not honoured is left out.
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
            // The variants of an enum exclude one another, so that any one of them is one of them.
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
                // Values, not schemas.
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

fn unsupported(feature: &str, detail: &str) -> ProviderError {
    ProviderError::SchemaUnsupported { feature: Text::from(feature), detail: Text::from(detail) }
}

struct Walk<'s> {
    rules: &'s SchemaRules,
    root: &'s Value,
    /// References that were looked through already.
    seen: HashSet<&'s str>,
    optional: usize,
    unions: usize,
    /// The depth of the walk, through references too.
    steps: usize,
}

impl<'s> Walk<'s> {
    fn schema(
        &mut self,
        schema: &'s Value,
        place: &str,
        references: &mut Vec<&'s str>,
    ) -> Result<(), ProviderError> {
        let fields = match schema {
            Value::Object(fields) => fields,
            Value::Bool(_) => return Ok(()),
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(unsupported("schema", &format!("expected a schema at {place}")));
            }
        };
        if place.matches('/').count() > 2 * MAX_DEPTH || references.len() + self.steps > MAX_STEPS {
            return Err(unsupported(
                "depth",
                &format!("deeper than {MAX_DEPTH} levels, at {place}"),
            ));
        }
        let refused = |key: &&String| {
            self.rules.unsupported.contains(&key.as_str())
                || self.rules.unchecked.contains(&key.as_str())
        };
        if let Some(key) = fields.keys().find(refused) {
            return Err(unsupported(key, &format!("at {place}/{key}")));
        }
        self.object(fields, place)?;
        if let Some(reference) = fields.get("$ref") {
            self.reference(reference, place, references)?;
        }
        let is_union =
            fields.contains_key("anyOf") || fields.get("type").is_some_and(Value::is_array);
        self.unions += usize::from(is_union);
        for (key, value) in fields {
            match (key.as_str(), value) {
                ("properties" | "patternProperties", Value::Object(members)) => {
                    for (name, member) in members {
                        self.schema(member, &format!("{place}/{key}/{name}"), references)?;
                    }
                }
                ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(members)) => {
                    for (at, member) in members.iter().enumerate() {
                        self.schema(member, &format!("{place}/{key}/{at}"), references)?;
                    }
                }
                ("items" | "additionalProperties" | "not" | "contains", member) => {
                    self.schema(member, &format!("{place}/{key}"), references)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn object(&mut self, fields: &Map<String, Value>, place: &str) -> Result<(), ProviderError> {
        let is_object = fields.contains_key("properties")
            || fields.get("type").is_some_and(|kind| {
                kind == "object"
                    || kind
                        .as_array()
                        .is_some_and(|kinds| kinds.iter().any(|kind| kind == "object"))
            });
        let is_closed = fields.get("additionalProperties") == Some(&json!(false));
        if self.rules.closed_objects && is_object && !is_closed {
            let detail = format!("an object must have `additionalProperties: false`, at {place}");
            return Err(unsupported("additionalProperties", &detail));
        }
        let Some(Value::Object(properties)) = fields.get("properties") else { return Ok(()) };
        let required = fields.get("required").and_then(Value::as_array);
        let is_required =
            |name: &&String| required.is_some_and(|names| names.iter().any(|it| it == *name));
        let optional = properties.keys().filter(|name| !is_required(name));
        let mut optional = optional.peekable();
        if let (true, Some(name)) = (self.rules.all_required, optional.peek()) {
            let detail = format!("`{name}` must be required, and may allow null, at {place}");
            return Err(unsupported("required", &detail));
        }
        self.optional += optional.count();
        Ok(())
    }

    fn reference(
        &mut self,
        reference: &'s Value,
        place: &str,
        references: &mut Vec<&'s str>,
    ) -> Result<(), ProviderError> {
        let target = reference.as_str().unwrap_or_default();
        let Some(pointer) = target.strip_prefix('#') else {
            return Err(unsupported(
                "$ref",
                &format!("{target} is in another document, at {place}"),
            ));
        };
        if references.contains(&target) {
            return if self.rules.recursion {
                Ok(())
            } else {
                Err(unsupported("$ref", &format!("{target} refers to itself, at {place}")))
            };
        }
        if !self.seen.insert(target) {
            return Ok(());
        }
        let found = if pointer.is_empty() { Some(self.root) } else { self.root.pointer(pointer) };
        let Some(schema) = found else {
            return Err(unsupported("$ref", &format!("{target} is not there, at {place}")));
        };
        // A reference begins a place of its own; the way to here still counts.
        let way = place.matches('/').count();
        self.steps += way;
        references.push(target);
        let checked = self.schema(schema, target, references);
        references.pop();
        self.steps -= way;
        checked
    }
}
