//! `forgeline run`: one question, one streamed answer.

use std::io::{self, Read as _};

use anyhow::Context as _;
use clap::Args;

use crate::{
    agent::{AgentArgs, build},
    exit::{Exit, usage},
    hint,
    output::{Output, is_watched, stdout},
    turn,
};

/// `forgeline run`
#[derive(Debug, Args)]
pub struct RunArgs {
    /// What to ask; several words are joined, and a single - reads stdin
    #[arg(required = true, value_name = "PROMPT")]
    prompt: Vec<String>,
    /// The agent that answers
    #[command(flatten)]
    agent: AgentArgs,
    /// Print events with their envelopes as JSON lines, then the completion
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
///
/// Wrong flags, and failing writes. A run that fails is an event and exit code 1.
pub fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let prompt = prompt(&args.prompt)?;
    let built = build(&args.agent)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut output = Output::new(stdout(args.json), args.json);
    let watched = !args.json && is_watched();
    let turn = runtime.block_on(turn::take(&built.agent, prompt, &mut output, watched));
    // A tool that ignores its cancellation must not keep the program alive.
    runtime.shutdown_background();
    built.finish()?;
    let turn = turn?;
    if args.json {
        output.completion(&turn.completion)?;
    } else {
        output.footer(&turn.footer())?;
    }
    match turn.error {
        _ if turn.interrupted => Ok(Exit::Interrupted),
        None => Ok(Exit::Done),
        Some(error) => {
            hint::tell(&error);
            Ok(Exit::Failed)
        }
    }
}

fn prompt(words: &[String]) -> anyhow::Result<String> {
    let mut prompt = words.join(" ");
    if prompt == "-" {
        prompt.clear();
        io::stdin().read_to_string(&mut prompt).context("cannot read the prompt from stdin")?;
    }
    if prompt.trim().is_empty() {
        return Err(usage("the prompt is empty; write what to ask after `run`"));
    }
    Ok(prompt)
}
