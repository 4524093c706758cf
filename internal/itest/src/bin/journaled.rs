//! A process that may be killed at any moment: it goes on with the conversation of its folder, or begins it,
//! and prints the messages at the end. Each execution of a tool is a line of the file `ran`.
#![expect(clippy::print_stdout, reason = "its output is what the test reads")]

use std::{error::Error, path::PathBuf};

use forgeline::{
    agent::{Agent, journal::FileJournal},
    testing::ScriptedProvider,
};
use forgeline_itest::noting::{Noting, Slow, turn};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("the folder is missing")?);
    let tool =
        |name, is_idempotent| Noting { name, is_idempotent, file: folder.join("ran").into() };
    let agent = Agent::builder(Slow(ScriptedProvider::from_fn(turn)))
        .tool(tool("once", false))
        .tool(tool("again", true))
        .build()?
        .conversation()
        .with_journal(FileJournal::new(folder.join("journal")));
    if agent.resume().await?.is_none() && agent.transcript().is_empty() {
        agent.run("Do it.").await?;
    }
    println!("{}", serde_json::to_string(&agent.transcript())?);
    Ok(())
}
