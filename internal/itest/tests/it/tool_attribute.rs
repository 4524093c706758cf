//! Tools that the attribute `tool` makes.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use forgeline::agent::tools::{State, Tool, ToolContext, ToolEffects, ToolError, tool_fn};
use serde_json::{Value, json};

/// Finds orders.
///
/// Only those of this year.
#[forgeline::tool]
async fn find_orders(
    /// The name of the customer.
    customer: String,
    /// At most this many;
    /// all without it.
    most: Option<u32>,
    #[serde(default)] open: bool,
) -> String {
    format!("{customer} {most:?} {open}")
}

/// Counts.
#[forgeline::tool(
    name = "counter",
    effects = ToolEffects::Reads,
    timeout = std::time::Duration::from_secs(7),
    alone,
    idempotent
)]
async fn count(
    context: ToolContext,
    State(calls): State<Arc<AtomicU32>>,
) -> Result<u32, ToolError> {
    if context.turn() > 0 {
        return Err(ToolError::failed("it is not called by an agent"));
    }
    Ok(calls.fetch_add(1, Ordering::Relaxed) + 1)
}

mod other {
    /// Says the word.
    #[forgeline::tool]
    pub(super) async fn r#match(mut r#type: String, _left: Vec<Point>) {
        r#type.push('!');
        drop(r#type);
    }

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    pub(super) struct Point {
        #[expect(dead_code, reason = "it is read from JSON")]
        at: f64,
    }
}

async fn called(tool: &impl Tool, arguments: Value) -> Result<String, String> {
    let output = tool.execute(ToolContext::default(), arguments.into()).await;
    output.map(|output| output.content.clone()).map_err(|error| error.to_string())
}

#[tokio::test]
async fn the_schema_and_the_description_are_those_of_the_function() {
    let tool = find_orders();
    assert_eq!(tool.name(), "find_orders");
    assert_eq!(tool.description(), "Finds orders.\n\nOnly those of this year.");
    let schema = tool.schema();
    assert_eq!(schema["required"], json!(["customer"]));
    assert_eq!(schema["properties"]["customer"]["description"], "The name of the customer.");
    assert_eq!(schema["properties"]["customer"]["type"], "string");
    let most = schema["properties"]["most"]["description"].as_str().unwrap();
    assert!(most.starts_with("At most this many;") && most.ends_with("all without it."), "{most}");
    assert!(schema.get("title").is_none() && schema.get("description").is_none(), "{schema}");

    assert_eq!(called(&tool, json!({ "customer": "Ann" })).await.unwrap(), "Ann None false");
    let all = json!({ "customer": "Ann", "most": 3, "open": true });
    assert_eq!(called(&tool, all).await.unwrap(), "Ann Some(3) true");
    let error = called(&tool, json!({ "most": 3 })).await.unwrap_err();
    assert!(error.contains("customer"), "{error}");
}

#[tokio::test]
async fn the_same_tool_by_hand_has_the_same_schema() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[expect(dead_code, reason = "only the schema is of interest")]
    struct ByHand {
        /// The name of the customer.
        customer: String,
        /// At most this many;
        /// all without it.
        most: Option<u32>,
        #[serde(default)]
        open: bool,
    }
    let by_hand = tool_fn("find_orders", "", async |_: ToolContext, _: ByHand| "");
    assert_eq!(find_orders().schema(), by_hand.schema());
    let nothing = tool_fn("counter", "", async |_: ToolContext, (): ()| "");
    assert_eq!(count(Arc::default()).schema(), nothing.schema());
}

#[tokio::test]
async fn state_is_shared_and_options_are_those_of_the_tool() {
    let calls = Arc::<AtomicU32>::default();
    let tool = count(Arc::clone(&calls));
    assert_eq!((tool.name(), tool.description()), ("counter", "Counts."));
    assert_eq!(called(&tool, json!({})).await.unwrap(), "1");
    assert_eq!(called(&tool, json!({})).await.unwrap(), "2");
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    assert_eq!(tool.effects(), ToolEffects::Reads);
    assert_eq!(tool.timeout().map(|limit| limit.as_secs()), Some(7));
    assert!(tool.runs_alone() && tool.is_idempotent() && !tool.is_loop_breaking());
}

#[tokio::test]
async fn raw_names_and_types_of_other_modules_are_as_they_read() {
    let tool = other::r#match();
    assert_eq!(tool.name(), "match");
    assert_eq!(tool.schema()["required"], json!(["type", "_left"]));
    let arguments = json!({ "type": "a", "_left": [{ "at": 1.5 }] });
    called(&tool, arguments).await.unwrap();
}
