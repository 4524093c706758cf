#![expect(clippy::print_stdout, reason = "an example: it prints what happens")]
//! What one conversation saves, another one of the same caller finds, in the same file; another caller does not.

use std::{error::Error, path::Path};

use forgeline::{
    agent::knowledge::{FileMemoryStore, KnowledgeTools, LexicalIndex, MemoryTools},
    prelude::*,
    testing::{ScriptedProvider, ScriptedTurn},
};
use serde_json::{Value, json};

/// A conversation of its own, in which the model makes one call. Returns what it reads.
async fn call(
    file: &Path,
    caller: &str,
    tool: &str,
    arguments: Value,
) -> Result<String, Box<dyn Error>> {
    let turns = [ScriptedTurn::new().call(tool, arguments), ScriptedTurn::new().text("Done.")];
    let provider = ScriptedProvider::new(turns);
    let index = LexicalIndex::new([("pump.md", "Turn the pump off first.")])?;
    let agent = Agent::builder(provider.clone())
        .tools(MemoryTools::new(FileMemoryStore::new(file)).into_tools())
        .tools(KnowledgeTools::new(index).into_tools())
        .build()?;
    agent.run(RunInput::from("Go on.").caller(Caller::new(caller))).await?;
    let requests = provider.requests();
    let messages = requests.last().into_iter().flat_map(|request| request.messages.iter());
    let result = messages.flat_map(|message| message.tool_results()).last();
    Ok(result.map(|result| result.content.clone()).unwrap_or_default())
}

async fn told(file: &Path) -> Result<[String; 4], Box<dyn Error>> {
    let note = json!({ "key": "diet", "text": "Eats no nuts." });
    Ok([
        call(file, "ann", "memory.save", note).await?,
        call(file, "ann", "memory.load", json!({ "query": "nuts" })).await?,
        call(file, "ben", "memory.load", json!({ "query": "nuts" })).await?,
        call(file, "ben", "knowledge.query", json!({ "query": "pump" })).await?,
    ])
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::temp_dir().join(format!("remembered-{}.jsonl", std::process::id()));
    let told = told(&file).await;
    for end in ["", ".lock"] {
        // They are not there when nothing was saved.
        let _removed = std::fs::remove_file(format!("{}{end}", file.display()));
    }
    for result in told? {
        println!("{result}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_caller_finds_its_memories_and_another_does_not() {
        let folder = std::env::temp_dir().join(format!("remembered-test-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let [saved, own, other, document] = told(&folder.join("kept.jsonl")).await.unwrap();
        std::fs::remove_dir_all(folder).unwrap();
        assert_eq!(saved, "remembered under `diet`");
        assert!(own.contains("Eats no nuts."), "{own}");
        assert!(!other.contains("Eats no nuts."), "{other}");
        assert!(document.contains("Turn the pump off first."), "{document}");
    }
}
