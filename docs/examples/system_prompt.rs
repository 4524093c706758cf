//! A system prompt of ready parts, printed.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use forgeline::{
    agent::prompts::{
        ClockPrompt, FilePrompt, IdentityPrompt, ModulePrompts, ProjectPrompt, ToolFilesPrompt,
    },
    prelude::*,
    testing::{ScriptedProvider, ScriptedTurn},
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orders = ModulePrompts::new().module("orders", "An order has a number such as A-17.");
    let provider = ScriptedProvider::new([ScriptedTurn::new().text("Hello.")]);
    let agent = Agent::builder(provider.clone())
        .system(FilePrompt::new("prompts/system.md").or("You help the users of a shop."))
        .system(IdentityPrompt)
        .system(ToolFilesPrompt::new("."))
        .system(ProjectPrompt::new(".").name("shop"))
        .system(orders)
        .system(ClockPrompt::new())
        .build()?;
    agent.run(RunInput::from("Hi").module("orders")).await?;
    for request in provider.requests() {
        println!("{}", request.system.as_deref().unwrap_or_default());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_prompt_is_made() {
        super::main().unwrap();
    }
}
