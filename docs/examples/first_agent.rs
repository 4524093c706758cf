#![expect(missing_docs, clippy::print_stdout, reason = "a whole agent: it prints its answer")]
use forgeline::{agent::DefaultAgent, agent::tools::tool_fn, llm::demo::DemoProvider};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Shout {
    text: String,
}

#[tokio::main]
async fn main() -> Result<(), forgeline::agent::BuildError> {
    let tool = tool_fn("shout", "Shouts.", async |_, shout: Shout| shout.text.to_uppercase());
    let mut run =
        DefaultAgent::builder(DemoProvider::new()).tool(tool).build()?.run_stream("Shout");
    while let Some(envelope) = run.next().await {
        print!("{}", envelope.event.text());
    }
    Ok(())
}
