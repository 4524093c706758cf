//! Encoders: every kind has a place in each, and what is begun is ended.

use std::{collections::HashSet, time::Duration};

use serde_json::{Value, json};

use super::{message_writer::MessageWriter, *};
use forgeline_agent::{
    Agent, RunStream,
    tools::{Calculator, ToolContext, ToolEffects, tool_fn},
};
use forgeline_llm::scripted::{ScriptedProvider, ScriptedTurn};
use forgeline_types::{
    AgentEvent, CustomEvent, Envelope, ErrorCode, FinishReason, MessageContentEvent,
    ToolResultEvent, UsageInfo,
};

/// One event of each kind.
const KINDS: &str = include_str!("../../../testdata/golden/events.jsonl");

/// The folder of the frames that these make, and the file of each protocol.
pub(super) const ENCODED: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/encoded");
const FILES: [&str; 3] = ["native.sse", "ui-message.sse", "ag-ui.sse"];

fn encoders() -> [Box<dyn Encode>; 3] {
    [Box::new(Native::new()), Box::new(UiMessageStream::new()), Box::new(AgUi::new("thread"))]
}

pub(super) fn kinds() -> Vec<Envelope> {
    let events = KINDS.lines().filter(|line| !line.trim().is_empty());
    let events = events.map(|line| serde_json::from_str::<AgentEvent>(line).unwrap());
    let envelope = |(seq, event)| Envelope::new("run".into(), 1, seq, 1_700_000_000_000, event);
    (0..).zip(events).map(envelope).collect()
}

fn encoded(encoder: &mut dyn Encode, envelopes: &[Envelope], end: &RunEnd) -> String {
    let mut out = Vec::new();
    for envelope in envelopes {
        encoder.event(envelope, &mut out);
    }
    encoder.end(end, &mut out);
    String::from_utf8(out).unwrap()
}

// Covers: E-04
#[test]
fn each_kind_has_its_frames() {
    let events = kinds();
    let mut end = RunEnd::new("run", events.len() as u64, RunStatus::Completed);
    end.finish_reason = Some(FinishReason::Stop);
    end.usage = Some(UsageInfo::default().input_tokens(3));
    for (name, mut encoder) in FILES.into_iter().zip(encoders()) {
        let (frames, path) = (encoded(&mut *encoder, &events, &end), format!("{ENCODED}/{name}"));
        if std::env::var_os("FORGELINE_WRITE_GOLDEN").is_some() {
            std::fs::write(&path, &frames).unwrap();
        }
        let want = std::fs::read_to_string(path).unwrap();
        assert_eq!(frames, want, "{name}: FORGELINE_WRITE_GOLDEN=1 writes the file anew");
    }
}

#[test]
fn the_texts_of_each_encoder_are_the_data_of_its_frames() {
    let (events, end) = (kinds(), RunEnd::new("run", 7, RunStatus::Completed));
    let writers: [Box<dyn EncodeMessages>; 3] =
        [Box::new(Native::new()), Box::new(UiMessageStream::new()), Box::new(AgUi::new("thread"))];
    for ((name, mut frames), mut writer) in FILES.into_iter().zip(encoders()).zip(writers) {
        let (mut out, mut places) = (Vec::new(), Vec::new());
        for envelope in &events {
            writer.encode_event(envelope, &mut MessageWriter::texts(&mut out, &mut places));
        }
        writer.encode_end(&end, &mut MessageWriter::texts(&mut out, &mut places));
        let texts = places.into_iter().map(|place| serde_json::from_slice(&out[place]).unwrap());
        let want = data(&encoded(&mut *frames, &events, &end));
        assert_eq!(texts.collect::<Vec<Value>>(), want, "{name}");
    }
}

#[test]
fn an_event_is_written_as_serde_writes_it() {
    let read = |json: &str| serde_json::from_str::<AgentEvent>(json).unwrap();
    let odd = [r#"{"type":"odd","run_id":"other","seq":1,"":null}"#, r#"{"type":""}"#];
    let others = odd.map(read).into_iter().chain([AgentEvent::MessageContent(
        MessageContentEvent::new("\u{0}\"\\/\u{2028}é\n").refusal(true),
    )]);
    for event in kinds().into_iter().map(|envelope| envelope.event).chain(others) {
        for (id, turn, seq, at) in [("run", 0, 0, 0), ("\"é\n", u32::MAX, u64::MAX, u64::MAX)] {
            let envelope = Envelope::new(id.into(), turn, seq, at, event.clone());
            let mut out = b"before".to_vec();
            envelope.write_json(&mut out);
            let want = format!("before{}", serde_json::to_string(&envelope).unwrap());
            assert_eq!(String::from_utf8(out).unwrap(), want);
        }
    }
}

/// The data of each frame.
pub(super) fn data(frames: &str) -> Vec<Value> {
    let fields = frames.lines().filter_map(|line| line.strip_prefix("data: "));
    fields
        .filter(|data| *data != "[DONE]")
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

/// A run with all that a chat has: thinking, text, calls good and bad, an approval, an agent below.
fn chat(answers: bool) -> (RunStream, bool) {
    let below = ScriptedTurn::new().call("calculator", json!({ "expression": "6*7" }));
    let below = ScriptedProvider::new([below, ScriptedTurn::new().thinking("Hm.").text("42")]);
    let below = Agent::builder(below).tool(Calculator).build().unwrap();
    let remove = tool_fn("remove", "Removes.", |_: ToolContext, _: Value| async { "removed" });
    let turns = [
        ScriptedTurn::new()
            .thinking("Let me see.")
            .text("One moment.")
            .call("calculator", json!({ "expression": "1+1" }))
            .call("below", json!({ "task": "Work it out." }))
            .call("nope", "{\"a\":"),
        ScriptedTurn::new().call("remove", json!({ "path": "a" })),
        ScriptedTurn::new().text("Done: ").text("42."),
    ];
    let agent = Agent::builder(ScriptedProvider::new(turns))
        .tool(Calculator)
        .tool(remove.effects(ToolEffects::Irreversible))
        .tool(below.into_tool("below", "Helps."))
        .approval_timeout(Duration::from_secs(1));
    (agent.build().unwrap().run_stream("Hello."), answers)
}

pub(super) async fn envelopes(answers: bool) -> (Vec<Envelope>, RunEnd) {
    let (mut stream, answers) = chat(answers);
    let (approvals, mut all) = (stream.approvals(), Vec::new());
    while let Some(envelope) = stream.next().await {
        if let AgentEvent::ToolApprovalRequest(request) = &envelope.event {
            let decision = if answers {
                forgeline_agent::approval::Decision::Grant
            } else {
                forgeline_agent::approval::Decision::reject("no")
            };
            approvals.answer(&request.approval_id, decision).unwrap();
        }
        all.push(envelope);
    }
    let end = RunEnd::of(&stream.outcome().await.unwrap(), all.len() as u64);
    (all, end)
}

/// Checks that what AG-UI begins is ended, once, and that nothing of it comes before or after.
fn check_ag_ui(frames: &str) {
    let events = data(frames);
    let kind = |event: &Value| event["type"].as_str().unwrap().to_owned();
    assert_eq!(kind(&events[0]), "RUN_STARTED");
    let last = kind(events.last().unwrap());
    assert!(["RUN_FINISHED", "RUN_ERROR"].contains(&last.as_str()), "{last}");
    let (mut open, mut ended) = (HashSet::new(), HashSet::new());
    for event in &events[1..events.len() - 1] {
        let kind = kind(event);
        let ids = ["messageId", "toolCallId", "stepName", "subagentRunId"];
        let id = |names: &[&str]| {
            names.iter().find_map(|name| event[*name].as_str()).unwrap_or_default().to_owned()
        };
        let (own, run) = (id(&ids[..3]), id(&ids[3..]));
        if let Some(kind) = kind.strip_suffix("_STARTED").or(kind.strip_suffix("_START")) {
            let key = (kind.to_owned(), own, run);
            assert!(open.insert(key.clone()), "{key:?} begins twice");
            assert!(kind == "STEP" || !ended.contains(&key), "{key:?} begins again");
        } else if let Some(kind) = kind
            .strip_suffix("_FINISHED")
            .or(kind.strip_suffix("_END"))
            .or((kind == "SUBAGENT_ERROR").then_some("SUBAGENT"))
        {
            let key = (kind.to_owned(), own, run);
            assert!(open.remove(&key), "{key:?} ends, and is not open");
            ended.insert(key);
        } else if let Some(kind) = kind.strip_suffix("_CONTENT").or(kind.strip_suffix("_ARGS")) {
            assert!(open.contains(&(kind.to_owned(), own, run)), "{event}");
            assert_ne!(event["delta"], "");
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

/// Checks that each part of a UI message stream is in its place.
fn check_ui_message(frames: &str) {
    assert!(frames.ends_with("data: [DONE]\n\n"));
    let parts = data(frames);
    assert_eq!(
        (&parts[0]["type"], &parts[parts.len() - 1]["type"]),
        (&"start".into(), &"finish".into())
    );
    let (mut open, mut calls, mut steps) = (HashSet::new(), HashSet::new(), 0);
    for part in &parts {
        let kind = part["type"].as_str().unwrap();
        let id = part["id"].as_str().unwrap_or_default();
        let call = part["toolCallId"].as_str().unwrap_or_default();
        match kind {
            "start-step" => steps += 1,
            "finish-step" => steps -= 1,
            "text-start" | "reasoning-start" => assert!(open.insert(id), "{part}"),
            "text-delta" | "reasoning-delta" => assert!(open.contains(id), "{part}"),
            "text-end" | "reasoning-end" => assert!(open.remove(id), "{part}"),
            "tool-input-start" => assert!(calls.insert(call), "{part}"),
            _ if kind.starts_with("tool-") => assert!(calls.contains(call), "{part}"),
            _ => {}
        }
        assert!((0..=1).contains(&steps), "{part}");
    }
    assert!(open.is_empty() && steps == 0, "{open:?}");
}

// Covers: E-04
#[tokio::test]
async fn what_begins_is_ended_wherever_the_run_ends() {
    for answers in [true, false] {
        let (all, end) = envelopes(answers).await;
        assert!(all.len() > 60, "{}", all.len());
        for events in 0..=all.len() {
            for status in [RunStatus::Completed, RunStatus::Failed, RunStatus::Cancelled] {
                let mut end = end.clone();
                end.status = status;
                check_ag_ui(&encoded(&mut AgUi::new("thread"), &all[..events], &end));
                // Of thinking and text the agent itself tells the ends.
                if events == all.len() {
                    check_ui_message(&encoded(&mut UiMessageStream::new(), &all, &end));
                }
            }
        }
    }
}

// Covers: E-04, E-41
#[tokio::test]
async fn a_chat_has_its_parts() {
    let (all, end) = envelopes(true).await;
    let frames = encoded(&mut UiMessageStream::new(), &all, &end);
    if let Ok(folder) = std::env::var("FORGELINE_WRITE_FRAMES") {
        std::fs::write(format!("{folder}/ui.sse"), &frames).unwrap();
        let frames = encoded(&mut AgUi::new("t1"), &all, &end);
        std::fs::write(format!("{folder}/agui.sse"), frames).unwrap();
    }
    let parts = data(&frames);
    let of = |kind: &str| -> Vec<&Value> { parts.iter().filter(|it| it["type"] == kind).collect() };
    let text: String = of("text-delta").iter().map(|it| it["delta"].as_str().unwrap()).collect();
    assert_eq!(text, "One moment.Done: 42.");
    assert_eq!(of("tool-input-start").len(), 4);
    assert_eq!(of("tool-input-available").len(), 3);
    assert_eq!(of("tool-input-error").len(), 1);
    assert_eq!(of("tool-output-available").len(), 3);
    assert_eq!(
        of("tool-approval-request")[0]["toolCallId"],
        of("tool-input-start")[3]["toolCallId"]
    );
    assert!(of("data-sub_agent").len() > 10);

    let (all, end) = envelopes(false).await;
    let parts = data(&encoded(&mut UiMessageStream::new(), &all, &end));
    assert!(parts.iter().any(|part| part["type"] == "tool-output-denied"));
}

/// An event of an agent below, which works for a call of the run or of another agent.
fn below(agent: &str, call: &str, event: &Value) -> Value {
    let mut envelope = json!({ "run_id": agent, "turn": 1, "seq": 0, "at": 1 });
    envelope.as_object_mut().unwrap().extend(event.as_object().unwrap().clone());
    let data = json!({ "parent_run_id": "above", "call_id": call, "name": "helper", "envelope": envelope });
    json!({ "type": "custom", "name": "sub_agent", "data": data })
}

// Covers: E-04
#[test]
fn calls_of_agents_below_that_ask_are_parts_in_a_step_behind_the_answer() {
    let named = |kind: &str, more: Value| {
        let mut event =
            json!({ "type": kind, "id": "c", "tool_name": "f", "arguments": { "b": 1.5 } });
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    };
    let asks =
        |id: &str| named("tool_approval_request", json!({ "approval_id": id, "preview": null }));
    let result = |kind: &str| json!({ "type": kind, "id": "c", "tool_name": "f", "content": "r", "duration_ms": 1 });
    let start = |index: u32, id: &str| json!({ "type": "tool_call_start", "index": index, "id": id, "tool_name": "helper" });
    let call =
        |id: &str| json!({ "type": "tool_call", "id": id, "tool_name": "helper", "arguments": {} });
    let deeper = |event: &Value| below("deep", "x", event);
    let events = [
        json!({ "type": "api_call_start", "provider": "openai", "model": "m" }),
        start(0, "c"),
        call("c"),
        // The first agent asks while the answer goes on, and one below it too.
        below("one", "c", &asks("a1")),
        below("one", "c", &deeper(&asks("a2"))),
        start(1, "d"),
        json!({ "type": "api_call_end", "duration_ms": 3, "first_token_ms": null }),
        call("d"),
        below(
            "two",
            "d",
            &named("client_tool_request", json!({ "client_call_id": "k", "tool_module": null })),
        ),
        below(
            "one",
            "c",
            &json!({ "type": "tool_approval_rejected", "approval_id": "a1", "id": "c", "tool_name": "f", "reason": "no" }),
        ),
        below("one", "c", &result("tool_result_error")),
        below("two", "d", &result("tool_result")),
        // Another takes its place after a restart, and ends without a result of its call.
        below("three", "c", &asks("a3")),
        result("tool_result"),
    ];
    let events = (0..).zip(events).map(|(seq, event)| {
        let event = serde_json::from_value(event).unwrap();
        Envelope::new("run".into(), 1, seq, 1_700_000_000_000, event)
    });
    let events: Vec<_> = events.collect();
    let end = RunEnd::new("run", events.len() as u64, RunStatus::Cancelled);
    let frames = encoded(&mut UiMessageStream::new(), &events, &end);
    check_ui_message(&frames);
    let own = frames.split_inclusive("\n\n").filter(|frame| !frame.contains("\"transient\":true"));
    let (own, path) = (own.collect::<String>(), format!("{ENCODED}/ui-message-below.sse"));
    if std::env::var_os("FORGELINE_WRITE_GOLDEN").is_some() {
        std::fs::write(&path, &own).unwrap();
    }
    let want = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(own, want, "FORGELINE_WRITE_GOLDEN=1 writes the file anew");
}

#[tokio::test]
async fn a_reader_may_be_paused_where_a_person_is_asked() {
    let (all, _) = envelopes(true).await;
    let asked = all.iter().position(|it| it.event.kind() == "tool_approval_request").unwrap();
    for (events, reason) in [(asked + 1, "interrupt"), (asked + 2, "success"), (0, "success")] {
        let (mut encoder, mut out) = (AgUi::new("thread"), Vec::new());
        for envelope in &all[..events] {
            encoder.event(envelope, &mut out);
        }
        encoder.pause("run", &mut out);
        let frames = String::from_utf8(out).unwrap();
        check_ag_ui(&frames);
        let outcome = data(&frames).pop().unwrap()["outcome"].take();
        assert_eq!(outcome["type"], reason, "{outcome}");
        if reason == "interrupt" {
            assert_eq!(outcome["interrupts"][0]["reason"], "tool_approval");
        }
    }
}

#[test]
fn odd_kinds_and_texts_stay_in_their_frames() {
    let unknown = json!({ "type": "odd\nid: 9\ndata: x", "text": "a\u{2028}\r\n" });
    let custom = AgentEvent::Custom(CustomEvent::new("a\n\ndata: b", json!("\r\n\r\n")));
    for event in [serde_json::from_value(unknown).unwrap(), custom] {
        let envelope = Envelope::new("run".into(), 1, 0, 0, event);
        let end = RunEnd::new("run", 1, RunStatus::Interrupted);
        for mut encoder in encoders() {
            let frames = encoded(&mut *encoder, std::slice::from_ref(&envelope), &end);
            for line in frames.lines() {
                let is_field = ["id: ", "event: ", "data: "].iter().any(|it| line.starts_with(it));
                assert!(line.is_empty() || is_field, "{line:?}");
                assert!(!line.starts_with("id: 9"), "{frames}");
            }
            assert!(!frames.contains('\r') && data(&frames).len() >= 2, "{frames}");
        }
    }
}

// Covers: E-05
#[test]
fn an_error_behind_calls_is_cut() {
    let mut end = RunEnd::new("run", 1, RunStatus::Failed);
    end.error = Some(forgeline_types::AgentError::new(ErrorCode::Timeout, "é".repeat(300)));
    let result = AgentEvent::ToolResult(ToolResultEvent::new("a", "t", "ok").duration_ms(1));
    let result = Envelope::new("run".into(), 1, 0, 0, result);
    for (events, want) in [
        (vec![], "é".repeat(300)),
        (vec![result], format!("Generation failed after tool execution: {}…", "é".repeat(220))),
    ] {
        let parts = data(&encoded(&mut UiMessageStream::new(), &events, &end));
        let error = parts.iter().find(|part| part["type"] == "error").unwrap();
        assert_eq!(error["errorText"], want);
    }
}

// Rows: N-01, N-02, N-03, N-04
#[tokio::test]
async fn each_ending_is_told_by_each_encoder() {
    use FinishReason::{ContentFilter, Length, Malformed, Refusal};
    let turn = ScriptedTurn::new;
    let call = || turn().call("calculator", json!({ "expression": "1 + 1" }));
    let unread = || turn().finish(Malformed);
    #[rustfmt::skip]
    let rows = [
        ("answered",  vec![turn().text("Hi.")],                    RunStatus::Completed, "",                 "stop"),
        ("refused",   vec![turn().finish(Refusal)],                RunStatus::Failed,    "refused",          "content-filter"),
        ("filtered",  vec![turn().text("I").finish(ContentFilter)], RunStatus::Failed,   "content_filtered", "content-filter"),
        ("filtered",  vec![call().finish(ContentFilter)],          RunStatus::Failed,    "content_filtered", "content-filter"),
        ("malformed", vec![unread(), unread()],                    RunStatus::Failed,    "malformed_answer", "error"),
        ("empty",     vec![turn(), turn()],                        RunStatus::Failed,    "empty_answer",     "error"),
        ("limit",     vec![call(), call(), call()],                RunStatus::Failed,    "max_turns",        "error"),
        ("limit",     vec![call(), call(), turn().text("So far.")], RunStatus::Completed, "",                "stop"),
        ("cut",       vec![turn().text("a").finish(Length)],       RunStatus::Completed, "",                 "length"),
    ];
    for (ending, script, status, code, finish) in rows {
        let builder = Agent::builder(ScriptedProvider::new(script)).tool(Calculator);
        let agent = builder.max_turns(2).continue_cut(0).build().unwrap();
        let mut stream = agent.run_stream("Go.");
        let mut events = Vec::new();
        while let Some(envelope) = stream.next().await {
            events.push(envelope);
        }
        let outcome = stream.outcome().await.unwrap_or_else(|failed| *failed.outcome);
        let end = RunEnd::of(&outcome, events.len() as u64);
        assert_eq!(end.status, status, "{ending}");
        let [native, ui, ag_ui] =
            encoders().map(|mut encoder| data(&encoded(&mut *encoder, &events, &end)));
        let last = native.last().unwrap();
        assert_eq!(last["ending"], ending);
        assert_eq!(last["error"]["code"].as_str().unwrap_or_default(), code, "{ending}");
        let of_kind = |frames: &[Value], kind: &str| {
            frames.iter().rev().find(|frame| frame["type"] == kind).cloned().unwrap_or_default()
        };
        assert_eq!(of_kind(&ui, "finish")["finishReason"], finish, "{ending}");
        assert_eq!(of_kind(&ui, "error").is_null(), code.is_empty(), "{ending}");
        let failed = of_kind(&ag_ui, "RUN_ERROR");
        assert_eq!(failed["code"].as_str().unwrap_or_default(), code, "{ending}");
    }
}
