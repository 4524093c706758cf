#![expect(clippy::print_stdout, reason = "an example: it prints what the agent does")]
//! An agent with a thousand tools, of which its model finds the one that it needs.

use std::{error::Error, sync::Arc};

use forgeline::{agent::search::ToolSearch, llm::demo::DemoProvider, prelude::*};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Order {
    /// The number of pieces.
    pieces: u32,
}

/// Returns a tool that orders from a shelf of a storehouse.
fn order(storehouse: usize, shelf: usize) -> Arc<dyn Tool> {
    let name = format!("storehouse{storehouse}.order_shelf{shelf}");
    let about = format!("Orders pieces from shelf {shelf} of storehouse {storehouse}.");
    let place = format!("shelf {shelf} of storehouse {storehouse}");
    Arc::new(tool_fn(name, about, move |_: ToolContext, it: Order| {
        std::future::ready(format!("{} pieces are ordered from {place}", it.pieces))
    }))
}

/// Returns an agent with a thousand tools.
fn clerk(model: impl Provider + 'static) -> Result<Agent, BuildError> {
    let tools = (0..10).flat_map(|storehouse| (0..100).map(move |shelf| order(storehouse, shelf)));
    // One search finds three; without this line it would be five.
    let search = ToolSearch::default().most(3);
    Agent::builder(model).tools(tools).tool_search(search).build()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let agent = clerk(DemoProvider::new())?;
    let mut stream = agent.run_stream("Order 12 pieces with storehouse7.order_shelf42, please.");
    while let Some(envelope) = stream.next().await {
        if let AgentEvent::ToolCall(ToolCallEvent { tool_name, arguments, .. }) = &envelope.event {
            println!("{tool_name} {}", arguments.as_str());
        } else if let AgentEvent::ToolResult(ToolResultEvent { content, .. }) = &envelope.event {
            println!("  {content}");
        }
    }
    println!("{}", stream.outcome().await?.text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use forgeline::{
        llm::TokenEstimator,
        testing::{ScriptedProvider, ScriptedTurn},
    };
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn the_demo_model_finds_the_tool_that_it_needs() {
        let agent = clerk(DemoProvider::new()).unwrap();
        let task = "Order 12 pieces with storehouse7.order_shelf42, please.";
        let outcome = agent.run(task).await.unwrap();
        assert!(outcome.text.contains("12 pieces are ordered from shelf 42 of storehouse 7"));
        let names: Vec<_> = outcome
            .messages
            .iter()
            .flat_map(|message| message.tool_results())
            .map(|result| result.name.to_string())
            .collect();
        assert_eq!(names, ["tool_search", "storehouse7.order_shelf42"]);
    }

    #[tokio::test]
    async fn the_first_request_is_small_and_the_list_of_tools_stays() {
        let search = json!({ "query": "order from shelf 42 of storehouse 7" });
        let order = json!({ "name": "storehouse7.order_shelf42", "arguments": { "pieces": 12 } });
        let provider = ScriptedProvider::new([
            ScriptedTurn::new().call("tool_search", search),
            ScriptedTurn::new().call("call_found_tool", order),
            ScriptedTurn::new().text("Ordered."),
        ]);
        let outcome = clerk(provider.clone()).unwrap().run("12 of them, please.").await.unwrap();
        assert_eq!(outcome.text, "Ordered.");
        let requests = provider.requests();
        assert!(TokenEstimator::new().request(&requests[0]) < 3_000);
        assert_eq!(requests[0].tools.len(), 2);
        assert!(requests.iter().all(|request| request.tools == requests[0].tools));
    }
}
