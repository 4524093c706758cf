//! The agents of the service.

use std::{path::PathBuf, sync::Arc};

use forgeline::{
    agent::{Agent, tools::Tool},
    server::{CheckState, ServiceBuilder},
};
use tokio::runtime::Runtime;

use super::demo;
use crate::{
    exit::UsageResult as _,
    interrupt::InterruptHandler,
    provider_choice::ProviderChoice,
    setup::{PreparedAgent, SetupArgs, SetupContext, introduce},
    vendors::ProviderName,
};

/// The default system prompt.
const SYSTEM: &str = "You are a careful assistant in a chat. Look things up with your tools \
                      instead of guessing, and answer briefly, in Markdown where it helps.";

/// The name of the agent, and of the one of the demo model.
const MAIN: &str = "main";
const DEMO: &str = "demo";

/// Agents that are set up, by their names.
#[derive(Debug)]
pub(super) struct ServedAgents(Vec<(String, PreparedAgent)>);

/// Returns where agents of the service are set up.
pub(super) fn surroundings<'a>(
    runtime: &'a Runtime,
    interrupts: &'a InterruptHandler,
    own_files: &'a [PathBuf],
    is_quiet: bool,
) -> SetupContext<'a> {
    let own_files = Some(own_files);
    SetupContext { runtime, interrupts, system: SYSTEM, own_files, is_quiet, is_chat: false }
}

impl ServedAgents {
    /// Sets up the agents with these names, or where there are none the one of the flags.
    ///
    /// # Errors
    ///
    /// As [`SetupArgs::prepare`].
    pub(super) fn prepare(
        flags: &SetupArgs,
        named: &[(String, SetupArgs)],
        at: &SetupContext<'_>,
    ) -> anyhow::Result<Self> {
        if named.is_empty() {
            return Ok(Self(vec![prepare(None, flags, at)?]));
        }
        let prepared = named.iter().map(|(name, setup)| prepare(Some(name), setup, at));
        Ok(Self(prepared.collect::<anyhow::Result<_>>()?))
    }

    /// Adds what the service knows of them: which may begin with the messages of a client, and the checks of their MCP servers.
    pub(super) fn described(&self, mut builder: ServiceBuilder) -> ServiceBuilder {
        for (name, prepared) in &self.0 {
            if prepared.takes_history {
                builder = builder.client_history(name.clone());
            }
            let Some(servers) = prepared.servers.clone() else { continue };
            let check = move || {
                let failed = servers.failures().len();
                std::future::ready(match failed {
                    0 => CheckState::Healthy,
                    _ => CheckState::Degraded(
                        format!("{failed} of its servers are not working").into(),
                    ),
                })
            };
            builder = builder.check(format!("mcp:{name}"), check);
        }
        builder
    }

    /// Builds them.
    ///
    /// # Errors
    ///
    /// A usage error when one cannot be built.
    pub(super) fn built(&self) -> anyhow::Result<Vec<(String, Agent)>> {
        let built = |(name, prepared): &(String, PreparedAgent)| {
            let agent = prepared.builder.clone().build();
            let advice = || format!("cannot build agent `{name}`");
            Ok((name.clone(), agent.usage_context(advice)?))
        };
        self.0.iter().map(built).collect()
    }

    /// Tells remote servers that their sessions end.
    pub(super) async fn close(&self) {
        for (_, prepared) in &self.0 {
            prepared.close().await;
        }
    }
}

/// Returns the tools of a provider that an agent has besides those of its flags: those to try clients with.
pub(super) fn tools_of(choice: &ProviderChoice) -> Vec<Arc<dyn Tool>> {
    if choice.provider == ProviderName::Demo { demo::tools() } else { Vec::new() }
}

/// Sets an agent up, and says who answers.
fn prepare(
    name: Option<&str>,
    setup: &SetupArgs,
    at: &SetupContext<'_>,
) -> anyhow::Result<(String, PreparedAgent)> {
    let choice = setup.choose(at.is_quiet)?;
    let more = tools_of(&choice);
    let mut builder = Agent::builder(setup.connect(&choice, None)?);
    for (name, provider) in setup.connect_models(&choice)? {
        builder = builder.model(name, provider);
    }
    let prepared = setup.prepare(&choice, builder, more, at)?;
    introduce(&choice, at.is_quiet);
    let own = if choice.provider == ProviderName::Demo { DEMO } else { MAIN };
    Ok((name.unwrap_or(own).to_owned(), prepared))
}
