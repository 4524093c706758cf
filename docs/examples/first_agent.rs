#![expect(missing_docs, clippy::print_stdout, reason = "a whole agent: it prints its answer")]
use forgeline::{llm::demo::DemoProvider, prelude::*};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Yell {
    text: String,
}

#[tokio::main]
async fn main() -> Result<(), BuildError> {
    let tool = tool_fn("yell", "Yells.", async |_, it: Yell| it.text.to_uppercase());
    let mut run = Agent::builder(DemoProvider::new()).tool(tool).build()?.run_stream("Yell");
    while let Some(envelope) = run.next().await {
        print!("{}", envelope.event.text());
    }
    Ok(())
}
