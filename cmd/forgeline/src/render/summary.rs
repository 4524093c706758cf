//! What is said at the end.

use forgeline::{
    agent::run::{Budget, Spending},
    llm::Cost,
    types::{Completion, UsageInfo},
};

/// Tokens on one line, such as `12 in (4 cached) · 34 out (8 reasoning)`; empty when none are known.
#[must_use]
pub fn usage_line(usage: &UsageInfo) -> String {
    let with = |count: Option<u64>, word: &str, part: Option<u64>, part_word: &str| {
        let part = part.filter(|part| *part > 0).map(|part| format!(" ({part} {part_word})"));
        count.map(|count| format!("{count} {word}{}", part.unwrap_or_default()))
    };
    let parts = [
        with(usage.input_tokens, "tokens in", usage.cache_read_tokens, "cached"),
        with(usage.output_tokens, "out", usage.reasoning_tokens, "reasoning"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Returns what is left of a budget, such as `left: 700 of 1000 tokens`; empty without a budget.
#[must_use]
pub fn left_line(budget: &Budget, spent: &Spending) -> String {
    let tokens =
        budget.tokens.map(|most| format!("{} of {most} tokens", most.saturating_sub(spent.tokens)));
    let time = budget.time.map(|most| {
        let left = most.saturating_sub(spent.time).as_secs_f64();
        format!("{left:.1} of {:.1} s", most.as_secs_f64())
    });
    let cost = budget.cost.map(|most| match spent.cost {
        Some(cost) => {
            let left = most.micro_dollars().saturating_sub(cost.micro_dollars());
            format!("{} of {most}", Cost::from_micro_dollars(left))
        }
        None => "cost unknown".to_owned(),
    });
    let parts: Vec<_> = [tokens, time, cost].into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!("left: {}", parts.join(", ")) }
}

/// Returns the facts of a completion beyond its content, on one line.
#[must_use]
pub fn completion_summary(completion: &Completion) -> String {
    let mut parts = Vec::new();
    if let Some(model) = &completion.model {
        parts.push(model.to_string());
    }
    let finish = completion.finish_reason.as_ref().map_or("not reported", |reason| reason.as_str());
    parts.push(format!("finish: {finish}"));
    if !completion.complete {
        parts.push("incomplete".to_owned());
    }
    if completion.late_thinking_bytes > 0 {
        parts.push(format!(
            "{} bytes of thinking arrived as message",
            completion.late_thinking_bytes
        ));
    }
    if completion.fenced_calls > 0 {
        parts.push(format!("{} calls in code were left alone", completion.fenced_calls));
    }
    if let Some(usage) = &completion.usage {
        parts.push(usage_line(usage));
    }
    parts.retain(|part| !part.is_empty());
    super::escape_controls(&parts.join(" · ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remaining_budget_is_shown() {
        let mut spent = Spending::default();
        assert_eq!(left_line(&Budget::default(), &spent), "");
        (spent.tokens, spent.time) = (300, std::time::Duration::from_millis(1_500));
        let cost = Cost::from_micro_dollars;
        spent.cost = Some(cost(2_500));
        let budget = Budget::default().tokens(1_000).cost(cost(10_000));
        let line = left_line(&budget, &spent);
        assert_eq!(line, "left: 700 of 1000 tokens, $0.007500 of $0.010000");
        spent.cost = None;
        let budget = Budget::default().cost(cost(1)).time(std::time::Duration::from_secs(1));
        assert_eq!(left_line(&budget, &spent), "left: 0.0 of 1.0 s, cost unknown");
    }

    #[test]
    fn summary_shows_known_figures_only() {
        let mut usage = UsageInfo::default();
        assert_eq!(usage_line(&usage), "");
        usage.output_tokens = Some(34);
        assert_eq!(usage_line(&usage), "34 out");
        usage.input_tokens = Some(12);
        usage.cache_read_tokens = Some(0);
        usage.reasoning_tokens = Some(8);
        assert_eq!(usage_line(&usage), "12 tokens in · 34 out (8 reasoning)");
        let mut completion = Completion::default();
        assert_eq!(completion_summary(&completion), "finish: not reported · incomplete");
        completion.complete = true;
        completion.fenced_calls = 2;
        completion.model = Some("m\u{1b}".into());
        let want = "m\\x1b · finish: not reported · 2 calls in code were left alone";
        assert_eq!(completion_summary(&completion), want);
    }
}
