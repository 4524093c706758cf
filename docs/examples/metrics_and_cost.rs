//! An agent that is observed: metrics by the names of OpenTelemetry, and percentiles.
#![expect(clippy::print_stdout, reason = "an example")]

use std::{
    collections::BTreeMap,
    error::Error,
    sync::{Arc, Mutex, PoisonError},
};

use forgeline::{
    agent::{
        Agent, CallRecord, LatencyRecords, Metric, MetricNames, Observer, TurnRecord,
        tools::Calculator,
    },
    llm::demo::DemoProvider,
};

/// Sums what each metric measured; a real one hands it to a meter of its SDK.
#[derive(Default)]
struct Meter(Mutex<BTreeMap<&'static str, f64>>);

impl Meter {
    fn record(&self, metric: &Metric) {
        let mut sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *sums.entry(metric.name).or_default() += metric.value;
    }
}

impl Observer for Meter {
    fn turn_ended(&self, turn: &TurnRecord) {
        turn.metrics(MetricNames::Released).iter().for_each(|metric| self.record(metric));
    }

    fn call_ended(&self, call: &CallRecord) {
        self.record(&call.metric(MetricNames::Released));
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (meter, latency) = (Arc::new(Meter::default()), LatencyRecords::default());
    let agent = Agent::builder(DemoProvider::new())
        .tool(Calculator)
        .observer(Arc::clone(&meter))
        .observer(latency.clone())
        .build()?;
    let outcome = agent.run("What is 6 * 7?").await?;
    println!("{} (cost: {:?})", outcome.text, outcome.cost());
    for (name, sum) in meter.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        println!("{name}: {sum}");
    }
    println!("p95 of turns: {:?}", latency.windows().turn.percentile(95));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_a_run_took_is_summed_by_metric() {
        let meter = Arc::new(Meter::default());
        let builder = Agent::builder(DemoProvider::new()).tool(Calculator);
        builder.observer(Arc::clone(&meter)).build().unwrap().run("What is 6 * 7?").await.unwrap();
        let sums = meter.0.lock().unwrap();
        assert!(sums["gen_ai.client.token.usage"] > 0.0, "{sums:?}");
        assert!(sums.contains_key("gen_ai.client.operation.duration"), "{sums:?}");
    }
}
