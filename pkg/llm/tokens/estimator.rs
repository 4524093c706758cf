//! Tokens of messages, tools and requests.

use serde_json::Value;

use super::count::TokenCount;
use crate::{Request, ToolSpec};
use forgeline_types::{Message, Part, UsageInfo};

/// The neutral scale, in thousandths.
const UNSCALED: u64 = 1000;

/// The range of scales after calibration, in thousandths: vocabularies differ by less.
const SCALES: (u64, u64) = (500, 4000);

/// Minimum estimate from which a scale is calculated.
const LEAST_CALIBRATED: u64 = 64;

/// Overhead of a message, a call, a result or a tool, in tokens.
const AROUND: u64 = 4;

/// Tokens of a medium-sized image.
const PICTURE: u64 = 1200;

/// Tokens of a page of a document.
const PAGE: u64 = 2000;

/// Number of base64 characters that count as a page.
const PAGE_CHARS: usize = 64 * 1024;

/// An estimator of token counts that needs neither network nor vocabulary.
///
/// Its counts are estimates, because vocabularies differ. On prose, code, JSON and many scripts they are within a quarter of
/// the counts of current vocabularies, and closer after [`calibrate`](Self::calibrate). The time needed
/// grows with the length of the text, and nothing is allocated. With the feature `tokenizer` of `forgeline-llm`, `exact` creates an estimator that
/// counts texts by the vocabulary of a model; the overhead around texts is still estimated.
///
/// # Examples
///
/// ```
/// use forgeline::llm::{Request, TokenEstimator};
/// use forgeline::types::UsageInfo;
///
/// let mut estimator = TokenEstimator::new();
/// assert_eq!(estimator.text("The harbour was quiet."), 6);
///
/// let request = Request::prompt("The harbour was quiet. ".repeat(100));
/// let before = estimator.request(&request);
/// let mut usage = UsageInfo::default();
/// usage.input_tokens = Some(before * 2);
/// estimator.calibrate(&request, &usage);
/// assert_eq!(estimator.request(&request), before * 2);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenEstimator {
    scale: u64,
    count: TokenCount,
}

impl Default for TokenEstimator {
    fn default() -> Self {
        Self::new()
    }
}

impl TokenEstimator {
    /// Creates an uncalibrated estimator.
    #[must_use]
    pub fn new() -> Self {
        Self::with_count(TokenCount::RUNS)
    }

    /// Creates an uncalibrated estimator that counts texts in this way.
    pub(super) fn with_count(count: TokenCount) -> Self {
        Self { scale: UNSCALED, count }
    }

    /// Returns the estimated number of tokens of a text.
    #[must_use]
    pub fn text(&self, text: &str) -> u64 {
        self.scaled(self.count.text(text))
    }

    /// Returns the estimated number of tokens of a message, including its overhead.
    #[must_use]
    pub fn message(&self, message: &Message) -> u64 {
        self.scaled(of_message(self.count, message))
    }

    /// Returns the estimated number of tokens of the descriptions of tools.
    #[must_use]
    pub fn tools(&self, tools: &[ToolSpec]) -> u64 {
        self.scaled(of_tools(self.count, tools))
    }

    /// Returns the estimated number of tokens of a request's prompt: instructions, messages and tools.
    #[must_use]
    pub fn request(&self, request: &Request) -> u64 {
        self.scaled(of_request(self.count, request))
    }

    /// Calibrates the estimator by what a provider reported for `request`, so that later estimates follow its
    /// vocabulary.
    ///
    /// A report without input tokens changes nothing, nor does a request that is too short to be meaningful. The scale
    /// stays between one half and four.
    pub fn calibrate(&mut self, request: &Request, usage: &UsageInfo) {
        let estimated = of_request(self.count, request);
        if let Some(reported) = usage.input_tokens
            && estimated >= LEAST_CALIBRATED
        {
            let scale = reported.saturating_mul(UNSCALED).div_ceil(estimated);
            self.scale = scale.clamp(SCALES.0, SCALES.1);
        }
    }

    /// Returns the same estimator without calibration.
    #[doc(hidden)]
    #[must_use]
    pub fn without_scale(self) -> Self {
        Self { scale: UNSCALED, ..self }
    }

    /// Returns `tokens` scaled by the last report.
    fn scaled(&self, tokens: u64) -> u64 {
        tokens.saturating_mul(self.scale) / UNSCALED
    }
}

/// Returns the tokens of the prompt of a request.
fn of_request(count: TokenCount, request: &Request) -> u64 {
    let system = request.system.as_deref().map_or(0, |text| count.text(text) + AROUND);
    let messages: u64 = request.messages.iter().map(|message| of_message(count, message)).sum();
    system + messages + of_tools(count, &request.tools)
}

/// Returns the tokens of a message.
fn of_message(count: TokenCount, message: &Message) -> u64 {
    AROUND + message.parts.iter().map(|part| of_part(count, part)).sum::<u64>()
}

/// Returns the tokens of a part.
fn of_part(count: TokenCount, part: &Part) -> u64 {
    match part {
        Part::Text { text, .. } | Part::Thinking { text, .. } | Part::Framing { text, .. } => {
            count.text(text)
        }
        Part::ToolCall(call) => AROUND + count.text(&call.name) + count.text(&call.arguments_raw),
        Part::ToolResult(result) => {
            let parts: u64 = result.parts.iter().map(|part| of_part(count, part)).sum();
            AROUND + count.text(&result.name) + count.text(&result.content) + parts
        }
        Part::ProviderItem(item) => count.text(item.raw.as_str()),
        Part::Image { .. } => PICTURE,
        Part::Document { data, .. } => {
            PAGE.saturating_mul(data.len().div_ceil(PAGE_CHARS).max(1) as u64)
        }
        _ => 0,
    }
}

/// Returns the tokens of the descriptions of tools.
fn of_tools(count: TokenCount, tools: &[ToolSpec]) -> u64 {
    let of_tool = |tool: &ToolSpec| {
        let texts = count.text(&tool.name) + count.text(&tool.description);
        AROUND + texts + of_value(count, &tool.parameters)
    };
    tools.iter().map(of_tool).sum()
}

/// Returns the tokens of a JSON value.
fn of_value(count: TokenCount, value: &Value) -> u64 {
    let of_member = |(key, value): (&String, &Value)| 1 + count.text(key) + of_value(count, value);
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 2,
        Value::String(text) => 1 + count.text(text),
        Value::Array(items) => 1 + items.iter().map(|item| of_value(count, item)).sum::<u64>(),
        Value::Object(members) => 1 + members.iter().map(of_member).sum::<u64>(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::TokenEstimator;
    use crate::{Request, ToolSpec};
    use forgeline_types::{Message, MessageRole, Part, ToolCall, ToolResult, UsageInfo};

    fn reported(tokens: u64) -> UsageInfo {
        UsageInfo::default().input_tokens(tokens)
    }

    #[test]
    fn every_part_of_a_request_counts() {
        let estimator = TokenEstimator::new();
        let mut request = Request::prompt("Hello");
        let mut before = estimator.request(&request);
        let mut grown = |request: &Request| {
            let now = estimator.request(request);
            assert!(now > before, "{now} after {before}");
            before = now;
        };
        request.system = Some("You help.".into());
        grown(&request);
        request.tools = [ToolSpec::new("add", "Adds numbers", json!({"type": "object"}))].into();
        grown(&request);
        let picture = Part::image("image/png", "AAAA");
        let document = Part::document("application/pdf", "AAAA", None);
        let parts = [
            Part::thinking("hm", None),
            Part::ToolCall(ToolCall::new("call_0", "add", json!({"a": 1}))),
            Part::ToolResult(ToolResult::new("call_0", "add", "1").parts(vec![picture.clone()])),
            picture,
            document,
        ];
        for part in parts {
            request.messages.push(Message::new(MessageRole::User, vec![part]));
            grown(&request);
        }
    }

    #[test]
    fn a_report_calibrates_within_bounds() {
        let request = Request::prompt("The harbour was quiet. ".repeat(100));
        let mut estimator = TokenEstimator::new();
        let before = estimator.request(&request);
        for (report, expected) in [
            (before * 3, before * 3),
            (before * 100, before * 4),
            (0, before / 2),
            (before, before),
        ] {
            estimator.calibrate(&request, &reported(report));
            assert_eq!(estimator.request(&request), expected, "a report of {report}");
        }
        estimator.calibrate(&request, &UsageInfo::default());
        estimator.calibrate(&Request::prompt("Hi"), &reported(4000));
        assert_eq!(estimator, TokenEstimator::new(), "no report, or one of too short a request");
    }
}
