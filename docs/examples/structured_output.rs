#![expect(clippy::print_stdout, reason = "an example: it prints what it finds")]
//! A value of your own type out of a text: its members appear as the model writes them, and a model whose answer does not fit is told why and asked
//! once more.

use std::error::Error;

use forgeline::{llm::openai::OpenAi, prelude::*};
use schemars::JsonSchema;
use serde::Deserialize;

/// What is looked for.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Invoice {
    /// The name of the seller.
    seller: String,
    /// What is to be paid, in cents.
    cents: u64,
}

/// Reads an invoice out of a letter; `show` gets the seller's name as it grows.
async fn read_invoice(
    provider: &impl Provider,
    letter: &str,
    mut show: impl FnMut(&str),
) -> Result<Invoice, ProviderError> {
    let request = Request::prompt(letter).system("Find the invoice in the letter.");
    let mut answer = provider.stream_structured::<Invoice>(request.clone()).await?;
    while answer.advance().await? {
        if let Some(seller) = answer.partial().and_then(|invoice| invoice.get("seller")?.as_str()) {
            show(seller);
        }
    }
    match answer.finish().await {
        Err(ProviderError::InvalidAnswer { problem, completion, .. }) => {
            let again = request.ask_again(&problem, &completion);
            Ok(provider.complete_structured(again).await?.value)
        }
        answer => Ok(answer?.value),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let letter = "Dear Ann, the boat is ready. Please pay 1,250.00 dollars. Yours, Hull & Sons";
    let show = |seller: &str| println!("… {seller}");
    let invoice = read_invoice(&OpenAi::from_env()?, letter, show).await?;
    println!("{}: {} cents", invoice.seller, invoice.cents);
    Ok(())
}

#[cfg(test)]
mod tests {
    use forgeline::{
        testing::{ScriptedProvider, ScriptedTurn},
        types::Capabilities,
    };
    use serde_json::json;

    use super::*;

    fn invoice() -> serde_json::Value {
        json!({ "seller": "Hull & Sons", "cents": 125_000 })
    }

    #[tokio::test]
    async fn members_appear_while_the_answer_streams() {
        let turn = ScriptedTurn::new().text("{\"seller\":\"Hull").text(" & Sons\",\"cents\":");
        let able = Capabilities::default().streaming(true).structured_output(true);
        let provider = ScriptedProvider::new([turn.text("125000}")]).capabilities(able);
        let mut shown = Vec::new();
        let show = |seller: &str| shown.push(seller.to_owned());
        let found = read_invoice(&provider, "Please pay.", show).await.unwrap();
        assert_eq!(found, Invoice { seller: "Hull & Sons".to_owned(), cents: 125_000 });
        assert_eq!(shown, ["Hull", "Hull & Sons", "Hull & Sons"]);
    }

    #[tokio::test]
    async fn a_model_whose_answer_does_not_fit_is_told_why() {
        let wrong = ScriptedTurn::new().json(json!({ "seller": "Hull & Sons", "cents": "many" }));
        let provider = ScriptedProvider::new([wrong, ScriptedTurn::new().json(invoice())]);
        let found = read_invoice(&provider, "Please pay.", |_| {}).await.unwrap();
        assert_eq!(found.cents, 125_000);
        let requests = provider.requests();
        let said: Vec<_> = requests[1].messages.iter().map(|message| message.text()).collect();
        assert!(said[1].contains("many") && said[2].contains("expected an integer"), "{said:?}");
    }

    #[tokio::test]
    async fn an_outage_is_the_error_that_it_is() {
        let provider = ScriptedProvider::new([ScriptedTurn::new().text("{").cut()]);
        let error = read_invoice(&provider, "Please pay.", |_| {}).await.unwrap_err();
        assert!(matches!(error.root(), ProviderError::EndedEarly { .. }), "{error}");
    }
}
