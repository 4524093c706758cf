//! Metrics named by OpenTelemetry's conventions for generative AI.

use std::time::Duration;

use super::{
    genai::provider_name,
    record::{CallEnd, CallRecord, RunRecord, TurnRecord},
};
use forgeline_types::{ErrorCode, Text};

/// The set of names that metrics use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MetricNames {
    /// The names in the released conventions.
    #[default]
    Released,
    /// The names that the conventions are about to release.
    Latest,
}

/// The entry of `OTEL_SEMCONV_STABILITY_OPT_IN` that requests the latest names.
const LATEST: &str = "gen_ai_latest_experimental";

impl MetricNames {
    /// Returns the names requested by the value of the variable `OTEL_SEMCONV_STABILITY_OPT_IN`: the latest
    /// ones if its list contains `gen_ai_latest_experimental`. The library itself does not read the variable.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::agent::observe::MetricNames;
    ///
    /// let opted_in = "http, gen_ai_latest_experimental";
    /// assert_eq!(MetricNames::of_opt_in(opted_in), MetricNames::Latest);
    /// assert_eq!(MetricNames::of_opt_in(""), MetricNames::Released);
    /// ```
    #[must_use]
    pub fn of_opt_in(value: &str) -> Self {
        let is_latest = value.split(',').any(|word| word.trim() == LATEST);
        if is_latest { Self::Latest } else { Self::Released }
    }
}

/// One measurement of a metric: a value to record in the histogram with this name.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Metric {
    /// The name, such as `gen_ai.client.operation.duration`.
    pub name: &'static str,
    /// The unit: `s` or `{token}`.
    pub unit: &'static str,
    /// The value.
    pub value: f64,
    /// The attributes, such as `gen_ai.request.model`.
    pub attributes: Vec<(&'static str, Text)>,
}

impl Metric {
    fn new(
        name: &'static str,
        unit: &'static str,
        value: f64,
        attributes: &MetricAttributes,
    ) -> Self {
        Self { name, unit, value, attributes: attributes.0.clone() }
    }

    fn seconds(name: &'static str, time: Duration, attributes: &MetricAttributes) -> Self {
        Self::new(name, "s", time.as_secs_f64(), attributes)
    }
}

/// The attributes of a metric.
struct MetricAttributes(Vec<(&'static str, Text)>);

impl MetricAttributes {
    fn for_operation(operation: &str) -> Self {
        Self(vec![("gen_ai.operation.name", operation.into())])
    }

    fn with(mut self, name: &'static str, value: impl Into<Text>) -> Self {
        self.0.push((name, value.into()));
        self
    }

    fn model(self, provider: &str, model: &Text) -> Self {
        self.with("gen_ai.provider.name", provider_name(provider))
            .with("gen_ai.request.model", model.clone())
    }

    fn error(self, error: Option<ErrorCode>) -> Self {
        match error {
            Some(code) => self.with("error.type", error_type(code)),
            None => self,
        }
    }
}

/// Returns the name of an error code, such as `rate_limited`.
pub(crate) fn error_type(code: ErrorCode) -> Text {
    let word = serde_json::to_value(code).ok();
    word.as_ref().and_then(|word| word.as_str()).unwrap_or("_OTHER").into()
}

impl TurnRecord {
    /// Returns the measurements of the turn's request: the time of the answer, the time to its
    /// first token, and its tokens.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::agent::observe::{Metric, MetricNames, Observer, TurnRecord};
    ///
    /// struct Export;
    ///
    /// impl Observer for Export {
    ///     fn turn_ended(&self, turn: &TurnRecord) {
    ///         for Metric { name, value, attributes, .. } in turn.metrics(MetricNames::Released) {
    ///             println!("{name} {value} {attributes:?}");
    ///         }
    ///     }
    /// }
    /// ```
    #[must_use]
    pub fn metrics(&self, names: MetricNames) -> Vec<Metric> {
        if self.requests == 0 {
            return Vec::new();
        }
        let attributes =
            || MetricAttributes::for_operation("chat").model(&self.provider, &self.model);
        let (duration, first) = match names {
            MetricNames::Released => {
                ("gen_ai.client.operation.duration", "gen_ai.client.operation.time_to_first_chunk")
            }
            MetricNames::Latest => {
                ("gen_ai.client.inference.duration", "gen_ai.client.inference.time_to_first_chunk")
            }
        };
        let mut metrics =
            vec![Metric::seconds(duration, self.answer_time, &attributes().error(self.error))];
        if let Some(time) = self.time_to_first_token {
            metrics.push(Metric::seconds(first, time, &attributes()));
        }
        self.tokens(names, &attributes, &mut metrics);
        metrics
    }

    fn tokens(
        &self,
        names: MetricNames,
        attributes: &dyn Fn() -> MetricAttributes,
        metrics: &mut Vec<Metric>,
    ) {
        let Some(usage) = &self.usage else { return };
        let counts = [
            ("input", "gen_ai.client.inference.usage.input_tokens", usage.input_tokens),
            ("output", "gen_ai.client.inference.usage.output_tokens", usage.output_tokens),
            ("", "gen_ai.client.inference.usage.cache_read.input_tokens", usage.cache_read_tokens),
            (
                "",
                "gen_ai.client.inference.usage.cache_write.input_tokens",
                usage.cache_write_tokens,
            ),
            ("", "gen_ai.client.inference.usage.reasoning.output_tokens", usage.reasoning_tokens),
        ];
        for (kind, name, count) in counts {
            let Some(count) = count else { continue };
            #[expect(clippy::cast_precision_loss, reason = "counts of tokens are small")]
            let value = count as f64;
            match names {
                MetricNames::Latest => {
                    metrics.push(Metric::new(name, "{token}", value, &attributes()));
                }
                MetricNames::Released if !kind.is_empty() => {
                    let attributes = attributes().with("gen_ai.token.type", kind);
                    let name = "gen_ai.client.token.usage";
                    metrics.push(Metric::new(name, "{token}", value, &attributes));
                }
                MetricNames::Released => {}
            }
        }
    }
}

impl CallRecord {
    /// Returns the measurement of the call's duration.
    #[must_use]
    pub fn metric(&self, names: MetricNames) -> Metric {
        let name = match names {
            MetricNames::Released => "gen_ai.client.operation.duration",
            MetricNames::Latest => "gen_ai.execute_tool.duration",
        };
        let mut attributes = MetricAttributes::for_operation("execute_tool")
            .with("gen_ai.tool.name", self.tool_name.clone());
        if self.end != CallEnd::Succeeded {
            attributes = attributes.with("error.type", self.end.as_str());
        }
        Metric::seconds(name, self.duration, &attributes)
    }
}

impl RunRecord {
    /// Returns the measurement of the run's duration.
    #[must_use]
    pub fn metric(&self, names: MetricNames) -> Metric {
        let name = match names {
            MetricNames::Released => "gen_ai.client.operation.duration",
            MetricNames::Latest => "gen_ai.invoke_agent.duration",
        };
        let attributes =
            MetricAttributes::for_operation("invoke_agent").model(&self.provider, &self.model);
        Metric::seconds(name, self.duration, &attributes.error(self.error))
    }
}
