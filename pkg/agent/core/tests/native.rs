//! Native calls become the same events.

use super::harness::{check_brackets, join};
use crate::{IGNORED_CHOICES, StreamEnd, StreamMachine, StreamOptions};
use forgeline_llm::{ChunkDetails, ContentType, StreamChunk, ToolCallDelta};
use forgeline_types::{AgentEvent, CallOutcome, Completion, CustomEvent, FinishReason};

fn run(chunks: Vec<StreamChunk>) -> (Vec<AgentEvent>, Completion) {
    let mut machine = StreamMachine::new(&StreamOptions::default());
    let mut events = Vec::new();
    for chunk in chunks {
        assert!(machine.chunk(chunk, &mut |event| events.push(event)).is_continue());
    }
    let completion = machine.finish(StreamEnd::Done, &mut |event| events.push(event));
    check_brackets(&events);
    (join(events), completion)
}

fn call(index: u32) -> ToolCallDelta {
    ToolCallDelta::new(index)
}

fn delta(delta: ToolCallDelta) -> StreamChunk {
    StreamChunk::calls(vec![delta])
}

// Found: S22
#[test]
fn arguments_end_as_their_text_says() {
    let reason = Some(FinishReason::ToolCalls);
    #[rustfmt::skip]
    let cases: [(&str, &[&str], Option<FinishReason>, CallOutcome, Option<&str>); 14] = [
        ("whole",     &["{\"a\"", ": 1}"],  reason.clone(), CallOutcome::Complete, Some("{\"a\":1}")),
        ("absent",    &[],                  reason.clone(), CallOutcome::Complete, Some("{}")),
        ("empty",     &[""],                reason.clone(), CallOutcome::Complete, Some("{}")),
        ("null",      &["null"],            reason.clone(), CallOutcome::Complete, Some("{}")),
        ("null text", &["\"nu", "ll\""],    reason.clone(), CallOutcome::Complete, Some("{}")),
        ("blank",     &[" \"null\"", " "], reason.clone(), CallOutcome::Complete, Some("{}")),
        ("a text",    &["\"nul\""],         reason.clone(),
            CallOutcome::malformed("the arguments are not a JSON object", 0), None),
        ("long text", &["\"null and more than that\""], reason.clone(),
            CallOutcome::malformed("the arguments are not a JSON object", 0), None),
        ("cut",       &["{\"a\": "],        Some(FinishReason::Length), CallOutcome::Incomplete, None),
        ("no end",    &["{\"a\": "],        None,           CallOutcome::Incomplete, None),
        ("cut before the arguments", &[],   Some(FinishReason::Length), CallOutcome::Incomplete, None),
        ("cut, null", &["null"],            Some(FinishReason::Length), CallOutcome::Incomplete, None),
        ("no end before the arguments", &[], None,          CallOutcome::Incomplete, None),
        ("malformed", &["{\"a\": ", "x}"],  reason.clone(),
            CallOutcome::malformed("this word is not a JSON value", 6), None),
    ];
    for (name, pieces, finish, outcome, arguments) in cases {
        let mut chunks = vec![delta(call(0).id("i").name("t"))];
        chunks.extend(pieces.iter().map(|piece| delta(call(0).arguments(*piece))));
        chunks.extend(finish.map(StreamChunk::end));
        let (_, completion) = run(chunks);
        let [call] = completion.tool_calls.as_slice() else { panic!("{name}") };
        assert_eq!(
            (&call.outcome, call.arguments_raw.as_str()),
            (&outcome, &*pieces.concat()),
            "{name}"
        );
        assert_eq!(call.arguments.as_ref().map(forgeline_types::Json::as_str), arguments, "{name}");
    }
}

// Found: R6
#[test]
fn names_and_ids_of_any_length_do_not_come_back() {
    for length in [1, 256, 257, 2 << 20] {
        let name = "n".repeat(length);
        let chunks = vec![
            delta(call(0).id("i".repeat(length)).name(name.clone()).arguments("{}")),
            StreamChunk::end(FinishReason::ToolCalls),
        ];
        let (events, completion) = run(chunks);
        let [call] = completion.tool_calls.as_slice() else { panic!("{length}") };
        let is_short = length <= 256;
        assert_eq!((call.name == *name, call.is_complete()), (is_short, is_short), "{length}");
        assert!(call.id.len() <= 1024 && !call.id.is_empty(), "{length}");
        let shown = format!("{events:?} {completion:?}");
        assert!(shown.len() < 10_000, "{length}: {}", shown.len());
        assert!(is_short || shown.contains("longer than 256 bytes"), "{length}: {shown}");
    }
}

// Found: R6
#[test]
fn arguments_over_their_limit_end_the_stream() {
    let piece = "x".repeat(1 << 20);
    let mut machine = StreamMachine::new(&StreamOptions::default());
    let mut events = Vec::new();
    let mut taken = 0;
    for at in 0..64 {
        let arguments = if at == 0 { "{\"a\":\"" } else { &piece };
        let chunk = delta(call(0).id("i").name("t").arguments(arguments));
        if machine.chunk(chunk, &mut |event| events.push(event)).is_break() {
            break;
        }
        taken += arguments.len();
    }
    assert!(taken <= 4 << 20, "{taken}");
    let completion = machine.finish(StreamEnd::Done, &mut |event| events.push(event));
    check_brackets(&events);
    let error = completion.error.unwrap();
    assert!(error.message.contains("longer than 4194304 bytes"), "{error}");
    assert!(!completion.tool_calls[0].is_complete());
    assert_eq!(completion.tool_calls[0].arguments_raw.len(), taken);
}

/// A block that ends says that its text is over, not that the model had finished the call.
// Found: V1
#[test]
fn v1_a_call_that_the_provider_ended_without_whole_arguments_waits_for_what_follows() {
    use CallOutcome::{Complete, Incomplete};
    let (stop, length) =
        (|| StreamChunk::end(FinishReason::ToolCalls), || StreamChunk::end(FinishReason::Length));
    let (full, filtered, refused) = (
        || StreamChunk::end(FinishReason::ContextExceeded),
        || StreamChunk::end(FinishReason::ContentFilter),
        || StreamChunk::end(FinishReason::Refusal),
    );
    let ended = |arguments: &str| {
        delta({
            let mut it = call(0).id("i").name("t").arguments(arguments);
            it.ended = true;
            it
        })
    };
    let text = || StreamChunk::message("Then.");
    let next = || delta(call(1).id("j").name("u").arguments("{}"));
    let malformed = || CallOutcome::malformed("the JSON ends too early", 4);
    #[rustfmt::skip]
    let cases: [(&str, Vec<StreamChunk>, CallOutcome); 18] = [
        ("absent",                    vec![ended(""), stop()],              Complete),
        ("absent, cut",               vec![ended(""), length()],            Incomplete),
        ("absent, no end",            vec![ended("")],                      Incomplete),
        ("absent, text follows",      vec![ended(""), text(), length()],    Complete),
        ("absent, a call follows",    vec![ended(""), next(), length()],    Complete),
        ("null, cut",                 vec![ended("null"), length()],        Incomplete),
        ("whole, cut",                vec![ended("{}"), length()],          Complete),
        ("absent, no room",           vec![ended(""), full()],              Incomplete),
        ("absent, filtered",          vec![ended(""), filtered()],          Incomplete),
        ("absent, refused",           vec![ended(""), refused()],           Incomplete),
        ("null, filtered",            vec![ended("null"), filtered()],      Incomplete),
        ("whole, filtered",           vec![ended("{}"), filtered()],        Complete),
        ("half, no room",             vec![ended("{\"a\""), full()],        Incomplete),
        ("half, filtered",            vec![ended("{\"a\""), filtered()],    malformed()),
        ("half",                      vec![ended("{\"a\""), stop()],        malformed()),
        ("half, cut",                 vec![ended("{\"a\""), length()],      Incomplete),
        ("half, no end",              vec![ended("{\"a\"")],                Incomplete),
        ("half, a call follows",      vec![ended("{\"a\""), next(), length()], malformed()),
    ];
    for (name, chunks, want) in cases {
        let (_, completion) = run(chunks);
        let Some(call) = completion.tool_calls.first() else { panic!("{name}") };
        assert_eq!(call.outcome, want, "{name}");
    }
}

// Found: S21
#[test]
fn deltas_of_an_ended_call_are_ignored() {
    let ended = |index| {
        let mut it = call(index);
        it.ended = true;
        it
    };
    #[rustfmt::skip]
    let cases: [(&str, Vec<ToolCallDelta>, &[&str]); 3] = [
        ("ended by the provider", vec![ended(0).name("f").arguments("{}"), call(0).name("g").arguments("{}")],                 &["f"]),
        ("ended by a later call", vec![call(0).name("f").arguments("{}"), call(1).name("g"), call(0).arguments("{}")],          &["f", "g"]),
        ("a second end",            vec![ended(0).name("f").arguments("{}"), ended(1).name("g"), ended(0), ended(1).name("h")],  &["f", "g"]),
    ];
    for (name, deltas, want) in cases {
        let chunks = deltas.into_iter().map(delta).chain([StreamChunk::end(FinishReason::Stop)]);
        let (events, completion) = run(chunks.collect());
        let names: Vec<_> = completion.tool_calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, want, "{name}");
        let starts = events.iter().filter(|event| event.kind() == "tool_call_start").count();
        assert_eq!(starts, want.len(), "{name}");
    }
}

#[test]
fn calls_keep_their_order_and_may_overlap_only_as_the_provider_interleaves_them() {
    let chunks = vec![
        StreamChunk::message("Hm."),
        delta(call(0).id("a").name("f").arguments("{\"x\":")),
        delta(call(3).id("b").name("g").arguments("{}")),
        StreamChunk::message("Meanwhile."),
        delta(call(0).arguments("1}")),
        delta(call(4).name("h")),
        StreamChunk::end(FinishReason::ToolCalls),
    ];
    let (events, completion) = run(chunks);
    let kinds: Vec<_> = events.iter().map(AgentEvent::kind).collect();
    assert_eq!(
        kinds,
        [
            "message_start",
            "message_content",
            "message_end",
            "tool_call_start",
            "tool_call_content",
            "tool_call_start",
            "tool_call_content",
            "message_start",
            "message_content",
            "tool_call_content",
            "tool_call_end",
            "tool_call_end",
            "message_end",
            "tool_call_start",
            "tool_call_end",
        ],
    );
    let calls: Vec<_> = completion.tool_calls.iter().map(|call| (&*call.id, &*call.name)).collect();
    assert_eq!(calls, [("a", "f"), ("b", "g"), ("call_2", "h")]);
    assert!(completion.tool_calls.iter().all(forgeline_types::ToolCall::is_complete));
}

#[test]
fn the_end_of_a_call_that_ended_before_is_no_new_call() {
    let ended = |index| {
        let mut it = call(index);
        it.ended = true;
        it
    };
    let (_, completion) = run(vec![
        delta(call(0).id("a").name("f").arguments("{}")),
        delta(call(1).id("b").name("g").arguments("{}")),
        delta(ended(0)),
        delta(ended(1)),
        delta(ended(1)),
        StreamChunk::end(FinishReason::Stop),
    ]);
    let ids: Vec<_> = completion.tool_calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
}

/// A number is one call: what still comes for one that ended, by its own word or by a later call,
/// is neither a new call nor an event.
// Found: S21
#[test]
fn deltas_of_a_number_that_ended_are_dropped() {
    let late = || call(0).id("late").name("late").arguments("{\"x\":1}");
    let first = || call(0).id("a").name("f").arguments("{}");
    let second = || delta(call(1).id("b").name("g").arguments("{}"));
    let by_word = {
        let mut it = first();
        it.ended = true;
        it
    };
    for (name, start) in [("by its own word", by_word), ("by a later call", first())] {
        let plain = vec![delta(start.clone()), second(), StreamChunk::end(FinishReason::Stop)];
        let mut reused = plain.clone();
        reused.insert(2, delta(late()));
        let (events, completion) = run(reused);
        assert_eq!((events, completion), run(plain), "{name}");
    }
}

#[test]
fn r18_other_choices_are_reported_once() {
    let other = || {
        let details = {
            let mut it = ChunkDetails::default();
            it.ignored_choices = 2;
            it
        };
        {
            let mut it = StreamChunk::message("a");
            it.details = Some(Box::new(details));
            it
        }
    };
    let (events, _) = run(vec![other(), other(), StreamChunk::end(FinishReason::Stop)]);
    let told: Vec<_> = events.iter().filter(|event| event.kind() == "custom").collect();
    let data = serde_json::json!({ "count": 2 });
    assert_eq!(told, [&AgentEvent::Custom(CustomEvent::new(IGNORED_CHOICES, data))]);
    let (events, _) = run(vec![StreamChunk::message("a"), StreamChunk::end(FinishReason::Stop)]);
    assert!(events.iter().all(|event| event.kind() != "custom"));
}

#[test]
fn a_refusal_is_message_content_of_its_own() {
    let mut refusal = StreamChunk::message("No.");
    refusal.content_type = ContentType::Refusal;
    let (events, completion) =
        run(vec![StreamChunk::message("Well. "), refusal, StreamChunk::end(FinishReason::Stop)]);
    assert_eq!((completion.text.as_str(), completion.refusal.as_str()), ("Well. ", "No."));
    let kinds: Vec<_> = events.iter().map(AgentEvent::kind).collect();
    assert_eq!(kinds, ["message_start", "message_content", "message_content", "message_end"]);
}
