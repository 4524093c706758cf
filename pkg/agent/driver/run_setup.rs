//! The setup of one run: that of the agent, with the tools that its sources contribute.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::future::try_join_all;

use super::shared_agent::SharedAgent;
use crate::{
    nesting::within,
    notice::Notice,
    run::RunContext,
    setup::{AgentSetup, RequestModes},
    support::bounded_unless,
};
use forgeline_llm::Provider;
use forgeline_types::{AgentError, AgentEvent, ErrorCode, private::clipped};

/// Maximum number of source notices in one run.
const MAX_NOTICES: usize = 64;

/// Maximum length of the message about a tool that cannot be offered, in characters: a part of it may be text from outside.
const MAX_WORDS: usize = 300;

/// The setup of one run.
#[derive(Clone)]
pub(crate) struct RunSetup {
    pub(crate) parts: Arc<AgentSetup>,
    pub(crate) modes: Arc<RequestModes>,
    /// The notices of the sources, which the run passes on.
    pub(crate) notices: Arc<[AgentEvent]>,
}

impl SharedAgent {
    /// Asks the agent's sources for the tools of a run, of which it takes those that it `keeps`, and takes the model that its
    /// input chose; returns `None` when the run uses the agent's setup.
    pub(crate) async fn setting_of(
        &self,
        run: &RunContext,
        keeps: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Option<RunSetup>, AgentError> {
        if !self.parts.may_differ(run) {
            return Ok(None);
        }
        let (limit, chosen) = (self.parts.config.source_timeout, self.parts.chosen(run)?);
        let own =
            chosen.map_or_else(|| AgentSetup::clone(&self.parts), |it| self.parts.with_model(it));
        let (parts, notices) = within(self.key(), contributed(own, run, limit, keeps)).await?;
        // The mode found so far is that of the agent's own model.
        let modes =
            if chosen.is_some() { RequestModes::new(&parts) } else { self.modes.of_run(&parts) };
        let modes = Arc::new(modes);
        Ok(Some(RunSetup { parts: Arc::new(parts), modes, notices: notices.into() }))
    }
}

impl AgentSetup {
    /// Returns `true` when a run may have a setup other than the agent's.
    pub(super) fn may_differ(&self, run: &RunContext) -> bool {
        !self.sources.is_empty() || run.model().is_some()
    }

    /// Returns the same parts with another model.
    fn with_model(&self, provider: &Arc<dyn Provider>) -> Self {
        let mut parts = self.clone();
        (parts.provider, parts.card) = (Arc::clone(provider), OnceLock::new());
        parts
    }
}

/// Asks an agent's sources, each within `limit` unless it is asking a person; returns the parts of
/// a run with the contributed tools, and the notices of the sources.
async fn contributed(
    mut own: AgentSetup,
    run: &RunContext,
    limit: Duration,
    keeps: &(dyn Fn(&str) -> bool + Sync),
) -> Result<(AgentSetup, Vec<AgentEvent>), AgentError> {
    let sources = own.sources.clone();
    let asked = sources.iter().map(|source| async move {
        let tools = async { source.tools(run.clone()).await };
        let is_asking = || source.is_asking();
        bounded_unless("a tool source", limit, source.is_optional(), &is_asking, tools).await
    });
    let lists = try_join_all(asked).await?;
    let notices = sources.iter().flat_map(|source| source.notices()).take(MAX_NOTICES);
    let notices = notices.map(|notice| Notice::ToolSource(notice).into()).collect();
    for (source, tools) in sources.iter().zip(lists) {
        for tool in tools.into_iter().filter(|tool| keeps(tool.name())) {
            let Err(error) = own.tools.register(tool) else { continue };
            let error = error.to_string();
            let error = clipped(&error, MAX_WORDS);
            if source.is_optional() {
                tracing::warn!(%error, "a tool of an optional source is left out");
                continue;
            }
            let message = format!("a tool source has a tool that cannot be offered: {error}");
            return Err(AgentError::new(ErrorCode::InvalidInput, message));
        }
    }
    own.offer_tools().map_err(|error| {
        AgentError::new(ErrorCode::InvalidInput, format!("the tools cannot be searched: {error}"))
    })?;
    Ok((own, notices))
}
