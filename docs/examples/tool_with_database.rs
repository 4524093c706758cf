#![expect(clippy::print_stdout, reason = "an example: it prints the results")]
//! Two tools that use a database: one by `#[forgeline::tool]`, one by `tool_with`.

use std::{
    error::Error,
    sync::{Arc, Mutex, PoisonError},
};

use forgeline::{
    agent::tools::{State, ToolEffects},
    prelude::*,
    testing::{ScriptedProvider, ScriptedTurn},
};
use rusqlite::{Connection, OptionalExtension as _};
use serde_json::json;

type Fault = Box<dyn Error + Send + Sync>;

/// The orders of a shop; clones share one connection.
type Orders = Arc<Mutex<Connection>>;

fn open() -> rusqlite::Result<Orders> {
    let database = Connection::open_in_memory()?;
    database.execute_batch("CREATE TABLE orders AS SELECT 17 AS number, 'Ulm' AS place")?;
    Ok(Arc::new(Mutex::new(database)))
}

/// Returns the place of an order; the query has a thread that may wait for the disk.
async fn place_of(orders: Orders, number: u32) -> Result<Option<String>, Fault> {
    let query = move || {
        let database = orders.lock().unwrap_or_else(PoisonError::into_inner);
        let query = "SELECT place FROM orders WHERE number = ?1";
        database.query_row(query, [number], |row| row.get(0)).optional()
    };
    Ok(tokio::task::spawn_blocking(query).await??)
}

/// Tells where an order is.
#[forgeline::tool(effects = ToolEffects::Reads)]
async fn find_order(
    /// The number of the order.
    number: u32,
    State(orders): State<Orders>,
) -> Result<String, Fault> {
    let place = place_of(orders, number).await?;
    place.ok_or_else(|| format!("there is no order {number}; ask for another").into())
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct HasOrder {
    /// The number of the order.
    number: u32,
}

async fn results(orders: Orders) -> Result<Vec<String>, Fault> {
    let (name, description) = ("has_order", "Tells whether there is an order.");
    // Without the attribute, the name, the description and a struct of the arguments are given.
    let has_order =
        tool_with(name, description, orders.clone(), async |orders, _, it: HasOrder| {
            place_of(orders, it.number).await.map(|place| place.is_some())
        });
    let calls = ScriptedTurn::new()
        .call("find_order", json!({ "number": 17 }))
        .call("has_order", json!({ "number": 18 }));
    let model = ScriptedProvider::new([calls, ScriptedTurn::new().text("It is in Ulm.")]);
    let agent = Agent::builder(model).tool(find_order(orders)).tool(has_order).build()?;
    let outcome = agent.run("Where is order 17, and is there an 18?").await?;
    let results = outcome.messages.iter().flat_map(|message| message.tool_results());
    Ok(results.map(|result| result.content.clone()).collect())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Fault> {
    println!("{:?}", results(open()?).await?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn both_tools_read_the_database() {
        let orders = open().unwrap();
        assert_eq!(results(Arc::clone(&orders)).await.unwrap(), ["Ulm", "false"]);
        orders.lock().unwrap().execute("INSERT INTO orders VALUES (18, 'Graz')", []).unwrap();
        assert_eq!(results(orders).await.unwrap(), ["Ulm", "true"]);
    }
}
