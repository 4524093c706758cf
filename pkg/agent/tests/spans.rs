//! The spans of a run.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, LazyLock, Mutex},
};

use tracing::{
    Dispatch, Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::Interest,
};

use super::*;
use crate::RunInput;
use forgeline_llm::{ProviderError, Request};
use forgeline_types::UsageInfo;

/// Keeps all spans of a thread.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    spans: Vec<Seen>,
    entered: Vec<usize>,
}

#[derive(Clone)]
struct Seen {
    name: &'static str,
    parent: Option<&'static str>,
    fields: BTreeMap<&'static str, String>,
}

impl Visit for &mut Seen {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.to_owned());
    }

    // Rows: N-85
    fn record_u64(&mut self, field: &Field, value: u64) {
        panic!("{} = {value}: an exporter writes unsigned numbers as text", field.name());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }
}

fn place(id: &Id) -> usize {
    usize::try_from(id.into_u64()).unwrap() - 1
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target().starts_with("forgeline_agent")
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut kept = self.0.lock().unwrap();
        let parent = kept.entered.last().map(|place| kept.spans[*place].name);
        let name = attributes.metadata().name();
        let mut seen = Seen { name, parent, fields: BTreeMap::new() };
        attributes.record(&mut &mut seen);
        kept.spans.push(seen);
        Id::from_u64(kept.spans.len() as u64)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        let mut kept = self.0.lock().unwrap();
        values.record(&mut &mut kept.spans[place(id)]);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, id: &Id) {
        self.0.lock().unwrap().entered.push(place(id));
    }

    fn exit(&self, id: &Id) {
        let mut kept = self.0.lock().unwrap();
        let at = kept.entered.iter().rposition(|entered| *entered == place(id)).unwrap();
        kept.entered.remove(at);
    }
}

/// Sees nothing, and has every place asked for each span.
///
/// While one subscriber alone is registered, whether a place is of interest is decided by that of the thread that comes to
/// it first, and kept for all: a test of another thread, without a subscriber, would end the spans of this one.
struct AsksEachTime;

static BESIDE: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(AsksEachTime));

impl Subscriber for AsksEachTime {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, _: &Metadata<'_>) -> bool {
        false
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Has every place of a span or an event asked each time whether it is of interest: for tests with a subscriber of their
/// thread.
pub(crate) fn ask_each_time() {
    LazyLock::force(&BESIDE);
}

/// Runs the agent and returns its spans.
async fn spans(builder: AgentBuilder, input: RunInput) -> Vec<Seen> {
    ask_each_time();
    let spans = Spans::default();
    let ended = tracing::subscriber::set_default(spans.clone());
    // What it comes to is in the spans.
    let _outcome = builder.build().unwrap().conversation().run(input).await;
    drop(ended);
    let kept = spans.0.lock().unwrap();
    assert!(kept.entered.is_empty(), "each span that was entered was left");
    kept.spans.clone()
}

fn names(spans: &[Seen]) -> Vec<(&str, Option<&str>)> {
    spans.iter().map(|span| (span.name, span.parent)).collect()
}

fn has(span: &Seen, want: &[(&str, &str)]) {
    for (name, value) in want {
        assert_eq!(
            span.fields.get(name).map(String::as_str),
            Some(*value),
            "{name}: {:?}",
            span.fields
        );
    }
}

// Covers: F11
#[tokio::test(start_paused = true)]
async fn a_run_its_requests_and_its_calls_are_spans_by_the_names_of_the_conventions() {
    let usage = |input, output| {
        UsageInfo::default().input_tokens(input).output_tokens(output).cache_read_tokens(3)
    };
    let secret = "sesame-in-the-text";
    let provider = ScriptedProvider::new([
        ScriptedTurn::new().text(secret).call("echo", json!({ "text": secret })).usage(usage(7, 5)),
        ScriptedTurn::new().call("fail", json!({ "text": secret })),
        ScriptedTurn::new().text("Done.").usage(usage(11, 2)),
    ]);
    let builder =
        builder(&provider).system(secret).request(Request::default().max_tokens(64).seed(9));
    let spans = spans(builder, RunInput::from(secret).conversation("c-1")).await;
    let (run, chat, tool) = (Some("invoke_agent"), "chat", "execute_tool");
    let want =
        [("invoke_agent", None), (chat, run), (tool, run), (chat, run), (tool, run), (chat, run)];
    assert_eq!(names(&spans), want);
    let [run, first, echo, second, fail, last] = &spans[..] else { panic!("six spans") };
    has(
        run,
        &[
            ("otel.kind", "internal"),
            ("gen_ai.operation.name", "invoke_agent"),
            ("gen_ai.provider.name", "scripted"),
            ("gen_ai.conversation.id", "c-1"),
            ("gen_ai.usage.input_tokens", "18"),
            ("gen_ai.usage.output_tokens", "7"),
            ("gen_ai.response.finish_reasons", "stop"),
        ],
    );
    has(
        first,
        &[
            ("otel.name", "chat scripted"),
            ("otel.kind", "client"),
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.request.model", "scripted"),
            ("gen_ai.request.max_tokens", "64"),
            ("gen_ai.request.seed", "9"),
            ("gen_ai.request.stream", "true"),
            ("gen_ai.conversation.id", "c-1"),
            ("gen_ai.usage.input_tokens", "7"),
            ("gen_ai.usage.cache_read.input_tokens", "3"),
            ("gen_ai.response.finish_reasons", "tool_calls"),
            ("gen_ai.response.time_to_first_chunk", "0.0"),
        ],
    );
    has(
        echo,
        &[
            ("otel.name", "execute_tool echo"),
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "echo"),
            ("gen_ai.tool.type", "function"),
        ],
    );
    assert!(echo.fields.contains_key("gen_ai.tool.call.id"));
    has(fail, &[("error.type", "failed")]);
    assert!(!second.fields.contains_key("gen_ai.usage.input_tokens"), "not reported");
    for span in [run, first, echo, last] {
        assert!(!span.fields.contains_key("error.type"), "{}: {:?}", span.name, span.fields);
    }
    for span in &spans {
        let shown = format!("{:?}", span.fields);
        assert!(!shown.contains(secret), "{}: {shown}", span.name);
    }
}

#[tokio::test(start_paused = true)]
async fn what_failed_is_on_its_span() {
    let error = ProviderError::decode(1, "torn");
    let provider = ScriptedProvider::new([ScriptedTurn::new().text("Hm").fail(error)]);
    let spans = spans(builder(&provider), "Go.".into()).await;
    assert_eq!(names(&spans), [("invoke_agent", None), ("chat", Some("invoke_agent"))]);
    for span in &spans {
        has(span, &[("error.type", "decode")]);
    }
}
