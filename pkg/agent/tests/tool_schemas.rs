//! The schemas of tools, as models get them.

use super::*;
use crate::{
    agent::tools::{Calculator, Tool, ToolError, ToolRegistry},
    llm::ToolSpec,
    types::Json,
};

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

    fn execute(&self, _: ToolContext, arguments: Json) -> crate::agent::tools::ToolFuture {
        Box::pin(std::future::ready(Ok::<_, ToolError>(arguments.as_str().into())))
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
