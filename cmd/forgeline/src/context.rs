//! The window of the model: what is left out of requests, and how much is used.

use clap::Args;
use forgeline::{
    agent::AgentBuilder,
    llm::ModelCard,
    types::{AgentEvent, ApiCallStartEvent, FailoverEvent, TokenUsageEvent},
};

use crate::exit::usage;

/// The window, as flags.
#[derive(Debug, Clone, Args)]
pub(crate) struct ContextArgs {
    /// Maximum tokens of a request; beyond it, the beginning of the conversation is left out [default:
    /// three quarters of the model's context window, if known]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    context: Option<u64>,
    /// Percentage of that maximum at which the model summarizes the beginning of the conversation
    /// [default: never]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(1..=100))]
    summarize_at: Option<u8>,
}

impl ContextArgs {
    /// Returns the limit that the flag sets.
    pub(crate) fn tokens(&self) -> Option<u64> {
        self.context
    }

    /// Looks whether there is a limit, where a share of it is given.
    ///
    /// # Errors
    ///
    /// A usage error when there is none.
    pub(crate) fn check(&self, window: Option<u64>) -> anyhow::Result<()> {
        if self.summarize_at.is_none() || self.context.or(window).is_some() {
            return Ok(());
        }
        let message = "--summarize-at is a share of a limit, and the context window of this model is not known; set \
                       the limit with --context N";
        Err(usage(message))
    }

    /// Sets up the agent; where no flag says its limit, that is the room of the model's window.
    ///
    /// # Errors
    ///
    /// A usage error for a share of a limit that there is not.
    pub(crate) fn set_up(
        &self,
        mut builder: AgentBuilder,
        window: Option<u64>,
    ) -> anyhow::Result<AgentBuilder> {
        self.check(window)?;
        if let Some(tokens) = self.context.or_else(|| window.map(room_of)) {
            builder = builder.max_context_tokens(tokens);
        }
        if let Some(percent) = self.summarize_at {
            builder = builder.summarize_at(percent);
        }
        Ok(builder)
    }
}

/// Returns the window of a model, in tokens, where it is known.
pub(crate) fn model_window(model: &str) -> Option<u64> {
    ModelCard::for_model(model)?.context_tokens.filter(|tokens| *tokens > 0)
}

/// Returns how many tokens of a window a request may have: a quarter is left for the answer, and for what an estimate
/// is wrong by.
fn room_of(window: u64) -> u64 {
    (window - window / 4).max(1)
}

/// The use of the window by the last answer of a run.
#[derive(Debug, Default)]
pub(crate) struct WindowUse {
    window: Option<u64>,
    card: Option<u64>,
    tokens: Option<u64>,
}

impl WindowUse {
    /// Begins a run in this window, where it is known before its requests.
    pub(crate) fn with_window(most: Option<u64>) -> Self {
        Self { window: most, ..Self::default() }
    }

    /// Takes the next event of the run.
    pub(crate) fn event(&mut self, event: &AgentEvent) {
        if let AgentEvent::ApiCallStart(ApiCallStartEvent { model, .. })
        | AgentEvent::Failover(FailoverEvent { to_model: model, .. }) = event
        {
            self.card = model_window(model);
        } else if let AgentEvent::TokenUsage(TokenUsageEvent { usage, .. }) = event {
            self.tokens = usage.total_tokens().or(self.tokens);
        }
    }

    /// Returns the share of the window, such as `31 % of 8000`; where the server does not report the use, by an
    /// estimate, as `~31 % of 8000`. Empty where the window, or what is used, is not known.
    pub(crate) fn line(&self, estimated: Option<u64>) -> String {
        let window = self.window.or(self.card).filter(|window| *window > 0);
        let Some((window, tokens)) = window.zip(self.tokens.or(estimated)) else {
            return String::new();
        };
        let about = if self.tokens.is_none() { "~" } else { "" };
        let percent = u128::from(tokens) * 100 / u128::from(window);
        format!("window: {about}{percent} % of {window}")
    }
}

#[cfg(test)]
mod tests {
    use forgeline::types::UsageInfo;

    use super::*;

    fn used(most: Option<u64>, model: &str, counts: &[(Option<u64>, Option<u64>)]) -> String {
        let mut used = WindowUse::with_window(most);
        used.event(&AgentEvent::ApiCallStart(ApiCallStartEvent::new("p", model)));
        for (input, output) in counts {
            let mut usage = UsageInfo::default();
            (usage.input_tokens, usage.output_tokens) = (*input, *output);
            used.event(&AgentEvent::TokenUsage(TokenUsageEvent::new(usage)));
        }
        used.line(None)
    }

    #[test]
    fn unreported_share_of_the_window_is_estimated_and_marked() {
        let mut used = WindowUse::with_window(Some(8_000));
        assert_eq!(used.line(Some(2_500)), "window: ~31 % of 8000");
        let unknown = UsageInfo::default();
        used.event(&AgentEvent::TokenUsage(TokenUsageEvent::new(unknown)));
        assert_eq!(used.line(Some(2_500)), "window: ~31 % of 8000");
        let mut usage = UsageInfo::default();
        (usage.input_tokens, usage.output_tokens) = (Some(800), Some(0));
        used.event(&AgentEvent::TokenUsage(TokenUsageEvent::new(usage)));
        assert_eq!(used.line(Some(2_500)), "window: 10 % of 8000");
        assert_eq!(WindowUse::with_window(None).line(Some(2_500)), "");
    }

    #[test]
    fn known_share_of_the_window_is_shown() {
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

    #[test]
    fn a_quarter_of_a_known_window_is_left_for_the_answer() {
        assert_eq!(model_window("gpt-4o").map(room_of), Some(96_000));
        assert_eq!(model_window("my own model"), None);
        assert_eq!([1, 2, 8_001].map(room_of), [1, 2, 6_001]);
    }
}
