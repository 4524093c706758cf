//! The cost of a run, where the catalog knows the prices.

use forgeline::{
    llm::{Cost, ModelCard},
    types::{AgentEvent, ApiCallStartEvent, FailoverEvent, Text, TokenUsageEvent, UsageInfo},
};

/// The calls of a run, priced one by one: the price of a token may depend on the call's length.
#[derive(Debug, Default)]
pub struct RunBill(Vec<(Text, UsageInfo)>);

impl RunBill {
    /// Takes the next event of the run.
    pub fn event(&mut self, event: &AgentEvent) {
        if let AgentEvent::ApiCallStart(ApiCallStartEvent { model, .. }) = event {
            self.0.push((model.clone(), UsageInfo::default()));
        }
        let Some((model, usage)) = self.0.last_mut() else { return };
        if let AgentEvent::Failover(FailoverEvent { to_model, .. }) = event {
            model.clone_from(to_model);
        } else if let AgentEvent::TokenUsage(TokenUsageEvent { usage: reported, .. }) = event {
            usage.merge(reported);
        }
    }

    /// Returns the cost at the vendors' list prices; `None` without calls, and when a price or a count
    /// of one of them is not known.
    #[must_use]
    pub fn total(&self) -> Option<Cost> {
        let costs = self.0.iter().map(|(model, usage)| ModelCard::for_model(model)?.cost(usage));
        costs.sum::<Option<Cost>>().filter(|_| !self.0.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(models: &[&str]) -> RunBill {
        let mut bill = RunBill::default();
        let mut usage = UsageInfo::default();
        (usage.input_tokens, usage.output_tokens) = (Some(1_000_000), Some(100_000));
        for model in models {
            bill.event(&AgentEvent::ApiCallStart(ApiCallStartEvent::new("p", *model)));
            bill.event(&AgentEvent::TokenUsage(TokenUsageEvent::new(usage)));
        }
        bill
    }

    #[test]
    fn a_run_costs_the_sum_of_its_calls_or_is_not_priced() {
        let total = |models: &[&str]| calls(models).total().map(|cost| cost.to_string());
        assert_eq!(total(&[]), None);
        assert_eq!(total(&["gpt-4o"]).as_deref(), Some("$3.500000"));
        assert_eq!(total(&["gpt-4o", "gpt-4o-mini"]).as_deref(), Some("$3.710000"));
        assert_eq!(total(&["gpt-4o", "my own model"]), None);
        let mut bill = calls(&["gpt-4o"]);
        bill.event(&AgentEvent::ApiCallStart(ApiCallStartEvent::new("p", "gpt-4o")));
        assert_eq!(bill.total(), None, "a call without counts");
    }

    #[test]
    fn a_call_that_moved_on_is_priced_as_the_model_that_answered() {
        let mut bill = calls(&["my own model"]);
        bill.event(&AgentEvent::Failover(
            FailoverEvent::new("p", "openai", "gpt-4o").position(1).length(1),
        ));
        assert_eq!(bill.total().map(|cost| cost.to_string()).as_deref(), Some("$3.500000"));
    }
}
