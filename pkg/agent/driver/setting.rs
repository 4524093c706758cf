//! The setup of one run: the agent's, with what the sources contribute.

use std::{sync::Arc, time::Duration};

use futures_util::future::try_join_all;
use serde_json::Value;

use super::shared::Shared;
use crate::{
    agent::{RunContext, bounded::bounded_unless, call_mode::Modes, nesting::within, parts::Parts},
    types::{AgentError, ErrorCode},
};

/// Most notices of the sources of one run.
const MAX_NOTICES: usize = 64;

/// The setup of one run.
#[derive(Clone)]
pub(in crate::agent) struct Setting {
    pub(in crate::agent) parts: Arc<Parts>,
    pub(in crate::agent) modes: Arc<Modes>,
    /// The notices of the sources, which the run passes on.
    pub(in crate::agent) notices: Arc<[Value]>,
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
        let (parts, notices) = within(self.key(), contributed(&self.parts, run, limit)).await?;
        let modes = Arc::new(self.modes.of_run(&parts));
        Ok(Some(Setting { parts: Arc::new(parts), modes, notices: notices.into() }))
    }
}

/// Asks the sources of an agent, each within `limit` unless it asks a person; returns the parts of a run with what they
/// contribute, and what is to be said of them.
async fn contributed(
    parts: &Parts,
    run: &RunContext,
    limit: Duration,
) -> Result<(Parts, Vec<Value>), AgentError> {
    let asked = parts.sources.iter().map(|source| async move {
        let tools = async { source.tools(run.clone()).await };
        let is_asking = || source.is_asking();
        bounded_unless("a tool source", limit, source.is_optional(), &is_asking, tools).await
    });
    let lists = try_join_all(asked).await?;
    let notices = parts.sources.iter().flat_map(|source| source.notices()).take(MAX_NOTICES);
    let notices = notices.collect();
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
    Ok((own, notices))
}
