//! The agent that `run` and `chat` drive.

use clap::Args;
use forgeline::agent::{Agent, Conversation};
use tokio::runtime::Runtime;

use crate::{
    amount::AmountArgs,
    context::model_window,
    exit::{UsageResult as _, usage},
    interrupt::InterruptHandler,
    kept::{ConversationFile, KeepArgs},
    question::QuestionArgs,
    record::{RecordArgs, SessionRecorder},
    setup::{PreparedAgent, SetupArgs, SetupContext, introduce},
    trace,
    vendors::ProviderName,
};

/// The default system prompt.
const SYSTEM: &str = "You are a careful assistant in a terminal. Look things up with your tools \
                      instead of guessing, and answer briefly, in plain text.";

/// The agent, as flags.
#[derive(Debug, Clone, Args)]
pub struct AgentArgs {
    /// What it is
    #[command(flatten)]
    setup: SetupArgs,
    /// What goes with the question
    #[command(flatten)]
    pub question: QuestionArgs,
    /// Where the traffic is recorded
    #[command(flatten)]
    record: RecordArgs,
    /// Whether the conversation goes on
    #[command(flatten)]
    keep: KeepArgs,
    /// How much is said
    #[command(flatten)]
    pub amount: AmountArgs,
}

/// The agent and its description.
#[derive(Debug)]
pub struct BuiltAgent {
    /// The conversation with the agent.
    pub conversation: Conversation,
    prepared: PreparedAgent,
    /// The sizes of its requests, where a trace is wanted.
    pub(crate) trace: Option<trace::RequestSizes>,
    recorder: Option<SessionRecorder>,
    keeper: ConversationFile,
    /// The tokens of the window, whose used share is reported, where they are known.
    pub(crate) window: Option<u64>,
}

impl BuiltAgent {
    /// Returns its tools, a line each: name and description.
    #[must_use]
    pub fn tools(&self) -> &[String] {
        &self.prepared.tools
    }

    /// Tells remote servers that their sessions end.
    pub async fn close(&self) {
        self.prepared.close().await;
    }

    /// Keeps the conversation for `--continue`.
    pub fn keep(&self) {
        self.keeper.keep(self.conversation.transcript());
    }

    /// Ends the recording, if there is one.
    ///
    /// # Errors
    ///
    /// When the recording is not whole.
    pub fn finish(&self) -> anyhow::Result<()> {
        self.recorder.as_ref().map_or(Ok(()), SessionRecorder::finish)
    }
}

/// Builds the agent and says on stderr who answers and why; a chat does not wait for MCP servers that start slowly.
///
/// # Errors
///
/// A usage error for flags that do not go together or a folder that cannot be read; an error when a required
/// MCP server does not work.
pub fn build(
    args: &AgentArgs,
    runtime: &Runtime,
    interrupts: &InterruptHandler,
    is_chat: bool,
) -> anyhow::Result<BuiltAgent> {
    let trace = args.amount.is_traced().then(trace::start);
    let choice = args.setup.choose(args.amount.is_quiet())?;
    if args.record.is_set() && choice.provider == ProviderName::Demo {
        return Err(usage(
            "the demo has no server to record; omit --record, or name a server with --base-url",
        ));
    }
    let (messages, keeper) = args.keep.open(args.amount.is_verbose())?;
    let recorder = args.record.recorder()?;
    let provider = args.setup.connect(&choice, recorder.as_ref())?;
    let is_quiet = args.amount.is_quiet();
    let system = SYSTEM;
    let at = SetupContext { runtime, interrupts, system, own_files: None, is_quiet, is_chat };
    let mut builder = Agent::builder(provider);
    if let Some(requests) = &trace {
        builder = builder.observer(requests.clone());
    }
    let prepared = args.setup.prepare(&choice, builder, Vec::new(), &at)?;
    let agent =
        prepared.builder.clone().build().usage_context(|| "cannot build the agent".to_owned())?;
    introduce(&choice, is_quiet);
    let window = args.setup.context().or_else(|| model_window(&choice.model));
    let conversation = agent.conversation_from(&messages);
    Ok(BuiltAgent { conversation, prepared, trace, recorder, keeper, window })
}
