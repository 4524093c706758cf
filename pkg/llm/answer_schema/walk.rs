//! Checks of a schema against a provider's rules.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::rules::{MAX_DEPTH, SchemaRules};
use crate::{ProviderError, Request, ResponseFormat};
use forgeline_json::SchemaView;

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
        let mut walk = SchemaCheck {
            rules: self,
            root: SchemaView::new(schema),
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
                let detail = format!("{count} {what}; at most {most} are allowed");
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
            let detail = format!("{count} strict tools; at most {most} are allowed");
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

struct SchemaCheck<'s> {
    rules: &'s SchemaRules,
    root: SchemaView<'s>,
    /// References that have already been followed.
    seen: HashSet<&'s str>,
    optional: usize,
    unions: usize,
    /// The depth of the walk, including references.
    steps: usize,
}

impl<'s> SchemaCheck<'s> {
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
        self.object(self.root.at(schema), place)?;
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

    fn object(&mut self, schema: SchemaView<'_>, place: &str) -> Result<(), ProviderError> {
        let is_object = schema.keyword("properties").is_some()
            || schema.type_names().any(|name| name == "object");
        let is_closed = schema.keyword("additionalProperties") == Some(&json!(false));
        if self.rules.closed_objects && is_object && !is_closed {
            let detail = format!("an object must have `additionalProperties: false`, at {place}");
            return Err(unsupported("additionalProperties", detail));
        }
        let Some(properties) = schema.properties() else { return Ok(()) };
        let is_required = |name: &&String| schema.required().any(|it| it == *name);
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
        if !target.starts_with('#') {
            let detail = format!("{target} is in another document, at {place}");
            return Err(unsupported("$ref", detail));
        }
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
        let Some(schema) = self.root.resolve(target) else {
            return Err(unsupported("$ref", format!("{target} does not exist, at {place}")));
        };
        // A reference begins a new place; the depth of the path up to here still counts.
        let way = place.matches('/').count();
        self.steps += way;
        references.push(target);
        let checked = self.schema(schema.node(), target, references);
        references.pop();
        self.steps -= way;
        checked
    }
}
