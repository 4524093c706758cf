//! The words by which a tool is found.

use serde_json::Value;

use forgeline_llm::ToolSpec;

/// Returns the words of a tool: its name, its description, and the names and descriptions of its arguments.
pub(crate) fn searched_words(spec: &ToolSpec) -> String {
    let mut words = String::new();
    // The name says most about the purpose of a tool, so it counts twice.
    for _ in 0..2 {
        push_name(&mut words, &spec.name);
    }
    words.push_str(&spec.description);
    push_arguments(&mut words, &spec.parameters);
    words
}

/// Appends a name, split into words at its capitals.
fn push_name(words: &mut String, name: &str) {
    let mut was_small = false;
    for letter in name.chars() {
        if was_small && letter.is_uppercase() {
            words.push(' ');
        }
        was_small = letter.is_lowercase();
        words.push(letter);
    }
    words.push(' ');
}

/// Appends the names and descriptions in a schema.
fn push_arguments(words: &mut String, schema: &Value) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                match (key.as_str(), value) {
                    ("description", Value::String(text)) => {
                        words.push(' ');
                        words.push_str(text);
                    }
                    ("properties", Value::Object(arguments)) => {
                        for (name, schema) in arguments {
                            words.push(' ');
                            push_name(words, name);
                            push_arguments(words, schema);
                        }
                    }
                    (_, value) => push_arguments(words, value),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| push_arguments(words, item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_descriptions_and_arguments_at_any_depth_are_words_and_values_are_not() {
        let schema = json!({
            "type": "object",
            "description": "The event.",
            "properties": {
                "startTime": { "type": "string", "description": "Its beginning.", "default": "noon" },
                "guests": { "type": "array", "items": { "properties": { "mail": { "enum": ["work"] } } } },
            },
        });
        let words = searched_words(&ToolSpec::new("calendar.createEvent", "Adds one.", schema));
        let name = "calendar.create Event ";
        for word in
            [name, "Adds one.", "The event.", "start Time ", "Its beginning.", "guests", "mail"]
        {
            assert!(words.contains(word), "{word} in {words}");
        }
        assert!(words.starts_with(&format!("{name}{name}")), "{words}");
        for word in ["object", "string", "noon", "work", "startTime"] {
            assert!(!words.contains(word), "{word} in {words}");
        }
    }
}
