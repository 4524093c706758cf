//! The agents of the service.

use std::sync::Arc;

use forgeline::agent::{DefaultAgent, tools::Tool};
use tokio::runtime::Runtime;

use super::demo;
use crate::{
    exit::UsageResult as _,
    interrupt::Interrupts,
    setup::{Prepared, SetupArgs, Surroundings, introduce},
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
pub(super) struct Agents(Vec<(String, Prepared)>);

impl Agents {
    /// Sets up the agent of the flags.
    ///
    /// # Errors
    ///
    /// As [`SetupArgs::prepare`].
    pub(super) fn of(
        setup: &SetupArgs,
        runtime: &Runtime,
        interrupts: &Interrupts,
        is_quiet: bool,
    ) -> anyhow::Result<Self> {
        let choice = setup.choose()?;
        let is_demo = choice.provider == ProviderName::Demo;
        let more: Vec<Arc<dyn Tool>> = if is_demo { demo::tools() } else { Vec::new() };
        let builder = DefaultAgent::builder(setup.connect(&choice, None)?);
        let at = Surroundings { runtime, interrupts, system: SYSTEM, is_served: true, is_quiet };
        let prepared = setup.prepare(builder, more, &at)?;
        introduce(&choice, is_quiet);
        let name = if is_demo { DEMO } else { MAIN };
        Ok(Self(vec![(name.to_owned(), prepared)]))
    }

    /// Builds them.
    ///
    /// # Errors
    ///
    /// A usage error when one cannot be built.
    pub(super) fn built(&self) -> anyhow::Result<Vec<(String, DefaultAgent)>> {
        let built = |(name, prepared): &(String, Prepared)| {
            let agent = prepared.builder.clone().build();
            let advice = || format!("the agent `{name}` cannot be built");
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
