//! What agents cost, and how long they take, as Prometheus reads it: an observer adds up, and `/metrics` shows the sums.
#![expect(clippy::print_stdout, reason = "an example: it prints its address")]
use std::{
    collections::BTreeMap,
    error::Error,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{Router, routing::get};
use forgeline::{
    agent::observe::{CallRecord, Metric, MetricNames, Observer, RunRecord, TurnRecord},
    llm::anthropic::Anthropic,
    prelude::*,
};

/// The sums so far, by series.
#[derive(Debug, Clone, Default)]
struct Metrics(Arc<Mutex<BTreeMap<String, f64>>>);

impl Metrics {
    fn add(&self, series: String, value: f64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(series).or_default() += value;
    }

    /// Adds a measurement, by the names of OpenTelemetry.
    fn record(&self, metric: &Metric) {
        let name = metric.name.replace('.', "_");
        let label = |(name, value): &(&str, _)| format!("{}={value:?}", name.replace('.', "_"));
        let labels = metric.attributes.iter().map(label).collect::<Vec<_>>().join(",");
        self.add(format!("{name}_sum{{{labels}}}"), metric.value);
        self.add(format!("{name}_count{{{labels}}}"), 1.0);
    }

    /// Returns all sums in the text format of Prometheus.
    fn text(&self) -> String {
        let sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<_> = sums.iter().map(|(series, sum)| format!("{series} {sum}\n")).collect();
        lines.concat()
    }
}

impl Observer for Metrics {
    fn turn_ended(&self, turn: &TurnRecord) {
        turn.metrics(MetricNames::Released).iter().for_each(|metric| self.record(metric));
    }

    fn call_ended(&self, call: &CallRecord) {
        self.record(&call.metric(MetricNames::Released));
    }

    fn run_ended(&self, run: &RunRecord, outcome: Option<&RunOutcome>) {
        self.record(&run.metric(MetricNames::Released));
        // By the price that the catalog has for the model.
        if let Some(cost) = outcome.and_then(RunOutcome::cost) {
            self.add(format!("agent_cost_dollars_total{{model={:?}}}", run.model), cost.dollars());
        }
    }
}

/// Returns an agent whose runs are measured.
fn measured(provider: impl Provider + 'static, metrics: &Metrics) -> Result<Agent, BuildError> {
    Agent::builder(provider).tool(Calculator).observer(metrics.clone()).build()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let metrics = Metrics::default();
    let agent = measured(Anthropic::from_env()?, &metrics)?;
    println!("{}", agent.run("What is 6 * 7?").await?.text);
    let app = Router::new().route("/metrics", get(async move || metrics.text()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:9464").await?;
    println!("curl http://{}/metrics", listener.local_addr()?);
    axum::serve(listener, app).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use forgeline::{
        testing::{ScriptedProvider, ScriptedTurn},
        types::{ModelInfo, UsageInfo},
    };
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn calls_tokens_and_dollars_are_added_up_over_runs() {
        let usage = UsageInfo::default().input_tokens(1_000_000).output_tokens(0);
        let provider = ScriptedProvider::from_fn(move |request| {
            let is_first = request.messages.len() == 1;
            let call = || ScriptedTurn::new().call("calculator", json!({ "expression": "6 * 7" }));
            (if is_first { call() } else { ScriptedTurn::new().text("42") }).usage(usage)
        });
        let provider = provider.info_of(ModelInfo::new("openai", "gpt-4.1"));
        let metrics = Metrics::default();
        let agent = measured(provider, &metrics).unwrap();
        for _run in 0..2 {
            agent.run("What is 6 * 7?").await.unwrap();
        }
        let text = metrics.text();
        // Two runs of two requests with a million tokens, at two dollars each.
        assert!(text.contains("agent_cost_dollars_total{model=\"gpt-4.1\"} 8\n"), "{text}");
        let input = text.lines().find(|line| {
            line.starts_with("gen_ai_client_token_usage_sum{")
                && line.contains("gen_ai_token_type=\"input\"")
        });
        assert!(input.unwrap().ends_with(" 4000000"), "{text}");
        let calls =
            text.lines().find(|line| line.contains("_count{") && line.contains("calculator"));
        assert!(calls.unwrap().ends_with(" 2"), "{text}");
    }
}
