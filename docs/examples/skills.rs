//! A model that loads a skill, and its request afterwards.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use forgeline::{
    agent::{Agent, skills::Skills},
    testing::{ScriptedProvider, ScriptedTurn},
};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("skills-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("pdf"))?;
    let text = "---\nname: pdf\ndescription: Fills forms in PDF.\n---\nAsk for each field.";
    std::fs::write(folder.join("pdf/SKILL.md"), text)?;

    let skills = Skills::find([&folder]);
    for problem in skills.problems() {
        println!("skill left out: {problem}");
    }
    let load = ScriptedTurn::new().call("load_skill", json!({ "name": "pdf" }));
    let provider = ScriptedProvider::new([load, ScriptedTurn::new().text("What is your name?")]);
    let agent = Agent::builder(provider.clone()).skills(&skills).build()?;
    agent.run("Fill in the form.").await?;
    if let Some(request) = provider.requests().last() {
        println!("{}", request.system.as_deref().unwrap_or_default());
        for message in &request.messages {
            println!("{message:?}");
        }
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_skill_is_loaded() {
        super::main().unwrap();
    }
}
