//! The agent that `run` and `chat` drive.

use std::{path::PathBuf, sync::Arc, time::Duration};

use clap::{Args, ValueEnum};
use forgeline::{
    agent::{
        Budget, CallMode, DefaultAgent,
        mcp::McpServers,
        memory::ConversationMemory,
        tools::{Calculator, CommandTool, FileTools, Tool},
    },
    llm::Cost,
    types::Text,
};

use tokio::runtime::Runtime;

use crate::{
    amount::AmountArgs,
    approve::Approve,
    context::ContextArgs,
    dialects::{thinking_dialect, tool_dialect},
    environment::Environment,
    exit::{UsageResult as _, note, usage},
    helpers::HelperArgs,
    interrupt::Interrupts,
    kept::{KeepArgs, Keeper},
    mcp::McpArgs,
    probe::find_local_server,
    provider_choice::{ProviderArgs, choose},
    question::QuestionArgs,
    record::{RecordArgs, Recorder},
    render::escape_controls,
    skills::SkillArgs,
    trace,
    vendors::{ProviderName, connect},
};

/// The default system prompt.
const SYSTEM: &str = "You are a careful assistant in a terminal. Look things up with your tools \
                      instead of guessing, and answer briefly, in plain text.";

/// The agent, as flags.
#[derive(Debug, Clone, Args)]
pub struct AgentArgs {
    /// Who answers
    #[command(flatten)]
    provider: ProviderArgs,
    /// What the file tools may read
    #[command(flatten)]
    files: FileArgs,
    /// The skills that the model may load
    #[command(flatten)]
    skills: SkillArgs,
    /// Whose tools it may call besides
    #[command(flatten)]
    mcp: McpArgs,
    /// Who helps it
    #[command(flatten)]
    helpers: HelperArgs,
    /// What the model is told before everything else
    #[arg(short, long, value_name = "TEXT")]
    system: Option<String>,
    /// How often the model may answer before it has to come to an end
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: u32,
    /// How much one answer may use
    #[command(flatten)]
    budget: BudgetArgs,
    /// How much of the conversation is sent
    #[command(flatten)]
    context: ContextArgs,
    /// Longest time of one answer, tools included, in seconds, such as 90 or 0.5 [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// How calls are exchanged with the model: auto takes the server's function calling where it has one
    #[arg(long, value_enum, default_value_t = Mode::Auto)]
    call_mode: Mode,
    /// How calls are written in text: auto, none or a name that `forgeline dialects` lists [default: the model's]
    #[arg(long, value_name = "NAME")]
    dialect: Option<String>,
    /// How thinking is written in text: auto, none or a name that `forgeline dialects` lists [default: auto]
    #[arg(long, value_name = "NAME")]
    thinking: Option<String>,
    /// Options of the request
    #[command(flatten)]
    pub question: QuestionArgs,
    /// What happens to calls that change what cannot be changed back: never runs none of them, ask asks
    /// (a pipe rejects), and tools that are named run unasked
    #[arg(long, value_name = "never|ask|NAMES", default_value = "ask")]
    approve: Approve,
    /// Give the model no tools
    #[arg(long)]
    no_tools: bool,
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

/// The budget of an answer, as flags.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_field_names, reason = "the fields are the names of flags")]
struct BudgetArgs {
    /// How many tokens one answer may use; at the limit the model is asked to come to an end
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    budget_tokens: Option<u64>,
    /// How many seconds one answer may use before the model is asked to come to an end
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    budget_time: Option<Duration>,
    /// How many dollars one answer may use at list prices, such as 0.05
    #[arg(long, value_name = "DOLLARS")]
    budget_cost: Option<Cost>,
}

impl BudgetArgs {
    fn budget(&self) -> Budget {
        let mut budget = Budget::default();
        budget.tokens = self.budget_tokens;
        budget.time = self.budget_time;
        budget.cost = self.budget_cost;
        budget
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let time = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let time = time.filter(|time| !time.is_zero());
    time.ok_or_else(|| "expected a number of seconds above 0".to_owned())
}

/// The exchange of calls, as a flag.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Mode {
    /// The server's function calling where it has one, else text
    Auto,
    /// The server's function calling
    Native,
    /// Text: the prompt describes the tools
    Text,
}

impl From<Mode> for CallMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Auto => Self::Auto,
            Mode::Native => Self::Native,
            Mode::Text => Self::Text,
        }
    }
}

/// The files that tools may read, as flags.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags that have nothing in common")]
struct FileArgs {
    /// The folder that the file tools may read
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Let the file tools read hidden files and keys
    #[arg(long)]
    hidden: bool,
    /// Let the model change files below the folder; it asks before each change
    #[arg(long)]
    write: bool,
    /// Let the model run this command below the folder, such as "cargo test", without a shell; it asks before each;
    /// may be given several times
    #[arg(long, value_name = "COMMAND")]
    allow_command: Vec<String>,
}

impl FileArgs {
    /// Returns the tools that work below the folder.
    fn tools(&self) -> anyhow::Result<Vec<Arc<dyn Tool>>> {
        let unreadable =
            || format!("cannot read the folder {}; name another with --root", self.root.display());
        let files = FileTools::new(&self.root).usage_context(unreadable)?.show_hidden(self.hidden);
        let mut tools = if self.write { files.into_changing_tools() } else { files.into_tools() };
        if !self.allow_command.is_empty() {
            let commands = CommandTool::new(&self.root, &self.allow_command)
                .usage_context(|| "--allow-command".to_owned())?;
            tools.push(Arc::new(commands.show_hidden(self.hidden)));
        }
        Ok(tools)
    }
}

/// The agent and its description.
#[derive(Debug)]
pub struct Built {
    /// The agent.
    pub agent: DefaultAgent,
    /// Its tools, a line each: name and description.
    pub tools: Vec<String>,
    /// The sizes of its requests, where a trace is wanted.
    pub(crate) trace: Option<trace::Requests>,
    recorder: Option<Recorder>,
    keeper: Keeper,
    /// The servers, which end with this: a task that was left behind may hold one of their tools.
    servers: Option<McpServers>,
}

impl Drop for Built {
    fn drop(&mut self) {
        self.servers.iter().for_each(McpServers::kill);
    }
}

impl Built {
    /// Tells remote servers that their sessions end.
    pub async fn close(&self) {
        if let Some(servers) = &self.servers {
            servers.close().await;
        }
    }

    /// Keeps the conversation for `--continue`.
    pub fn keep(&self) {
        self.keeper.keep(self.agent.transcript());
    }

    /// Ends the recording, if there is one.
    ///
    /// # Errors
    ///
    /// When the recording is not whole.
    pub fn finish(&self) -> anyhow::Result<()> {
        self.recorder.as_ref().map_or(Ok(()), Recorder::finish)
    }
}

/// Returns the line of a tool; of what a server writes about it, the first line.
fn describe(tool: &Arc<dyn Tool>) -> String {
    let line = tool.description().lines().next().unwrap_or_default();
    format!("{}: {}", tool.name(), escape_controls(line))
}

/// Builds the agent and says on stderr who answers and why.
///
/// # Errors
///
/// A usage error for flags that do not go together or a folder that cannot be read; an error when a required
/// MCP server does not work.
pub fn build(
    args: &AgentArgs,
    runtime: &Runtime,
    interrupts: &Interrupts,
) -> anyhow::Result<Built> {
    let trace = args.amount.is_traced().then(trace::start);
    let environment = Environment::default();
    let choice = choose(&args.provider, |name| environment.get(name), find_local_server);
    environment.check()?;
    let choice = choice?;
    choice.confirm()?;
    if args.record.is_set() && choice.provider == ProviderName::Demo {
        return Err(usage(
            "the demo has no server; leave --record out, or name one with --base-url",
        ));
    }
    let (messages, keeper) = args.keep.open(args.amount.is_verbose())?;
    let recorder = args.record.recorder()?;
    let thinking = args.thinking.as_deref().map(thinking_dialect).transpose()?;
    let provider = connect(&choice, recorder.as_ref(), thinking.as_ref())?;
    let mut builder = DefaultAgent::builder(provider)
        .request(args.question.template()?)
        .memory(ConversationMemory::from(messages))
        .system(args.system.clone().unwrap_or_else(|| SYSTEM.to_owned()))
        .max_turns(args.max_turns)
        .budget(args.budget.budget())
        .call_mode(args.call_mode.into());
    builder = args.context.set_up(builder);
    if let Some(requests) = &trace {
        builder = builder.observer(requests.clone());
    }
    if let Some(timeout) = args.timeout {
        builder = builder.run_timeout(timeout);
    }
    if let Some(name) = &args.dialect {
        builder = builder.tool_dialect(tool_dialect(name)?);
    }
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    if !args.no_tools {
        tools.push(Arc::new(Calculator));
        tools.extend(args.files.tools()?);
        let skills = args.skills.find(&args.files.root, args.amount.is_quiet())?;
        if !skills.is_empty() {
            builder = builder.system(skills.prompt());
            tools.push(skills.tool());
        }
    }
    let connected = if args.no_tools { None } else { args.mcp.connect(runtime, interrupts)? };
    let mut described: Vec<_> = tools.iter().map(describe).collect();
    let mut names: Vec<_> = tools.iter().map(|tool| Text::from(tool.name())).collect();
    let servers = connected.as_ref().map(|connected| connected.servers.clone());
    if let Some(connected) = connected {
        described.extend(connected.tools.iter().map(describe));
        names.extend(connected.tools.iter().map(|tool| Text::from(tool.name())));
        builder = builder.tool_source(connected.servers);
    }
    names.extend(args.helpers.names().map(Text::from));
    builder = args.approve.set_up(builder.tools(tools), &names)?;
    let helpers =
        args.helpers.tools(&builder).usage_context(|| "a helper cannot be built".to_owned())?;
    described.extend(helpers.iter().map(describe));
    let agent =
        builder.tools(helpers).build().usage_context(|| "the agent cannot be built".to_owned())?;
    if !args.amount.is_quiet() {
        note(&escape_controls(&choice.to_string()));
    }
    if let Some(warning) = choice.warning() {
        note(&escape_controls(&warning));
    }
    Ok(Built { agent, tools: described, trace, recorder, keeper, servers })
}
