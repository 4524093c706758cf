#![expect(clippy::print_stdout, reason = "an example: it prints who works")]
//! A planner that divides a task among experts: agents that work at the same time, each with its own prompt, on one budget.

use std::{error::Error, sync::Arc};

use forgeline::{
    agent::{
        notice::SubAgentEvent,
        run::Budget,
        sub_agents::{Places, SubAgent},
    },
    llm::anthropic::Anthropic,
    prelude::*,
};

/// Returns an expert, which the planner calls like any other tool.
fn expert(model: &Arc<dyn Provider>, topic: &'static str) -> Result<SubAgent, BuildError> {
    let system = format!("You are an expert on {topic}. Answer in three sentences.");
    let agent = Agent::builder(model.clone()).system(system).build()?;
    Ok(SubAgent::new(agent, topic, format!("Answers questions on {topic}.")))
}

/// Returns the planner.
fn planner(model: &Arc<dyn Provider>, experts: &Arc<dyn Provider>) -> Result<Agent, BuildError> {
    // At most four experts work at a time; others wait.
    let places = Places::new(4);
    Agent::builder(model.clone())
        .system("Give each part of the task to an expert, all in one answer, and join the answers.")
        .tool(expert(experts, "history")?.places(&places))
        .tool(expert(experts, "prices")?.places(&places))
        .build()
}

/// Works on a task; `tell` gets the name of each expert as it begins to speak.
async fn work(
    planner: &Agent,
    task: &str,
    mut tell: impl FnMut(&str),
) -> Result<RunOutcome, RunError> {
    let budget = Budget::default().tokens(50_000);
    let mut run = planner.run_stream(RunInput::from(task).budget(budget));
    while let Some(envelope) = run.next().await {
        if let Some(below) = SubAgentEvent::read(&envelope.event)
            && below.envelope.event.kind() == "message_start"
        {
            tell(&below.tool_name);
        }
    }
    run.outcome().await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let model: Arc<dyn Provider> = Arc::new(Anthropic::from_env()?);
    let task = "Since when are there houseboats, and what does one cost?";
    let outcome = work(&planner(&model, &model)?, task, |name| println!("{name} answers")).await?;
    println!("{}\n({} tokens in all)", outcome.text, outcome.spent.tokens);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{pin::pin, time::Duration};

    use forgeline::testing::{ScriptedProvider, ScriptedTurn};
    use serde_json::json;
    use tokio::time::timeout;

    use super::*;

    /// Returns a model that asks both experts in one answer.
    fn model() -> ScriptedProvider {
        let both = ScriptedTurn::new()
            .call("history", json!({ "task": "Since when?" }))
            .call("prices", json!({ "task": "How much?" }));
        ScriptedProvider::new([both, ScriptedTurn::new().text("Since 1800, for a million.")])
    }

    fn planned(model: &ScriptedProvider, experts: &ScriptedProvider) -> Agent {
        planner(&(Arc::new(model.clone()) as _), &(Arc::new(experts.clone()) as _)).unwrap()
    }

    #[tokio::test]
    async fn each_expert_answers_with_its_own_prompt_and_the_planner_joins_them() {
        let experts = ScriptedProvider::from_fn(|request| {
            let system = request.system.as_deref().unwrap_or_default();
            ScriptedTurn::new().text(if system.contains("prices") { "A million." } else { "1800." })
        });
        let (model, mut told) = (model(), Vec::new());
        let agent = planned(&model, &experts);
        let outcome = work(&agent, "Houseboats?", |name| told.push(name.to_owned())).await.unwrap();
        assert_eq!(outcome.text, "Since 1800, for a million.");
        told.sort();
        assert_eq!(told, ["history", "prices"]);
        let requests = model.requests();
        let results = requests[1].messages.iter().flat_map(|message| message.tool_results());
        let results: Vec<_> = results.map(|result| result.content.as_str()).collect();
        assert!(results[0].contains("1800.") && results[1].contains("A million."), "{results:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_experts_work_at_the_same_time() {
        let experts = ScriptedProvider::from_fn(|_| ScriptedTurn::new().hang());
        let agent = planned(&model(), &experts);
        let mut run = pin!(work(&agent, "Houseboats?", |_| {}));
        timeout(Duration::from_secs(1), &mut run).await.unwrap_err();
        assert_eq!(experts.open_streams(), 2);
    }
}
