//! `forgeline chat`: the same agent, interactively.

mod command;
mod lines;
mod search;
mod typed;

use std::{
    io::{self, IsTerminal as _},
    mem,
};

use clap::Args;
use forgeline::{
    agent::steering::Steering,
    types::{Message, UsageInfo},
};
use tokio::runtime::Runtime;

use self::{
    command::{ChatCommand, HELP},
    lines::{ChatLine, LineSource},
    typed::TypedAhead,
};
use crate::{
    agent::{AgentArgs, BuiltAgent, build},
    approve::{RequestHandles, UserPrompter},
    exit::{Exit, note},
    hint,
    interrupt::InterruptHandler,
    question::QuestionAttachments,
    render::usage_line,
    show::{EventDisplay, ShowForm},
    terminal::TerminalState,
    turn,
};

/// `forgeline chat`
#[derive(Debug, Args)]
pub struct ChatArgs {
    /// The agent that answers
    #[command(flatten)]
    agent: AgentArgs,
    /// Keep the input history in this file for the next chat [default: not kept]
    #[arg(long, value_name = "FILE")]
    history: Option<std::path::PathBuf>,
}

/// Runs the command.
///
/// # Errors
///
/// Wrong flags, and failing reads and writes. An answer that fails is reported and the chat goes
/// on.
pub fn chat(args: &ChatArgs) -> anyhow::Result<Exit> {
    let interrupts = InterruptHandler::listen()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut lines = LineSource::new(args.history.as_deref())?;
    let built = build(&args.agent, &runtime, &interrupts, true)?;
    let show = EventDisplay::start(ShowForm::Whole, args.agent.amount)?.traced(built.trace.clone());
    let usage = UsageInfo::default();
    // Read now, so that a wrong path is reported at once.
    let beside = args.agent.question.beside()?;
    let typed = if lines.is_editor() { TypedAhead::at_terminal() } else { TypedAhead::nowhere() };
    let was_stopped = false;
    let mut chat =
        ChatSession { built, runtime, show, interrupts, usage, beside, typed, was_stopped };
    if io::stdin().is_terminal() && !args.agent.amount.is_quiet() {
        note("/help lists the commands; Ctrl-C stops an answer, Ctrl-D quits.");
    }
    let exit = loop {
        match chat.next(&mut lines)? {
            ChatLine::Text(text) => {
                if !chat.line(text.trim())? {
                    break Exit::Done;
                }
            }
            ChatLine::End => break Exit::Done,
            ChatLine::Interrupted => break Exit::Interrupted,
        }
        if chat.interrupts.asks_to_leave() {
            break Exit::Interrupted;
        }
    };
    chat.runtime.block_on(chat.built.close());
    chat.runtime.shutdown_background();
    chat.built.finish()?;
    Ok(exit)
}

struct ChatSession {
    built: BuiltAgent,
    runtime: Runtime,
    show: EventDisplay,
    interrupts: InterruptHandler,
    /// Tokens of all answers together.
    usage: UsageInfo,
    /// What goes with the first question.
    beside: QuestionAttachments,
    /// What is typed while an answer is given.
    typed: TypedAhead,
    /// `true` when the user stopped the last answer and wrote nothing since.
    was_stopped: bool,
}

impl ChatSession {
    /// Waits for the next line: what was typed while the last answer was given comes first.
    fn next(&mut self, lines: &mut LineSource) -> anyhow::Result<ChatLine> {
        for line in self.typed.heard() {
            lines.remember(&line)?;
        }
        if let Some(line) = self.typed.next() {
            self.say(&format!("› {line}"))?;
            return Ok(ChatLine::Text(line));
        }
        if self.typed.has_ended() {
            return Ok(ChatLine::End);
        }
        let draft = self.typed.draft();
        lines.next(&self.runtime, &self.interrupts, self.was_stopped, draft)
    }

    /// Serves one line; returns `true` while the chat goes on.
    fn line(&mut self, line: &str) -> anyhow::Result<bool> {
        self.was_stopped = false;
        if line.is_empty() {
            return Ok(true);
        }
        match ChatCommand::parse(line) {
            None => self.ask(line.to_owned())?,
            Some(ChatCommand::Quit) => return Ok(false),
            Some(ChatCommand::Help) => self.say(HELP)?,
            Some(ChatCommand::Clear) => {
                self.runtime.block_on(self.built.conversation.clear())?;
                self.say("The conversation was cleared.")?;
            }
            Some(ChatCommand::Compact) => {
                self.built.conversation.compact();
                self.say("What was said so far is summarized with your next message.")?;
            }
            Some(ChatCommand::Tools) => {
                let tools = self.built.tools().join("\n");
                self.say(if tools.is_empty() { "The model has no tools." } else { &tools })?;
            }
            Some(ChatCommand::Usage) => {
                let usage = usage_line(&self.usage);
                self.say(if usage.is_empty() {
                    "No tokens have been reported yet."
                } else {
                    &usage
                })?;
            }
            Some(ChatCommand::Unknown) => {
                self.say(&format!("Unknown command {line}; /help lists the commands."))?;
            }
        }
        Ok(true)
    }

    fn ask(&mut self, question: String) -> anyhow::Result<()> {
        let question = mem::take(&mut self.beside).behind(question);
        let stop = self.interrupts.begin(false);
        let quiet = TerminalState::quiet();
        let mut asking = UserPrompter::default();
        let listen = |steering: &Steering, ends: &RequestHandles| {
            self.typed.listen(steering, ends, &mut asking)
        };
        let window = self.built.window;
        let turn =
            turn::take(&self.built.conversation, question, window, &mut self.show, &stop, listen);
        let turn = self.runtime.block_on(turn)?;
        self.built.keep();
        // Before the terminal changes: only in this state is the end of the input recognized.
        self.typed.read_rest();
        drop(quiet);
        if let Some(usage) = &turn.outcome.usage {
            self.usage.add(usage);
        }
        self.was_stopped = stop.end();
        let undelivered = turn.outcome.undelivered.iter().map(Message::text).collect();
        self.typed.hand_back(undelivered, self.was_stopped);
        if self.was_stopped {
            note("stopped");
        } else if let Some(error) = &turn.error {
            hint::tell(error);
        }
        Ok(())
    }

    fn say(&mut self, text: &str) -> anyhow::Result<()> {
        let stop = self.interrupts.begin(false);
        Ok(self.runtime.block_on(self.show.say(text, &stop))?)
    }
}
