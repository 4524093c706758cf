//! What is said at the end.

use forgeline::types::{Completion, UsageInfo};

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

/// Returns the facts of a completion beyond its content, on one line.
#[must_use]
pub fn completion_summary(completion: &Completion) -> String {
    let mut parts = Vec::new();
    if let Some(model) = &completion.model {
        parts.push(model.to_string());
    }
    let finish = completion.finish_reason.as_ref().map_or("not told", |reason| reason.as_str());
    parts.push(format!("finish: {finish}"));
    if !completion.complete {
        parts.push("incomplete".to_owned());
    }
    if completion.late_thinking_bytes > 0 {
        parts.push(format!("{} bytes of thinking came as message", completion.late_thinking_bytes));
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
    fn only_what_is_known_is_told() {
        let mut usage = UsageInfo::default();
        assert_eq!(usage_line(&usage), "");
        usage.output_tokens = Some(34);
        assert_eq!(usage_line(&usage), "34 out");
        usage.input_tokens = Some(12);
        usage.cache_read_tokens = Some(0);
        usage.reasoning_tokens = Some(8);
        assert_eq!(usage_line(&usage), "12 tokens in · 34 out (8 reasoning)");
        let mut completion = Completion::default();
        assert_eq!(completion_summary(&completion), "finish: not told · incomplete");
        completion.complete = true;
        completion.fenced_calls = 2;
        completion.model = Some("m\u{1b}".into());
        let want = "m\\x1b · finish: not told · 2 calls in code were left alone";
        assert_eq!(completion_summary(&completion), want);
    }
}
