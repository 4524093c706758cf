//! Spans of runs for OpenTelemetry: `tracing-opentelemetry` hands them to any exporter, here one that prints.
#![expect(clippy::print_stdout, reason = "an example: it prints the answer")]
use std::error::Error;

use forgeline::{
    agent::{Agent, tools::Calculator},
    llm::demo::DemoProvider,
};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanExporter};
use tracing::Subscriber;
use tracing_subscriber::{Registry, layer::SubscriberExt as _};

/// Returns a subscriber whose spans go to this exporter, and the provider to flush at the end.
fn exported(exporter: impl SpanExporter + 'static) -> (impl Subscriber, SdkTracerProvider) {
    // A service takes `with_batch_exporter`, and an exporter such as that of `opentelemetry-otlp`.
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("forgeline"));
    (Registry::default().with(layer), provider)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (subscriber, provider) = exported(opentelemetry_stdout::SpanExporter::default());
    tracing::subscriber::set_global_default(subscriber)?;
    let agent = Agent::builder(DemoProvider::new()).tool(Calculator).build()?;
    println!("{}", agent.run("What is 17.5 % of 2,348?").await?.text);
    provider.shutdown()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use forgeline::{
        testing::{ScriptedProvider, ScriptedTurn},
        types::UsageInfo,
    };
    use opentelemetry::{
        Value,
        trace::{SpanId, SpanKind},
    };
    use opentelemetry_sdk::trace::{InMemorySpanExporter, SpanData};
    use serde_json::json;

    use super::*;

    fn value<'s>(span: &'s SpanData, name: &str) -> &'s Value {
        let found = span.attributes.iter().find(|it| it.key.as_str() == name);
        &found.unwrap_or_else(|| panic!("{} has no {name}: {:?}", span.name, span.attributes)).value
    }

    #[tokio::test]
    async fn an_exporter_sees_spans_by_the_names_of_the_conventions_and_counts_that_are_integers() {
        let exporter = InMemorySpanExporter::default();
        let (subscriber, provider) = exported(exporter.clone());
        let ended = tracing::subscriber::set_default(subscriber);
        let usage = UsageInfo::default().input_tokens(7).output_tokens(5);
        let usage = usage.cache_read_tokens(3).cache_write_tokens(2).reasoning_tokens(1);
        let model = ScriptedProvider::new([
            ScriptedTurn::new().call("calculator", json!({ "expression": "6 * 7" })).usage(usage),
            ScriptedTurn::new().text("42").usage(usage),
        ]);
        let agent = Agent::builder(model).tool(Calculator).build().unwrap();
        agent.run("What is 6 * 7?").await.unwrap();
        drop(ended);
        provider.force_flush().unwrap();

        let spans = exporter.get_finished_spans().unwrap();
        let mut names: Vec<_> = spans.iter().map(|span| &*span.name).collect();
        names.sort_unstable();
        let want = ["chat scripted", "chat scripted", "execute_tool calculator", "invoke_agent"];
        assert_eq!(names, want);
        let run = spans.iter().find(|span| span.name == "invoke_agent").unwrap();
        assert_eq!(run.parent_span_id, SpanId::INVALID);
        for span in &spans {
            let is_chat = span.name.starts_with("chat ");
            let kind = if is_chat { SpanKind::Client } else { SpanKind::Internal };
            assert_eq!(span.span_kind, kind, "{}", span.name);
            assert!(span.name == run.name || span.parent_span_id == run.span_context.span_id());
            let operation = span.name.split(' ').next().unwrap().to_owned();
            assert_eq!(*value(span, "gen_ai.operation.name"), Value::from(operation));
            let times = if is_chat { 1 } else { 2 };
            for (name, count) in [
                ("gen_ai.usage.input_tokens", 7),
                ("gen_ai.usage.output_tokens", 5),
                ("gen_ai.usage.cache_read.input_tokens", 3),
                ("gen_ai.usage.cache_write.input_tokens", 2),
                ("gen_ai.usage.reasoning.output_tokens", 1),
            ] {
                if !span.name.starts_with("execute_tool") {
                    assert_eq!(*value(span, name), Value::I64(count * times), "{name}");
                }
            }
            // No count or other number is a text.
            for attribute in &span.attributes {
                let text = attribute.value.as_str();
                let is_text = matches!(attribute.value, Value::String(_));
                let is_number = text.parse::<f64>().is_ok();
                assert!(!(is_text && is_number), "{}: {text:?} is a text", attribute.key);
            }
        }
    }
}
