//! The known tools, and the part of a tool's JSON schema that describes one value.

use std::{borrow::Cow, sync::Arc};

use serde_json::{Map, Value};

use crate::{json::is_number, llm::parser::offered::Offered, types::Text};

/// The known tools, and the one named by the current call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tools {
    /// The names and JSON schemas; `None` if there are none, which saves the reference count.
    known: Option<Arc<[(Text, Value)]>>,
    called: Option<usize>,
    bounds_only: bool,
}

impl From<Arc<[(Text, Value)]>> for Tools {
    fn from(known: Arc<[(Text, Value)]>) -> Self {
        Self { known: Some(known), ..Self::default() }
    }
}

impl Tools {
    /// Returns no tools, for readers that only need to know where calls end: they need not keep text of
    /// arguments that they cannot pass on.
    pub(crate) fn bounds_only() -> Self {
        Self { bounds_only: true, ..Self::default() }
    }

    /// Returns `true` if only the ends of calls are needed.
    pub(crate) fn are_bounds_only(&self) -> bool {
        self.bounds_only
    }

    fn known(&self) -> &[(Text, Value)] {
        self.known.as_deref().unwrap_or_default()
    }

    /// Sets the name of the tool that is called.
    pub(crate) fn call(&mut self, name: &str) {
        self.called = self.known().iter().position(|(known, _)| known == name);
    }

    /// Returns `true` for the name of a known tool, or if no tools are known.
    pub(crate) fn may_be_called(&self, name: &str) -> bool {
        self.known().is_empty() || self.known().iter().any(|(known, _)| known == name)
    }

    /// Returns `true` if a call with this name counts. If only the ends of calls are needed, no tools
    /// are known, and a call whose name would decide is text.
    pub(crate) fn counts(&self, name: &str, offered: Offered) -> bool {
        match offered {
            Offered::Any => true,
            Offered::IfKnown => !self.bounds_only && self.may_be_called(name),
            Offered::Always => !self.known().is_empty() && self.may_be_called(name),
        }
    }

    /// Returns the only tool that `fits`.
    pub(crate) fn only(&self, mut fits: impl FnMut(Schema<'_>) -> bool) -> Option<&str> {
        let mut all = self.known().iter().filter(|(_, schema)| fits(Schema::new(Some(schema))));
        let (name, _) = all.next()?;
        all.next().is_none().then_some(name.as_str())
    }

    /// Returns the schema of the arguments of the tool that is called.
    pub(crate) fn schema(&self) -> Schema<'_> {
        let called = self.called.and_then(|called| self.known().get(called));
        Schema::new(called.map(|(_, schema)| schema))
    }
}

/// The form in which the text of a value is written as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As a string.
    Text,
    /// As the literal it spells, if it spells one; else as a string.
    Literal,
    /// As a list.
    List,
    /// As an object.
    Object,
}

/// The maximum number of parts of a schema that are examined for one value: references, and branches of unions.
const MAX_PARTS: usize = 64;
/// The maximum number of schemas that describe one value together.
const MAX_NODES: usize = 8;

/// The parts of a tool's schema that describe one value, any of which may apply; there may be none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schema<'s> {
    /// The whole schema, for references into it.
    root: Option<&'s Value>,
    nodes: [Option<&'s Value>; MAX_NODES],
}

impl<'s> Schema<'s> {
    fn new(root: Option<&'s Value>) -> Self {
        let mut schema = Self { root, nodes: [None; MAX_NODES] };
        if let Some(root) = root {
            schema.add(root);
        }
        schema
    }

    fn add(&mut self, node: &'s Value) {
        if self.nodes.iter().flatten().any(|known| std::ptr::eq(*known, node)) {
            return;
        }
        if let Some(place) = self.nodes.iter_mut().find(|place| place.is_none()) {
            *place = Some(node);
        }
    }

    /// Returns the target of a reference in `node`.
    fn target(self, node: &Value) -> Option<&'s Value> {
        let path = field(node, "$ref").and_then(Value::as_str)?.strip_prefix('#')?;
        self.root?.pointer(path)
    }

    /// Visits every part of the schema, including those that references and unions lead to.
    fn visit(self, look: &mut dyn FnMut(&'s Value)) {
        let nodes = self.nodes.into_iter().flatten();
        // Almost no schema has other parts.
        if !nodes.clone().any(has_other_parts) {
            return nodes.for_each(look);
        }
        let mut parts: Vec<&Value> = nodes.collect();
        let mut at = 0;
        while let Some(&part) = parts.get(at) {
            look(part);
            at += 1;
            let unions = UNIONS.into_iter();
            let branches = unions.filter_map(|union| field(part, union)?.as_array()).flatten();
            for next in self.target(part).into_iter().chain(branches).take(MAX_PARTS) {
                let is_known = parts.iter().any(|known| std::ptr::eq(*known, next));
                if !is_known && parts.len() < MAX_PARTS {
                    parts.push(next);
                }
            }
        }
    }

    /// Returns the schemas that `find` returns for the parts of this one.
    fn find(self, mut find: impl FnMut(&'s Value, &mut Self)) -> Self {
        let mut found = Self { nodes: [None; MAX_NODES], ..self };
        self.visit(&mut |part| find(part, &mut found));
        found
    }

    /// Returns the schemas of the members of an object.
    pub(crate) fn properties(self) -> Option<&'s Map<String, Value>> {
        let mut properties = None;
        self.visit(&mut |part| {
            properties = properties.or_else(|| field(part, "properties")?.as_object());
        });
        properties
    }

    /// Returns `true` if an object with these members has all required members and no unknown ones.
    pub(crate) fn covers(self, members: &Map<String, Value>) -> bool {
        let mut has_all = true;
        self.visit(&mut |part| {
            let required = field(part, "required").and_then(Value::as_array).into_iter().flatten();
            has_all &= required.filter_map(Value::as_str).all(|key| members.contains_key(key));
        });
        let properties = self.properties();
        has_all && members.keys().all(|key| properties.is_some_and(|all| all.contains_key(key)))
    }

    /// Returns the schema of a member of an object.
    pub(crate) fn member(self, name: &str) -> Self {
        let named = self.find(|part, found| {
            if let Some(member) = field(part, "properties").and_then(|all| field(all, name)) {
                found.add(member);
            }
        });
        if named.is_known() {
            return named;
        }
        self.find(|part, found| {
            let others = field(part, "additionalProperties").filter(|others| others.is_object());
            if let Some(others) = others {
                found.add(others);
            }
        })
    }

    /// Returns the schema of the items of a list.
    pub(crate) fn items(self) -> Self {
        self.find(|part, found| {
            for items in ["items", "prefixItems"].into_iter().filter_map(|key| field(part, key)) {
                if let Value::Array(each) = items {
                    for items in each {
                        found.add(items);
                    }
                } else {
                    found.add(items);
                }
            }
        })
    }

    /// Returns `true` if the schema contains any information.
    pub(crate) fn is_known(self) -> bool {
        self.nodes.iter().any(Option::is_some)
    }

    /// Returns the required form; without a schema, literals are typed and everything else is
    /// text. A value that may be a string is one, unless it spells a value of another type that is
    /// also allowed.
    pub(crate) fn form(self) -> Form {
        let types = self.types();
        if types == Types::STRING {
            Form::Text
        } else if types.has(Types::STRING) {
            Form::Literal
        } else if types.has(Types::OBJECT) {
            Form::Object
        } else if types.has(Types::ARRAY) {
            Form::List
        } else {
            Form::Literal
        }
    }

    /// Returns the JSON types that are allowed.
    pub(crate) fn types(self) -> Types {
        let mut budget = MAX_PARTS;
        let nodes = self.nodes.into_iter().flatten();
        any_of(nodes.map(|node| self.types_of(node, &mut budget)))
    }

    /// Returns the types that are allowed by a schema, by what it refers to, by its union and by its values.
    fn types_of(self, node: &'s Value, budget: &mut usize) -> Types {
        if *budget == 0 {
            return Types::default();
        }
        *budget -= 1;
        let mut types = match field(node, "type") {
            Some(Value::String(name)) => Types::named(name),
            Some(Value::Array(names)) => {
                any_of(names.iter().filter_map(Value::as_str).map(Types::named))
            }
            _ => Types::default(),
        };
        if let Some(target) = self.target(node) {
            types = types.meet(self.types_of(target, budget));
        }
        for part in field(node, "allOf").and_then(Value::as_array).into_iter().flatten() {
            types = types.meet(self.types_of(part, budget));
        }
        for union in ["anyOf", "oneOf"].into_iter().filter_map(|key| field(node, key)?.as_array()) {
            types = types.meet(any_of(union.iter().map(|part| self.types_of(part, budget))));
        }
        let values = field(node, "enum").and_then(Value::as_array).map(Vec::as_slice);
        let values = values.or_else(|| field(node, "const").map(std::slice::from_ref));
        types = types.meet(any_of(values.unwrap_or_default().iter().map(Types::of)));
        if types.is_unknown() && field(node, "properties").is_some() {
            types = Types::OBJECT;
        } else if types.is_unknown() && field(node, "items").is_some() {
            types = Types::ARRAY;
        }
        let is_nullable = field(node, "nullable").and_then(Value::as_bool).unwrap_or_default();
        if is_nullable && !types.is_unknown() { types.and(Types::NULL) } else { types }
    }
}

/// The keywords whose value is a list of schemas.
const UNIONS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Objects with up to this number of members are searched key by key, which costs less than a hash.
const FEW_MEMBERS: usize = 8;

/// Returns the member with this name.
fn field<'s>(node: &'s Value, name: &str) -> Option<&'s Value> {
    let members = node.as_object()?;
    if members.len() > FEW_MEMBERS {
        return members.get(name);
    }
    members.iter().find_map(|(key, value)| (key == name).then_some(value))
}

/// Returns `true` if a schema refers to another one or is a union.
fn has_other_parts(node: &Value) -> bool {
    let is_other = |key: &String| key == "$ref" || UNIONS.contains(&key.as_str());
    node.as_object().is_some_and(|members| members.keys().any(is_other))
}

/// Returns the types that any of several schemas allows; one without information allows all.
fn any_of(all: impl Iterator<Item = Types>) -> Types {
    let join = |one: Types, other: Types| {
        if one.is_unknown() || other.is_unknown() { Types::default() } else { one.and(other) }
    };
    all.reduce(join).unwrap_or_default()
}

/// The JSON types that a schema allows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Types(u8);

impl Types {
    pub(crate) const STRING: Self = Self(1);
    const NUMBER: Self = Self(2 | 4);
    const INTEGER: Self = Self(4);
    const FRACTION: Self = Self(2);
    const BOOLEAN: Self = Self(8);
    pub(crate) const NULL: Self = Self(16);
    pub(crate) const ARRAY: Self = Self(32);
    pub(crate) const OBJECT: Self = Self(64);
    /// All but strings.
    pub(crate) const JSON: Self = Self(126);

    /// Returns the type with this name; an unknown name carries no information.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "string" => Self::STRING,
            "number" => Self::NUMBER,
            "integer" => Self::INTEGER,
            "boolean" => Self::BOOLEAN,
            "null" => Self::NULL,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self::alias(name),
        }
    }

    /// Returns the type meant by a type name of a programming language or a database, as found in tool lists; case
    /// and text in brackets after it are ignored.
    fn alias(name: &str) -> Self {
        let name = name.trim().to_ascii_lowercase();
        let word = name.split(['(', '[', '<', ' ']).next().unwrap_or_default();
        let begins = |starts: &[&str]| starts.iter().any(|start| word.starts_with(start));
        match word {
            "string" | "str" | "text" | "varchar" | "nvarchar" | "char" | "character" | "enum" => {
                Self::STRING
            }
            "boolean" | "bool" | "binary" => Self::BOOLEAN,
            "null" | "none" | "nonetype" => Self::NULL,
            "array" | "arr" | "tuple" | "set" => Self::ARRAY,
            "object" | "obj" | "map" => Self::OBJECT,
            "bigint" | "smallint" | "tinyint" => Self::INTEGER,
            "double" | "decimal" | "real" => Self::NUMBER,
            "interval" | "internal" => Self::default(),
            _ if begins(&["int", "uint", "long", "short", "unsigned"]) => Self::INTEGER,
            _ if begins(&["num", "float"]) => Self::NUMBER,
            _ if begins(&["dict"]) => Self::OBJECT,
            _ if begins(&["list"]) => Self::ARRAY,
            _ => Self::default(),
        }
    }

    /// Returns the type of a nested value that begins with this byte.
    pub(crate) const fn beginning_with(first: u8) -> Self {
        if first == b'{' { Self::OBJECT } else { Self::ARRAY }
    }

    /// Returns the type of a value.
    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.is_f64() => Self::NUMBER,
            Value::Number(_) => Self::INTEGER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// Returns the types that either allows.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the types that both allow, if both carry information and agree.
    fn meet(self, other: Self) -> Self {
        match Self(self.0 & other.0) {
            both if !both.is_unknown() => both,
            _ if self.is_unknown() => other,
            _ => self,
        }
    }

    /// Returns `true` if one of `other` is explicitly allowed.
    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns `true` if there is no information.
    pub(crate) fn is_unknown(self) -> bool {
        self == Self::default()
    }

    /// Returns `true` if there is information, and strings are not allowed.
    pub(crate) fn are_no_strings(self) -> bool {
        !self.is_unknown() && !self.has(Self::STRING)
    }

    /// Returns the JSON literal of an allowed type that `text` spells. `None` is one if null is
    /// allowed; if strings are not, then null and all of Python's words are, in capitals too, zeros and a plus may precede a
    /// number, and an integer may be written with a fraction of zeros.
    pub(crate) fn literal(self, text: &str) -> Option<Cow<'_, str>> {
        let word = match text {
            "true" => Some(("true", Self::BOOLEAN)),
            "false" => Some(("false", Self::BOOLEAN)),
            "null" => Some(("null", Self::NULL)),
            "True" | "TRUE" if self.are_no_strings() => Some(("true", Self::BOOLEAN)),
            "False" | "FALSE" if self.are_no_strings() => Some(("false", Self::BOOLEAN)),
            "None" if self.has(Self::NULL) => Some(("null", Self::NULL)),
            "None" | "NULL" if self.are_no_strings() => Some(("null", Self::NULL)),
            _ => None,
        };
        if let Some((json, kind)) = word {
            // If strings are not allowed, nothing is closer to a missing value than null.
            let is_admitted = self.is_unknown() || self.has(kind);
            let is_null = kind == Self::NULL && self.are_no_strings();
            return (is_admitted || is_null).then_some(json.into());
        }
        let mut number: Cow<'_, str> =
            if self.are_no_strings() { plain_number(text).into() } else { text.into() };
        if self.has(Self::INTEGER) && !self.has(Self::FRACTION.and(Self::STRING)) {
            number = whole_number(&number).to_owned().into();
        }
        let is_fraction = number.contains(['.', 'e', 'E']);
        let kind = if is_fraction { Self::FRACTION } else { Self::NUMBER };
        ((self.is_unknown() || self.has(kind)) && is_number(&number)).then_some(number)
    }
}

/// Returns a number without a plus and without the leading zeros that JSON does not allow.
fn plain_number(text: &str) -> String {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign = if text.starts_with('-') { "-" } else { "" };
    let digits = unsigned.trim_start_matches('0');
    let needs_zero =
        digits.len() < unsigned.len() && !digits.starts_with(|first: char| first.is_ascii_digit());
    format!("{sign}{}{digits}", if needs_zero { "0" } else { "" })
}

/// Returns a number without a fraction of zeros.
fn whole_number(text: &str) -> &str {
    let whole = text.trim_end_matches('0').strip_suffix('.');
    whole.filter(|whole| is_number(whole) && is_number(text)).unwrap_or(text)
}

/// Returns `true` if `text` may still become a literal when more text follows.
pub(crate) fn may_be_literal(text: &str) -> bool {
    ["true", "false", "null"].iter().any(|word| word.starts_with(text))
        || text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
}

#[cfg(test)]
mod tests {
    use super::Types;

    // Found: PEER
    #[test]
    fn types_of_languages_and_databases_are_those_of_json() {
        #[rustfmt::skip]
        let rows: [(&[&str], Types); 6] = [
            (&["string", "str", "Text", "VARCHAR(20)", "char", "enum"],               Types::STRING),
            (&["integer", "int", "Int64", "uint8", "long", "short", "unsigned int", "bigint"], Types::INTEGER),
            (&["number", "num", "float", "float32", "double", "Decimal"],             Types::NUMBER),
            (&["boolean", "bool"],                                                     Types::BOOLEAN),
            (&["array", "arr", "list", "List[str]"],                                   Types::ARRAY),
            (&["object", "dict", "Dict[str, int]", "map", "OBJECT"],                   Types::OBJECT),
        ];
        for (names, want) in rows {
            for name in names {
                assert_eq!(Types::named(name), want, "{name}");
            }
        }
        for name in ["", "any", "interval", "date", "stringify"] {
            assert!(Types::named(name).is_unknown(), "{name}");
        }
    }

    // Found: PEER
    #[test]
    fn literals_are_read_as_the_types_that_are_admitted() {
        let nullable = Types::STRING.and(Types::NULL);
        #[rustfmt::skip]
        let rows = [
            (Types::INTEGER,                 "3.0",   Some("3")),
            (Types::INTEGER,                 "-30.00", Some("-30")),
            (Types::INTEGER,                 "0.0",   Some("0")),
            (Types::INTEGER,                 "3.5",   None),
            (Types::INTEGER,                 "3.",    None),
            (Types::INTEGER,                 "30",    Some("30")),
            (Types::NUMBER,                  "3.0",   Some("3.0")),
            (nullable,                       "None",  Some("null")),
            (nullable,                       "null",  Some("null")),
            (nullable,                       "True",  None),
            (Types::INTEGER.and(Types::NULL), "None", Some("null")),
            (Types::INTEGER,                 "null",  Some("null")),
            (Types::INTEGER,                 "None",  Some("null")),
            (Types::BOOLEAN,                 "FALSE", Some("false")),
            (Types::BOOLEAN,                 "TRUE",  Some("true")),
            (Types::INTEGER,                 "TRUE",  None),
            (Types::STRING,                  "NULL",  None),
            (Types::STRING,                  "None",  None),
            (Types::default(),               "None",  None),
            (Types::default(),               "3.0",   Some("3.0")),
        ];
        for (types, text, want) in rows {
            assert_eq!(types.literal(text).as_deref(), want, "{types:?} {text}");
        }
    }
}
