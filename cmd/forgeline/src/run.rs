//! `forgeline run`: one question, one streamed answer.

use std::io::{self, IsTerminal as _};

use clap::Args;
use forgeline::agent::steering::Steering;

use crate::{
    agent::{AgentArgs, build},
    approve::{RequestHandles, UserPrompter},
    exit::Exit,
    hint,
    interrupt::InterruptHandler,
    prompt::prompt,
    show::{EventDisplay, ShowForm},
    terminal::TypedLines,
    turn,
};

/// `forgeline run`
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The prompt; several words are joined, text on stdin is appended, and a single - reads stdin alone
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
    let interrupts = InterruptHandler::listen()?;
    let prompt = prompt(&args.prompt)?;
    let prompt = args.agent.question.beside()?.behind(prompt);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let built = build(&args.agent, &runtime, &interrupts, false)?;
    let mut show = EventDisplay::start(form(args), args.agent.amount)?.traced(built.trace.clone());
    let stop = interrupts.begin(true);
    let turn = runtime.block_on(async {
        let (mut asking, mut typed) = (UserPrompter::default(), TypedLines::of_stdin());
        let listen = |_: &Steering, ends: &RequestHandles| asking.listen(ends, &mut typed);
        let turn =
            turn::take(&built.conversation, prompt, built.window, &mut show, &stop, listen).await;
        built.keep();
        built.close().await;
        turn
    });
    let is_stopped = stop.end();
    // A tool that ignores its cancellation must not keep the program alive.
    runtime.shutdown_background();
    built.finish()?;
    let turn = turn?;
    match turn.error {
        _ if is_stopped => Ok(Exit::Interrupted),
        None => Ok(Exit::Done),
        Some(error) => {
            hint::tell(&error);
            Ok(Exit::Failed)
        }
    }
}

fn form(args: &RunArgs) -> ShowForm {
    match args.json {
        true => ShowForm::Json,
        false if io::stdout().is_terminal() && !args.agent.amount.is_quiet() => ShowForm::Whole,
        false => ShowForm::Answer,
    }
}
