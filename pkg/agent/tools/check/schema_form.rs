//! The check of a schema itself, where the complete JSON Schema is not compiled in.

use serde_json::Value;

use forgeline_json::SchemaView;

/// The depth to which a schema is examined; JSON text nests no deeper.
const MAX_DEPTH: usize = 128;

/// The types of JSON Schema.
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "null", "array", "object"];

/// The keywords whose value is a schema.
const SCHEMAS: [&str; 10] = [
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
];

/// The keywords whose value is a list of schemas.
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];

/// The keywords whose value is an object of schemas.
const MAPS: [&str; 5] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// The keywords whose value is a count.
const COUNTS: [&str; 6] =
    ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"];

/// The place of a fault in a schema, such as `#/properties/limit/type`, and its description.
pub(super) struct SchemaFault {
    pub(super) member: String,
    pub(super) problem: String,
}

/// Returns the first fault of a schema that makes it useless for a check of arguments; `None` if there is none.
pub(super) fn find_fault(schema: &Value) -> Option<SchemaFault> {
    let fault = find(SchemaView::new(schema), 0)?;
    Some(SchemaFault { member: format!("#{}", fault.member), ..fault })
}

impl SchemaFault {
    /// Returns the fault as seen from the schema around it, in which it is below `place`.
    fn below(self, place: &str) -> Self {
        Self { member: format!("/{place}{}", self.member), ..self }
    }
}

/// Returns the first fault, at its place in this schema.
fn find(schema: SchemaView<'_>, depth: usize) -> Option<SchemaFault> {
    let Some(members) = schema.node().as_object() else {
        let of = |node| format!("{node} is not a schema, which is an object or a boolean");
        let is_boolean = schema.node().is_boolean();
        return (!is_boolean)
            .then(|| SchemaFault { member: String::new(), problem: of(schema.node()) });
    };
    if depth >= MAX_DEPTH {
        return None;
    }
    members.iter().find_map(|(keyword, value)| {
        let keyword = keyword.as_str();
        if let Some(problem) = problem_of(schema, keyword, value) {
            return Some(SchemaFault { member: format!("/{keyword}"), problem });
        }
        let inner = |node| find(schema.at(node), depth + 1);
        let fault = if let Some(map) = value.as_object().filter(|_| MAPS.contains(&keyword)) {
            map.iter().find_map(|(name, node)| {
                let escaped = || name.replace('~', "~0").replace('/', "~1");
                inner(node).map(|fault| fault.below(&escaped()))
            })
        } else if let Some(list) =
            value.as_array().filter(|_| LISTS.contains(&keyword) || keyword == "items")
        {
            // Older drafts have a list of schemas in `items`.
            let mut places = list.iter().enumerate();
            places.find_map(|(place, node)| Some(inner(node)?.below(&place.to_string())))
        } else if SCHEMAS.contains(&keyword) {
            inner(value)
        } else {
            None
        };
        fault.map(|fault| fault.below(keyword))
    })
}

/// Returns the problem of a keyword's own value.
fn problem_of(schema: SchemaView<'_>, keyword: &str, value: &Value) -> Option<String> {
    let is_type = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    match keyword {
        "type" => {
            let names = value.as_array();
            let is_known = names.map_or_else(
                || is_type(value),
                |names| !names.is_empty() && names.iter().all(is_type),
            );
            let problem = || format!("{value} is not a type; the types are {}", TYPES.join(", "));
            (!is_known).then(problem)
        }
        "$ref" => {
            let Some(reference) = value.as_str() else {
                return Some(format!("{value} is not a reference, which is a string"));
            };
            // Anchors and escapes are resolved by the complete check only.
            let is_pointer = reference == "#" || reference.starts_with("#/");
            let is_judged = is_pointer && !reference.contains('%') || !reference.starts_with('#');
            (is_judged && schema.resolve(reference).is_none())
                .then(|| format!("{value} leads to no place in this schema"))
        }
        "required" => {
            let is_list = value.as_array().is_some_and(|names| names.iter().all(Value::is_string));
            (!is_list).then(|| format!("{value} is not a list of names"))
        }
        "enum" => (!value.is_array()).then(|| format!("{value} is not a list of values")),
        _ if COUNTS.contains(&keyword) => {
            let is_count = value.as_f64().is_some_and(|count| count >= 0.0 && count.fract() == 0.0);
            (!is_count)
                .then(|| format!("{value} is not a count, which is an integer of at least 0"))
        }
        _ if MAPS.contains(&keyword) => {
            (!value.is_object()).then(|| format!("{value} is not an object of schemas"))
        }
        _ if LISTS.contains(&keyword) => {
            (!value.is_array()).then(|| format!("{value} is not a list of schemas"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::{RegistryError, ToolRegistry};

    /// Returns the error of registering a tool with this schema.
    fn registered(schema: &Value) -> Result<(), RegistryError> {
        let tool = crate::tools::ClientTool::new("pack", "Packs.", schema.clone());
        ToolRegistry::default().register(std::sync::Arc::new(tool))
    }

    // Rows: N-48
    #[test]
    fn a_malformed_schema_is_refused_without_the_complete_check_too() {
        #[rustfmt::skip]
        let rows = [
            (json!({ "type": "any" }),                             "#/properties/box/type"),
            (json!({ "type": ["string", "file"] }),                "#/properties/box/type"),
            (json!({ "type": [] }),                                "#/properties/box/type"),
            (json!({ "$ref": "#/$defs/Crate" }),                   "#/properties/box/$ref"),
            (json!({ "$ref": "https://example.com/crate.json" }),  "#/properties/box/$ref"),
            (json!({ "type": "array", "items": { "type": "int" } }), "#/properties/box/items/type"),
            (json!({ "anyOf": [{ "type": "null" }, { "required": "lid" }] }), "#/properties/box/anyOf/1/required"),
            (json!({ "properties": [] }),                          "#/properties/box/properties"),
            (json!({ "properties": { "a/b": "string" } }),         "#/properties/box/properties/a~1b"),
            (json!({ "minItems": -1 }),                            "#/properties/box/minItems"),
            (json!({ "properties": { "": 1 } }),                   "#/properties/box/properties/"),
            (json!({ "enum": "oak" }),                             "#/properties/box/enum"),
        ];
        for (argument, want) in rows {
            let schema = json!({ "type": "object", "properties": { "box": argument } });
            let error = registered(&schema).unwrap_err();
            let RegistryError::MalformedSchema { name, member, .. } = &error else {
                panic!("{error:?}")
            };
            assert_eq!((name.as_str(), member.as_str()), ("pack", want), "{error}");
        }
    }

    #[test]
    fn a_schema_that_may_mean_something_is_registered() {
        let schema = json!({
            "type": "object",
            "properties": {
                "self": { "$ref": "#" },
                "lid": { "$ref": "#/definitions/Lid" },
                "anchor": { "$ref": "#lid" },
                "generic": { "$ref": "#/definitions/List%3CLid%3E" },
                "type": { "type": ["string", "null"] },
                "required": { "type": "boolean", "description": "Not a keyword." },
                "any": true,
                "pair": { "items": [{ "type": "string" }, { "type": "integer" }] },
                "limit": { "minLength": 2.0, "examples": [{ "type": "any" }], "default": { "$ref": "#/no" } },
            },
            "definitions": { "Lid": { "type": "string", "x-order": 1 } },
        });
        assert_eq!(registered(&schema), Ok(()));
    }
}
