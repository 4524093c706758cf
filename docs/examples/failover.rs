#![expect(clippy::print_stdout, reason = "an example: it prints who answers")]
//! A second provider takes over while the first one is down, and hands back when it has recovered.

use std::{error::Error, time::Duration};

use forgeline::{
    llm::{anthropic::Anthropic, openai::OpenAi},
    prelude::*,
};

/// Returns an agent whose requests go to `first`, and during its outages to `second`.
fn agent(
    first: impl Provider + 'static,
    second: impl Provider + 'static,
) -> Result<Agent, BuildError> {
    let chain = Failover::new(first).then("backup", second);
    // A minute after the first one failed, one request tries it again.
    Agent::builder(chain.recover_after(Duration::from_mins(1))).build()
}

/// Returns the answer, and a line for each change of provider.
async fn ask(agent: &Agent, question: &str) -> Result<(String, Vec<String>), RunError> {
    let (mut run, mut changes) = (agent.run_stream(question), Vec::new());
    while let Some(envelope) = run.next().await {
        if let AgentEvent::Failover(hop) = envelope.event {
            changes.push(format!("{} → {}: {}", hop.from_provider, hop.to_provider, hop.reason));
        }
    }
    Ok((run.outcome().await?.text, changes))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let agent = agent(Anthropic::from_env()?, OpenAi::from_env()?)?;
    let (answer, changes) = ask(&agent, "Name a boat.").await?;
    for change in changes {
        println!("{change}");
    }
    println!("{answer}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use forgeline::{
        llm::{ProviderError, StatusError},
        testing::{ScriptedProvider, ScriptedTurn},
        types::{ErrorCode, ModelInfo},
    };
    use tokio::time::advance;

    use super::*;

    fn provider(name: &str, turns: [ScriptedTurn; 3]) -> ScriptedProvider {
        ScriptedProvider::new(turns).info_of(ModelInfo::new(name, "model"))
    }

    fn said(text: &'static str) -> ScriptedTurn {
        ScriptedTurn::new().text(text)
    }

    fn failed(status: u16, kind: ErrorCode) -> ScriptedTurn {
        ScriptedTurn::refuse(ProviderError::from(StatusError::new(status, kind, "no")))
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_provider_is_asked_again_after_a_minute() {
        let down = failed(503, ErrorCode::Overloaded);
        let first = provider("first", [down, said("I am back."), said("I stay.")]);
        let second = provider("second", [said("I stand in."), said("Still me."), said("")]);
        let agent = agent(first, second).unwrap();

        let (answer, changes) = ask(&agent, "Who is there?").await.unwrap();
        assert_eq!(answer, "I stand in.");
        assert!(changes[0].starts_with("first → second: the server answered 503"), "{changes:?}");

        advance(Duration::from_secs(59)).await;
        assert_eq!(ask(&agent, "And now?").await.unwrap(), ("Still me.".to_owned(), Vec::new()));

        advance(Duration::from_secs(1)).await;
        let (answer, changes) = ask(&agent, "And now?").await.unwrap();
        assert_eq!(answer, "I am back.");
        assert!(changes[0].starts_with("second → first: "), "{changes:?}");
        assert_eq!(ask(&agent, "And now?").await.unwrap(), ("I stay.".to_owned(), Vec::new()));
    }

    #[tokio::test]
    async fn a_wrong_key_is_not_an_outage() {
        let first = provider("first", [failed(401, ErrorCode::Auth), said(""), said("")]);
        let second = provider("second", [said("I stand in."), said(""), said("")]);
        let error = ask(&agent(first, second).unwrap(), "Who is there?").await.unwrap_err();
        assert_eq!(error.error.code, ErrorCode::Auth);
    }
}
