//! One schema of a JSON Schema document, with its references resolved in the whole document.

use serde_json::{Map, Value};

use super::JsonTypes;

/// The keywords whose value is a list of schemas for the same value.
const UNIONS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Objects with up to this number of members are searched key by key, which costs less than a hash.
const FEW_MEMBERS: usize = 8;

/// One schema, and the whole one that its references lead into.
#[derive(Debug, Clone, Copy)]
pub struct SchemaView<'s> {
    root: &'s Value,
    node: &'s Value,
}

impl<'s> SchemaView<'s> {
    /// Returns the view of a whole schema.
    #[doc(hidden)]
    pub fn new(root: &'s Value) -> Self {
        Self { root, node: root }
    }

    /// Returns the view of another schema inside the same whole one.
    #[doc(hidden)]
    #[must_use]
    pub fn at(self, node: &'s Value) -> Self {
        Self { node, ..self }
    }

    /// Returns the schema itself.
    #[doc(hidden)]
    pub fn node(self) -> &'s Value {
        self.node
    }

    /// Returns `true` if this is the same schema, at the same place.
    #[doc(hidden)]
    pub fn is_same(self, other: Self) -> bool {
        std::ptr::eq(self.node, other.node)
    }

    /// Returns the value of a keyword.
    #[doc(hidden)]
    pub fn keyword(self, name: &str) -> Option<&'s Value> {
        let members = self.node.as_object()?;
        if members.len() > FEW_MEMBERS {
            return members.get(name);
        }
        members.iter().find_map(|(key, value)| (key == name).then_some(value))
    }

    /// Returns the schema that the value of a keyword is.
    #[doc(hidden)]
    pub fn schema(self, keyword: &str) -> Option<Self> {
        self.keyword(keyword).map(|node| self.at(node))
    }

    /// Returns the items of a keyword whose value is a list; other values have none.
    #[doc(hidden)]
    pub fn list(self, keyword: &str) -> &'s [Value] {
        self.keyword(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Returns the schemas in the list that the value of a keyword is.
    #[doc(hidden)]
    pub fn schemas(self, keyword: &str) -> impl Iterator<Item = Self> + use<'s> {
        self.list(keyword).iter().map(move |node| self.at(node))
    }

    /// Returns the schema that a reference within the document leads to.
    #[doc(hidden)]
    pub fn resolve(self, reference: &str) -> Option<Self> {
        self.root.pointer(reference.strip_prefix('#')?).map(|node| self.at(node))
    }

    /// Returns the schema that `$ref` leads to.
    #[doc(hidden)]
    pub fn target(self) -> Option<Self> {
        self.resolve(self.keyword("$ref")?.as_str()?)
    }

    /// Returns the branches of all unions.
    #[doc(hidden)]
    pub fn branches(self) -> impl Iterator<Item = Self> + use<'s> {
        UNIONS.into_iter().flat_map(move |union| self.schemas(union))
    }

    /// Returns `true` if the schema refers to another one or is a union.
    #[doc(hidden)]
    pub fn has_other_parts(self) -> bool {
        let is_other = |key: &String| key == "$ref" || UNIONS.contains(&key.as_str());
        self.node.as_object().is_some_and(|members| members.keys().any(is_other))
    }

    /// Returns the schemas of the members of an object.
    #[doc(hidden)]
    pub fn properties(self) -> Option<&'s Map<String, Value>> {
        self.keyword("properties").and_then(Value::as_object)
    }

    /// Returns the names of the required members.
    #[doc(hidden)]
    pub fn required(self) -> impl Iterator<Item = &'s str> {
        self.list("required").iter().filter_map(Value::as_str)
    }

    /// Returns the names of the types in `type`.
    #[doc(hidden)]
    pub fn type_names(self) -> impl Iterator<Item = &'s str> {
        let kind = self.keyword("type");
        let one = kind.and_then(Value::as_str);
        one.into_iter().chain(self.list("type").iter().filter_map(Value::as_str))
    }

    /// Returns the types that are allowed by the schema, by what it refers to, by its unions and by its values.
    ///
    /// At most `budget` schemas are examined, which is reduced by their number; all others allow everything.
    #[doc(hidden)]
    pub fn types(self, budget: &mut usize) -> JsonTypes {
        if *budget == 0 {
            return JsonTypes::default();
        }
        *budget -= 1;
        let mut types = JsonTypes::any_of(self.type_names().map(JsonTypes::named));
        if let Some(target) = self.target() {
            types = types.meet(target.types(budget));
        }
        for part in self.schemas("allOf") {
            types = types.meet(part.types(budget));
        }
        for union in ["anyOf", "oneOf"] {
            let branches = self.schemas(union).map(|part| part.types(budget));
            types = types.meet(JsonTypes::any_of(branches));
        }
        let values = self.keyword("enum").and_then(Value::as_array).map(Vec::as_slice);
        let values = values.or_else(|| self.keyword("const").map(std::slice::from_ref));
        let values = values.unwrap_or_default().iter().map(JsonTypes::of_value);
        types = types.meet(JsonTypes::any_of(values));
        if types.is_unknown() && self.keyword("properties").is_some() {
            types = JsonTypes::OBJECT;
        } else if types.is_unknown() && self.keyword("items").is_some() {
            types = JsonTypes::ARRAY;
        }
        let is_nullable = self.keyword("nullable").and_then(Value::as_bool).unwrap_or_default();
        if is_nullable && !types.is_unknown() { types.and(JsonTypes::NULL) } else { types }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn types(schema: &Value) -> JsonTypes {
        SchemaView::new(schema).types(&mut 64)
    }

    #[test]
    fn types_follow_references_unions_and_values() {
        let nullable = JsonTypes::STRING.and(JsonTypes::NULL);
        #[rustfmt::skip]
        let rows = [
            (json!({ "type": "string" }),                                       JsonTypes::STRING),
            (json!({ "type": ["string", "null"] }),                             nullable),
            (json!({ "type": "string", "nullable": true }),                     nullable),
            (json!({ "$ref": "#/$defs/a", "$defs": { "a": { "type": "array" } } }), JsonTypes::ARRAY),
            (json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }),    nullable),
            (json!({ "anyOf": [{ "type": "string" }, {}] }),                    JsonTypes::default()),
            (json!({ "allOf": [{ "type": ["string", "array"] }, { "type": "string" }] }), JsonTypes::STRING),
            (json!({ "enum": ["a", null] }),                                    nullable),
            (json!({ "const": {} }),                                            JsonTypes::OBJECT),
            (json!({ "properties": {} }),                                       JsonTypes::OBJECT),
            (json!({ "items": {} }),                                            JsonTypes::ARRAY),
            (json!({ "$ref": "#" }),                                            JsonTypes::default()),
            (json!({ "$ref": "other.json" }),                                   JsonTypes::default()),
            (json!(true),                                                       JsonTypes::default()),
        ];
        for (schema, want) in rows {
            assert_eq!(types(&schema), want, "{schema}");
        }
    }
}
