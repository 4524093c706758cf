#![expect(clippy::print_stdout, reason = "an example: it prints the answer")]
//! Tools that are looked up for each run, such as those of the caller's team. The model sees only what the caller is permitted to use.

use std::{collections::HashMap, error::Error, sync::Arc};

use forgeline::{agent::run::RunContext, llm::anthropic::Anthropic, prelude::*};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::RwLock;

/// The name of each team's shop; a real program asks its database.
type Shops = Arc<RwLock<HashMap<String, String>>>;

#[derive(Deserialize, JsonSchema)]
struct Refund {
    /// The number of the order.
    order: String,
}

/// Returns the tools of a run: those of the shop that the caller's team has.
async fn shop_tools(shops: Shops, run: RunContext) -> Result<Vec<Arc<dyn Tool>>, AgentError> {
    let team = run.caller().and_then(|caller| caller.scope.as_deref()).unwrap_or_default();
    let Some(shop) = shops.read().await.get(team).cloned() else {
        let problem = format!("there is no shop of the team {team:?}");
        return Err(AgentError::new(ErrorCode::InvalidInput, problem));
    };
    let name = shop.clone();
    let hours = tool_fn("shop_hours", "Tells when the shop is open.", move |_, (): ()| {
        std::future::ready(format!("{name} is open from 9 to 5."))
    });
    let refund = tool_fn("shop_refund", "Gives the money back.", move |_, it: Refund| {
        std::future::ready(format!("{shop} gives the money for {} back.", it.order))
    });
    Ok(vec![Arc::new(hours), Arc::new(refund.permission("refunds"))])
}

/// Returns one agent for the callers of all teams.
fn clerk(provider: impl Provider + 'static, shops: Shops) -> Result<Agent, BuildError> {
    let source = move |run: RunContext| shop_tools(Arc::clone(&shops), run);
    Agent::builder(provider).tool_source(source).build()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let shops = HashMap::from([("north".to_owned(), "Hull & Sons".to_owned())]);
    let agent = clerk(Anthropic::from_env()?, Arc::new(RwLock::new(shops)))?;
    let ann = Caller::new("ann").scope("north").permission("refunds");
    let question = "Please give me the money for order 17 back.";
    println!("{}", agent.run(RunInput::from(question).caller(ann)).await?.text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use forgeline::testing::{ScriptedProvider, ScriptedTurn};
    use serde_json::json;

    use super::*;

    fn shops() -> Shops {
        let shop = |team: &str, name: &str| (team.to_owned(), name.to_owned());
        let shops = [shop("north", "Hull & Sons"), shop("south", "Keel & Co.")];
        Arc::new(RwLock::new(HashMap::from(shops)))
    }

    /// Returns the tools that the model is offered, and the result of its call of `shop_refund`.
    async fn refund(caller: Caller) -> (Vec<String>, String) {
        let call = ScriptedTurn::new().call("shop_refund", json!({ "order": "17" }));
        let provider = ScriptedProvider::new([call, ScriptedTurn::new().text("Done.")]);
        let agent = clerk(provider.clone(), shops()).unwrap();
        let outcome = agent.run(RunInput::from("Refund 17.").caller(caller)).await.unwrap();
        let result = outcome.messages.iter().flat_map(|message| message.tool_results()).next();
        let requests = provider.requests();
        let offered = requests[0].tools.iter().map(|tool| tool.name.to_string()).collect();
        (offered, result.unwrap().content.clone())
    }

    #[tokio::test]
    async fn each_team_has_its_own_tools() {
        for (team, shop) in [("north", "Hull & Sons"), ("south", "Keel & Co.")] {
            let caller = Caller::new("ann").scope(team).permission("refunds");
            let (offered, result) = refund(caller).await;
            assert_eq!(offered, ["shop_hours", "shop_refund"]);
            assert_eq!(result, format!("{shop} gives the money for 17 back."));
        }
    }

    #[tokio::test]
    async fn without_the_permission_a_tool_is_neither_offered_nor_run() {
        let (offered, result) = refund(Caller::new("bob").scope("north")).await;
        assert_eq!(offered, ["shop_hours"]);
        assert!(!result.contains("gives the money"), "{result}");
    }

    #[tokio::test]
    async fn a_source_that_fails_ends_the_run_before_the_model_is_asked() {
        let provider = ScriptedProvider::new([]);
        let agent = clerk(provider.clone(), shops()).unwrap();
        let input = RunInput::from("Hi").caller(Caller::new("eve").scope("west"));
        let error = agent.run(input).await.unwrap_err();
        assert!(error.to_string().contains("no shop of the team \"west\""), "{error}");
        assert!(provider.requests().is_empty());
    }
}
