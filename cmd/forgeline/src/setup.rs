//! What an agent is, as flags of each command that has one.

use std::{path::PathBuf, sync::Arc, time::Duration};

use clap::{Args, ValueEnum};
use forgeline::{
    agent::{mcp::McpServers, run::Budget},
    llm::{Cost, ModelCard, Prices},
    prelude::*,
    types::Text,
};
use tokio::runtime::Runtime;

use crate::{
    approve::ApprovalMode,
    context::{ContextArgs, model_window},
    dialects::{thinking_dialect, tool_dialect},
    environment::Environment,
    exit::{UsageResult as _, note, usage},
    files::FileArgs,
    helpers::HelperArgs,
    interrupt::InterruptHandler,
    mcp::McpArgs,
    probe::find_local_server,
    project::ProjectArgs,
    provider_choice::{ProviderArgs, ProviderChoice, choose},
    question::RequestArgs,
    record::SessionRecorder,
    render::escape_controls,
    skills::SkillArgs,
    vendors::connect,
};

/// The wait for people of a service, if no flag says another: a week.
const SERVED_WAIT: Duration = Duration::from_hours(7 * 24);

/// What an agent is, as flags.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct SetupArgs {
    /// Who answers
    #[command(flatten)]
    provider: ProviderArgs,
    /// Whose instructions it follows
    #[command(flatten)]
    project: ProjectArgs,
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
    /// The system prompt
    #[arg(short, long, value_name = "TEXT")]
    system: Option<String>,
    /// Maximum number of model turns in one answer
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: u32,
    /// How much one answer may use
    #[command(flatten)]
    budget: BudgetArgs,
    /// How much of the conversation is sent
    #[command(flatten)]
    context: ContextArgs,
    /// Time limit of one answer, including tools, in seconds, such as 90 or 0.5 [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// How calls are exchanged with the model: auto uses the server's function calling where it has one
    #[arg(long, value_enum, default_value_t = CallModeFlag::Auto)]
    call_mode: CallModeFlag,
    /// Dialect of calls in text: auto, none or a name listed by `forgeline dialects` [default: the model's]
    #[arg(long, value_name = "NAME")]
    dialect: Option<String>,
    /// Dialect of thinking in text: auto, none or a name listed by `forgeline dialects` [default: auto]
    #[arg(long, value_name = "NAME")]
    thinking: Option<String>,
    /// Options of the request
    #[command(flatten)]
    request: RequestArgs,
    /// Approval of calls whose changes cannot be undone: never rejects them, ask asks (without a terminal,
    /// they are rejected), and the tools in NAMES run unasked
    #[arg(long, value_name = "never|ask|NAMES", default_value = "ask")]
    approve: ApprovalMode,
    /// How long a call waits for approval, and a question for its answer: a number of seconds, or of minutes, hours or days with
    /// `m`, `h` or `d`, such as 12h [default: 5m; with `serve` 7d]
    #[arg(long, value_name = "TIME", value_parser = waiting_time)]
    approval_timeout: Option<Duration>,
    /// Give the model no tools
    #[arg(long)]
    no_tools: bool,
    /// With `serve`: begin a conversation that the service does not have with the earlier messages that a chat's request contains, as
    /// text from outside
    #[arg(long)]
    client_history: bool,
    /// With `serve`: the id of another model of the provider that a request may choose; may be given several times
    #[arg(long, value_name = "ID")]
    models: Vec<String>,
}

/// Where an agent is set up.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct SetupContext<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) interrupts: &'a InterruptHandler,
    /// The system prompt, where none is given.
    pub(crate) system: &'a str,
    /// The files of the service; `None` without one.
    pub(crate) own_files: Option<&'a [PathBuf]>,
    pub(crate) is_quiet: bool,
    /// `true` for a chat, which does not wait for what may come later.
    pub(crate) is_chat: bool,
}

impl SetupContext<'_> {
    /// Returns `true` when people answer over the network, and not at the terminal.
    pub(crate) fn is_served(&self) -> bool {
        self.own_files.is_some()
    }
}

/// An agent that is set up.
#[derive(Debug)]
pub(crate) struct PreparedAgent {
    pub(crate) builder: AgentBuilder,
    /// Its tools, a line each: name and description.
    pub(crate) tools: Vec<String>,
    /// `true` if its conversations may begin with the messages of a client.
    #[cfg_attr(not(feature = "serve"), expect(dead_code, reason = "of services"))]
    pub(crate) takes_history: bool,
    /// The servers, which end with this: a task that was left behind may hold one of their tools.
    pub(crate) servers: Option<McpServers>,
}

impl Drop for PreparedAgent {
    fn drop(&mut self) {
        self.servers.iter().for_each(McpServers::kill);
    }
}

impl PreparedAgent {
    /// Tells remote servers that their sessions end.
    pub(crate) async fn close(&self) {
        if let Some(servers) = &self.servers {
            servers.close().await;
        }
    }
}

impl SetupArgs {
    /// Chooses who answers.
    ///
    /// # Errors
    ///
    /// A usage error for flags that contradict each other or the environment, or when the user does not agree.
    pub(crate) fn choose(&self, is_quiet: bool) -> anyhow::Result<ProviderChoice> {
        let choice = self.choice()?;
        choice.confirm(is_quiet || self.request.has_schema())?;
        Ok(choice)
    }

    fn choice(&self) -> anyhow::Result<ProviderChoice> {
        let environment = Environment::default();
        let choice = choose(&self.provider, |name| environment.get(name), find_local_server);
        environment.check()?;
        choice
    }

    /// Connects with the models that a request may choose.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect), and a usage error for the demo, which has one model.
    #[cfg(feature = "serve")]
    pub(crate) fn connect_models(
        &self,
        choice: &ProviderChoice,
    ) -> anyhow::Result<Vec<(String, Arc<dyn Provider>)>> {
        if !self.models.is_empty() && choice.base_url.is_empty() {
            return Err(usage("--models needs a provider with several models; the demo has one"));
        }
        let connected = self.models.iter().map(|model| {
            let other = ProviderChoice { model: model.clone(), ..choice.clone() };
            Ok((model.clone(), self.connect(&other, None)?))
        });
        connected.collect()
    }

    /// Returns the window of the model, in tokens; where a request may choose, the smallest that is known.
    fn window(&self, choice: &ProviderChoice) -> Option<u64> {
        let models = self.models.iter().chain([&choice.model]);
        models.filter_map(|model| model_window(model)).min()
    }

    /// Returns the limit of tokens that a flag sets for requests.
    pub(crate) fn context(&self) -> Option<u64> {
        self.context.tokens()
    }

    /// Returns all that is wrong with it, as far as can be known without asking servers of models and tools.
    ///
    /// `more` returns the tools that it has besides those of its flags.
    #[cfg(feature = "serve")]
    pub(crate) fn mistakes(
        &self,
        own_files: &[PathBuf],
        more: impl FnOnce(&ProviderChoice) -> Vec<Arc<dyn Tool>>,
    ) -> Vec<anyhow::Error> {
        let choice = self.choice();
        let window = choice.as_ref().ok().and_then(|choice| self.window(choice));
        let provider = choice.and_then(|choice| {
            self.connect(&choice, None)?;
            self.connect_models(&choice)?;
            Ok(choice)
        });
        let (provider, chosen) = match provider {
            Ok(choice) => (Ok(()), Some(choice)),
            Err(error) => (Err(error), None),
        };
        let dialect = self.dialect.as_deref().map(tool_dialect).transpose().map(drop);
        let own_files = self.own_files(Some(own_files));
        let tools = self.file_tools(own_files.as_deref()).map(drop);
        let results = [
            provider,
            dialect,
            tools,
            self.request.template().map(drop),
            self.mcp.check(),
            self.skills.check(),
            self.context.check(window),
        ];
        let mut mistakes: Vec<_> = results.into_iter().filter_map(Result::err).collect();
        // The rest shows once all is put together.
        if let Some(choice) = chosen.filter(|_| mistakes.is_empty()) {
            mistakes.extend(self.rehearse(&choice, more(&choice), own_files.as_deref()).err());
        }
        mistakes
    }

    /// Puts it together as far as that goes without its servers.
    #[cfg(feature = "serve")]
    fn rehearse(
        &self,
        choice: &ProviderChoice,
        more: Vec<Arc<dyn Tool>>,
        own_files: Option<&[PathBuf]>,
    ) -> anyhow::Result<()> {
        let mut builder = Agent::builder(self.connect(choice, None)?);
        for (name, provider) in self.connect_models(choice)? {
            builder = builder.model(name, provider);
        }
        let (builder, tools) = self.begun(choice, builder, (more, own_files), true)?;
        let mut names = names_of(&tools);
        if self.mcp.is_given() && !self.no_tools {
            names.extend(self.approve.of_servers().cloned());
        }
        let (builder, helpers) = self.ended(builder.tools(tools), names, true)?;
        let built = builder.tools(helpers).build();
        built.map(drop).usage_context(|| "cannot build the agent".to_owned())
    }

    /// Connects with the provider that was chosen.
    ///
    /// # Errors
    ///
    /// A usage error when the provider cannot be built, or for an unknown dialect.
    pub(crate) fn connect(
        &self,
        choice: &ProviderChoice,
        recorder: Option<&SessionRecorder>,
    ) -> anyhow::Result<Arc<dyn Provider>> {
        let thinking = self.thinking.as_deref().map(thinking_dialect).transpose()?;
        connect(choice, recorder, thinking.as_ref())
    }

    /// Sets an agent up that was begun, whom this provider answers, with these tools besides its own.
    ///
    /// # Errors
    ///
    /// A usage error for flags that do not go together or a folder that cannot be read; an error when a required
    /// MCP server does not work.
    pub(crate) fn prepare(
        &self,
        choice: &ProviderChoice,
        builder: AgentBuilder,
        more: Vec<Arc<dyn Tool>>,
        at: &SetupContext<'_>,
    ) -> anyhow::Result<PreparedAgent> {
        if !self.models.is_empty() && !at.is_served() {
            return Err(usage("--models works only with `serve`; use --model here"));
        }
        if self.client_history && !at.is_served() {
            return Err(usage("--client-history works only with `serve`"));
        }
        let builder = builder.system(self.system.clone().unwrap_or_else(|| at.system.to_owned()));
        let own_files = self.own_files(at.own_files);
        let (mut builder, tools) =
            self.begun(choice, builder, (more, own_files.as_deref()), at.is_quiet)?;
        let connected = if self.no_tools {
            None
        } else {
            self.mcp.connect(at, self.approve.names_servers())?
        };
        let mut described: Vec<_> = tools.iter().map(describe).collect();
        let mut names = names_of(&tools);
        let servers = connected.as_ref().map(|connected| connected.servers.clone());
        if let Some(connected) = connected {
            described.extend(connected.tools.iter().map(describe));
            names.extend(names_of(&connected.tools));
            builder = self.mcp.trust(builder, &connected)?;
            builder = builder.system(connected.servers.instructions());
            builder = builder.tool_source(connected.servers);
        }
        let (builder, helpers) = self.ended(builder.tools(tools), names, at.is_served())?;
        described.extend(helpers.iter().map(describe));
        let (builder, takes_history) = (builder.tools(helpers), self.client_history);
        Ok(PreparedAgent { builder, tools: described, takes_history, servers })
    }

    /// Returns the files of a service with this agent; `None` without one.
    fn own_files(&self, of_service: Option<&[PathBuf]>) -> Option<Vec<PathBuf>> {
        let of_agent = self.mcp.file().map(PathBuf::from);
        of_service.map(|files| files.iter().cloned().chain(of_agent).collect())
    }

    /// Returns the tools for files and commands, if it may have tools.
    fn file_tools(&self, own_files: Option<&[PathBuf]>) -> anyhow::Result<Vec<Arc<dyn Tool>>> {
        if self.no_tools { Ok(Vec::new()) } else { self.files.tools(own_files) }
    }

    /// Sets up what does not depend on servers; returns the tools besides.
    fn begun(
        &self,
        choice: &ProviderChoice,
        builder: AgentBuilder,
        (more, own_files): (Vec<Arc<dyn Tool>>, Option<&[PathBuf]>),
        is_quiet: bool,
    ) -> anyhow::Result<(AgentBuilder, Vec<Arc<dyn Tool>>)> {
        let mut builder = builder
            .request(self.request.template()?)
            .max_turns(self.max_turns)
            .budget(self.budget.checked(choice)?)
            .call_mode(self.call_mode.into());
        builder = self.context.set_up(builder, self.window(choice))?;
        if let Some(part) = self.project.find(self.files.folder(), own_files, is_quiet)? {
            builder = builder.system(part);
        }
        if let Some(prices) = self.budget.price {
            builder = builder.prices(prices);
        }
        if let Some(timeout) = self.timeout {
            builder = builder.run_timeout(timeout);
        }
        // People who answer over the network may come days later.
        let waiting = self.approval_timeout.or(own_files.map(|_| SERVED_WAIT));
        if let Some(waiting) = waiting {
            builder = builder.approval_timeout(waiting);
        }
        if let Some(name) = &self.dialect {
            builder = builder.tool_dialect(tool_dialect(name)?);
        }
        let mut tools = Vec::new();
        if !self.no_tools {
            tools.push(Arc::new(Calculator) as Arc<dyn Tool>);
            tools.extend(more);
            tools.extend(self.file_tools(own_files)?);
            let folder = self.project.is_taken().then_some(self.files.folder());
            let skills = self.skills.find(folder, own_files, is_quiet)?;
            if !skills.is_empty() {
                builder = builder.system(skills.prompt());
                tools.push(skills.tool());
            }
        }
        Ok((builder, tools))
    }

    /// Sets up who is asked about calls of the tools of these names; returns the helpers besides.
    fn ended(
        &self,
        builder: AgentBuilder,
        mut names: Vec<Text>,
        is_served: bool,
    ) -> anyhow::Result<(AgentBuilder, Vec<Arc<dyn Tool>>)> {
        if self.mcp.is_trusting() && self.approve == ApprovalMode::Never {
            return Err(usage("--trust-mcp lets calls run that --approve never rejects; omit one"));
        }
        names.extend(self.helpers.names().map(Text::from));
        let builder = self.approve.set_up(builder, &names, is_served)?;
        let helpers =
            self.helpers.tools(&builder).usage_context(|| "cannot build a helper".to_owned())?;
        Ok((builder, helpers))
    }
}

fn names_of(tools: &[Arc<dyn Tool>]) -> Vec<Text> {
    tools.iter().map(|tool| Text::from(tool.name())).collect()
}

/// Says on stderr who answers and why.
pub(crate) fn introduce(choice: &ProviderChoice, is_quiet: bool) {
    if !is_quiet {
        note(&escape_controls(&choice.to_string()));
    }
    if let Some(warning) = choice.warning() {
        note(&escape_controls(&warning));
    }
}

/// Returns the line of a tool; of what a server writes about it, the first line.
fn describe(tool: &Arc<dyn Tool>) -> String {
    let line = tool.description().lines().next().unwrap_or_default();
    format!("{}: {}", tool.name(), escape_controls(line))
}

/// The budget of an answer, as flags.
#[derive(Debug, Clone, Args)]
struct BudgetArgs {
    /// Token budget of one answer; at the limit, the model is asked to finish
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    budget_tokens: Option<u64>,
    /// Time budget of one answer, in seconds; at the limit, the model is asked to finish
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    budget_time: Option<Duration>,
    /// Cost budget of one answer, in US dollars at list prices, such as 0.05
    #[arg(long, value_name = "DOLLARS")]
    budget_cost: Option<Cost>,
    /// Prices of the model in US dollars per million tokens of input and output, such as 2.5,10 [default: the
    /// vendor's list prices, where known]
    #[arg(long, value_name = "INPUT,OUTPUT", value_parser = Prices::from_dollars)]
    price: Option<Prices>,
}

impl BudgetArgs {
    /// Returns the budget; a budget of cost needs a price that is known.
    fn checked(&self, choice: &ProviderChoice) -> anyhow::Result<Budget> {
        let has_price = |card: &ModelCard| card.prices.is_some();
        let is_known =
            self.price.is_some() || ModelCard::for_model(&choice.model).is_some_and(has_price);
        if let Some(most) = self.budget_cost.filter(|_| !is_known) {
            let model = if choice.model.is_empty() { "the server's choice" } else { &choice.model };
            return Err(usage(format!(
                "--budget-cost {most} cannot be kept: the price of the model {} is not known; give --price \
                 INPUT,OUTPUT, or a model that `forgeline models` lists with a price",
                escape_controls(model)
            )));
        }
        let mut budget = Budget::default();
        (budget.tokens, budget.time) = (self.budget_tokens, self.budget_time);
        budget.cost = self.budget_cost;
        Ok(budget)
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let time = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let time = time.filter(|time| !time.is_zero());
    time.ok_or_else(|| "expected a number of seconds greater than 0".to_owned())
}

/// Reads a time with a unit; without one, it is of seconds.
fn waiting_time(text: &str) -> Result<Duration, String> {
    let units = [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400)];
    let unit = units.iter().find_map(|(unit, times)| Some((text.strip_suffix(*unit)?, *times)));
    let (number, times) = unit.unwrap_or((text, 1));
    let time = seconds(number).ok().and_then(|time| time.checked_mul(times));
    time.ok_or_else(|| "expected a time greater than 0, such as 90, 15m, 12h or 7d".to_owned())
}

/// The exchange of calls, as a flag.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum CallModeFlag {
    /// The server's function calling where it has one, else text
    Auto,
    /// The server's function calling
    Native,
    /// Text: the prompt describes the tools
    Text,
}

impl From<CallModeFlag> for CallMode {
    fn from(mode: CallModeFlag) -> Self {
        match mode {
            CallModeFlag::Auto => Self::Auto,
            CallModeFlag::Native => Self::Native,
            CallModeFlag::Text => Self::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rows: N-62
    #[test]
    fn n62_a_wait_has_a_unit() {
        let rows = [
            ("90", Some(90)),
            ("0.5m", Some(30)),
            ("15m", Some(900)),
            ("12h", Some(43_200)),
            ("7d", Some(604_800)),
            ("30s", Some(30)),
            ("0", None),
            ("0d", None),
            ("-1h", None),
            ("d", None),
            ("2w", None),
            ("1e300d", None),
        ];
        for (text, want) in rows {
            assert_eq!(waiting_time(text).ok(), want.map(Duration::from_secs), "{text}");
        }
    }
}
