//! Two hundred schemas of tools go to each provider: unchanged, rewritten, or set aside by name.

mod forms;
mod obeyed;
mod sent;
mod values;

use forgeline::llm::{FittedSchema, ToolSchemaRules};
use jsonschema::Validator;
use serde_json::Value;

use self::forms::{FORMS, Numbers};

/// The rules of each provider, with what its vendor says checked by another walk.
type Provider = (&'static str, ToolSchemaRules, fn(&Value));

const PROVIDERS: [Provider; 6] = [
    ("openai", ToolSchemaRules::OPENAI, obeyed::openai),
    ("openai-responses", ToolSchemaRules::RESPONSES, obeyed::openai),
    ("anthropic", ToolSchemaRules::ANTHROPIC, obeyed::anthropic),
    ("gemini", ToolSchemaRules::GEMINI, obeyed::gemini),
    ("ollama", ToolSchemaRules::OLLAMA, obeyed::ollama),
    ("cohere", ToolSchemaRules::COHERE, obeyed::cohere),
];

/// How often each form is written, each time with other parts.
const TIMES: u64 = 5;

/// Two hundred schemas by their names.
fn schemas() -> Vec<(String, Value)> {
    let mut schemas = Vec::new();
    for (name, form) in FORMS {
        for time in 0..TIMES {
            let numbers = Numbers::new(7 * time + name.len() as u64);
            schemas.push((format!("{}-{time}", name.replace(' ', "_")), form(&numbers)));
        }
    }
    schemas
}

fn validator(name: &str, schema: &Value) -> Validator {
    // Providers do not say whether they check formats.
    let options = jsonschema::options().should_validate_formats(false);
    options.build(schema).unwrap_or_else(|error| panic!("{name}: {error}: {schema}"))
}

#[test]
fn each_schema_is_accepted_rewritten_or_set_aside_and_means_the_same() {
    let schemas = schemas();
    assert_eq!(schemas.len(), 200);
    for (provider, rules, obeys) in PROVIDERS {
        let (mut same, mut rewritten, mut narrower, mut aside) = (0, 0, 0, Vec::new());
        let (mut allowed, mut refused) = (0, 0);
        for (name, schema) in &schemas {
            let fitted = rules.fit(schema);
            assert_eq!(fitted, rules.fit(schema), "{name}: the same bytes each time");
            let (fitted, left_out) = match fitted {
                Ok(FittedSchema::Unchanged) => {
                    same += 1;
                    (schema.clone(), Vec::new())
                }
                Ok(FittedSchema::Rewritten { schema, left_out, .. }) => {
                    rewritten += 1;
                    (schema, left_out)
                }
                Ok(other) => panic!("{name}: {other:?}"),
                Err(_) => {
                    aside.push(name.as_str());
                    continue;
                }
            };
            obeys(&fitted);
            assert!(jsonschema::draft202012::meta::is_valid(&fitted), "{name}: {fitted}");
            let again = rules.fit(&fitted);
            assert!(again.is_ok(), "{name}: {again:?}");
            narrower += usize::from(!left_out.is_empty());
            let (original, new) = (validator(name, schema), validator(name, &fitted));
            let numbers = Numbers::new(99);
            for _ in 0..60 {
                let good = values::value(schema, schema, &numbers, 7);
                for value in [values::changed(&good, &numbers), good] {
                    // Arguments are an object.
                    if !value.is_object() {
                        continue;
                    }
                    let (was, is) = (original.is_valid(&value), new.is_valid(&value));
                    assert!(is || !was, "{provider} {name} loses {value}\n{schema}\n{fitted}");
                    if left_out.is_empty() {
                        assert_eq!(was, is, "{provider} {name} allows {value}\n{schema}\n{fitted}");
                    }
                    allowed += usize::from(was);
                    refused += usize::from(!was);
                }
            }
        }
        forgeline_testkit::say(format!(
            "{provider}: {same} unchanged, {rewritten} rewritten ({narrower} without a keyword), {} set aside; \
             {allowed} values allowed, {refused} refused",
            aside.len()
        ));
        assert!(allowed > 5_000 && refused > 5_000, "{provider}: {allowed} {refused}");
        let is_odd = |name: &&&str| !name.starts_with("no_object");
        let odd: Vec<_> = aside.iter().filter(is_odd).collect();
        let names = if provider == "anthropic" { TIMES } else { 0 };
        assert_eq!(odd.len() as u64, names, "{provider}: {odd:?}");
    }
}
