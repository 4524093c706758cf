//! Records of runs, turns and calls.

use std::sync::{Arc, Mutex};

use futures_util::StreamExt as _;
use tokio::time::sleep;

use super::{scenarios::SCENARIOS, *};
use crate::{
    RunInput, RunOutcome,
    journal::MemoryJournal,
    observe::{
        CallBegan, CallEnd, CallRecord, Emission, LatencyRecords, Metric, MetricNames, Observer,
        RequestSent, RunBegan, RunRecord, TurnRecord,
    },
};
use forgeline_llm::{ChunkStream, Cost, Provider, ProviderError, ProviderFuture, Request};
use forgeline_types::{ErrorCode, FinishReason, ModelInfo, UsageInfo};

/// Keeps all records.
#[derive(Default)]
struct Log {
    lines: Mutex<Vec<String>>,
    turns: Mutex<Vec<TurnRecord>>,
    requests: Mutex<Vec<RequestSent>>,
    runs: Mutex<Vec<(RunRecord, bool)>>,
    wants_requests: bool,
}

impl Log {
    fn say(&self, line: String) {
        self.lines.lock().unwrap().push(line);
    }

    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    fn turns(&self) -> Vec<TurnRecord> {
        self.turns.lock().unwrap().clone()
    }
}

impl Observer for Log {
    fn run_began(&self, run: &RunBegan) {
        self.say(format!("run of {} with {} tools, {}", run.model, run.tools, run.resumed));
    }

    fn wants_requests(&self) -> bool {
        self.wants_requests
    }

    fn request_sent(&self, request: &RequestSent) {
        self.say(format!("request {} of {}", request.turn, request.messages));
        self.requests.lock().unwrap().push(request.clone());
    }

    fn call_began(&self, call: &CallBegan) {
        self.say(format!("call {}", call.tool_name));
    }

    fn progress(&self, _: &str, name: &str, data: &Value) {
        self.say(format!("{name} {data}"));
    }

    fn call_ended(&self, call: &CallRecord) {
        self.say(format!("{} {}", call.tool_name, call.end.as_str()));
    }

    fn turn_ended(&self, turn: &TurnRecord) {
        self.say(format!("turn {} with {} calls", turn.turn, turn.calls.len()));
        self.turns.lock().unwrap().push(turn.clone());
    }

    fn run_ended(&self, run: &RunRecord, outcome: Option<&RunOutcome>) {
        self.say(format!("end {:?} {:?}", run.error, outcome.map(|outcome| outcome.turns)));
        self.runs.lock().unwrap().push((run.clone(), outcome.is_some()));
    }
}

/// Panics at every record.
struct Broken;

impl Observer for Broken {
    fn run_began(&self, _: &RunBegan) {
        std::panic::panic_any("began");
    }

    fn wants_requests(&self) -> bool {
        std::panic::panic_any("wants")
    }

    fn call_began(&self, _: &CallBegan) {
        std::panic::panic_any("call");
    }

    fn call_ended(&self, _: &CallRecord) {
        std::panic::panic_any("result");
    }

    fn turn_ended(&self, _: &TurnRecord) {
        std::panic::panic_any("turn");
    }

    fn run_ended(&self, _: &RunRecord, _: Option<&RunOutcome>) {
        std::panic::panic_any("end");
    }
}

/// A provider that takes a second before the first chunk and 100 ms before each other.
struct Slow(ScriptedProvider);

impl Provider for Slow {
    fn info(&self) -> &ModelInfo {
        self.0.info()
    }

    fn stream_completion(&self, request: Request) -> ProviderFuture<ChunkStream> {
        let opening = self.0.stream_completion(request);
        Box::pin(async move {
            sleep(Duration::from_millis(900)).await;
            let chunks = opening.await?.then(|chunk| async {
                sleep(Duration::from_millis(100)).await;
                chunk
            });
            Ok(Box::pin(chunks) as ChunkStream)
        })
    }
}

fn usage(input: u64, output: u64) -> UsageInfo {
    UsageInfo::default().input_tokens(input).output_tokens(output)
}

fn observed(builder: AgentBuilder) -> (Conversation, Arc<Log>) {
    let log = Arc::new(Log::default());
    (builder.observer(Arc::clone(&log)).build().unwrap().conversation(), log)
}

// Covers: H-33
#[tokio::test(start_paused = true)]
async fn observer_gets_a_record_of_each_step() {
    let (agent, log) = observed(builder(&rich_script()));
    agent.run("Do it.").await.unwrap();
    let lines = log.lines();
    let want = [
        "run of scripted with 9 tools, false",
        "call echo",
        "call echo",
        "progress \"one\"",
        "progress \"two\"",
        "echo succeeded",
        "echo succeeded",
        "turn 1 with 2 calls",
        "call fail",
        "echo invalid_arguments",
        "fail failed",
        "turn 2 with 2 calls",
        "turn 3 with 0 calls",
        "end None Some(3)",
    ];
    let (mut lines, mut want) = (lines, want.map(str::to_owned).to_vec());
    // Calls run beside each other, within their turn.
    lines[1..7].sort();
    want[1..7].sort();
    assert_eq!(lines, want);
}

// Covers: T-92
#[tokio::test(start_paused = true)]
async fn a_record_says_what_a_turn_took_and_came_to() {
    let first = ScriptedTurn::new().text("Let me see.").call("doze", json!({}));
    let turns = [first.usage(usage(1_000, 100)), ScriptedTurn::new().text("Done.")];
    let info = ModelInfo::new("openai", "claude-haiku-4-5");
    let scripted = ScriptedProvider::new(turns);
    let info = info.capabilities(scripted.info().capabilities);
    let doze = tool_fn("doze", "Waits.", |_: ToolContext, _: Nothing| async {
        sleep(Duration::from_secs(3)).await;
        "rested"
    });
    let builder = Agent::builder(Slow(scripted.info_of(info))).tool(doze);
    let (agent, log) = observed(builder);
    agent.run(RunInput::from("Go.").conversation("c-1")).await.unwrap();
    let [turn, last] = &log.turns()[..] else { panic!("two turns: {:?}", log.lines()) };
    assert_eq!((turn.turn, turn.requests, turn.messages, last.messages), (1, 1, 1, 3));
    assert_eq!((turn.provider.as_str(), turn.model.as_str()), ("openai", "claude-haiku-4-5"));
    assert_eq!(turn.conversation.as_deref(), Some("c-1"));
    let millis = |time: Duration| time.as_millis();
    assert_eq!(turn.time_to_first_token.map(millis), Some(1_000));
    // Text, the call and the rest of its arguments, usage and the end.
    assert_eq!(turn.emission.chunks, 5);
    assert_eq!(millis(turn.answer_time), 900 + 500);
    assert_eq!(millis(turn.duration), 1_400 + 3_000);
    assert_eq!(turn.emission.longest, Duration::ZERO, "nobody waits on a paused clock");
    assert_eq!(turn.stop_reason, Some(FinishReason::ToolCalls));
    assert_eq!(turn.usage, Some(usage(1_000, 100)));
    assert_eq!(turn.cost, "0.0015".parse::<Cost>().ok(), "a dollar and five for a million");
    let [call] = &turn.calls[..] else { panic!("one call") };
    assert_eq!((call.tool_name.as_str(), millis(call.duration)), ("doze", 3_000));
    assert_eq!((call.end, call.result_bytes), (CallEnd::Succeeded, "rested".len()));
    assert_eq!((last.usage, last.cost, last.error), (None, None, None));
    assert_eq!(last.stop_reason, Some(FinishReason::Stop));
    let kept = serde_json::to_value(turn).unwrap();
    assert_eq!(serde_json::from_value::<TurnRecord>(kept).unwrap(), *turn);
}

#[tokio::test(start_paused = true)]
async fn a_record_says_which_part_of_the_prompt_changed_and_where() {
    use crate::{observe::PrefixPart, prompts::PromptContext, tools::Calculator};

    let call = || ScriptedTurn::new().call("calculator", json!({ "expression": "1 + 1" }));
    let done = || ScriptedTurn::new().text("Done.");
    let turns = [call(), done(), call(), done(), done(), done(), done()];
    let page = |context: PromptContext| async move {
        Ok(format!("The page is {}.", context.run.page().unwrap_or("none")))
    };
    let builder = Agent::builder(ScriptedProvider::new(turns)).tool(Calculator);
    let builder = builder.system("You help.").system("").system(page).system("Be brief.");
    let (agent, log) = observed(builder);
    for page in ["one", "one", "two"] {
        agent.run(RunInput::from("Hi").page(page)).await.unwrap();
    }
    // A fork is another conversation.
    agent.run(RunInput::from("Hi").page("two")).await.unwrap();
    agent.fork().run(RunInput::from("Hi").page("three")).await.unwrap();
    let changes: Vec<_> = log.turns().iter().map(|turn| turn.prefix_change).collect();
    let changes: Vec<_> = changes.iter().map(|it| it.map(|it| (it.part, it.offset))).collect();
    let page = Some((PrefixPart::Prompt(2), "You help.\n\n".len()));
    assert_eq!(changes, [None, None, None, None, page, None, None]);
}

#[tokio::test(start_paused = true)]
async fn the_time_to_emit_a_chunk_has_the_wait_for_the_reader() {
    let provider = ScriptedProvider::new([ScriptedTurn::new().text("a").text("b")]);
    let (agent, log) = observed(Agent::builder(provider).event_capacity(1));
    let mut stream = agent.run_stream("Go.");
    while let Some(envelope) = stream.next().await {
        if matches!(envelope.event, AgentEvent::MessageStart) {
            sleep(Duration::from_secs(2)).await;
        }
    }
    let emission = log.turns()[0].emission;
    assert_eq!(emission.longest, Duration::from_secs(2));
    assert_eq!(emission.mean(), Some(emission.total / emission.chunks));
    assert_eq!(Emission::default().mean(), None);
}

#[tokio::test(start_paused = true)]
async fn panicking_observer_does_not_affect_the_run() {
    let log = Arc::new(Log::default());
    let builder = builder(&rich_script()).observer(Broken).observer(Arc::clone(&log));
    let outcome = builder.build().unwrap().conversation().run("Do it.").await.unwrap();
    assert_eq!((outcome.text.as_str(), log.turns().len()), ("It is done.", 3));
    assert_eq!(log.lines().last().unwrap(), "end None Some(3)");
}

// Covers: E-30
#[tokio::test(start_paused = true)]
async fn requests_are_shown_to_whoever_asks_without_their_secrets() {
    // Put together here, so that no scanner takes it for a leaked one.
    let key = ["sk", "-A1b2C3d4E5f6"].concat();
    let template = Request::default().temperature(0.5).metadata("api_key", "hunter22");
    let builder = || builder(&rich_script()).request(template.clone()).system("Be brief.");
    let (agent, log) = observed(builder());
    agent.run("Do it.").await.unwrap();
    assert!(log.requests.lock().unwrap().is_empty(), "off unless it is asked for");

    let log = Arc::new(Log { wants_requests: true, ..Log::default() });
    let agent = builder().observer(Arc::clone(&log)).build().unwrap().conversation();
    agent.run(format!("My key is {key}.")).await.unwrap();
    let requests = log.requests.lock().unwrap().clone();
    let [first, .., last] = &requests[..] else { panic!("{requests:?}") };
    assert_eq!((first.turn, first.messages, last.turn, last.messages), (1, 1, 3, 5));
    assert_eq!(first.body["messages"][0]["parts"][0]["text"], "My key is [key].");
    assert_eq!(
        (&first.body["system"], &first.body["temperature"]),
        (&json!("Be brief."), &json!(0.5))
    );
    assert_eq!(first.body["tools"].as_array().unwrap().len(), 9);
    let shown = format!("{requests:?}");
    assert!(!shown.contains(&key) && !shown.contains("hunter22"), "{shown}");
    assert_eq!(log.lines()[1], "request 1 of 1", "before it is sent");
}

#[tokio::test(start_paused = true)]
async fn turns_that_fail_or_are_dropped_have_records() {
    let error = ProviderError::decode(1, "torn");
    let failing = ScriptedProvider::new([ScriptedTurn::new().text("Hm").fail(error)]);
    let (agent, log) = observed(builder(&failing));
    agent.run("Go.").await.unwrap_err();
    let [turn] = &log.turns()[..] else { panic!("one turn") };
    assert_eq!((turn.error, turn.stop_reason.clone()), (Some(ErrorCode::Decode), None));
    assert!(turn.time_to_first_token.is_some());
    assert_eq!(log.lines().last().unwrap(), "end Some(Decode) Some(1)");

    let hanging = ScriptedProvider::new([ScriptedTurn::new().text("Hm").hang()]);
    let (agent, log) = observed(builder(&hanging));
    let mut stream = agent.run_stream("Go.");
    while let Some(envelope) = stream.next().await {
        if matches!(envelope.event, AgentEvent::MessageContent(_)) {
            break;
        }
    }
    assert_eq!(log.turns().len(), 0);
    drop(stream);
    assert_eq!(
        (log.turns().len(), log.lines().last().unwrap().as_str()),
        (1, "end Some(Cancelled) None")
    );
}

/// Wherever a run is cancelled: each call that began has ended, each answer is in one record, and the run ends once.
#[tokio::test(start_paused = true)]
async fn records_are_whole_wherever_a_run_is_cancelled() {
    for scenario in &SCENARIOS {
        for at in 0.. {
            let world = scenario.world((scenario.turns)(), true);
            let (agent, log) = observed(world.builder.clone().event_capacity(1));
            let (mut stream, mut events) = (agent.run_stream("Do it."), Vec::new());
            let mut is_cut = false;
            while let Some(envelope) = stream.next().await {
                events.push(envelope);
                if events.len() == at {
                    stream.cancel();
                    is_cut = true;
                }
            }
            let name = format!("{} at {at}: {:#?}", scenario.name, log.lines());
            let count = |kind: &str| events.iter().filter(|it| it.event.kind() == kind).count();
            let turns = log.turns();
            let requests: u32 = turns.iter().map(|turn| turn.requests).sum();
            assert_eq!(requests as usize, count("api_call_start"), "{name}");
            let calls: usize = turns.iter().map(|turn| turn.calls.len()).sum();
            assert_eq!(calls, count("tool_result") + count("tool_result_error"), "{name}");
            let numbers: Vec<_> = turns.iter().map(|turn| turn.turn).collect();
            assert!(numbers.is_sorted_by(|one, other| one < other), "{name}");
            assert_eq!(log.runs.lock().unwrap().len(), 1, "{name}");
            if !is_cut && at > 0 {
                break;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_rest_of_a_turn_that_was_put_away_has_a_record() {
    let journal = MemoryJournal::default();
    let scripted = ScriptedProvider::new([ScriptedTurn::new().call("wait", json!({}))]);
    let (agent, log) = observed(builder(&scripted));
    let agent = agent.with_journal(journal.clone());
    let mut stream = agent.run_stream("Go.");
    while let Some(envelope) = stream.next().await {
        if matches!(envelope.event, AgentEvent::ToolCall(_)) {
            break;
        }
    }
    drop(stream);
    assert_eq!(log.turns()[0].requests, 1);

    let scripted = ScriptedProvider::new([ScriptedTurn::new().text("Done.")]);
    let (agent, log) = observed(builder(&scripted));
    let agent = agent.with_journal(journal);
    agent.resume().await.unwrap().unwrap();
    let lines = log.lines();
    let want = [
        "run of scripted with 9 tools, true",
        "wait not_run",
        "turn 1 with 1 calls",
        "turn 2 with 0 calls",
        "end None Some(2)",
    ];
    assert_eq!(lines, want);
    let requests: Vec<_> = log.turns().iter().map(|turn| turn.requests).collect();
    assert_eq!(requests, [0, 1], "the answer came in the other process");
}

#[tokio::test(start_paused = true)]
async fn a_cost_is_of_all_answers_or_of_none() {
    for (model, cost) in [("claude-haiku-4-5", Some("0.003")), ("my own model", None)] {
        let turn = || ScriptedTurn::new().usage(usage(1_000, 100));
        let turns = [turn().call("echo", json!({ "text": "a" })), turn().text("Done.")];
        let scripted = ScriptedProvider::new(turns);
        let capabilities = scripted.info().capabilities;
        let info = ModelInfo::new("anthropic", model).capabilities(capabilities);
        let outcome = agent(&scripted.info_of(info)).run("Go.").await.unwrap();
        assert_eq!(outcome.cost(), cost.and_then(|cost| cost.parse().ok()), "{model}");
    }
}

// Covers: T-94
#[tokio::test(start_paused = true)]
async fn metrics_have_the_names_of_the_conventions() {
    let used = usage(1_000, 100).cache_read_tokens(250);
    let turns = [
        ScriptedTurn::new().text("a").call("fail", json!({ "text": "x" })).usage(used),
        ScriptedTurn::new().text("Done."),
    ];
    let (agent, log) = observed(Agent::builder(Slow(ScriptedProvider::new(turns))).tool(tool_fn(
        "fail",
        "Fails.",
        |_: ToolContext, _: Echo| async { Err::<String, _>(ToolError::failed("no")) },
    )));
    agent.run("Go.").await.unwrap();
    let shown = |metric: &Metric| {
        let attributes: Vec<_> =
            metric.attributes.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{} {} {} {}", metric.name, metric.value, metric.unit, attributes.join(" "))
    };
    let turn = log.turns()[0].clone();
    assert_eq!(turn.cached_share(), Some(0.25));
    let chat =
        "gen_ai.operation.name=chat gen_ai.provider.name=scripted gen_ai.request.model=scripted";
    let metrics: Vec<_> = turn.metrics(MetricNames::Released).iter().map(shown).collect();
    let want = [
        format!("gen_ai.client.operation.duration 1.4 s {chat}"),
        format!("gen_ai.client.operation.time_to_first_chunk 1 s {chat}"),
        format!("gen_ai.client.token.usage 1000 {{token}} {chat} gen_ai.token.type=input"),
        format!("gen_ai.client.token.usage 100 {{token}} {chat} gen_ai.token.type=output"),
    ];
    assert_eq!(metrics, want);
    let names: Vec<_> = turn.metrics(MetricNames::Latest).iter().map(|it| it.name).collect();
    let want = [
        "gen_ai.client.inference.duration",
        "gen_ai.client.inference.time_to_first_chunk",
        "gen_ai.client.inference.usage.input_tokens",
        "gen_ai.client.inference.usage.output_tokens",
        "gen_ai.client.inference.usage.cache_read.input_tokens",
    ];
    assert_eq!(names, want);
    let call = &turn.calls[0];
    let want = "gen_ai.client.operation.duration 0 s gen_ai.operation.name=execute_tool \
                gen_ai.tool.name=fail error.type=failed";
    assert_eq!(shown(&call.metric(MetricNames::Released)), want);
    assert_eq!(call.metric(MetricNames::Latest).name, "gen_ai.execute_tool.duration");
    let mut run = log.runs.lock().unwrap()[0].0.clone();
    assert_eq!(run.metric(MetricNames::Latest).name, "gen_ai.invoke_agent.duration");
    run.error = Some(ErrorCode::RateLimited);
    let metric = run.metric(MetricNames::Released);
    assert_eq!(metric.attributes.last(), Some(&("error.type", "rate_limited".into())));
}

#[tokio::test(start_paused = true)]
async fn the_last_durations_are_kept_for_their_percentiles() {
    let latency = LatencyRecords::default();
    let call = || ScriptedTurn::new().call("echo", json!({ "text": "a" }));
    let provider = Slow(ScriptedProvider::new([call(), call(), ScriptedTurn::new().text("Done.")]));
    let echo = tool_fn("echo", "Waits.", |_: ToolContext, echo: Echo| async move {
        sleep(Duration::from_millis(70)).await;
        echo.text
    });
    let agent = Agent::builder(provider).tool(echo).observer(latency.clone()).build();
    agent.unwrap().run("Go.").await.unwrap();
    let windows = latency.windows();
    assert_eq!((windows.turn.len(), windows.tool.len(), windows.emission.len()), (3, 2, 3));
    assert_eq!(windows.tool.percentile(95), Some(Duration::from_millis(70)));
    assert_eq!(windows.first_token.percentile(50), Some(Duration::from_secs(1)));
    assert!(windows.turn.percentile(100) > windows.turn.percentile(1));
}
