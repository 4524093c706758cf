//! The schemas of tools, as models get them.

use std::sync::Arc;

use super::*;
use crate::{
    observe::{CallEnd, CallRecord, Observer},
    tools::{Calculator, Tool, ToolError, ToolRegistry},
};
use forgeline_llm::ToolSpec;
use forgeline_types::Json;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Metric {
    Memory,
    Cpu,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Filter {
    /// The "metric", as in {"metric":"cpu"}.
    metric: Metric,
    names: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Query {
    filter: Filter,
    metrics: Vec<Metric>,
    #[serde(rename = "a\"b\\{}:,")]
    odd: String,
    #[serde(default)]
    note: Option<String>,
}

fn query() -> impl Tool {
    tool_fn("query", "Asks.", async |_: ToolContext, it: Query| {
        let Query { filter: Filter { metric, names }, metrics, odd, note } = it;
        format!("{metric:?} {names:?} {metrics:?} {odd} {note:?}")
    })
}

// Covers: T-44, CT-148, CT-150, CT-151, CT-152, CT-153, CT-154
#[test]
fn the_schema_of_a_type_says_all_of_it_and_is_always_the_same() {
    let want = json!({
        "type": "object",
        "properties": {
            "filter": {
                "type": "object",
                "properties": {
                    "metric": {
                        "description": "The \"metric\", as in {\"metric\":\"cpu\"}.",
                        "type": "string",
                        "enum": ["memory", "cpu"],
                    },
                    "names": { "type": "array", "items": { "type": "string" } },
                },
                "required": ["metric", "names"],
            },
            "metrics": {
                "type": "array",
                "items": { "type": "string", "enum": ["memory", "cpu"] },
            },
            "a\"b\\{}:,": { "type": "string" },
            "note": { "type": ["string", "null"], "default": null },
        },
        "required": ["filter", "metrics", "a\"b\\{}:,"],
    });
    let schema = query().schema();
    assert_eq!(schema, want);
    assert_eq!(schema.to_string(), query().schema().to_string());
    let members: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(members, ["filter", "metrics", "a\"b\\{}:,", "note"], "in the order of the type");
}

/// A tool whose schema and description hold what would break out of a text that is not escaped.
struct Hostile(&'static str);

impl Tool for Hostile {
    fn name(&self) -> &'static str {
        "hostile"
    }

    fn description(&self) -> &str {
        self.0
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "description": self.0,
            "properties": {
                self.0: {
                    "type": "object",
                    "description": self.0,
                    "properties": { self.0: { "enum": [self.0], "description": self.0 } },
                },
            },
            "required": [self.0],
        })
    }

    fn execute(&self, _: ToolContext, arguments: Json) -> crate::tools::ToolFuture {
        Box::pin(std::future::ready(Ok::<_, ToolError>(arguments.as_str().into())))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Booking {
    metric: Metric,
    units: Vec<u32>,
    guest: Guest,
    count: i64,
    #[serde(default)]
    note: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Guest {
    name: String,
}

/// What fits is decoded; what does not is reported with its path, and is a failure of its own kind.
// Covers: CT-160, CT-161, CT-162, CT-163, CT-164, CT-165, CT-166, CT-167, CT-168, CT-169
#[tokio::test(start_paused = true)]
async fn arguments_are_decoded_or_refused_by_their_path() {
    let whole =
        || json!({ "metric": "cpu", "units": [1, 2], "guest": { "name": "Ann" }, "count": 3 });
    let with = |member: &str, value: Value| {
        let mut arguments = whole();
        arguments[member] = value;
        arguments
    };
    let without = |member: &str| {
        let mut arguments = whole();
        arguments.as_object_mut().unwrap().remove(member);
        arguments
    };
    let plain = "Cpu [1, 2] Ann 3 None";
    #[rustfmt::skip]
    let rows: [(Value, Result<&str, &[&str]>); 9] = [
        (with("note", json!("late")),          Ok("Cpu [1, 2] Ann 3 Some(\"late\")")),
        (whole(),                              Ok(plain)),
        (with("note", Value::Null),            Ok(plain)),
        (with("metric", json!("disk")),        Err(&["`metric` must be one of", "\"memory\"", "\"cpu\""])),
        (with("guest", json!({})),             Err(&["`guest.name` is missing"])),
        (with("units", json!([1, "two"])),     Err(&["`units[1]` must be of type integer, not string"])),
        (with("count", json!(1.5)),            Err(&["`count` must be of type integer, not number"])),
        (without("count"),                     Err(&["`count` is missing"])),
        (with("note", json!(5)),               Err(&["`note` must be of type string or null, not number"])),
    ];
    let book = |_: ToolContext, it: Booking| async move {
        let Booking { metric, units, guest, count, note } = it;
        format!("{metric:?} {units:?} {} {count} {note:?}", guest.name)
    };
    let calls =
        rows.iter().map(|(arguments, _)| ScriptedTurn::new().call("book", arguments.clone()));
    let provider = ScriptedProvider::new(calls.chain([ScriptedTurn::new().text("Done.")]));
    let kinds = Arc::new(Kinds::default());
    let agent = Agent::builder(provider)
        .tool(tool_fn("book", "Books.", book))
        .observer(Arc::clone(&kinds))
        .max_turns(20)
        .breaker_failures(20)
        .build()
        .unwrap()
        .conversation();
    let outcome = agent.run("Book.").await.unwrap();
    let results: Vec<_> = outcome.messages.iter().flat_map(|it| it.tool_results()).collect();
    let kinds = kinds.0.lock().unwrap();
    assert_eq!((results.len(), kinds.len()), (rows.len(), rows.len()));
    for ((result, kind), (arguments, want)) in results.iter().zip(&*kinds).zip(rows) {
        match want {
            Ok(text) => assert_eq!((result.content.as_str(), *kind), (text, CallEnd::Succeeded)),
            Err(parts) => {
                for part in parts {
                    assert!(result.content.contains(part), "{arguments}: {}", result.content);
                }
                assert_eq!(*kind, CallEnd::InvalidArguments, "{arguments}");
            }
        }
    }
}

/// The ends of the calls, in order.
#[derive(Default)]
struct Kinds(std::sync::Mutex<Vec<CallEnd>>);

impl Observer for Kinds {
    fn call_ended(&self, call: &CallRecord) {
        self.0.lock().unwrap().push(call.end);
    }
}

// Covers: CT-155, CT-156
#[test]
fn no_text_of_a_tool_breaks_out_of_its_place() {
    let hostile = [
        r#""},"evil":{"type":"string"#,
        r#"\"},\"evil\":{"#,
        "a\\",
        "\u{0}\u{1f}\n\t",
        "}}]]",
        "\u{2028}</tool>🦀",
    ];
    for text in hostile {
        let mut tools = ToolRegistry::default();
        tools.register(std::sync::Arc::new(Hostile(text))).unwrap();
        let spec: &ToolSpec = tools.specs().next().unwrap();
        let wire = serde_json::to_string(&spec.parameters).unwrap();
        let read: Value = serde_json::from_str(&wire).unwrap();
        assert_eq!(read, Hostile(text).schema(), "{text:?}");
        let members: Vec<_> = read["properties"].as_object().unwrap().keys().collect();
        assert_eq!(members, [text], "no member beside it");
        assert_eq!(spec.description.as_str(), text);
    }
}

// Covers: CT-133, CT-147
#[test]
fn tools_of_the_house_have_the_budget_of_the_agent_and_a_tool_may_take_nothing() {
    assert_eq!((Calculator.max_result_chars(), Calculator.timeout()), (None, None));
    let nothing = tool_fn("nothing", "Takes nothing.", async |_: ToolContext, (): ()| ());
    let want = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    assert_eq!(nothing.schema(), want);
}
