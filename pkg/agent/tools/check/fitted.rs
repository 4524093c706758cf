//! Arguments in the types that the schema of their tool asks for, where nothing is lost.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde_json::value::RawValue;

use super::{
    level::{Level, Steps},
    raw_members::RawMembers,
    validate::fits,
};
use forgeline_json::{Json, JsonTypes, SchemaView};
use serde_json::Value;

/// The number of schemas that are examined for the types of one value.
const MAX_EXAMINED: usize = 64;

/// Returns `arguments` as the schema asks for them; `None` if they stay as they are.
///
/// A string becomes the number, boolean, null, array or object that it contains where the schema allows no string, `1.0` becomes `1` where it
/// allows only integers, a required member that is missing gets its default, and `null` is removed where the schema allows
/// the member to be missing, but not null. Everything else keeps its spelling. Whether the arguments are valid is not examined.
pub(crate) fn fitted(schema: &Value, arguments: &Json) -> Option<Json> {
    // Each part of a value takes at least two bytes of its text.
    let steps = Steps::for_parts(arguments.as_str().len() / 2);
    let text = fit(SchemaView::new(schema), arguments.as_str(), steps.top())?;
    Json::parse(&text).ok()
}

/// Returns the text of a value as the schema asks for it, if that is another one.
fn fit(schema: SchemaView<'_>, text: &str, level: Level<'_>) -> Option<String> {
    let level = level.below(text.len()).filter(|_| schema.node().is_object())?;
    match text.as_bytes().first()? {
        b'"' => fit_string(schema, text, level),
        b'{' | b'[' => fit_nested(schema, text, level),
        b'-' | b'0'..=b'9' => schema.types(&mut MAX_EXAMINED.clone()).whole(text),
        _ => None,
    }
}

/// Returns the value that a string contains, where the schema allows no string.
fn fit_string(schema: SchemaView<'_>, text: &str, level: Level<'_>) -> Option<String> {
    let types = schema.types(&mut MAX_EXAMINED.clone());
    if !types.are_no_strings() {
        return None;
    }
    let content: String = serde_json::from_str(text).ok()?;
    let content = content.trim();
    let value = match content.as_bytes().first()? {
        first @ (b'{' | b'[') if types.has(JsonTypes::beginning_with(*first)) => {
            Json::parse(content).ok()?.as_str().to_owned()
        }
        _ => types.value_in_string(content)?,
    };
    let inner = fit(schema, &value, level);
    Some(inner.unwrap_or(value))
}

/// Returns an object or an array with fitted members, by each part of the schema that applies to it.
fn fit_nested(schema: SchemaView<'_>, text: &str, level: Level<'_>) -> Option<String> {
    let mut now = Cow::Borrowed(text);
    let own = if text.starts_with('{') {
        fit_object(schema, text, level)
    } else {
        fit_array(schema, text, level)
    };
    now = own.map_or(now, Cow::Owned);
    for part in schema.target().into_iter().chain(schema.schemas("allOf")) {
        now = fit(part, &now, level).map_or(now, Cow::Owned);
    }
    for union in ["anyOf", "oneOf"] {
        now = fit_union(schema, union, &now, level).map_or(now, Cow::Owned);
    }
    match now {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => Some(text),
    }
}

/// Returns a value as the only alternative asks for it that the value fits, or can be made to fit.
fn fit_union(schema: SchemaView<'_>, union: &str, text: &str, level: Level<'_>) -> Option<String> {
    let options = || schema.schemas(union);
    options().next()?;
    let value: Value = serde_json::from_str(text).ok()?;
    let mut fitting = options().filter(|option| fits(*option, &value));
    if let Some(option) = fitting.next() {
        return fit(option, text, level).filter(|_| fitting.next().is_none());
    }
    let mut made = options().filter_map(|option| {
        let made = fit(option, text, level)?;
        let value: Value = serde_json::from_str(&made).ok()?;
        fits(option, &value).then_some(made)
    });
    let first = made.next()?;
    made.all(|other| other == first).then_some(first)
}

fn fit_array(schema: SchemaView<'_>, text: &str, level: Level<'_>) -> Option<String> {
    let (all, places) = (schema.schema("items"), schema.list("prefixItems"));
    if all.is_none() && places.is_empty() {
        return None;
    }
    let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
    let fit_item = |(place, item): (usize, &&RawValue)| {
        let schema = places.get(place).map(|node| schema.at(node)).or(all)?;
        fit(schema, item.get(), level)
    };
    let made: Vec<_> = items.iter().enumerate().map(fit_item).collect();
    if made.iter().all(Option::is_none) {
        return None;
    }
    let items = items.iter().zip(made);
    let items: Vec<_> =
        items.map(|(item, made)| made.map_or(Cow::Borrowed(item.get()), Cow::Owned)).collect();
    Some(format!("[{}]", items.join(",")))
}

fn fit_object(schema: SchemaView<'_>, text: &str, level: Level<'_>) -> Option<String> {
    let (properties, others) = (schema.properties(), schema.schema("additionalProperties"));
    if properties.is_none() && others.is_none() {
        return None;
    }
    let RawMembers(members) = serde_json::from_str(text).ok()?;
    let known = |name: &str| {
        let known = properties.and_then(|properties| properties.get(name));
        known.map(|node| schema.at(node))
    };
    let is_required = |name: &str| schema.required().any(|required| required == name);
    let mut is_new = false;
    let mut made: IndexMap<Cow<'_, str>, Cow<'_, str>> = IndexMap::with_capacity(members.len());
    for (name, value) in &members {
        let member = known(name);
        // What may be missing, but not be null, is missing; what is required gets its default below.
        if value.get() == "null"
            && member.is_some_and(|member| {
                refuses_null(member) && (!is_required(name) || default_of(member).is_some())
            })
        {
            is_new = true;
            continue;
        }
        let other = member.or(others);
        let fitted = other.and_then(|schema| fit(schema, value.get(), level));
        is_new |= fitted.is_some();
        let value = fitted.map_or(Cow::Borrowed(value.get()), Cow::Owned);
        made.insert(name.as_str().into(), value);
    }
    for name in schema.required() {
        if !made.contains_key(name)
            && let Some(default) = known(name).and_then(default_of)
        {
            is_new = true;
            made.insert(name.into(), default.to_string().into());
        }
    }
    let members = made.iter().map(|(name, value)| format!("{}:{value}", Value::from(&**name)));
    is_new.then(|| format!("{{{}}}", members.collect::<Vec<_>>().join(",")))
}

/// Returns `true` if the schema says which types it allows, and null is none of them.
fn refuses_null(schema: SchemaView<'_>) -> bool {
    let types = schema.types(&mut MAX_EXAMINED.clone());
    !types.is_unknown() && !types.has(JsonTypes::NULL)
}

fn default_of(schema: SchemaView<'_>) -> Option<&Value> {
    schema.keyword("default").or_else(|| schema.target()?.keyword("default"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn made(schema: &Value, arguments: &str) -> String {
        let arguments = Json::parse(arguments).unwrap();
        let fitted = fitted(schema, &arguments);
        fitted.map_or_else(|| "as it is".to_owned(), |made| made.as_str().to_owned())
    }

    fn order() -> Value {
        json!({
            "type": "object",
            "required": ["crates", "mode"],
            "properties": {
                "crates": { "type": "integer" },
                "weight": { "type": "number" },
                "fragile": { "type": ["boolean", "null"] },
                "mode": { "$ref": "#/$defs/Mode" },
                "labels": { "type": "array", "items": { "type": "string" } },
                "stops": { "type": "array", "items": { "$ref": "#/$defs/Stop" } },
                "place": { "type": "array", "prefixItems": [{ "type": "integer" }, { "type": "string" }] },
                "limits": { "type": "object", "additionalProperties": { "type": "integer" } },
                "note": { "type": "string" },
                "any": {},
                "when": { "anyOf": [
                    { "type": "object", "required": ["day"], "properties": { "day": { "type": "integer" } } },
                    { "type": "object", "required": ["week"], "properties": { "week": { "type": "integer" } } },
                ] },
                "grade": { "enum": [1, 2, 3] },
            },
            "$defs": {
                "Mode": { "type": "string", "enum": ["sea", "air"], "default": "sea" },
                "Stop": { "type": "object", "required": ["gate"], "properties": { "gate": { "type": "integer" } } },
            },
        })
    }

    // Rows: N-39
    #[test]
    fn a_value_of_another_type_is_converted_where_nothing_is_lost() {
        #[rustfmt::skip]
        let rows = [
            ("an integer in a string",    r#"{"crates":"40"}"#,        r#"{"crates":40,"mode":"sea"}"#),
            ("a negative one",            r#"{"crates":" -7 "}"#,      r#"{"crates":-7,"mode":"sea"}"#),
            ("with a fraction of zeros",  r#"{"crates":5.0}"#,         r#"{"crates":5,"mode":"sea"}"#),
            ("with an exponent",          r#"{"crates":1.2e3}"#,       r#"{"crates":1200,"mode":"sea"}"#),
            ("both",                      r#"{"crates":"2.00"}"#,      r#"{"crates":2,"mode":"sea"}"#),
            ("a large one",               r#"{"crates":"90071992547409931234"}"#, r#"{"crates":90071992547409931234,"mode":"sea"}"#),
            ("a number in a string",      r#"{"crates":1,"mode":"air","weight":"1.50"}"#, r#"{"crates":1,"mode":"air","weight":1.50}"#),
            ("a boolean in a string",     r#"{"crates":1,"mode":"air","fragile":"True"}"#, r#"{"crates":1,"mode":"air","fragile":true}"#),
            ("null in a string",          r#"{"crates":1,"mode":"air","fragile":"null"}"#, r#"{"crates":1,"mode":"air","fragile":null}"#),
            ("an array in a string",      r#"{"crates":1,"mode":"air","labels":"[\"up\", \"dry\"]"}"#, r#"{"crates":1,"mode":"air","labels":["up","dry"]}"#),
            ("inside that array",         r#"{"crates":1,"mode":"air","stops":"[{\"gate\": \"4\"}]"}"#, r#"{"crates":1,"mode":"air","stops":[{"gate":4}]}"#),
            ("by its place",              r#"{"crates":1,"mode":"air","place":["3","4"]}"#, r#"{"crates":1,"mode":"air","place":[3,"4"]}"#),
            ("of a member with any name", r#"{"crates":1,"mode":"air","limits":{"x":"3","y":4}}"#, r#"{"crates":1,"mode":"air","limits":{"x":3,"y":4}}"#),
            ("an allowed value",          r#"{"crates":1,"mode":"air","grade":"2"}"#, r#"{"crates":1,"mode":"air","grade":2}"#),
            ("the alternative that fits", r#"{"crates":1,"mode":"air","when":{"week":"8"}}"#, r#"{"crates":1,"mode":"air","when":{"week":8}}"#),
            ("null for what may be missing", r#"{"crates":1,"mode":"air","note":null}"#, r#"{"crates":1,"mode":"air"}"#),
            ("null for a default",        r#"{"crates":1,"mode":null}"#, r#"{"crates":1,"mode":"sea"}"#),
            ("all in a string",           r#""{\"crates\": \"1\", \"mode\": \"air\"}""#, r#"{"crates":1,"mode":"air"}"#),
            ("numbers beside it stay",    r#"{"any":[1.0,1e2,"7"],"weight":2.0,"crates":"1","mode":"air"}"#, r#"{"any":[1.0,1e2,"7"],"weight":2.0,"crates":1,"mode":"air"}"#),
        ];
        for (name, arguments, want) in rows {
            assert_eq!(made(&order(), arguments), want, "{name}");
        }
    }

    // Rows: N-39
    #[test]
    fn a_value_that_fits_or_that_can_be_read_in_two_ways_stays() {
        #[rustfmt::skip]
        let rows = [
            r#"{"crates":1,"mode":"air","note":"12","weight":3.0,"any":"5"}"#,
            r#"{"crates":12345678901234567890123,"mode":"air"}"#,
            r#"{"crates":"1.5","mode":"air"}"#,
            r#"{"crates":"007","mode":"air"}"#,
            r#"{"crates":"1e-3","mode":"air"}"#,
            r#"{"crates":"","mode":"air"}"#,
            r#"{"crates":"null","mode":"air"}"#,
            r#"{"crates":null,"mode":"air"}"#,
            r#"{"crates":"ten","mode":"air"}"#,
            r#"{"crates":true,"mode":"air"}"#,
            r#"{"crates":1,"mode":"air","fragile":null}"#,
            r#"{"crates":1,"mode":"air","fragile":"yes"}"#,
            r#"{"crates":1,"mode":"air","fragile":1}"#,
            r#"{"crates":1,"mode":"air","note":5}"#,
            r#"{"crates":1,"mode":"air","labels":"up"}"#,
            r#"{"crates":1,"mode":"air","labels":"{\"up\":1}"}"#,
            r#"{"crates":1,"mode":"air","labels":"[\"up\""}"#,
            r#"{"crates":1,"mode":"air","when":{"day":"1","week":"1"}}"#,
        ];
        for arguments in rows {
            assert_eq!(made(&order(), arguments), "as it is", "{arguments}");
        }
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema = json!({ "$ref": "#", "properties": { "a": { "$ref": "#" } }, "anyOf": [{ "$ref": "#" }] });
        assert_eq!(made(&schema, r#"{"a":{"a":"1"}}"#), "as it is");
        let all = json!({ "allOf": [{ "$ref": "#" }, { "$ref": "#" }], "type": "object" });
        assert_eq!(made(&all, r#"{"a":1}"#), "as it is");
        assert_eq!(made(&all, r#"{"a":{"a":{"a":[]}}}"#), "as it is");
    }
}
