//! The setup of one run: the agent's, with what the sources contribute.

use std::{sync::Arc, time::Duration};

use futures_util::future::try_join_all;

use super::shared::Shared;
use crate::{
    agent::{RunContext, bounded::bounded, call_mode::Modes, nesting::within, parts::Parts},
    types::{AgentError, ErrorCode},
};

/// The setup of one run.
#[derive(Clone)]
pub(in crate::agent) struct Setting {
    pub(in crate::agent) parts: Arc<Parts>,
    pub(in crate::agent) modes: Arc<Modes>,
}

impl Shared {
    /// Asks the sources of the agent for the tools of a run; `None` where it has no sources.
    pub(in crate::agent) async fn setting_of(
        &self,
        run: &RunContext,
    ) -> Result<Option<Setting>, AgentError> {
        if self.parts.sources.is_empty() {
            return Ok(None);
        }
        let limit = self.parts.config.source_timeout;
        let parts = within(self.key(), contributed(&self.parts, run, limit)).await?;
        let modes = Arc::new(self.modes.of_run(&parts));
        Ok(Some(Setting { parts: Arc::new(parts), modes }))
    }
}

/// Asks the sources of an agent, each within `limit`; returns the parts of a run with what they contribute.
async fn contributed(
    parts: &Parts,
    run: &RunContext,
    limit: Duration,
) -> Result<Parts, AgentError> {
    let asked = parts.sources.iter().map(|source| {
        let tools = async { source.tools(run.clone()).await };
        bounded("a tool source", limit, source.is_optional(), tools)
    });
    let lists = try_join_all(asked).await?;
    let mut own = parts.clone();
    for (source, tools) in parts.sources.iter().zip(lists) {
        let mut registry = own.tools.clone();
        match tools.into_iter().try_for_each(|tool| registry.register(tool)) {
            Ok(()) => own.tools = registry,
            Err(error) if source.is_optional() => {
                tracing::warn!(%error, "a tool source is optional, and is left out");
            }
            Err(error) => {
                let message = format!("a tool source has a tool that cannot be offered: {error}");
                return Err(AgentError::new(ErrorCode::InvalidInput, message));
            }
        }
    }
    own.offer_tools().map_err(|error| {
        AgentError::new(ErrorCode::InvalidInput, format!("the tools cannot be searched: {error}"))
    })?;
    Ok(own)
}
