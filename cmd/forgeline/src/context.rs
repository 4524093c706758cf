//! The window of the model: what is left out of requests, and what is used of it.

use clap::Args;
use forgeline::{agent::AgentBuilder, llm::ModelCard, types::AgentEvent};

/// The window, as flags.
#[derive(Debug, Clone, Args)]
pub(crate) struct ContextArgs {
    /// How many tokens a request may have; beyond it the beginning of the conversation is left out [default: no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    context: Option<u64>,
    /// At how many percent of --context the beginning of the conversation is summed up by the model
    /// [default: never]
    #[arg(long, value_name = "PERCENT", requires = "context", value_parser = clap::value_parser!(u8).range(1..=100))]
    summarize_at: Option<u8>,
}

impl ContextArgs {
    /// Sets up the agent.
    pub(crate) fn set_up(&self, mut builder: AgentBuilder) -> AgentBuilder {
        if let Some(tokens) = self.context {
            builder = builder.max_context_tokens(tokens);
        }
        if let Some(percent) = self.summarize_at {
            builder = builder.summarize_at(percent);
        }
        builder
    }
}

/// The use of the window by the last answer of a run.
#[derive(Debug, Default)]
pub(crate) struct Used {
    window: Option<u64>,
    card: Option<u64>,
    tokens: Option<u64>,
}

impl Used {
    /// Begins a run with this limit of its requests, where one is set.
    pub(crate) fn of(most: Option<u64>) -> Self {
        Self { window: most, ..Self::default() }
    }

    /// Takes the next event of the run.
    pub(crate) fn event(&mut self, event: &AgentEvent) {
        let card = |model: &str| ModelCard::for_model(model)?.context_tokens;
        if let AgentEvent::ApiCallStart { model, .. }
        | AgentEvent::Failover { to_model: model, .. } = event
        {
            self.card = card(model);
        } else if let AgentEvent::TokenUsage { usage } = event {
            self.tokens = usage.total_tokens().or(self.tokens);
        }
    }

    /// Returns the share of the window, such as `31 % of 8000`; empty where the window, or what is used, is not known.
    pub(crate) fn line(&self) -> String {
        let window = self.window.or(self.card).filter(|window| *window > 0);
        let Some((window, tokens)) = window.zip(self.tokens) else { return String::new() };
        let percent = u128::from(tokens) * 100 / u128::from(window);
        format!("window: {percent} % of {window}")
    }
}

#[cfg(test)]
mod tests {
    use forgeline::types::UsageInfo;

    use super::*;

    fn used(most: Option<u64>, model: &str, counts: &[(Option<u64>, Option<u64>)]) -> String {
        let mut used = Used::of(most);
        used.event(&AgentEvent::ApiCallStart { provider: "p".into(), model: model.into() });
        for (input, output) in counts {
            let mut usage = UsageInfo::default();
            (usage.input_tokens, usage.output_tokens) = (*input, *output);
            used.event(&AgentEvent::TokenUsage { usage });
        }
        used.line()
    }

    #[test]
    fn the_share_of_the_window_is_told_where_it_is_known() {
        let some = |input, output| (Some(input), Some(output));
        assert_eq!(
            used(Some(8_000), "m", &[some(900, 100), some(2_400, 100)]),
            "window: 31 % of 8000"
        );
        assert_eq!(used(None, "gpt-4o", &[some(64_000, 0)]), "window: 50 % of 128000");
        assert_eq!(used(Some(100), "gpt-4o", &[some(150, 1)]), "window: 151 % of 100");
        assert_eq!(used(None, "my own model", &[some(9, 9)]), "");
        assert_eq!(used(Some(8_000), "m", &[(Some(9), None)]), "");
        assert_eq!(used(Some(8_000), "m", &[]), "");
    }
}
