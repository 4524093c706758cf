use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::{
    AnswerSchema, ProviderError, Request, ResponseFormat, SchemaRules, StreamChunk,
    StructuredMethod, ToolCallDelta, ToolChoice,
    answer_schema::schema_of,
    scripted::{ScriptedProvider, ScriptedTurn},
};
use forgeline_types::{Capabilities, ErrorCode, FinishReason, PartialValue, Repair, UsageInfo};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Place {
    city: String,
    /// Since when.
    founded: Option<u32>,
    kind: Kind,
    near: Vec<Near>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "is")]
enum Kind {
    Capital,
    Port { depth: f64 },
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Near {
    name: String,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Tree {
    leaf: String,
    branches: Vec<Tree>,
}

const LISBON: &str = r#"{"city":"Lisbon","founded":null,"kind":{"is":"port","depth":11.5},"near":[{"name":"Sintra"}]}"#;

fn native(turns: impl IntoIterator<Item = ScriptedTurn>) -> ScriptedProvider {
    let able = Capabilities::default().structured_output(true).tools(true);
    ScriptedProvider::new(turns).capabilities(able)
}

fn any() -> AnswerSchema {
    AnswerSchema::new(json!({ "type": "object" }))
}

/// In pieces of a few bytes.
fn spoken(text: &str) -> ScriptedTurn {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(3).fold(ScriptedTurn::new(), |turn, piece| {
        turn.text(piece.iter().collect::<String>().as_str())
    })
}

#[tokio::test]
async fn each_method_gives_the_value_and_says_how() {
    let can = |structured_output, tools| {
        Capabilities::default().tools(tools).structured_output(structured_output)
    };
    let cases = [
        (can(true, true), StructuredMethod::Native, spoken(LISBON)),
        (
            can(false, true),
            StructuredMethod::ForcedTool,
            ScriptedTurn::new().call("structured_response", LISBON),
        ),
        (can(false, false), StructuredMethod::Prompt, spoken(&format!("```json\n{LISBON}\n```"))),
    ];
    for (able, method, turn) in cases {
        let provider = ScriptedProvider::new([turn]).capabilities(able);
        let request = Request::prompt("Which?").system("Be brief.");
        let answer = provider.complete_structured::<Place>(request).await.unwrap();
        assert_eq!(answer.method, method);
        assert_eq!(answer.value.kind, Kind::Port { depth: 11.5 });
        assert_eq!(answer.json.as_str(), LISBON);
        let asked = provider.requests().remove(0);
        let format = asked.response_format.is_some();
        let forced = asked.tool_choice == Some(ToolChoice::Tool("structured_response".into()));
        let in_prompt = asked.system.unwrap().contains("\"city\"");
        let want =
            [StructuredMethod::Native, StructuredMethod::ForcedTool, StructuredMethod::Prompt];
        assert_eq!([format, forced, in_prompt], want.map(|one| one == method));
    }
}

// Found: F10
#[tokio::test]
async fn the_value_can_be_read_while_it_arrives() {
    use StructuredMethod::{ForcedTool, Native, Prompt};

    let turns = [
        (spoken(LISBON), Native),
        (spoken(LISBON), ForcedTool),
        (spoken("Let me see: {?}").call("structured_response", LISBON), ForcedTool),
        (spoken(&format!("Here:\n```json\n{LISBON}\n```\nDone [1].")), Prompt),
        (ScriptedTurn::new().call("structured_response", LISBON), ForcedTool),
        (ScriptedTurn::new().json(LISBON), Native),
        (ScriptedTurn::new().json(LISBON), Prompt),
        (ScriptedTurn::new().json(LISBON), ForcedTool),
    ];
    for (turn, method) in turns {
        let provider = native([turn]);
        let schema = AnswerSchema::of::<Place>().method(method);
        let mut answer = provider.stream_as::<Place>(Request::prompt("x"), schema).await.unwrap();
        let (mut seen, mut steps) = (Vec::<String>::new(), 0);
        while answer.advance().await.unwrap() {
            steps += 1;
            let value = answer.partial().map(PartialValue::to_value);
            let city = value.as_ref().and_then(|value| value.get("city")?.as_str());
            let city = city.unwrap_or_default().to_owned();
            assert!("Lisbon".starts_with(&city), "{city}");
            seen.push(city);
        }
        assert!(steps >= 2 && seen.last().unwrap() == "Lisbon", "{method:?}: {seen:?}");
        let near = answer.partial().unwrap().pointer("/near/0/name").unwrap();
        assert_eq!(near.as_str(), Some("Sintra"), "{method:?}");
        if method != Prompt {
            assert_eq!(answer.finish().await.unwrap().value.city, "Lisbon");
        }
    }
}

#[tokio::test]
async fn an_answer_that_does_not_match_is_reported() {
    let cut = || ScriptedTurn::new().text("{\"city\":").finish(FinishReason::Length);
    let refused = {
        let chunk = StreamChunk {
            content_type: crate::ContentType::Refusal,
            ..StreamChunk::message("No.")
        };
        ScriptedTurn::new().chunk(chunk)
    };
    #[rustfmt::skip]
    let cases = [
        ("prose",       spoken("Lisbon"),     "the answer is not JSON"),
        ("two values",  spoken("{} {}"),      "the answer is not JSON"),
        ("empty",       ScriptedTurn::new(),  "the answer is empty"),
        ("blank",       spoken(" \n "),       "the answer is empty"),
        ("cut",         cut(),                "the answer was truncated"),
        ("refused",     refused,              "the model refused: No."),
        ("other shape", spoken("{\"a\":1}"),  "missing field `city`"),
        ("a member",    spoken("{\"city\":\"Lisbon\",\"near\":[{\"name\":7}]}"), "at /near/0/name: invalid type: integer `7`, expected a string"),
    ];
    for (name, turn, want) in cases {
        let provider = native([turn]);
        // The second request fails: that is not what the caller has to know first.
        let error = provider.complete_structured::<Place>(Request::prompt("x")).await;
        let error = error.unwrap_err();
        assert!(!error.is_retryable() && error.code() == ErrorCode::InvalidAnswer, "{name}");
        let ProviderError::InvalidAnswer { problem, .. } = &error else {
            panic!("{name}: {error:?}")
        };
        assert!(problem.contains(want) && error.to_string().contains(want), "{name}: {error}");
    }
    let turn = ScriptedTurn::refuse(ProviderError::Cancelled);
    let error = native([turn]).complete_json(Request::prompt("x"), any()).await.unwrap_err();
    assert!(matches!(error, ProviderError::Cancelled), "other failures pass as they are");
}

// Found: V17
#[tokio::test]
async fn an_answer_in_the_reasoning_or_among_words_is_recovered_and_named() {
    let thought = |text: &str| ScriptedTurn::new().chunk(StreamChunk::thinking(text));
    #[rustfmt::skip]
    let cases = [
        ("in the reasoning",     thought(LISBON),                                                   Some(Repair::RecoveredFromThinking)),
        ("at its end",           thought(&format!("Is it {{\"city\":\"Rome\"}}? No.\n{LISBON}\n")), Some(Repair::RecoveredFromThinking)),
        ("inside it",            thought(&format!("{LISBON} or so")),                               None),
        ("beside an answer",     thought(LISBON).text("I do not know."),                            None),
        ("behind a header",      spoken(&format!("answer {{:\n{LISBON}")),                          Some(Repair::TrailingText)),
        ("among words",          spoken(&format!("See [1]: {LISBON}. Done.")),                      Some(Repair::TrailingText)),
        ("behind a draft",       spoken(&format!("{{\"city\":7}}\n```json\n{LISBON}\n```")),        Some(Repair::TrailingText)),
        ("cut without a reason", spoken(&format!("{{\"near\":{LISBON},")),                          None),
    ];
    for (name, turn, want) in cases {
        let answer = native([turn]).complete_structured::<Place>(Request::prompt("x")).await;
        let got = answer.ok().map(|answer| (answer.value.city, answer.repairs));
        assert_eq!(got, want.map(|repair| ("Lisbon".into(), vec![repair])), "{name}");
    }
}

#[tokio::test]
async fn whitespace_around_and_envelopes_are_taken_off() {
    #[rustfmt::skip]
    let cases = [
        (StructuredMethod::Native,     spoken("\n {\"a\":1.50} \n"),                                    r#"{"a":1.50}"#),
        (StructuredMethod::Prompt,     spoken("```\n[1]\n```"),                                         "[1]"),
        (StructuredMethod::ForcedTool, ScriptedTurn::new().call("t", r#"{"input":{"a":1}}"#),           r#"{"a":1}"#),
        (StructuredMethod::ForcedTool, ScriptedTurn::new().call("t", r#"{"input":"{\"a\":1}"}"#),       r#"{"a":1}"#),
        (StructuredMethod::ForcedTool, ScriptedTurn::new().call("t", r#"{"input":"a word"}"#),          r#"{"input":"a word"}"#),
        (StructuredMethod::ForcedTool, ScriptedTurn::new().call("t", r#"{"input":{"a":1},"b":2}"#),     r#"{"input":{"a":1},"b":2}"#),
        (StructuredMethod::ForcedTool, ScriptedTurn::new().call("t", r#""{\"a\":3}""#), r#"{"a":3}"#),
        (StructuredMethod::ForcedTool, spoken("{\"a\":2}"),                                             r#"{"a":2}"#),
    ];
    for (method, turn, want) in cases {
        let schema = AnswerSchema::new(json!({ "type": "object", "properties": { "a": {} } }));
        let answer =
            native([turn]).complete_json(Request::prompt("x"), schema.method(method)).await;
        assert_eq!(answer.unwrap().json.as_str(), want);
    }
    // What may be a part of the answer is not an envelope.
    let turn = ScriptedTurn::new().call("t", r#"{"input":{"a":1}}"#);
    let schema = AnswerSchema::new(json!({ "properties": { "input": {} } }));
    let schema = schema.method(StructuredMethod::ForcedTool);
    let answer = native([turn]).complete_json(Request::prompt("x"), schema).await.unwrap();
    assert_eq!(answer.json.as_str(), r#"{"input":{"a":1}}"#);
}

#[tokio::test]
async fn a_second_call_does_not_disturb_the_first() {
    let delta = |index, text: &str| {
        StreamChunk::calls(vec![ToolCallDelta::new(index).name("t").arguments(text)])
    };
    let turn = ScriptedTurn::new()
        .chunk(delta(0, "{\"a\":"))
        .chunk(delta(1, "{\"b\":2}"))
        .chunk(delta(0, "1}"));
    let schema = any().method(StructuredMethod::ForcedTool);
    let answer = native([turn]).complete_json(Request::prompt("x"), schema).await.unwrap();
    assert_eq!(answer.json.as_str(), "{\"a\":1}");
}

#[test]
fn schemas_are_refused_where_they_ask_for_too_much() {
    let object = |fields: Value| {
        let names: Vec<_> = fields.as_object().unwrap().keys().cloned().collect();
        json!({ "type": "object", "properties": fields, "required": names, "additionalProperties": false })
    };
    let text = || json!({ "type": "string" });
    let one_of = object(json!({ "a": { "oneOf": [text()] } }));
    let nested = object(json!({ "a": { "anyOf": [object(json!({ "b": { "not": text() } }))] } }));
    let open = json!({ "type": "object", "properties": { "a": text() }, "required": ["a"] });
    let optional =
        json!({ "type": "object", "properties": { "a": text() }, "additionalProperties": false });
    let itself = object(json!({ "a": { "$ref": "#" } }));
    let elsewhere = object(json!({ "a": { "$ref": "https://x/y" } }));
    let nowhere = object(json!({ "a": { "$ref": "#/$defs/b" } }));
    let narrow = object(json!({ "a": { "type": "integer", "minimum": 1 } }));
    let many = object(
        (0..17).map(|at| (format!("p{at}"), json!({ "type": ["string", "null"] }))).collect(),
    );
    let deep = (0..400).fold(text(), |inner, _| json!({ "type": "array", "items": inner }));
    let defined = (0..20_000).map(|at| {
        (format!("d{at}"), json!({ "anyOf": [{ "$ref": format!("#/$defs/d{}", at + 1) }] }))
    });
    let defined: serde_json::Map<String, Value> = defined.collect();
    let chain = json!({ "$ref": "#/$defs/d0", "$defs": defined });
    let both = |at: i32| json!({ "$ref": format!("#/$defs/d{}", at + 1) });
    let twice = (0..100).map(|at| (format!("d{at}"), json!({ "anyOf": [both(at), both(at)] })));
    let mut twice: serde_json::Map<String, Value> = twice.collect();
    twice.insert("d100".to_owned(), text());
    let twice = json!({ "$ref": "#/$defs/d0", "$defs": twice });
    let (openai, anthropic, gemini) =
        (SchemaRules::OPENAI, SchemaRules::ANTHROPIC, SchemaRules::GEMINI);
    #[rustfmt::skip]
    let cases = [
        ("fine",             object(json!({ "a": text() })), openai,    ""),
        ("oneOf",            one_of.clone(),                 openai,    "oneOf is not honoured by the provider: at #/properties/a/oneOf"),
        ("oneOf for Gemini", one_of,                         gemini,    ""),
        ("deep inside",      nested,                         anthropic, "not is not honoured by the provider: at #/properties/a/anyOf/0/properties/b/not"),
        ("open object",      open,                           openai,    "additionalProperties"),
        ("optional",         optional.clone(),               openai,    "`a` must be required"),
        ("optional there",   optional,                       anthropic, ""),
        ("root",             json!({ "type": "array" }),     openai,    "must be an object"),
        ("itself",           itself.clone(),                 openai,    ""),
        ("itself there",     itself,                         anthropic, "refers to itself"),
        ("elsewhere",        elsewhere,                      gemini,    "in another document"),
        ("nowhere",          nowhere,                        openai,    "does not exist"),
        ("narrow",           narrow.clone(),                 anthropic, "minimum"),
        ("narrow here",      narrow,                         openai,    ""),
        ("many unions",      many,                           anthropic, "17 properties of several types"),
        ("a map",            json!({ "type": "object", "additionalProperties": text() }), openai, "additionalProperties"),
        ("very deep",        deep,                           gemini,    "depth"),
        ("references",       chain,                          gemini,    "depth"),
        ("references twice", twice,                          gemini,    ""),
        ("no schema",        object(json!({ "a": 1 })),      gemini,    "expected a schema at #/properties/a"),
    ];
    for (name, schema, rules, want) in cases {
        let message =
            rules.check(&schema).map_or_else(|error| error.to_string(), |()| String::new());
        assert_eq!(message.is_empty(), want.is_empty(), "{name}: {message}");
        assert!(message.contains(want), "{name}: {message}");
    }
}

#[test]
fn the_schema_of_a_type_fits_every_provider() {
    for rules in [SchemaRules::OPENAI, SchemaRules::ANTHROPIC, SchemaRules::GEMINI] {
        let schema = rules.adapt(schema_of::<Place>());
        rules.check(&schema).unwrap();
    }
    let openai = SchemaRules::OPENAI.adapt(schema_of::<Place>());
    assert_eq!(openai["required"], json!(["city", "founded", "kind", "near"]));
    assert_eq!(openai["properties"]["near"]["items"]["additionalProperties"], json!(false));
    assert_eq!(openai["properties"]["founded"]["description"], "Since when.");
    let tree = SchemaRules::ANTHROPIC.adapt(schema_of::<Tree>());
    let message = SchemaRules::ANTHROPIC.check(&tree).unwrap_err().to_string();
    assert!(message.contains("refers to itself"), "{message}");
}

#[tokio::test]
async fn a_schema_that_is_not_honoured_is_never_sent() {
    struct Strict(ScriptedProvider);
    impl crate::Provider for Strict {
        fn info(&self) -> &forgeline_types::ModelInfo {
            self.0.info()
        }

        fn stream_completion(
            &self,
            request: Request,
        ) -> futures_core::future::BoxFuture<'static, Result<crate::ChunkStream, ProviderError>>
        {
            self.0.stream_completion(request)
        }

        fn schema_rules(&self) -> SchemaRules {
            SchemaRules::OPENAI
        }
    }
    let closed = AnswerSchema::new(json!({ "type": "object", "additionalProperties": false }));
    let provider = Strict(native([spoken("{}")]));
    provider.complete_json(Request::prompt("x"), closed).await.unwrap();
    let error = provider.complete_json(Request::prompt("x"), any()).await.unwrap_err();
    assert!(error.to_string().contains("additionalProperties"), "{error}");
    let open = AnswerSchema::new(json!({ "type": "object", "properties": { "a": {} } }));
    let error = provider.complete_json(Request::prompt("x"), open.clone()).await.unwrap_err();
    assert!(matches!(error, ProviderError::SchemaUnsupported { .. }), "{error}");
    assert_eq!(provider.0.requests().len(), 1);
    let provider = Strict(native([spoken("{}")]));
    provider.complete_json(Request::prompt("x"), open.strict(false).name("mine")).await.unwrap();
    let format = provider.0.requests().remove(0).response_format.unwrap();
    let ResponseFormat::JsonSchema { name, strict, .. } = format else { panic!("{format:?}") };
    assert_eq!((name.as_str(), strict), ("mine", false));
}

#[test]
fn strict_tools_and_answers_of_a_request_are_checked_too() {
    let open = json!({ "type": "object", "properties": {} });
    let closed = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let tools = |count, schema: &Value| {
        let tool = |at| crate::ToolSpec::new(format!("t{at}"), "", schema.clone()).strict(true);
        Request::prompt("x").tools((0..count).map(tool).collect::<Vec<_>>())
    };
    let rules = SchemaRules::ANTHROPIC;
    rules.check_request(&tools(20, &closed)).unwrap();
    assert!(
        rules.check_request(&tools(21, &closed)).unwrap_err().to_string().contains("21 strict")
    );
    rules.check_request(&tools(1, &open)).unwrap_err();
    let format =
        |strict| ResponseFormat::JsonSchema { name: "n".into(), schema: open.clone(), strict };
    rules.check_request(&Request::prompt("x").response_format(format(false))).unwrap();
    rules.check_request(&Request::prompt("x").response_format(format(true))).unwrap_err();
}

// Rows: N-06
#[tokio::test]
async fn an_answer_that_does_not_match_is_asked_for_again_with_the_problem() {
    use StructuredMethod::{ForcedTool, Native, Prompt};
    type Turn = Box<dyn Fn() -> ScriptedTurn>;
    let usage = UsageInfo::default().input_tokens(10).output_tokens(2);
    let call = |arguments| ScriptedTurn::new().call("structured_response", arguments);
    let all = [Native, ForcedTool, Prompt].as_slice();
    let text = |text: &'static str| -> Turn { Box::new(move || spoken(text)) };
    let rows: [(Turn, &str, &[StructuredMethod]); 4] = [
        (text("Lisbon, I think."), "is not JSON", all),
        (text(r#"{"name": 3}"#), "does not match its schema", all),
        (Box::new(move || call(json!({ "name": 3 }))), "does not match its schema", &[ForcedTool]),
        (Box::new(|| ScriptedTurn::new().thinking("Hm.")), "is empty", all),
    ];
    for (turn, problem, methods) in rows {
        for method in methods {
            let right = match method {
                ForcedTool => call(json!({ "name": "Sintra" })),
                Native | Prompt => spoken(r#"{"name":"Sintra"}"#),
            };
            let provider = native([turn().usage(usage), right.usage(usage)]);
            let schema = AnswerSchema::of::<Near>().method(*method);
            let answer = ask::complete_as::<Near>(&provider, Request::prompt("Where?"), schema);
            let answer = answer.await.unwrap();
            assert_eq!(answer.value.name, "Sintra", "{problem}");
            assert_eq!(answer.completion.usage.unwrap().input_tokens, Some(20), "{problem}");
            let requests = provider.requests();
            let said = requests[1].messages.last().unwrap().text();
            assert!(said.contains(problem) && said.contains("Answer again"), "{said}");
        }
    }
}

// Rows: N-06
#[tokio::test]
async fn an_answer_is_not_asked_for_again_where_that_cannot_help() {
    let wrong = || ScriptedTurn::new().text("Lisbon, I think.");
    let rows = [
        ("cut", Some(FinishReason::Length), 1, 1),
        ("refused", Some(FinishReason::Refusal), 1, 1),
        ("filtered", Some(FinishReason::ContentFilter), 1, 1),
        ("never", None, 0, 1),
        ("twice", None, 2, 3),
    ];
    for (name, reason, repairs, want) in rows {
        let turn = || reason.iter().cloned().fold(wrong(), ScriptedTurn::finish);
        let provider = native([turn(), turn(), turn()]);
        let schema = any().answer_repairs(repairs);
        let error = provider.complete_json(Request::prompt("Where?"), schema).await.unwrap_err();
        let ProviderError::InvalidAnswer { completion, .. } = error else {
            panic!("{name}: {error}")
        };
        assert_eq!(completion.text, "Lisbon, I think.", "{name}");
        assert_eq!(provider.requests().len(), want, "{name}");
    }
}
