//! Checks of a schema against a provider's rules.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::rules::{MAX_DEPTH, SchemaRules};
use crate::llm::{ProviderError, Request, ResponseFormat};

/// Maximum number of nested steps through a schema, which references can prolong; each step takes stack space.
const MAX_STEPS: usize = 512;

impl SchemaRules {
    /// Checks that `schema` needs no more than these rules allow.
    ///
    /// # Errors
    ///
    /// [`ProviderError::SchemaUnsupported`] with the keyword and its place.
    pub fn check(&self, schema: &Value) -> Result<(), ProviderError> {
        if self.object_root && schema.get("type") != Some(&json!("object")) {
            let detail = "the whole answer must be an object, at #";
            return Err(unsupported("type", detail.to_owned()));
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
                return Err(unsupported("required", detail));
            }
        }
        Ok(())
    }

    /// Checks that the enforced schemas of `request`, those of its answer and of strict tools, need
    /// no more than these rules allow.
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
            let detail = format!("{count} strict tools, and {most} are the most");
            return Err(unsupported("strict", detail));
        }
        for tool in strict {
            self.check(&tool.parameters)?;
        }
        Ok(())
    }
}

fn unsupported(feature: &str, detail: String) -> ProviderError {
    ProviderError::SchemaUnsupported { feature: feature.into(), detail: detail.into() }
}

struct Walk<'s> {
    rules: &'s SchemaRules,
    root: &'s Value,
    /// References that have already been followed.
    seen: HashSet<&'s str>,
    optional: usize,
    unions: usize,
    /// The depth of the walk, including references.
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
                return Err(unsupported("schema", format!("expected a schema at {place}")));
            }
        };
        if place.matches('/').count() > 2 * MAX_DEPTH || references.len() + self.steps > MAX_STEPS {
            let detail = format!("deeper than {MAX_DEPTH} levels, at {place}");
            return Err(unsupported("depth", detail));
        }
        let refused = |key: &&String| {
            self.rules.unsupported.contains(&key.as_str())
                || self.rules.unchecked.contains(&key.as_str())
        };
        if let Some(key) = fields.keys().find(refused) {
            return Err(unsupported(key, format!("at {place}/{key}")));
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
                let mut kinds = kind.as_array().into_iter().flatten();
                kind == "object" || kinds.any(|kind| kind == "object")
            });
        let is_closed = fields.get("additionalProperties") == Some(&json!(false));
        if self.rules.closed_objects && is_object && !is_closed {
            let detail = format!("an object must have `additionalProperties: false`, at {place}");
            return Err(unsupported("additionalProperties", detail));
        }
        let Some(Value::Object(properties)) = fields.get("properties") else { return Ok(()) };
        let required = fields.get("required").and_then(Value::as_array);
        let is_required =
            |name: &&String| required.is_some_and(|names| names.iter().any(|it| it == *name));
        let optional = properties.keys().filter(|name| !is_required(name));
        let mut optional = optional.peekable();
        if let (true, Some(name)) = (self.rules.all_required, optional.peek()) {
            let detail = format!("`{name}` must be required, and may allow null, at {place}");
            return Err(unsupported("required", detail));
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
            let detail = format!("{target} is in another document, at {place}");
            return Err(unsupported("$ref", detail));
        };
        if references.contains(&target) {
            return if self.rules.recursion {
                Ok(())
            } else {
                Err(unsupported("$ref", format!("{target} refers to itself, at {place}")))
            };
        }
        if !self.seen.insert(target) {
            return Ok(());
        }
        let found = if pointer.is_empty() { Some(self.root) } else { self.root.pointer(pointer) };
        let Some(schema) = found else {
            return Err(unsupported("$ref", format!("{target} is not there, at {place}")));
        };
        // A reference begins a new place; the depth of the path up to here still counts.
        let way = place.matches('/').count();
        self.steps += way;
        references.push(target);
        let checked = self.schema(schema, target, references);
        references.pop();
        self.steps -= way;
        checked
    }
}
